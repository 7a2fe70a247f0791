"""`headway analyze`: what a run amounts to, as text, as tables, or as data."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.analysis_text import analysis_lines, group_lines, run_lines
from headway.cli.options import Json, Name, Repo, StateRoot, where_of
from headway.cli.screen import print_document, say
from headway.errors import UsageWrong

READS_ONLY = True


def analyze(
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="WHAT", help="Group by category, agent, file, hour, outcome or batch."),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="LOG", help="Another log, or state root, to set beside it; may be repeated."),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="table, csv, json or parquet; all but table give one table."),
    ] = "table",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="The file to write; left out: standard output.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The log; left out: this run's own.")
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
    as_json: Json = False,
) -> None:
    """Say what a run amounts to, as text, tables or data.

    Keep rate, cost and time per keep, where the gain came from, keeps expected by chance, near misses, and what the
    reverted ones have in common.
    """
    from headway import app_report
    from headway.core.analysis.rates import By

    where = where_of(repo, name, state_root)
    dimension = None if by is None else _word(by, tuple(By), "--by")
    _word(form, app_report.FORMATS, "--format")
    if output is not None and form == "table":
        raise UsageWrong(
            "-o goes with data, not with a page of text", "-o", "say --format csv, json or parquet as well"
        )
    analysis = app_report.analysis_of(log, where)
    runs = app_report.runs_side_by_side((str(log or "this run"), analysis), against or (), where) if against else ()
    if as_json:
        print_document({**analysis.to_json(), "runs": list(map(vars, runs))})
    elif form != "table":
        table = app_report.analysis_table(analysis, By(dimension) if dimension else None, runs)
        data = app_report.export_table(table, form, output)
        if data is not None:
            sys.stdout.write(data.decode("utf-8", "surrogatepass"))
    elif runs:
        say(*run_lines(runs))
    elif dimension:
        say(*(group_lines(By(dimension), analysis.by(By(dimension)), None) or ["no experiments yet"]))
    else:
        say(*analysis_lines(analysis))


def _word(word: str, known: tuple[str, ...], option: str) -> str:
    if word not in known:
        raise UsageWrong(f"`{word}` is none of {', '.join(known)}", option, "use one of these words")
    return word
