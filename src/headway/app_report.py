"""The part of the one door that looks back on a run: analysis and report.

Like `app.py`: every function does one thing that a person asks for and gives plain data back.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.charts import charts_of
from headway.adapters.drawings import page_svg, png_of, svg_of
from headway.adapters.parquet import parquet_writer
from headway.app import Where, read_log
from headway.app_log import log_path
from headway.core.analysis.charting import chart_data
from headway.core.analysis.rates import By
from headway.core.analysis.tables import Table, experiments_table, groups_table, runs_table
from headway.core.analysis.tried import Tried
from headway.core.analysis.whole import Analysis, Compared, analyse, compared
from headway.core.page.content import Report, report_of
from headway.core.page.markdown import markdown_of
from headway.core.page.page import page_of
from headway.core.shown_text import number, one_line, percent
from headway.errors import ExtraMissing, UsageWrong
from headway.orchestrator.run_files import RunFiles, read_run
from headway.store.atomic import write_atomic
from headway.store.paths import StateRoot, ensure_folder

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


# The report

PAGE = "report.html"
MOST_TITLES = 2000
"""Experiments up to which a chart shows each one's words under the pointer."""
NO_CHARTS = "there are no charts in this page: the extra `report` is not installed (pip install 'headway[report]')"


@dataclass(frozen=True)
class ReportMade:
    """What became of a report.

    Args:
        page: the file; None where it went to standard output.
        text: the page or summary, where no file was written.
        charts: names of the charts in the page.
        pictures: files of charts that were written.
        notes: what a reader should know, as of charts that could not be drawn.
    """

    page: Path | None
    text: str | None
    size: int
    experiments: int
    charts: tuple[str, ...]
    pictures: tuple[Path, ...]
    notes: tuple[str, ...]


def summary_of(target: Path | None, where: Where) -> str:
    """Give the summary of a run in Markdown. Raises: as `files_of`."""
    _, files = files_of(target, where)
    return markdown_of(_report(files))


def write_text(text: str, output: Path) -> None:
    """Write a text to a file, replaced if it is there. Raises: DiskFailed."""
    write_atomic(output, text.encode("utf-8", "backslashreplace"))


def make_report(
    target: Path | None, where: Where, output: Path | None, pictures: Path | None, with_holdout: bool
) -> ReportMade:
    """Write the report of a run: one page that needs nothing outside itself.

    Args:
        target: the log; None: the run's own.
        where: which run.
        output: the file to write, replaced if it is there; None: `report.html` in the state root, or beside a log that
            lies alone; `-`: give the text.
        pictures: a folder for the charts as PNG and SVG; None: no pictures.
        with_holdout: show holdout values.
    Raises: as `files_of`; OutsideFailed, when pictures are asked for and the extra `report` is not installed.
    """
    path, files = files_of(target, where, with_holdout)
    report = _report(files)
    drawn, written = _drawn(report, pictures)
    note = "" if drawn is not None else NO_CHARTS
    text = page_of(report, drawn or {}, note)
    data = text.encode("utf-8", "backslashreplace")
    page = output or _usual_place(path)
    if str(page) != "-":
        write_atomic(page, data)
    return ReportMade(
        page=page if str(page) != "-" else None,
        text=text if str(page) == "-" else None,
        size=len(data),
        experiments=len(report.analysis.experiments),
        charts=tuple(drawn or ()),
        pictures=written,
        notes=tuple(filter(None, (note, *files.notes))),
    )


def _usual_place(log: Path) -> Path:
    return log.parent / PAGE if StateRoot(log.parent).log == log else log.with_name(f"{log.name}.{PAGE}")


def _report(files: RunFiles) -> Report:
    analysis = analyse(files.log, files.spec, files.facts, files.notes)
    return report_of(files.log, files.spec, analysis, files.run_records, files.diff)


def _drawn(report: Report, pictures: Path | None) -> tuple[dict[str, str] | None, tuple[Path, ...]]:
    """Draw the charts; None where they cannot be drawn here and no pictures were asked for."""
    try:
        charts = charts_of(chart_data(report.analysis))
        titles = _titles(report.analysis.experiments)
        drawn = {name: page_svg(chart, name, titles) for name, chart in charts.items()}
    except ExtraMissing:
        if pictures is not None:
            raise
        return None, ()
    return drawn, _pictures(charts, pictures) if pictures is not None else ()


def _pictures(charts: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    ensure_folder(folder)
    written: list[Path] = []
    for name, chart in charts.items():
        for suffix, data in (("svg", svg_of(chart).encode("utf-8")), ("png", png_of(chart))):
            path = folder / f"{name}.{suffix}"
            write_atomic(path, data)
            written.append(path)
    return tuple(written)


def _titles(experiments: Sequence[Tried]) -> dict[int, str]:
    """Give what a chart shows of each experiment under the pointer; nothing in runs too long for it."""
    if len(experiments) > MOST_TITLES:
        return {}
    return {one.position: _title(one) for one in experiments}


def _title(one: Tried) -> str:
    value = "" if one.value is None else f", {number(one.value)}"
    gain = "" if one.gain is None else f", {percent(one.gain.estimate)}"
    return f"{one.iteration}: {one.outcome}{value}{gain} – {one_line(one.hypothesis, 80)}"
