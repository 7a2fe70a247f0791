"""Which column of a results table says what.

Source: 79 different headers in 159 published tables: no order and no name is fixed but the words for verdict, commit
and description.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_STATUS = ("status", "verdict", "decision", "outcome", "result", "final_status")
_COMMIT = ("commit", "commit_hash", "git_commit", "hash", "sha", "git_sha")
_TEXT = ("description", "desc", "hypothesis", "change", "title", "notes", "note", "strategy", "label", "tag", "name")
_TIME = ("timestamp", "time", "date", "datetime", "ts")
_NUMBER = ("iteration", "iter", "exp", "exp_id", "experiment", "id", "round", "run", "config_id", "cycle", "step")
_CATEGORY = ("category", "kind", "track", "thread")
_METRIC = ("metric", "metric_after", "score", "score_after", "value")
_KNOWN = frozenset((*_STATUS, *_COMMIT, *_TEXT, *_TIME, *_NUMBER, *_METRIC))
_IDENTITY = frozenset(
    (*_STATUS, *_COMMIT, *_TEXT, *_TIME, *_NUMBER, *_CATEGORY, "branch", "model", "model_file", "seed")
)
_SETTING = re.compile(r"^(n_|num_|params|active|batch|layers|budget|kv_|type_)|_before$|^delta|guard")
_NUMERAL = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?\.?\d*(?:[eE][+-]?\d+)?%?", re.ASCII)
_FEWEST_NUMBERS = 0.25
"""Share of a column's cells that are numbers where it holds measured values: runs that failed hold words there."""
_HASH = re.compile(r"[0-9a-f]{7,40}")
_WORD = re.compile(r"[A-Za-z_][\w .%/()-]{0,60}")


@dataclass(frozen=True)
class Columns:
    """The place of each meaning in a row; None where no column has it. `names` has one name a column."""

    names: tuple[str, ...]
    status: int | None
    commit: int | None
    description: int | None
    time: int | None
    category: int | None
    metric: int | None


def number_in(cell: str) -> int | float | None:
    """Read a cell as a finite number; thousands commas and a per cent sign are allowed. None where it is none."""
    plain = cell.strip()
    if not plain or not _NUMERAL.fullmatch(plain) or not any(letter.isdigit() for letter in plain):
        return None
    plain = plain.removesuffix("%").replace(",", "")
    if len(plain) > 40:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(plain) if re.fullmatch(r"[+-]?\d{1,18}", plain) else value


def is_header(cells: Sequence[str]) -> bool:
    """Say whether a line names columns: no number and no commit in it, and a word that tables use for a column."""
    words = [cell.strip().casefold() for cell in cells if cell.strip()]
    if len(words) < 2 or any(number_in(word) is not None or _is_hash(word) for word in words):
        return False
    return any(word in _KNOWN for word in words) and all(_WORD.fullmatch(word) for word in words)


def _is_hash(word: str) -> bool:
    return _HASH.fullmatch(word) is not None and any(letter.isdigit() for letter in word)


def columns_of(names: Sequence[str], rows: Sequence[Sequence[str]], metric: str | None) -> Columns:
    """Find the columns of a table by its header.

    Args:
        names: the header's cells.
        rows: the cells of its rows that are as long as the header: they tell which columns hold numbers.
        metric: name of the primary metric, where whoever imports it says so.
    """
    plain = [name.strip().casefold() for name in names]
    return Columns(
        tuple(name.strip() or f"column {index + 1}" for index, name in enumerate(names)),
        _first(plain, _STATUS),
        _first(plain, _COMMIT),
        _first(plain, _TEXT),
        _first(plain, _TIME),
        _first(plain, _CATEGORY),
        _asked(plain, metric) if metric else _metric_of(plain, rows),
    )


def _first(plain: Sequence[str], words: Sequence[str]) -> int | None:
    return next((plain.index(word) for word in words if word in plain), None)


def _asked(plain: Sequence[str], metric: str) -> int | None:
    name = metric.strip().casefold()
    return plain.index(name) if name in plain else None


def _metric_of(plain: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    numeric = [index for index, name in enumerate(plain) if name not in _IDENTITY and _is_numeric(index, rows)]
    named = _first(plain, _METRIC)
    measured = [index for index in numeric if not _SETTING.search(plain[index])]
    return named if named is not None else next(iter(measured), None)


def _is_numeric(index: int, rows: Sequence[Sequence[str]]) -> bool:
    cells = [row[index] for row in rows if index < len(row) and row[index].strip() not in ("", "-", "?")]
    numbers = sum(number_in(cell) is not None for cell in cells)
    return numbers > 0 and numbers >= _FEWEST_NUMBERS * len(cells)


def headless(rows: Sequence[Sequence[str]], metric: str | None, is_verdict: Sequence[bool]) -> Columns:
    """Name the columns of a table without a header by what stands in them.

    Args:
        rows: its rows.
        metric: what to call the primary metric; it is the first column that holds numbers.
        is_verdict: for each column, whether it holds verdicts.
    """
    width = len(is_verdict)
    status = is_verdict.index(True) if True in is_verdict else None
    first = [row[0].strip() for row in rows]
    is_commit = sum(_HASH.fullmatch(cell) is not None or cell in ("HEAD", "-", "") for cell in first) > len(first) / 2
    numeric = [index for index in range(int(is_commit), width) if index != status and _is_numeric(index, rows)]
    value = numeric[0] if numeric else None
    texts = [index for index in range(width) if index not in (status, *numeric) and (index or not is_commit)]
    behind = [index for index in texts if status is not None and index > status]
    names = [f"column {index + 1}" for index in range(width)]
    if value is not None and metric:
        names[value] = metric
    description = next(iter([*behind, *texts[-1:]]), None)
    return Columns(tuple(names), status, 0 if is_commit else None, description, None, None, value)
