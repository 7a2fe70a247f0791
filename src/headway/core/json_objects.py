"""Finds the JSON objects in text that holds anything else too: log lines, progress bars, warnings, colours.

An object counts where it is whole and stands alone: what is nested in a list or in an object that breaks off does not,
so that a killed harness cannot leave a fragment that passes for its result. Text after a broken object counts again
behind its closing brace or, if it has none, from the next line that begins with `{`.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

TAIL: Final = 1 << 20
"""Characters at the end of a text that are searched first; in them the last object is nearly always found."""
KEPT: Final = 50
"""Objects kept, the last ones."""
EFFORT: Final = 60_000_000
"""Characters looked at in broken objects, after which the search gives up: no output holds headway up for long."""
WINDOWS: Final = (1 << 12, 1 << 16, 1 << 20)
"""Growing slices in which an object is parsed: an error message of the parser counts all lines before it."""
CLOSING_REACH: Final = 1 << 12
"""How far behind a broken object's beginning its closing brace is looked for."""

ESCAPE_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
ESCAPE_START: Final = re.compile(r"\x1b(?!\\)")
"""Where a text may be cut: no sequence reaches over it."""
SLICE: Final = 1 << 16
"""Characters cleaned at once: thousands of short pieces take many times their own memory."""
OPENING: Final = re.compile(r"\{(?=\s*[\"}])|\[(?=\s*[{\[])")
LINE_OPENING: Final = re.compile(r"(?:(?<=[\r\n])|\A)\{(?=\s*[\"}])")
BRACKET: Final = re.compile(r'"(?:[^"\\\r\n]|\\.)*"?|[{}\[\]]')
NESTING: Final = re.compile(r"[,\[{]$|\"\s*:$")
DEPTHS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}
PARSE_ERRORS: Final = (ValueError, RecursionError)  # ValueError: also an integer of more digits than Python reads


@dataclass(frozen=True)
class FoundObject:
    """A JSON object, the text that it was parsed from, and whether what precedes it shows it to be no part of one."""

    value: dict[str, Any]
    text: str
    stands_alone: bool


@dataclass(frozen=True)
class FoundObjects:
    """The last whole objects of a text, in order; `has_broken` when others break off, `gave_up` at the limit."""

    objects: tuple[FoundObject, ...]
    has_broken: bool
    gave_up: bool


def without_escapes(text: str) -> str:
    """Give a text without terminal escape sequences (colours, cursor moves, titles)."""
    if "\x1b" not in text:
        return text
    slices, at = [], 0
    while at < len(text):
        start = ESCAPE_START.search(text, at + SLICE)
        end = start.start() if start else len(text)
        slices.append(ESCAPE_SEQUENCE.sub("", text[at:end]))
        at = end
    return "".join(slices)


def find_objects(text: str) -> FoundObjects:
    """Find the last JSON objects of a text.

    Args:
        text: any text, without escape sequences. A long one is searched in its last megabyte first, and only there if
            the last object found stands alone there: then it is no part of a longer one.
    Returns: at most `KEPT` objects in the order in which they stand.
    """
    if len(text) > TAIL:
        line = text.find("\n", len(text) - TAIL) + 1
        tail = _search(text[line:]) if line else FoundObjects((), False, False)
        if tail.objects and tail.objects[-1].stands_alone and not tail.gave_up:
            return tail
    return _search(text)


class _Search:
    """One pass over a text; remembers what it met of broken objects."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.has_broken = False
        self.effort_left = EFFORT
        self.decoder = json.JSONDecoder()

    def objects(self) -> Iterator[FoundObject]:
        """Give the whole objects one by one, up to the end or to the limit of effort."""
        at = 0
        opening = OPENING
        while self.effort_left > 0 and (match := opening.search(self.text, at)):
            start = match.start()
            value, end = self._parsed(start)
            if end is None:
                opening, at = self._behind_broken(start)
                continue
            if isinstance(value, dict):
                opening = OPENING
                yield FoundObject(value, self.text[start:end], self._stands_alone(start))
            at = end

    def _stands_alone(self, start: int) -> bool:
        line = max(self.text.rfind(end, 0, start) for end in "\r\n") + 1
        before = self.text[max(line, start - 200) : start].rstrip()
        return start == line or (bool(before) and not NESTING.search(before))

    def _parsed(self, start: int) -> tuple[Any, int | None]:
        """Parse at `start`, in a longer slice where the value does not end within a shorter one."""
        for size in (*WINDOWS, len(self.text) - start):
            window = self.text[start : start + size]
            try:
                value, length = self.decoder.raw_decode(window)
            except PARSE_ERRORS as error:
                self.effort_left -= getattr(error, "pos", len(window)) + 100
                if start + size >= len(self.text) or not _may_be_cut(error, len(window)):
                    return None, None
            else:
                return value, start + length
        return None, None

    def _behind_broken(self, start: int) -> tuple[re.Pattern[str], int]:
        """Say where the text counts again, and what may open an object there."""
        self.has_broken = True
        depth = 0
        for token in BRACKET.finditer(self.text, start, start + CLOSING_REACH):
            self.effort_left -= 10
            depth += DEPTHS.get(token[0], 0)
            if depth <= 0:
                return OPENING, token.end()
        return LINE_OPENING, start + 1


def _search(text: str) -> FoundObjects:
    search = _Search(text)
    objects = tuple(deque(search.objects(), maxlen=KEPT))
    return FoundObjects(objects, search.has_broken, search.effort_left <= 0)


def _may_be_cut(error: Exception, length: int) -> bool:
    """Whether a parse error may come from the slice's end rather than from the text."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= length - 16 or error.msg.startswith("Unterminated string")
