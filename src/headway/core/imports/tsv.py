"""autoresearch results tables: tab-separated, with any header or none.

A row is read by its header's columns and by nothing else: a row whose verdict does not stand where the header says so
has an unknown verdict, and its cells are kept as they are. A line of one cell is text that runs on from the row
before, not a run.

Source: published tables of that family (headers, ragged rows, verdict words).
"""

import re
from collections.abc import Sequence

from headway.core.imports.found import HIGHER, LOWER, Direction, Found, Reading, Segment, Skipped
from headway.core.imports.lines import numbered, time_of
from headway.core.imports.tsv_columns import Columns, columns_of, headless, is_header, number_in
from headway.core.imports.words import outcome_of
from headway.core.log_words import Outcome

FORMAT = "autoresearch-tsv"
_NOT_MEASURED = (Outcome.ERROR, Outcome.TIMEOUT)
_DIRECTION = re.compile(r"#\s*(?:metric[_ ])?direction\s*[:=]\s*(\w+)", re.IGNORECASE)
_TABS_AS_TEXT = "\\t"
Lines = list[tuple[int, list[str]]]


def read_tsv(text: str, metric: str | None = None) -> Reading:
    """Read a results table.

    Args:
        text: of the whole file.
        metric: name of the primary metric's column; None: the first that holds measured numbers.
    Returns: its rows as runs, and every other line with the reason why it is none.
    """
    tables, skipped, direction, notes = _tables(text)
    runs: list[Found] = []
    segments: list[Segment] = []
    for line, header, rows in tables:
        columns = _columns(header, rows, metric)
        segments.append(_segment(line, columns, direction))
        runs += (_run(number, len(segments) - 1, cells, columns) for number, cells in rows)
        notes += _notes(header, columns, rows, metric)
    return Reading(FORMAT, tuple(runs), tuple(segments), tuple(skipped), tuple(notes))


def _tables(
    text: str,
) -> tuple[list[tuple[int | None, list[str] | None, Lines]], list[Skipped], Direction | None, list[str]]:
    """Give each header with its rows, the lines that are none, the direction that a comment records, and notes."""
    tables: list[tuple[int | None, list[str] | None, Lines]] = []
    skipped: list[Skipped] = []
    direction: Direction | None = None
    mended: list[int] = []
    for number, line in numbered(text):
        cells = line.split("\t")
        if line.startswith("#"):
            found = _DIRECTION.match(line)
            direction = _direction(found[1]) if found else direction
            if not found:
                skipped.append(Skipped(number, "a comment"))
        elif is_header(cells):
            if tables and tables[-1][1] == cells:
                skipped.append(Skipped(number, "the header again"))
            else:
                tables.append((number, cells, []))
        else:
            if len(cells) == 1 and line.count(_TABS_AS_TEXT) > 1:
                cells = line.split(_TABS_AS_TEXT)
                mended.append(number)
            if len(cells) == 1 and _width(tables) != 1:
                skipped.append(Skipped(number, "one cell where a row has several: text that runs on from another line"))
                continue
            if not tables:
                tables.append((None, None, []))
            tables[-1][2].append((number, cells))
    notes = [f"line {number}: its tabs are written as `\\t`; read as tabs" for number in mended]
    return [table for table in tables if table[2]], skipped, direction, notes


def _width(tables: Sequence[tuple[int | None, list[str] | None, Lines]]) -> int:
    if not tables:
        return 0
    header, rows = tables[-1][1], tables[-1][2]
    return len(header) if header else len(rows[0][1])


def _direction(word: str) -> Direction | None:
    plain = word.casefold()
    if plain.startswith(("lower", "min")):
        return LOWER
    return HIGHER if plain.startswith(("higher", "max")) else None


def _columns(header: list[str] | None, rows: Lines, metric: str | None) -> Columns:
    cells = [row for _, row in rows]
    if header is not None:
        whole = [row for row in cells if len(row) == len(header)]
        return columns_of(header, whole, metric)
    width = max(map(len, cells))
    verdicts = [_share(cells, index) for index in range(width)]
    return headless(cells, metric, [share > 0.5 and share == max(verdicts) for share in verdicts])


def _share(rows: Sequence[Sequence[str]], index: int) -> float:
    held = [row[index] for row in rows if index < len(row)]
    return sum(outcome_of(cell) is not None for cell in held) / len(held) if held else 0.0


def _segment(line: int | None, columns: Columns, direction: Direction | None) -> Segment:
    name = columns.names[columns.metric] if columns.metric is not None else None
    return Segment(line=line, metric=name, direction=direction)


def _run(line: int, segment: int, cells: list[str], columns: Columns) -> Found:
    status = _cell(cells, columns.status)
    outcome = outcome_of(status or "")
    fits = len(cells) == len(columns.names) or outcome is not None
    if not fits:
        return Found(line, segment, Outcome.MEASURED, status=status, rest={"cells": list(cells)})
    written = _cell(cells, columns.metric)
    value = number_in(written) if written is not None else None
    is_measured = value is not None and outcome not in _NOT_MEASURED
    taken = {columns.status, columns.commit, columns.description, columns.time, columns.category, columns.metric}
    others = {name: cells[i] for i, name in enumerate(columns.names) if i < len(cells) and i not in taken and cells[i]}
    rest: dict[str, object] = {"more_cells": cells[len(columns.names) :]} if len(cells) > len(columns.names) else {}
    at = _cell(cells, columns.time)
    if at and time_of(at) is None:
        rest["time"] = at
    return Found(
        line=line,
        segment=segment,
        outcome=outcome or Outcome.MEASURED,
        status=status,
        description=_cell(cells, columns.description) or "",
        metric=value if is_measured else None,
        diagnostics={name: _valued(cell) for name, cell in others.items()},
        commit=_cell(cells, columns.commit),
        at=time_of(at) if at else None,
        raw_metric=None if is_measured else written,
        category=_cell(cells, columns.category) or "",
        rest=rest,
    )


def _cell(cells: Sequence[str], index: int | None) -> str | None:
    if index is None or index >= len(cells):
        return None
    return cells[index].strip() or None


def _valued(cell: str) -> int | float | str:
    value = number_in(cell) if not cell.strip().startswith("+") else None
    return cell.strip() if value is None or cell.strip().endswith("%") else value


def _notes(header: list[str] | None, columns: Columns, rows: Lines, asked: str | None) -> list[str]:
    notes = []
    if header is None:
        notes.append("the table has no header: its columns are told apart by what stands in them")
    if columns.metric is None:
        wanted = f"no column is called `{asked}`" if asked else "no column holds measured numbers"
        notes.append(f"{wanted}: the primary metric is unknown; --metric names it")
    elif not asked:
        notes.append(f"the primary metric is taken from the column `{columns.names[columns.metric]}`")
    if columns.status is None:
        notes.append("no column holds verdicts: what was kept is unknown")
    elif columns.metric is not None:
        unread = [number for number, cells in rows if _is_no_number(cells, columns)]
        if unread:
            notes.append(f"{_rows(unread)}: no number for the primary metric; it is unknown there")
    odd = [number for number, cells in rows if len(cells) != len(columns.names)]
    if odd:
        notes.append(f"{_rows(odd)}: another number of cells than the table has; read by its columns alone")
    return notes


def _is_no_number(cells: list[str], columns: Columns) -> bool:
    written = _cell(cells, columns.metric)
    return written is not None and number_in(written) is None


def _rows(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:5]))
    more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"{'lines' if len(lines) > 1 else 'line'} {shown}{more}"
