"""Where the sections and the experiments stand in the bytes of a log, without parsing it.

The scan looks at lines that begin at column 0, and at every place where quoted text, a flow collection, an
anchor or a block of literal text begins, since those could make such a line mean something else. What it does
not know for certain it refuses with `Unsure`; `document.locate` then finds the same spans by a full parse.
Comments and blank lines between two things belong to none of them, so a change never touches them.
Source: LOG-STORE section 4 (58 hand-edited files; the rules below refuse rather than guess).
"""

import re
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from headway.store.doubts import LEAD, line_end, refuse_foreign, refuse_open_text
from headway.store.doubts import Buffer as Buffer
from headway.store.read import Unsure

EXPERIMENTS = "experiments"
NO_ITERATION = -1

_COLUMN_0 = re.compile(rb"\n(?=[^ \n\r#])")
_KEY = re.compile(rb"""([A-Za-z_][\w.\-]*|"[^"\\\r\n]*"|'[^'\r\n]*')[ ]*:(?=[ \r\n]|\Z)""")
_NO_ENTRIES = re.compile(rb"[ ]*(?:\[[ ]*\]|null|~)?[ ]*(?:(?<= )\#[^\n]*)?\r?(?:\n|\Z)")
_NOTHING = re.compile(rb"(?:[ ]*(?:\#[^\n]*|\r)?\n)*")
OPEN_LIST = re.compile(rb"""["']?experiments["']?[ ]*:[ ]*(?:(?<= )\#[^\n]*)?\r?(?:\n|\Z)""")
_NOTHING_BUT_KEY = re.compile(rb"[^\n]*(?:\n[ ]*(?:\#[^\n]*|\r)?)*\Z")
_INDENTED_ITEM = re.compile(rb"[^\n]*(?:\n[ ]*(?:\#[^\n]*|\r)?(?=\n))*\n( +)-(?=[ \r\n])")
_ITERATION = re.compile(rb"-[ ]+iteration:[ ]+(?P<number>[1-9]\d{0,15}|0)[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?(?:\n|\Z)")
_LATER_ITERATION = re.compile(
    rb"\n([ ]+)iteration:[ ]+(?P<number>[1-9]\d{0,15}|0)[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?(?:\n|\Z)"
)
_NEXT_TEXT = re.compile(rb"(?:[ ]*(?:\#[^\n]*)?\r?\n)*([ ]*)")


class Span(NamedTuple):
    """A named stretch of bytes: from its key to the end of its last line that is neither blank nor comment."""

    name: str
    start: int
    end: int


@dataclass
class Layout:
    """The spans of one version of a log.

    Attributes:
        sections: the top-level keys, in the file's order.
        starts: where each experiment's dash stands.
        iterations: each experiment's number; -1 where an older log has none.
        indent: the column of the dashes.
        ending: the line end in use, `\\n` or `\\r\\n`.
        is_sure: False when a full parse had to find the spans; a change is then checked by another.
    """

    sections: list[Span] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    iterations: "array[int]" = field(default_factory=lambda: array("q"))
    indent: int = 0
    ending: bytes = b"\n"
    is_sure: bool = True

    def section(self, name: str) -> Span | None:
        """The span of a top-level key; None when the log has no such key."""
        return next((span for span in self.sections if span.name == name), None)

    def entry(self, buffer: Buffer, index: int) -> tuple[int, int]:
        """The bytes of one experiment, from the start of its line to its end, without the comments behind it."""
        start = self.starts[index]
        if index + 1 < len(self.starts):
            end = content_end(buffer, start, self.starts[index + 1] - self.indent, self.indent)
        else:
            span = self.section(EXPERIMENTS)
            end = span.end if span else len(buffer)
        return start - self.indent, end


def scan(buffer: Buffer) -> Layout:
    """Find the sections and experiments of a log.

    Args:
        buffer: the whole file.
    Returns: its layout; nothing of it was parsed.
    Raises: Unsure, when a line could mean something else than it seems to.
    """
    refuse_foreign(buffer)
    refuse_open_text(buffer)
    layout = Layout(ending=b"\r\n" if b"\r\n" in buffer[:4096] else b"\n")
    scan_from(buffer, layout, 0)
    if not layout.sections or not _NOTHING.fullmatch(buffer, 0, layout.sections[0].start):
        raise Unsure
    return layout


