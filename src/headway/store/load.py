"""Read whole logs for analysis as fast as the machine allows, with equal results however they are read.

In order: `ryaml` (a parser in Rust, the extra `analysis`), where the text holds nothing that it reads otherwise; else
what `document.py` does: headway's own text without a parser, any other with ruamel.yaml, in C where its extension is
installed. A text that the fast way refuses is read by the careful one, which names the line.

Source: LOG-STORE sections 2 and 5 (loaders compared; ryaml differs in the tokens below).
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.store.document import decode, parse_mapping
from headway.store.replace import read_whole

_TOKEN = rb"""[ \t]*(?:
        [-+]?0[0-9_][0-9_.]*                         # 012, a number for one and a text for the other
      | [-+]?[0-9]*_[0-9_.]*|[-+]?[0-9][0-9_.]*_[0-9_.]*  # 1_000
      | [-+]?0[xob][0-9A-Fa-f_]*_[0-9A-Fa-f_]*
      | [-+]?[0-9.]+[eE][-+]?[0-9]{3,}               # 1e400
      | <<|=|\._[0-9_]*
    )[ \t]*(?=[\r\n,\]}:\#]|\Z)"""
_BEFORE = (
    rb":[ ]",
    rb"-[ ]",
    rb"\n[ ]",
    rb",[ ]",
    rb"\[",
    rb"\{",
    rb"\?[ ]",
    rb",(?=[0-9.+<=-])",
    rb"\A",
    rb"\n(?=[0-9.+<=-])",
)
_TOKENS = tuple(re.compile(before + _TOKEN, re.VERBOSE) for before in _BEFORE)
"""One pattern for each thing that may stand before a value: a pattern that begins with a letter is searched fast."""
_MARKS = tuple(re.compile(mark + rb"(?<=[ \t\n\[,{].)(?=[^ \t\r\n])", re.DOTALL) for mark in (rb"!", rb"&", rb"\*"))
"""Tags, anchors, aliases: the careful way bounds or refuses them."""
_LINES = (b"\n%", b"\n---", b"\n...", b"\t")
"""Directives, ends of documents; and tabs, about which parsers differ."""


def load_log(path: Path) -> dict[str, Any]:
    """Read a whole log.

    Args:
        path: the file.
    Returns: its root mapping, as plain values, equal to what `read_document` gives.
    Raises: as `read_document`: DataDamaged, with the line; DiskFailed. RequestWrong, where there is no such file.
    """
    data, _ = read_whole(path)
    found = quickly(bytes(data))
    return found if found is not None else parse_mapping(decode(data, path), path)


def quickly(data: bytes) -> dict[str, Any] | None:
    """Read a log the fast way; None where that way is not there, or not certain of this text."""
    loads = _loads()
    if loads is None or data[:1] in b"%-!&*." or any(line in data for line in _LINES):
        return None
    if any(pattern.search(data) for pattern in (*_MARKS, *_TOKENS)):
        return None
    try:
        found = loads(data.decode("utf-8"))
    except Exception:  # the package's errors have no common base: whatever it is, the careful way says it
        return None
    return found if isinstance(found, dict) else None


def _loads() -> Callable[[str], Any] | None:
    try:
        return importlib.import_module("ryaml").loads  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        return None
