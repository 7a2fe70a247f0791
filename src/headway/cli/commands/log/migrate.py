"""`headway log migrate`: an older or wild log of this family in the form of today."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import print_document, say, visible


def migrate(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The log; left out: this run's own.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="LOG", help="A new log; left out: in place, a copy is kept beside it."),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", metavar="SPEC", help="The spec: it says which value is the primary metric.")
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Bring an older log into today's form; keep the rest."""
    from headway import app_log

    ended = app_log.migrate_log(file, where_of(repo, name, state_root), output, spec, _tell)
    if as_json:
        print_document(
            {name: str(value) if isinstance(value, Path) else value for name, value in asdict(ended).items()}
        )
        return
    if not ended.is_changed:
        say(f"{ended.log}: every value is in its place; nothing was changed")
    else:
        say(f"{ended.log}: migrated", *(f"mapped: {change}" for change in ended.changes))
    say(*(f"kept: {kept}" for kept in ended.kept))
    if ended.backup is not None:
        say(f"the file as it was: {ended.backup}")


def _tell(text: str) -> None:
    print(visible(text), file=sys.stderr)
