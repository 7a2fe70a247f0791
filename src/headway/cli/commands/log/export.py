"""`headway log export`: a log for spreadsheets, data frames and scripts."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import Name, Repo, StateRoot, where_of

READS_ONLY = True


def export(
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="json, jsonl, csv or parquet.")] = "json",
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The log; left out: this run's own.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="The file to write; left out: standard output.")
    ] = None,
    repo: Repo = None,
    name: Name = None,
    state_root: StateRoot = None,
) -> None:
    """Give a log as JSON, JSON lines, CSV or Parquet."""
    from headway import app_log

    data = app_log.export_log(file, where_of(repo, name, state_root), form, output)
    if data is not None:
        sys.stdout.write(data.decode("utf-8"))
