"""`headway log show`: a log, or one entry of it."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.commands.show import experiment_lines
from headway.cli.entry_lines import further_lines, unread_lines
from headway.cli.figures_text import experiment_row
from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import print_document, say, table

READS_ONLY = True


def show(
    iteration: Annotated[
        int | None, typer.Argument(metavar="N", min=1, help="Number of an experiment; left out: all of them.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The log; left out: this run's own.")
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Show a log's experiments, a line each, or one of them whole."""
    from headway import app
    from headway.core.figures import without_holdout
    from headway.core.log_reading import shown_row

    where = where_of(repo, name, state_root)
    if iteration is not None:
        row = without_holdout(app.log_entry(log, where, iteration))
        if as_json:
            print_document(row)
        else:
            shown, unread = shown_row(row)
            say(*experiment_lines(shown), *further_lines(shown), *unread_lines(unread))
        return
    document = app.log_document(log, where)
    rows = [without_holdout(row) for row in document.get("experiments") or () if isinstance(row, dict)]
    if as_json:
        print_document({**document, "experiments": rows})
    else:
        say(f"{document.get('spec', 'spec not recorded')}, run {document.get('run_id', 'not recorded')}")
        say(*table(experiment_row(row) for row in rows))
