"""Reads JSON and texts so that a number is a finite number or nothing."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "false": False}
MOST_DIGITS: Final = 309
LONGEST_SHOWN: Final = 80


@dataclass(frozen=True)
class Unusable:
    """A value that is written where a number belongs and is none, such as NaN, 1e999 or `12ms`."""

    text: str


def read_strictly(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read a JSON object that is known to be one.

    Args:
        text: the object, strict JSON except for NaN and infinities.
    Returns: the object, where numbers that are not finite are `Unusable`, and the names that stand twice in one
        object: their last value counts, as in every JSON parser.
    """
    repeated: list[str] = []

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated.extend(name for name in row if counts[name] > 1)
        return row

    decoder = json.JSONDecoder(
        object_pairs_hook=object_of, parse_float=_number, parse_int=_number, parse_constant=Unusable
    )
    value, _ = decoder.raw_decode(text)
    return value, tuple(dict.fromkeys(repeated))


def number_text(text: str) -> Any:
    """Read a number or boolean from a line of text.

    Args:
        text: what stood behind a name; `12ms`, `1,234.5`, `nan` and an empty text are no numbers.
    Returns: the number, the boolean, or the text as `Unusable`.
    """
    trimmed = text.strip()
    if trimmed.lower() in BOOLEANS:
        return BOOLEANS[trimmed.lower()]
    return _number(trimmed) if NUMBER.fullmatch(trimmed) else Unusable(trimmed)


def shown(value: Any) -> str:
    """Give a value as a message shows it: one short line of plain characters."""
    if isinstance(value, Unusable):
        text = value.text or "an empty text"
    else:
        text = json.dumps(value, default=lambda one: getattr(one, "text", type(one).__name__))
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _number(text: str) -> int | float | Unusable:
    if len(text) <= MOST_DIGITS and text.lstrip("+-").isdecimal():
        whole = int(text)
        return whole if math.isfinite(_as_float(whole)) else Unusable(text)
    value = float(text)
    return value if math.isfinite(value) else Unusable(text)


def _as_float(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:
        return math.inf
