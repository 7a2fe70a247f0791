"""The log commands' part of the one door: import, export, repair, migrate.

Like `app.py`: every function does one thing that a person asks for and gives plain data back.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters.parquet import parquet_writer
from headway.app import Where
from headway.core.export_rows import table_of, typed
from headway.core.figures import without_holdout
from headway.core.imports import family
from headway.core.imports.assemble import Imported
from headway.core.imports.detect import FORMATS
from headway.core.imports.keepable import keepable
from headway.errors import OutsideFailed, RequestWrong, UsageWrong
from headway.orchestrator.importing import ImportWishes, bytes_of, metric_beside, metric_of, read_foreign
from headway.store.atomic import write_atomic
from headway.store.load import load_log
from headway.store.lock import RunLock
from headway.store.log import LogFile
from headway.store.mending import Repaired, repair, rewrite_with_backup
from headway.store.paths import StateRoot

EXPORTS = ("json", "jsonl", "csv", "parquet")
DIRECTIONS = ("lower", "higher")


def import_log(source: Path, target: Path, wishes: ImportWishes) -> Imported:
    """Read another tool's log and write it as one of ours.

    Args:
        source: the file; for a checkpoint of OpenEvolve also its folder.
        target: the log to be written; nothing may lie there.
        wishes: how it is read.
    Returns: what was imported. Raises: RequestWrong, UsageWrong, DataDamaged (a YAML log that is none), DiskFailed.
    """
    _one_of(wishes.format, FORMATS, "--format")
    _one_of(wishes.direction, DIRECTIONS, "--direction")
    imported = read_foreign(source, wishes)
    LogFile.create(target, imported.rows)
    return imported


def _one_of(word: str | None, known: tuple[str, ...], option: str) -> None:
    if word is not None and word not in known:
        raise UsageWrong(f"`{word}` is none of {', '.join(known)}", option, "use one of these words")


# Repair and migration


@contextmanager
def _alone(path: Path, command: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Own the run that a log belongs to, if it lies in a state root. Raises: RunOwned."""
    state = StateRoot(path.resolve().parent)
    if not state.spec.is_file():
        yield
        return
    with RunLock(state.lock) as lock:
        before = lock.acquire(command)
        if before is not None:
            tell(f"took over from a process that died (pid {before.pid})")
        yield


def repair_log(target: Path | None, where: Where, tell: Callable[[str], None]) -> tuple[Path, Repaired]:
    """Make a log readable again: damaged parts are set aside, a parked change is taken up.

    Raises: RunOwned, when its run is live; DataDamaged, when nothing of it can be read; RequestWrong; DiskFailed.
    """
    path = log_path(target, where)
    with _alone(path, "headway log repair", tell):
        return path, repair(path, datetime.now(UTC))


@dataclass(frozen=True)
class MigrationEnded:
    """What a migration came to.

    Args:
        log: the file that now holds the migrated log; the source where it was right as it was.
        backup: the source as it was, where it was written over.
        changes: what was put where.
        kept: what could not be mapped, and where it is kept.
        is_changed: whether anything had to move.
    """

    log: Path
    backup: Path | None
    changes: tuple[str, ...]
    kept: tuple[str, ...]
    is_changed: bool


def migrate_log(
    target: Path | None, where: Where, output: Path | None, spec: Path | None, tell: Callable[[str], None]
) -> MigrationEnded:
    """Put what an older or wild log of this family holds where the schema has it.

    Args:
        target: the log; None: the run's own.
        where: which run.
        output: the new log; None: in the place of the old one, of which a copy is kept.
        spec: names the primary metric; None: one beside the log that bears its name.
        tell: is told what is going on.
    Raises: RequestWrong, when it is no log of this family; DataDamaged; RunOwned; DiskFailed.
    """
    path = log_path(target, where)
    data = bytes_of(path)
    document = load_log(path)
    if not family.is_family(document):
        mend = "`headway log import FILE -o LOG` reads other tools' logs"
        raise RequestWrong("this is no experiment log: it has no list `experiments`", str(path), mend)
    metric = metric_of(spec) if spec is not None else metric_beside(path, document)
    done = family.migrate(keepable(document), metric)
    if not done.changes:
        if output is not None:
            LogFile.create(output, document)
        return MigrationEnded(output or path, None, (), tuple(done.kept), is_changed=False)
    rows = done.rows
    if not family.is_own(document):
        told = {"format": family.FORMAT, "file": path.name, "sha256": hashlib.sha256(data).hexdigest()}
        rows = family.marked(done, {**told, "migrated": True})
    if output is not None:
        LogFile.create(output, rows)
        return MigrationEnded(output, None, tuple(done.changes), tuple(done.kept), is_changed=True)
    with _alone(path, "headway log migrate", tell):
        if bytes_of(path) != data:
            raise OutsideFailed("another program changed the log in the meantime", str(path), "try again")
        backup = rewrite_with_backup(path, rows, datetime.now(UTC))
    return MigrationEnded(path, backup, tuple(done.changes), tuple(done.kept), is_changed=True)


def log_path(target: Path | None, where: Where) -> Path:
    """Give the log that is meant. Raises: RequestWrong, when there is none."""
    path = target or where.existing().log
    if not path.is_file():
        mend = "name the log's file, or a run with --name or --state-root"
        raise RequestWrong("there is no such log", str(path), mend)
    return path


# Export


def export_log(target: Path | None, where: Where, form: str, output: Path | None) -> bytes | None:
    """Give a log in another form, holdout values left out.

    Args:
        target: the log; None: the run's own.
        where: which run.
        form: one of `EXPORTS`.
        output: the file to write, replaced if it is there; None: give the bytes.
    Returns: the bytes, where no file was named.
    Raises: UsageWrong; RequestWrong, when Parquet has no file to go to; OutsideFailed, when its package is missing.
    """
    _one_of(form, EXPORTS, "--format")
    if form == "parquet" and output is None:
        raise UsageWrong("Parquet is binary and goes to a file", "--format parquet", "name the file with -o FILE")
    write = parquet_writer() if form == "parquet" else None
    document = load_log(log_path(target, where))
    listed = document.get("experiments")
    rows = [without_holdout(row) for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    data = write(_columns(rows)) if write else _text_of(form, document, rows).encode("utf-8")
    if output is None:
        return data
    write_atomic(output, data)
    return None


def _text_of(form: str, document: Mapping[str, Any], rows: list[dict[str, Any]]) -> str:
    if form == "json":
        return json.dumps({**document, "experiments": rows}, ensure_ascii=False, indent=2, default=str) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    names, cells = table_of(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([["" if cell is None else _plain(cell) for cell in row] for row in cells])
    return out.getvalue()


def _plain(cell: Any) -> Any:
    return str(cell).lower() if isinstance(cell, bool) else cell


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names, cells = table_of(rows)
    return {name: typed([row[index] for row in cells]) for index, name in enumerate(names)}
