"""`headway log repair`: a damaged log made readable, with nothing thrown away."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import counted, print_document, say, visible

if TYPE_CHECKING:
    from headway.store.mending import Repaired


def repair(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The log; left out: this run's own.")] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Set damaged parts of a log aside; a copy of the whole stays.

    A change that an earlier process could not write is taken up too.
    """
    from headway import app_log

    path, done = app_log.repair_log(file, where_of(repo, name, state_root), _tell)
    print_document(_document(path, done)) if as_json else say(*_lines(path, done))


def _tell(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _document(path: Path, done: "Repaired") -> dict[str, Any]:
    kept = done.salvaged
    return {
        "log": str(path),
        "is_changed": kept is not None or bool(done.pending),
        "kept": None if kept is None else {"sections": list(kept.sections), "experiments": kept.count},
        "set_aside": [
            {"what": part.what, "first_line": part.first, "last_line": part.last, "why": part.why}
            for part in (kept.lost if kept else ())
        ],
        "backup": None if done.backup is None else str(done.backup),
        "aside": None if done.aside is None else str(done.aside),
        "parked_change": done.pending or None,
        "notices": list(done.notices),
    }


def _lines(path: Path, done: "Repaired") -> list[str]:
    kept = done.salvaged
    lines = [f"{path}: can be read; nothing was set aside"] if kept is None else [f"{path}: repaired"]
    if kept is not None:
        lines += [
            f"kept: {counted(kept.count, 'experiment')}, and the sections {', '.join(kept.sections)}",
            *(f"set aside: {part.what}, lines {part.first} to {part.last}: {part.why}" for part in kept.lost),
            f"what was set aside: {done.aside}",
            f"the whole file as it was: {done.backup}",
        ]
    if done.pending:
        lines.append(done.pending)
    return [*lines, *(f"note: {notice}" for notice in done.notices), "`headway log check` says what the log lacks"]
