"""What is shown, as text and as one JSON document: escaped, plain, the same in a terminal and in a file.

Hypotheses, learnings and messages are other people's text: control characters in them are shown, never obeyed.
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.cli.colour import fitted, is_coloured, is_terminal, painted, width_of
from headway.core.loose_numbers import shown_number
from headway.core.shown_text import counted, duration, number, one_line, percent, visible

__all__ = [
    "counted",
    "duration",
    "gain_text",
    "number",
    "one_line",
    "percent",
    "print_document",
    "samples_text",
    "say",
    "sparkline",
    "table",
    "values",
    "visible",
]

BARS = "▁▂▃▄▅▆▇█"
SAMPLES_SHOWN = 12


def say(*lines: str) -> None:
    """Print lines to standard output: at a terminal broken to its width and coloured, else plain and as they are."""
    if not is_terminal(sys.stdout):
        for line in lines:
            print(visible(line))
        return
    paint = painted if is_coloured(sys.stdout) else str
    width = width_of(sys.stdout)
    for line in lines:
        for part in (p for one in visible(line).split("\n") for p in fitted(one, width)):
            print(paint(part))


def print_document(value: Any) -> None:
    """Print one JSON document to standard output."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=2, default=str)
    print(text)


def _finite(value: Any) -> Any:
    """Give the value with numbers that JSON does not have written as text."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def values(named: Mapping[str, Any]) -> str:
    """Give named values in one line: `seconds 1.5, sorted 1`."""
    return ", ".join(f"{name} {_scalar(value)}" for name, value in named.items()) or "none"


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping) and "aggregate" in value:
        return _scalar(value["aggregate"])
    return shown_number(value) if isinstance(value, float) else str(value)


def gain_text(estimate: float | None, low: float | None, high: float | None) -> str:
    """Give a gain with its range, where it has one."""
    if estimate is None or low is None or high is None:
        return percent(estimate)
    return f"{percent(estimate)} ({percent(low)} to {percent(high)})"


def samples_text(samples: Sequence[float]) -> str:
    """Give samples as numbers, and as a row of bars where there are several that differ: `1.5 1.4 1.6 ▄▁█ (n=3)`."""
    shown = " ".join(shown_number(value) for value in samples[:SAMPLES_SHOWN])
    rest = f" … {len(samples) - SAMPLES_SHOWN} more" if len(samples) > SAMPLES_SHOWN else ""
    bars = f" {sparkline(samples)}" if len(samples) > 1 and _has_bars() else ""
    return f"{shown}{rest}{bars} (n={len(samples)})"


def sparkline(samples: Sequence[float]) -> str:
    """Give one bar a sample, the lowest to the highest; all in the middle where they are equal."""
    low, high = min(samples), max(samples)
    if high == low:
        return BARS[3] * len(samples)
    return "".join(BARS[round((value - low) / (high - low) * (len(BARS) - 1))] for value in samples)


def _has_bars() -> bool:
    try:
        BARS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Give rows as lines with columns of equal width, the last column as it is."""
    cells = [[visible(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    return ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in cells]
