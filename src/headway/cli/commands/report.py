"""`headway report`: one page about a run, to be read, printed and sent."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import counted, print_document, say, visible
from headway.errors import UsageWrong

if TYPE_CHECKING:
    from headway.app_report import ReportMade


def report(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The file to write; left out: report.html in the state root; - prints.",
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="A summary in Markdown instead, for pull requests and chats.")
    ] = False,
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIR", help="Also write the charts there, as PNG and SVG.")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Show holdout values; only at a terminal, never for agents.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The log; left out: this run's own.")
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Write a report of a run as one HTML file.

    It needs nothing outside itself, and can be read on a phone and in print.
    """
    from headway import app_report

    where = where_of(repo, name, state_root)
    if holdout and not (sys.stdin.isatty() and sys.stdout.isatty()):
        mend = "ask for it at a terminal; pipes, scripts and agents get the report without these values"
        raise UsageWrong("holdout values are shown at a terminal only", "--holdout", mend)
    if markdown and (charts is not None or holdout or as_json):
        raise UsageWrong("--markdown goes with -o alone", "--markdown", "leave the other options out")
    if markdown:
        text = app_report.summary_of(log, where)
        if output is None or str(output) == "-":
            sys.stdout.write(text)
        else:
            app_report.write_text(text, output)
        return
    made = app_report.make_report(log, where, output, charts, holdout)
    for note in made.notes:
        print(f"note: {visible(note)}", file=sys.stderr)
    if made.text is not None:
        sys.stdout.write(made.text)
    elif as_json:
        print_document(_document(made))
    else:
        drawn = counted(len(made.charts), "chart")
        say(f"{made.page}: {counted(made.experiments, 'experiment')}, {drawn}, {made.size / 1e6:.1f} MB")
        say(*(f"{picture}" for picture in made.pictures))


def _document(made: "ReportMade") -> dict[str, Any]:
    return {
        "report": str(made.page),
        "bytes": made.size,
        "experiments": made.experiments,
        "charts": list(made.charts),
        "pictures": [str(picture) for picture in made.pictures],
        "notes": list(made.notes),
    }
