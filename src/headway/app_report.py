"""The part of the one door that looks back on a run: analysis and report.

Like `app.py`: every function does one thing that a person asks for and gives plain data back.
"""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.adapters.parquet import parquet_writer
from headway.app import Where, read_log
from headway.app_log import log_path
from headway.core.analysis.rates import By
from headway.core.analysis.tables import Table, experiments_table, groups_table, runs_table
from headway.core.analysis.whole import Analysis, Compared, analyse, compared
from headway.errors import UsageWrong
from headway.orchestrator.run_files import RunFiles, read_run
from headway.store.atomic import write_atomic

FORMATS = ("table", "csv", "json", "parquet")


def files_of(target: Path | None, where: Where, with_holdout: bool = False) -> tuple[Path, RunFiles]:
    """Read the run that is meant. Raises: RequestWrong, where there is no log; DataDamaged; DiskFailed."""
    if target is None and not (state := where.existing()).log.is_file():
        read_log(state)  # says what is missing
    path = log_path(target, where)
    return path, read_run(path, with_holdout)


def analysis_of(target: Path | None, where: Where) -> Analysis:
    """Say what a run amounts to.

    Args:
        target: the log; None: the run's own.
        where: which run.
    Raises: as `files_of`.
    """
    _, files = files_of(target, where)
    return analyse(files.log, files.spec, files.facts, files.notes)


def runs_side_by_side(first: tuple[str, Analysis], others: Sequence[Path], where: Where) -> tuple[Compared, ...]:
    """Set runs side by side.

    Args:
        first: the run's label, and the run.
        others: logs, or state roots.
    Raises: as `files_of`.
    """
    label, analysis = first
    rows = [compared(label, analysis)]
    for other in others:
        path = other / "experiment-log.yaml" if other.is_dir() else other
        rows.append(compared(str(other), analysis_of(path, where)))
    return tuple(rows)


def analysis_table(analysis: Analysis, by: By | None, runs: Sequence[Compared]) -> Table:
    """Give what is asked for as one table: the runs side by side, the groups, else the experiments."""
    if runs:
        return runs_table(runs)
    return experiments_table(analysis) if by is None else groups_table(by, analysis.by(by))


def export_table(table: Table, form: str, output: Path | None) -> bytes | None:
    """Give a table as CSV, JSON or Parquet.

    Args:
        table: what is exported.
        form: one of `FORMATS` but `table`.
        output: the file to write, replaced if it is there; None: give the bytes.
    Returns: the bytes, where no file was named.
    Raises: UsageWrong, when Parquet has no file to go to; OutsideFailed, when its package is missing; DiskFailed.
    """
    if form == "parquet" and output is None:
        raise UsageWrong("Parquet is binary and goes to a file", "--format parquet", "name the file with -o FILE")
    data = _bytes_of(table, form)
    if output is None:
        return data
    write_atomic(output, data)
    return None


def _bytes_of(table: Table, form: str) -> bytes:
    if form == "parquet":
        return parquet_writer()(table.columns())
    if form == "json":
        rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]
        return (json.dumps(rows, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(table.names)
    writer.writerows([["" if cell is None else _plain(cell) for cell in row] for row in table.rows])
    return out.getvalue().encode("utf-8", "surrogatepass")


def _plain(cell: Any) -> Any:
    return str(cell).lower() if isinstance(cell, bool) else cell
