"""Reads values as numbers in the loose way that the decision rule of this spec family prescribes.

The rule takes `"0.5"`, `true` and `" 1e3 "` as numbers, an empty text as none, and `null` as none. Measured output is
read strictly instead (`output.py`); this module serves `headway decide`, whose payloads other tools write.
Source: ECMA-262, 7.1.4 ToNumber, for the texts; `cases/decide.jsonl` in the shared design for the rest.
"""

import math
import re
from typing import Any, Final

NOT_A_NUMBER: Final = math.nan
SPACE: Final = (
    " \t\n\r\v\f\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
DECIMAL: Final = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
RADIX: Final = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
LARGEST_PLAIN_INTEGER: Final = 1e21
LARGE_ENOUGH: Final = 1e6
LARGEST_WHOLE: Final = 1e15
"""Between these a number is shown without a fraction and without an exponent."""


def to_number(value: Any) -> float:
    """Read any JSON value as a number.

    Args:
        value: what stood in the payload; booleans count 0 and 1, `None` counts 0, texts by ECMA-262.
    Returns: the number; NaN where the value is none (lists and mappings always).
    """
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return _as_float(value)
    return _text_number(value) if isinstance(value, str) else NOT_A_NUMBER


def finite_number(value: Any) -> float | None:
    """Read a measured value.

    Args:
        value: what stood in the payload.
    Returns: the finite number, or `None` for `null`, an empty text, NaN, infinity and all that is no number.
    """
    if value is None or value == "":
        return None
    number = to_number(value)
    return number if math.isfinite(number) else None


def positive_integer(value: Any, fallback: int) -> int:
    """Read a count that must be at least 1.

    Args:
        value: what stood in the payload.
        fallback: what counts instead where the value is none, below 1 or broken.
    Returns: the count, at least 1 if the fallback is.
    """
    number = to_number(value)
    return int(number) if math.isfinite(number) and number >= 1 and number == math.floor(number) else fallback


def json_number(value: float) -> int | float | None:
    """Say how a number stands in an answer: integral values without a fraction, no negative zero, no NaN.

    Args:
        value: any float.
    Returns: an int where the value is integral and below 1e21, `None` where it is not finite, else the value.
    """
    if not math.isfinite(value):
        return None
    if value == math.floor(value) and abs(value) < LARGEST_PLAIN_INTEGER:
        return int(value)
    return value


def shown_number(value: float) -> str:
    """Say how a number is shown to a person: six digits, but a large one whole: `0.25403`, `5845102`.

    Args:
        value: any float; not finite ones are shown by name.
    """
    return f"{value:.0f}" if LARGE_ENOUGH <= abs(value) < LARGEST_WHOLE else f"{value:.6g}"


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _text_number(text: str) -> float:
    trimmed = text.strip(SPACE)
    if not trimmed:
        return 0.0
    if RADIX.fullmatch(trimmed):
        return _as_float(int(trimmed, 0))
    return float(trimmed) if DECIMAL.fullmatch(trimmed) else NOT_A_NUMBER
