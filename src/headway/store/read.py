"""Read back, fast and without a YAML loader, the text that `emit.py` writes; refuse all other text.

The reader below is quick and believing. What makes it right is the check at its end: a value counts only if
emitting it gives the very same text, and that text means the same to every loader. A log that a person has
touched is read by `document.py` in the places touched.
"""

import json
import math
from typing import Any

from headway.errors import RequestWrong
from headway.store.emit import emit_entry, emit_mapping

_decode = json.JSONDecoder().raw_decode
_CONSTANTS: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    ".inf": math.inf,
    "-.inf": -math.inf,
    ".nan": math.nan,
}


class Unsure(Exception):
    """The fast way is not certain of this text; a full parse has to say."""


def read_mapping(text: str) -> dict[str, Any]:
    """The mapping that `emit_mapping` wrote as `text`.

    Raises: Unsure, when `emit_mapping` would not write exactly this.
    """
    value = _read(text)
    if not isinstance(value, dict) or _emitted(emit_mapping, value) != text:
        raise Unsure
    return value


def read_entry(text: str) -> dict[str, Any]:
    """The row that `emit_entry` wrote as `text`.

    Raises: Unsure, when `emit_entry` would not write exactly this.
    """
    value = _read(text)
    row = value[0] if isinstance(value, list) and len(value) == 1 else None
    if not isinstance(row, dict) or _emitted(emit_entry, row) != text:
        raise Unsure
    return row


def undented(text: str, indent: int) -> str:
    """The text of a list that stands `indent` blanks to the right, moved to column 0 with its line ends as `\\n`."""
    text = text.replace("\r\n", "\n")
    pad = " " * indent
    return "\n".join(line.removeprefix(pad) for line in text.split("\n")) if indent else text


def _emitted(emit: Any, value: Any) -> str | None:
    try:
        return str(emit(value))
    except RequestWrong:
        return None


def _read(text: str) -> Any:
    lines = _Lines(text)
    try:
        value = lines.block(0)
    except (ValueError, IndexError, RecursionError, StopIteration) as error:
        raise Unsure from error
    if lines.at < len(lines.lines) - 1:
        raise Unsure
    return value


class _Lines:
    """The lines of a text and the place reached in them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0

    def block(self, column: int) -> Any:
        """The mapping or list whose lines begin at `column`; its first line may stand behind a dash."""
        return self.sequence(column) if self.lines[self.at].startswith("- ", column) else self.mapping(column)

    def sequence(self, column: int) -> list[Any]:
        items: list[Any] = []
        pad = " " * column + "- "
        first = True
        while first or self.lines[self.at].startswith(pad):
            first = False
            items.append(self.item(column + 2))
        return items

    def item(self, column: int) -> Any:
        line = self.lines[self.at]
        if line.startswith("- ", column) or _key_end(line, column):
            return self.block(column)
        return self.scalar(line[column:], column)

    def mapping(self, column: int) -> dict[str, Any]:
        row: dict[str, Any] = {}
        pad = " " * column
        first = True
        while True:
            line = self.lines[self.at]
            if not first and not (line.startswith(pad) and line[column : column + 1] not in (" ", "-", "")):
                return row
            first = False
            end = _key_end(line, column)
            if not end:
                raise ValueError(line)
            key = _decode(line, column)[0] if line[column] == '"' else line[column:end]
            row[key] = self.value(line, end + 1, column)

    def value(self, line: str, start: int, column: int) -> Any:
        if start < len(line):
            return self.scalar(line[start + 1 :], column + 2)
        self.at += 1
        following = self.lines[self.at]
        return self.sequence(column) if following.startswith("- ", column) else self.block(column + 2)

    def scalar(self, token: str, column: int) -> Any:
        self.at += 1
        first = token[0]
        if first == '"':
            return _decode(token)[0]
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if first in "0123456789-":
            return float(token) if "." in token or "e" in token else int(token)
        if first == "|":
            return self.literal(token, column)
        return [] if token == "[]" else {} if token == "{}" else token

    def literal(self, token: str, column: int) -> str:
        pad = " " * column
        start = self.at
        while self.at < len(self.lines) - 1 and (not self.lines[self.at] or self.lines[self.at].startswith(pad)):
            self.at += 1
        while not self.lines[self.at - 1]:
            self.at -= 1
        text = "\n".join(line[column:] for line in self.lines[start : self.at])
        return text if token == "|-" else text + "\n"


def _key_end(line: str, column: int) -> int:
    """Where the colon behind a key at `column` stands; 0 when there is no key."""
    if line.startswith('"', column):
        end = int(_decode(line, column)[1])
        return end if line[end : end + 1] == ":" and line[end + 1 : end + 2] in (" ", "") else 0
    end = line.find(":", column)
    return end if end > column and line[end + 1 : end + 2] in (" ", "") and line[column] not in "|" else 0
