"""The change that an earlier process could not write: what the side file says, and how it gets into the log after all.

A change is parked against the log as it was on disk. If that is still the log, the change is carried out; if somebody
has written it since, the change no longer fits (a backlog would be put back as it was) and is set aside, told, and left
to the run's records, from which a resumed run writes every fact that the log lacks.
Source: issue of the log store, "Faults"; CONTRACTS section 2.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.errors import DataDamaged, OutsideFailed, RequestWrong
from headway.store.atomic import disk_failure
from headway.store.document import read_document
from headway.store.log import LogFile
from headway.store.version import differ


def is_parked_beside(path: Path) -> bool:
    """Whether a change waits beside a log; asked before the log is opened, which takes longer."""
    real = path.resolve()
    return real.with_name(f"{real.stem}.pending.yaml").exists()


def take_up(log: LogFile) -> str:
    """Carry out the change that is parked beside a log, before anything else is written to it.

    Args:
        log: open for writing, its lock held.
    Returns: what a person is told, in one sentence; empty when nothing was parked.
    Raises: DiskFailed, when the disk still refuses: the change stays parked.
    """
    side = log.pending
    if side is None:
        return ""
    try:
        edits = list(edits_in(side))
        if _time_of(log.path) > _time_of(side):
            return _given_up(log, side, "the log was changed since")
        todo = [edit for edit in edits if not _is_done(log, edit)]
        log.commit(todo)
    except OutsideFailed:
        raise
    except RequestWrong as problem:  # damage of the side file, or an edit that the log has no place for any more
        return _given_up(log, side, problem.what)
    _forget(log, side)
    return f"a change that could not be written before is in the log now: {_named(edits)}"


def edits_in(side: Path) -> Iterator[Edit]:
    """The edits of a side file, in their order.

    Raises: DataDamaged, when it holds anything else; DiskFailed.
    """
    edits = read_document(side).get("edits")
    for edit in edits if isinstance(edits, list) else [edits]:
        yield _edit_of(edit, side)


def _edit_of(edit: Any, side: Path) -> Edit:
    match edit:
        case {"append_experiment": dict(row)}:
            return AppendExperiment(row)
        case {"replace_experiment": int(iteration), "row": dict(row)}:
            return ReplaceExperiment(iteration, row)
        case {"set_section": str(name), "value": value}:
            return SetSection(name, value)
    raise DataDamaged("the file is no parked change of the log", str(side), "move it away")


def _is_done(log: LogFile, edit: Edit) -> bool:
    """Whether the log says already what an edit would make it say: the write failed after the rename."""
    if isinstance(edit, SetSection):
        return not differ(log.section(edit.name), edit.value)
    number = edit.row.get("iteration")
    return number in log.iterations() and not differ(log.entry(int(number)), edit.row)


def _named(edits: list[Edit]) -> str:
    names = [edit.name if isinstance(edit, SetSection) else f"experiment {edit.row.get('iteration')}" for edit in edits]
    return ", ".join(dict.fromkeys(names)) or "nothing"


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise disk_failure(error, path) from error


def _given_up(log: LogFile, side: Path, reason: str) -> str:
    """Keep the side file under a name that no start looks for."""
    count = 1
    while (aside := side.with_name(f"{side.stem}.not-taken-{count}.yaml")).exists():
        count += 1
    try:
        side.rename(aside)
    except OSError as error:
        raise disk_failure(error, side) from error
    log.pending = None
    return (
        f"a change that could not be written before was not taken up ({reason}); it is kept as {aside.name}, "
        "and the run's records hold its facts"
    )


def _forget(log: LogFile, side: Path) -> None:
    try:
        side.unlink(missing_ok=True)
    except OSError as error:
        raise disk_failure(error, side) from error
    log.pending = None
