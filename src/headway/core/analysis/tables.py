"""An analysis as tables: names and rows of plain cells, for CSV, Parquet, data frames and the terminal alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from headway.core.analysis.rates import By, Rates
from headway.core.analysis.tried import Tried
from headway.core.analysis.whole import Analysis, Compared
from headway.core.claims import GainRange
from headway.core.export_rows import Cell, typed


@dataclass(frozen=True)
class Table:
    """Columns by name, and the rows; None where nothing is known."""

    names: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def columns(self) -> dict[str, list[Cell]]:
        """Give the columns by name, each of one type."""
        return {name: typed([row[index] for row in self.rows]) for index, name in enumerate(self.names)}


def experiments_table(analysis: Analysis) -> Table:
    """Give one row an experiment."""
    objectives = tuple(f"value.{objective.name}" for objective in analysis.objectives)
    plain = [
        field.name
        for field in fields(Tried)
        if field.name not in ("values", "gain", "gain_is_stored", "samples", "files", "fate", "stretches")
    ]
    head = ("fate", *objectives, "gain", "gain_low", "gain_high", "gain_is_stored", "sample_count", "files")
    rows = tuple(
        (
            *(getattr(one, name) for name in plain),
            str(one.fate),
            *one.values[: len(objectives)],
            *_gain_cells(one.gain),
            one.gain_is_stored if one.gain else None,
            len(one.samples) or None,
            "; ".join(one.files) or None,
        )
        for one in analysis.experiments
    )
    return Table((*plain, *head), rows)


def groups_table(by: By, groups: Sequence[Rates]) -> Table:
    """Give one row a group; the first column bears the dimension's name."""
    names = (str(by), *(field.name for field in fields(Rates) if field.name != "name"))
    return Table(names, tuple(tuple(asdict(rates).values()) for rates in groups))


def keeps_table(analysis: Analysis) -> Table:
    """Give one row a kept experiment: its gain, its share of the whole, and how it was measured again."""
    names = (
        "iteration",
        "commit",
        "hypothesis",
        "category",
        "gain",
        "gain_low",
        "gain_high",
        "share",
        "total",
        "lines_added",
        "lines_removed",
        "gain_per_line",
        "rechecks",
        "recheck_difference",
    )
    rows = tuple(
        (
            keep.iteration,
            keep.commit,
            keep.hypothesis,
            keep.category,
            *_gain_cells(keep.gain),
            keep.share,
            keep.total,
            keep.lines_added,
            keep.lines_removed,
            keep.gain_per_line,
            keep.recheck.samples if keep.recheck else None,
            keep.recheck.difference if keep.recheck else None,
        )
        for keep in analysis.attribution.keeps
    )
    return Table(names, rows)


def near_misses_table(analysis: Analysis) -> Table:
    """Give one row a near miss, the largest gain first."""
    names = ("iteration", "outcome", "category", "gain", "gain_low", "gain_high", "files", "hypothesis", "reason")
    rows = tuple(
        (
            miss.iteration,
            miss.outcome,
            miss.category,
            *_gain_cells(miss.gain),
            "; ".join(miss.files) or None,
            miss.hypothesis,
            miss.reason,
        )
        for miss in analysis.near_misses
    )
    return Table(names, rows)


def runs_table(runs: Sequence[Compared]) -> Table:
    """Give one row a run."""
    return Table(tuple(field.name for field in fields(Compared)), tuple(tuple(_cells(run)) for run in runs))


def _cells(record: Any) -> list[Cell]:
    return list(asdict(record).values())


def _gain_cells(gain: GainRange | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if gain is None else (gain.estimate, gain.low, gain.high)
