"""How texts and numbers are shown by every face.

Other people's text has its control characters written out: they are never obeyed.
"""

import re
from typing import Final

from headway.core.loose_numbers import shown_number

UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks that turn the direction of text round, and lone surrogates."""


def visible(text: str) -> str:
    """Give a text with its control characters written out, so that it can change nothing but the screen's letters."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, most: int = 100) -> str:
    """Give a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def number(value: float | None) -> str:
    """Give a number in six digits, a large one whole, or `unknown`."""
    return "unknown" if value is None else shown_number(value)


def counted(many: int, one: str) -> str:
    """Give a number of things: `1 file`, `2 files`."""
    return f"{many} {one}" if many == 1 else f"{many} {one}s"


def percent(share: float | None) -> str:
    """Give a share as signed per cent, with two digits where it is under one per cent."""
    if share is None:
        return "unknown"
    return f"{share:+.2%}" if abs(share) < 0.01 else f"{share:+.1%}"


def duration(seconds: float) -> str:
    """Give a time span in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
