"""Text in a log that a scan of its lines could mistake: it is refused, and a full parse has to say what it is.

Places where quoted text, a flow collection, an anchor or a block of literal text begins can make a line at the margin
mean something else than it seems to; other line breaks and characters make loaders disagree.
Source: LOG-STORE section 4 (58 hand-edited files; the rules below refuse rather than guess).
"""

import re

from headway.store.read import Unsure

Buffer = bytes | bytearray

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
LEAD = re.compile(rb"[ ]*(?:-[ ]+)*")
"""The blanks and dashes that a line begins with."""


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
    place = line_end(buffer, 0) if buffer[:1] == b"#" else 0
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
    lead = LEAD.match(buffer, line)
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


def line_end(buffer: Buffer, place: int) -> int:
    """Where the line that holds `place` ends: at its line end, or at the end of the file."""
    end = buffer.find(b"\n", place)
    return end if end >= 0 else len(buffer)
