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

from headway.store.read import Unsure

EXPERIMENTS = "experiments"
NO_ITERATION = -1
Buffer = bytes | bytearray

_COLUMN_0 = re.compile(rb"\n(?=[^ \n\r#])")
_KEY = re.compile(rb"""([A-Za-z_][\w.\-]*|"[^"\\\r\n]*"|'[^'\r\n]*')[ ]*:(?=[ \r\n]|\Z)""")
_NO_ENTRIES = re.compile(rb"[ \t]*(?:\[\s*\]|null|~)?[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
_NOTHING = re.compile(rb"(?:[ ]*(?:\#[^\n]*|\r)?\n)*")
OPEN_LIST = re.compile(rb"""["']?experiments["']?[ ]*:[ \t]*(?:(?<=[ \t])\#[^\n]*)?\r?(?:\n|\Z)""")
_NOTHING_BUT_KEY = re.compile(rb"[^\n]*(?:\n[ ]*(?:\#[^\n]*|\r)?)*\Z")
_INDENTED_ITEM = re.compile(rb"[^\n]*(?:\n[ ]*(?:\#[^\n]*|\r)?(?=\n))*\n( +)-(?=[ \r\n])")
_ITERATION = re.compile(rb"-[ ]+iteration:[ ]+(?P<number>[1-9]\d{0,15}|0)[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?(?:\n|\Z)")
_LATER_ITERATION = re.compile(
    rb"\n([ ]+)iteration:[ ]+(?P<number>[1-9]\d{0,15}|0)[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?(?:\n|\Z)"
)
_NEXT_TEXT = re.compile(rb"(?:[ ]*(?:\#[^\n]*)?\r?\n)*([ ]*)")

_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")
_FOREIGN = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbf[\xbe\xbf]")
"""Line breaks of some loaders, and characters that no YAML file may hold."""
# What may begin behind a blank. The mark comes first, so that the search runs from mark to mark; then what came
# before it is looked at, and the alternative that fits takes the whole of what it names.
_TOKEN = re.compile(
    rb"""["'\[{|>&*!\#](?<=[ \t\n].)(?:
        (?P<closed>
          (?: (?<=")(?:[^"\\\r\n]|\\[^\r\n])*+"
            | (?<=')(?:[^'\r\n]|'')*+'
          )(?=[ \t]*(?:\r?\n|\Z|:[ \r\n]|[ \t]\#))
          | (?: (?<=\[)(?:[^\[\]{}"'\#\r\n&*!]|\[[^\[\]{}"'\#\r\n&*!]*\])*+\]
            | (?<=\{)(?:[^\[\]{}"'\#\r\n&*!]|\[[^\[\]{}"'\#\r\n&*!]*\])*+\}
          )(?=[ \t]*(?:\r?\n|\Z|[ \t]\#))
        )
        | (?P<block>(?<=[|>])[-+0-9]*[ \t]*(?:\#[^\n]*)?(?:\r?\n|\Z))
        | (?P<comment>(?<=\#)[^\n]*)
        | (?P<odd>)
      )""",
    re.VERBOSE,
)
_BEFORE_VALUE = b":-?\n"
_LEAD = re.compile(rb"[ ]*(?:-[ ]+)*")


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


def refuse_foreign(buffer: Buffer) -> None:
    """Refuse bytes at which loaders disagree about where lines or the document begin, or that some do not allow.

    Raises: Unsure.
    """
    if buffer[:1] in (b"-", b"{", b"[", b"%", b"\xef"):
        raise Unsure
    if len(buffer.translate(None, _CONTROLS)) != len(buffer) or (not buffer.isascii() and _FOREIGN.search(buffer)):
        raise Unsure
    if b"\r" in buffer and buffer.count(b"\r") != buffer.count(b"\r\n"):
        raise Unsure


def refuse_open_text(buffer: Buffer) -> None:
    """Refuse text whose quotes or brackets go on over a line end, literal text without a certain end, and anchors,
    aliases and tags.

    Raises: Unsure.
    """
    place = _line_end(buffer, 0) if buffer[:1] == b"#" else 0
    while True:
        for match in _TOKEN.finditer(buffer, place):
            kind = match.lastgroup
            if kind == "odd" and _begins_value(buffer, match.start()):
                raise Unsure
            if kind == "block" and _begins_value(buffer, match.start()):
                place = _block_end(buffer, match.start(), match.end())
                if _depends_on_its_end(buffer, match[0], place):
                    raise Unsure
                break
        else:
            return


def _begins_value(buffer: Buffer, mark: int) -> bool:
    """Whether a value may begin at `mark`: behind a colon, dash or question mark, or as the first of its line."""
    place = mark - 1
    while place >= 0 and buffer[place] in b" \t":
        place -= 1
    before = buffer[place] if place >= 0 else 0x0A
    return before in _BEFORE_VALUE and not (buffer[mark] in b"&*!" and buffer[mark + 1 : mark + 2] in b" \r\n")


def _depends_on_its_end(buffer: Buffer, header: bytes, end: int) -> bool:
    """Whether literal text would read otherwise with other lines behind it, or without those that belong to nothing.

    `|+` keeps the blank lines below it; and text at the end of a file whose last line is not ended gains a line end
    from whatever is written behind it.
    """
    marks = header.partition(b"#")[0]
    return b"+" in marks or (end == len(buffer) and buffer[-1:] != b"\n" and b"-" not in marks)


def _block_end(buffer: Buffer, mark: int, end: int) -> int:
    """Where the literal text under a header ends: the line end before the next line that is not deeper."""
    line = buffer.rfind(b"\n", 0, mark) + 1
    lead = _LEAD.match(buffer, line)
    width = len(lead[0]) if lead else 0
    if line + width >= mark:  # `- |`: text of an item, deeper than its dash
        width = buffer.rfind(b"-", line, mark) - line
    following = _shallower(max(width, 0)).search(buffer, end - 1)
    return following.start() if following else len(buffer)


_patterns: dict[int, re.Pattern[bytes]] = {}


def _shallower(width: int) -> re.Pattern[bytes]:
    if width not in _patterns:
        _patterns[width] = re.compile(rb"\n {0,%d}(?=[^ \r\n])" % width)
    return _patterns[width]


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
    value = bytes(buffer[match.end() : _line_end(buffer, match.end())]).strip()
    if name == EXPERIMENTS and not _NO_ENTRIES.fullmatch(value):
        raise Unsure
    if value[:1] in (b"&", b"*", b"!"):
        raise Unsure
    return name


def _line_end(buffer: Buffer, place: int) -> int:
    end = buffer.find(b"\n", place)
    return end if end >= 0 else len(buffer)


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
    lead = _LEAD.match(buffer, place)
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