def scan_from(buffer: Buffer, layout: Layout, start: int, within: str | None = None) -> None:
    """Add the sections and experiments that begin at or behind `start` to a layout that ends there.

    Args:
        buffer: the whole file.
        layout: what is known of the bytes before `start`; the last section's end may be out of date.
        start: the beginning of a line.
        within: the section that `start` lies in, None at the top of the file.
    Raises: Unsure.
    """
    keys: list[tuple[str, int]] = []
    names = {span.name for span in layout.sections}
    current = within
    for place in _column_0(buffer, start):
        if buffer[place] == 0x2D:  # a dash
            if current is None or buffer[place + 1 : place + 2] not in (b" ", b"\n", b"\r"):
                raise Unsure
            if current == EXPERIMENTS:
                layout.starts.append(place)
            continue
        current = _key_at(buffer, place)
        if current in names:
            raise Unsure
        names.add(current)
        keys.append((current, place))
    _close(buffer, layout, keys)
    _add_entries(buffer, layout)


def content_end(buffer: Buffer, low: int, high: int, column: int = 0) -> int:
    """Step back from `high` over blank lines and over comments that begin at `column` or left of it."""
    while high > low:
        line = buffer.rfind(b"\n", low, high - 1) + 1
        if line <= low:
            return high
        text = bytes(buffer[line:high]).strip(b" \r\n")  # a tab is no blank line for every loader
        if text and not (text[:1] == b"#" and buffer.find(b"#", line) - line <= column):
            return high
        high = line
    return high


def _column_0(buffer: Buffer, start: int) -> list[int]:
    """The places of all lines from `start` that begin with something at column 0, comments aside."""
    places = [match.end() for match in _COLUMN_0.finditer(buffer, max(start - 1, 0))]
    if start == 0 and buffer and buffer[0] not in b" #\n\r":
        places.insert(0, 0)
    return places


def _key_at(buffer: Buffer, place: int) -> str:
    match = _KEY.match(buffer, place)
    if not match:
        raise Unsure
    raw = bytes(match[1])
    name = (raw[1:-1] if raw[:1] in b"\"'" else raw).decode("utf-8")
    value = bytes(buffer[match.end() : line_end(buffer, match.end())])
    if name == EXPERIMENTS and not _NO_ENTRIES.fullmatch(value):
        raise Unsure
    if value.strip()[:1] in (b"&", b"*", b"!"):
        raise Unsure
    return name


def _close(buffer: Buffer, layout: Layout, keys: list[tuple[str, int]]) -> None:
    """Give the last known section and the new ones their ends."""
    if layout.sections:
        last = layout.sections.pop()
        keys.insert(0, (last.name, last.start))
    for index, (name, start) in enumerate(keys):
        bound = keys[index + 1][1] if index + 1 < len(keys) else len(buffer)
        layout.sections.append(Span(name, start, content_end(buffer, start, bound)))


def _add_entries(buffer: Buffer, layout: Layout) -> None:
    span = layout.section(EXPERIMENTS)
    if span and not layout.starts:
        _find_indented(buffer, layout, span)
    elif span and not _NOTHING_BUT_KEY.match(buffer[span.start : layout.starts[0]]):
        raise Unsure  # an item that is indented otherwise stands before the first
    if span and layout.starts and not OPEN_LIST.match(buffer, span.start):
        raise Unsure
    for index in range(len(layout.iterations), len(layout.starts)):
        layout.iterations.append(_iteration_at(buffer, layout, index))


def _find_indented(buffer: Buffer, layout: Layout, span: Span) -> None:
    """Find the items of a list that is indented under its key, as people and other tools write it."""
    first = _INDENTED_ITEM.match(buffer, span.start, span.end)
    if not first:
        if not _NOTHING_BUT_KEY.match(buffer[span.start : span.end]):
            raise Unsure
        return
    layout.indent = len(first[1])
    if re.compile(rb"\n {0,%d}(?=[^ \r\n#])" % (layout.indent - 1)).search(buffer, span.start, span.end):
        raise Unsure
    item = re.compile(rb"\n {%d}-(?=[ \r\n])" % layout.indent)
    layout.starts.extend(match.end() - 1 for match in item.finditer(buffer, span.start, span.end))


def _iteration_at(buffer: Buffer, layout: Layout, index: int) -> int:
    place = layout.starts[index]
    lead = LEAD.match(buffer, place)
    width = len(lead[0]) if lead else 0
    match = _ITERATION.match(buffer, place)
    if match and width < match.end() - place:
        return _number_of(buffer, match, layout.indent + width)
    _, bound = layout.entry(buffer, index)
    if _KEY.match(buffer, place + width):
        for later in _LATER_ITERATION.finditer(buffer, place, bound):
            if len(later[1]) == layout.indent + width:
                return _number_of(buffer, later, layout.indent + width)
    if buffer.find(b"iteration", place, bound) >= 0:
        raise Unsure
    return NO_ITERATION


def _number_of(buffer: Buffer, match: re.Match[bytes], column: int) -> int:
    """The number on a line, unless the next line carries its value on."""
    following = _NEXT_TEXT.match(buffer, match.end())
    if following and len(following[1]) > column:
        raise Unsure
    return int(match["number"])
