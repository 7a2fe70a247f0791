"""Values of other tools as the log can hold them.

The log takes what every YAML loader reads alike: no integer over 64 bits, no number that is none, no half character,
nothing nested without end. What is none of these is kept as the text that it stood for.
"""

import json
import math
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_LOW, _HIGH = -(2**63), 2**63 - 1
_DEEPEST = 24
_LONGEST_KEY = 500


def keepable(value: Any, depth: int = 0) -> Any:
    """Give a value of parsed JSON, YAML or text as one that the log can hold, unchanged wherever that is possible.

    Args:
        value: mappings, lists, texts, numbers, booleans, None.
        depth: of nesting so far.
    """
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if _LOW <= value <= _HIGH else _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        if depth >= _DEEPEST or any(not isinstance(key, str) or len(key) > _LONGEST_KEY for key in value):
            return _as_json(value)
        return {text_of(key): keepable(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return _as_json(value) if depth >= _DEEPEST else [keepable(inner, depth + 1) for inner in value]
    return text_of(str(value))


def text_of(text: str) -> str:
    """Give a text with every half of a character written as the escape that it stood for."""
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def number_of(value: Any) -> int | float | None:
    """Give a value as a finite number that the log can hold; None where it is none (a boolean is none)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if _LOW <= value <= _HIGH else None
    return value if math.isfinite(value) else None


def _digits(value: int) -> str:
    return hex(value) if value.bit_length() > 10_000 else str(value)


def _as_json(value: Any) -> str:
    try:
        return text_of(json.dumps(value, ensure_ascii=False, default=str))
    except (RecursionError, ValueError, TypeError):
        return "nested too deeply to be kept"
