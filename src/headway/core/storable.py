"""Facts whose texts every file can hold.

A file's name need not be UTF-8, and JSON may name half a character: Python holds both as lone surrogates, which neither
the log nor any other text file can store. They are shown as the escapes that they stand for, so that one such name in
an agent's tree stops no run.
"""

import re
from typing import Any

from headway.core.events import EVENTS, Event

_SURROGATE = re.compile("[\ud800-\udfff]")
_BYTES = range(0xDC80, 0xDD00)
"""How Python holds a byte of a name that is no UTF-8: 0xDC00 and the byte."""


def storable(event: Event) -> Event:
    """Give a fact with every lone surrogate in its texts written as an escape; the fact itself where there is none."""
    data = event.model_dump(mode="python", exclude_unset=True)
    if not _holds_one(data):
        return event
    return EVENTS.validate_python({**_escaped(data), "kind": event.kind})


def _holds_one(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_holds_one(key) or _holds_one(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(_holds_one(inner) for inner in value)


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub(_escape, value)
    if isinstance(value, dict):
        return {_escaped(key): _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if code in _BYTES else f"\\u{code:04x}"
