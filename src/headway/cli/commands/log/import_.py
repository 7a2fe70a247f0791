"""`headway log import`: another tool's log as one of ours."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import Json
from headway.cli.screen import counted, one_line, print_document, say, visible

if TYPE_CHECKING:
    from headway.core.imports.assemble import Imported

SHOWN = 20


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Another tool's log, or OpenEvolve's checkpoint folder.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="LOG", help="The log to write; never overwritten.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="pi-autoresearch, autoresearch-tsv, ce-optimize, openevolve or aide; left out: told from the file.",
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option("--direction", metavar="lower|higher", help="Which way the metric is better, if you know."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="The primary metric, where the file does not say.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write another tool's log as one of ours."""
    from headway import app_log
    from headway.orchestrator.importing import ImportWishes

    imported = app_log.import_log(file, output, ImportWishes(form, direction, metric))
    if imported.count == 0:
        print(f"warning: {visible(str(file))} holds no run records", file=sys.stderr)
    if as_json:
        print_document(_document(imported, output))
    else:
        say(*_lines(imported, output))


def _document(imported: "Imported", output: Path) -> dict[str, Any]:
    return {
        "experiments": imported.count,
        "skipped": [{"line": skipped.line, "reason": skipped.reason} for skipped in imported.skipped],
        "format": imported.format,
        "log": str(output),
        "outcomes": imported.outcomes,
        "notes": list(imported.notes),
    }


def _lines(imported: "Imported", output: Path) -> list[str]:
    counts = ", ".join(f"{many} {outcome}" for outcome, many in sorted(imported.outcomes.items()))
    skipped = [f"line {found.line}: {one_line(found.reason)}" for found in imported.skipped]
    more = len(skipped) - SHOWN
    return [
        f"{output}: {counted(imported.count, 'experiment')} of {imported.format}" + (f": {counts}" if counts else ""),
        *(f"note: {note}" for note in imported.notes),
        *([f"skipped {counted(len(skipped), 'line')}:"] if skipped else []),
        *skipped[:SHOWN],
        *([f"... and {more} more; --json lists them all"] if more > 0 else []),
    ]
