"""The public way to read a run's files: typed records, whoever wrote the log. `import headway` loads none of this."""

from collections.abc import Iterator
from pathlib import Path

from headway.core.log_reading import ReadLog, log_from
from headway.core.record_reading import ReadRecord, record_from
from headway.store.load import load_log
from headway.store.paths import StateRoot
from headway.store.records import read_records as _raw_records


def read_log(path: str | Path) -> ReadLog:
    """Read a whole log: one of headway's, an older one, or an imported one.

    Args:
        path: the log file, or a state root.
    Returns: its sections and experiments; what a log does not say is None, what cannot be read is named in `unread`.
    Raises: RequestWrong, when there is no such file; DataDamaged, with the line; DiskFailed.
    Source: CONTRACTS section 7.
    """
    given = Path(path)
    return log_from(load_log(StateRoot(given).log if given.is_dir() else given))


def read_records(path: str | Path) -> Iterator[ReadRecord]:
    """Read the records of an experiment or a run, one at a time.

    Args:
        path: an `events.jsonl` or `run.jsonl`.
    Returns: the records in order; `event` is the typed fact, None for a kind that this version does not know. A last
        line without an end is left out: its writer may be at it. A file that is not there has no records.
    Raises: DataDamaged, with the line; DiskFailed.
    Source: CONTRACTS section 7; docs/record.md.
    """
    return map(record_from, _raw_records(Path(path)))
