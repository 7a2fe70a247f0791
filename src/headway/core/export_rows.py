"""A log as a table: one row an experiment, one column a value, for spreadsheets and data frames.

Absent stays empty: no cell is filled in. Holdout values are left out, as everywhere outside a terminal that asks.
Source: CONTRACTS section 6 (holdout); issue 3, item 6.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Cell = str | int | float | bool | None
FIRST = (
    "iteration",
    "batch",
    "outcome",
    "category",
    "hypothesis",
    "commit",
    "primary_delta",
    "gates_passed",
    "sample_count",
)
_GROUPS = ("metrics", "gates", "diagnostics")
_LAST = ("error_message", "deferred_reason", "merged_with", "learnings")
_OURS = ("base", "candidate", "agent", "k", "effort", "repeat_of", "hypothesis_id")


def table_of(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Cell]]]:
    """Give the columns' names and the cells of a log's experiments.

    Args:
        rows: of the experiments, holdout values left out already, in the file's order.
    Returns: the names (`metrics.seconds`, `metrics.seconds.n`); a row each, None where nothing is known.
    """
    flat = [_flat(row) for row in rows]
    found = {name for row in flat for name in row}
    names = [*(name for name in FIRST if name in found)]
    for group in _GROUPS:
        names += sorted(name for name in found if name.startswith(f"{group}."))
    names += sorted(name for name in found if name.startswith(("cost.", "gain.", "usage.")))
    names += [name for name in (*_LAST, *_OURS) if name in found]
    names += sorted(name for name in found if name.startswith("imported."))
    return names, [[row.get(name) for name in names] for row in flat]


def _flat(row: Mapping[str, Any]) -> dict[str, Cell]:
    cells: dict[str, Cell] = {name: _cell(row[name]) for name in (*FIRST, *_LAST) if row.get(name) is not None}
    for group in _GROUPS:
        cells |= _named(group, row.get(group))
    ours = row.get("headway")
    ours = ours if isinstance(ours, Mapping) else {}
    cells |= _named("cost", row.get("cost")) | _named("gain", ours.get("gain")) | _named("usage", ours.get("usage"))
    cells |= {name: _cell(ours[name]) for name in _OURS if ours.get(name) is not None}
    cells |= _named("imported", ours.get("imported"))
    return cells


def _named(group: str, values: Any) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping) and "aggregate" in value:
            cells[f"{group}.{name}"] = _cell(value["aggregate"])
            samples = value.get("samples")
            if isinstance(samples, list):
                cells[f"{group}.{name}.n"] = len(samples)
                cells[f"{group}.{name}.samples"] = _cell(samples)
        elif value is not None:
            cells[f"{group}.{name}"] = _cell(value)
    return cells


def _cell(value: Any) -> Cell:
    if isinstance(value, str | bool | int | float):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def typed(column: Sequence[Cell]) -> list[Cell]:
    """Give a column in which every known cell has one type: numbers as they are, anything mixed as text."""
    known = [cell for cell in column if cell is not None]
    if all(isinstance(cell, bool) for cell in known) or all(isinstance(cell, str) for cell in known):
        return list(column)
    if any(isinstance(cell, bool | str) for cell in known):
        return [None if cell is None else _text(cell) for cell in column]
    if all(isinstance(cell, int) and -(2**63) <= cell < 2**63 for cell in known):
        return list(column)
    return [None if cell is None else float(cell) for cell in column]


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell)
