"""What is shown, as text and as one JSON document: escaped, plain, the same in a terminal and in a file.

Hypotheses, learnings and messages are other people's text: control characters in them are shown, never obeyed.
"""

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.core.loose_numbers import shown_number

UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks that turn the direction of text round, and lone surrogates."""

BARS = "▁▂▃▄▅▆▇█"
SAMPLES_SHOWN = 12


def visible(text: str) -> str:
    """Give a text with its control characters written out, so that it can change nothing but the screen's letters."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, most: int = 100) -> str:
    """Give a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def say(*lines: str) -> None:
    """Print lines to standard output."""
    for line in lines:
        print(visible(line))


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


def number(value: float | None) -> str:
    """Give a number in six digits, a large one whole, or `unknown`."""
    return "unknown" if value is None else shown_number(value)


def values(named: Mapping[str, Any]) -> str:
    """Give named values in one line: `seconds 1.5, sorted 1`."""
    return ", ".join(f"{name} {_scalar(value)}" for name, value in named.items()) or "none"


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping) and "aggregate" in value:
        return _scalar(value["aggregate"])
    return shown_number(value) if isinstance(value, float) else str(value)


def counted(many: int, one: str) -> str:
    """Give a number of things: `1 file`, `2 files`."""
    return f"{many} {one}" if many == 1 else f"{many} {one}s"


def percent(share: float | None) -> str:
    """Give a share as signed per cent, with two digits where it is under one per cent."""
    if share is None:
        return "unknown"
    return f"{share:+.2%}" if abs(share) < 0.01 else f"{share:+.1%}"


def gain_text(estimate: float | None, low: float | None, high: float | None) -> str:
    """Give a gain with its range, where it has one."""
    if estimate is None or low is None or high is None:
        return percent(estimate)
    return f"{percent(estimate)} ({percent(low)} to {percent(high)})"


def duration(seconds: float) -> str:
    """Give a time span in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


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
