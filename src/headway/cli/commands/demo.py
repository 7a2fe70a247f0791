"""`headway demo`: set a bundled example up and run it to its end."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.figures_text import ended_document, ended_lines, experiment_row
from headway.cli.options import Json, StateRoot
from headway.cli.progress import Progress
from headway.cli.screen import print_document, say, table
from headway.errors import UsageWrong


def demo(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The example; left out: the only one.")] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="DIR", help="Folder for it; left out: headway-demo-NAME in the current one."),
    ] = None,
    state_root: StateRoot = None,
    names: Annotated[bool, typer.Option("--list", help="Name the bundled examples, and do nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    as_json: Json = False,
) -> None:
    """Run a bundled example, in a repository of its own."""
    from headway import app

    known = app.examples()
    if names:
        print_document(list(known)) if as_json else say(*known)
        return
    progress = Progress(quiet)
    ended = app.demo(_chosen(name, known), into, state_root, progress.tell, progress.on_event)
    if as_json:
        print_document({**ended_document(ended.run), "repo": str(ended.repo), "experiments": ended.rows})
    else:
        say(*table(experiment_row(row) for row in ended.rows), *ended_lines(ended.run), f"repository: {ended.repo}")
    raise typer.Exit(ended.run.exit_code)


def _chosen(name: str | None, known: tuple[str, ...]) -> str:
    if name is not None:
        return name
    if len(known) == 1:
        return known[0]
    raise UsageWrong("there are several examples", "headway demo", f"name one of them: {', '.join(known)}")
