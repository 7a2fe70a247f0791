"""Turn edits into the smallest change of a log's bytes.

What does not change is not emitted anew: a thing that headway wrote is replaced whole; in one that a person has
touched, only the fields whose values differ are.
Source: LOG-STORE sections 4 and 5.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headway.core.edits import SECTION_ORDER, AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.errors import DataDamaged, RequestWrong
from headway.store.document import parse
from headway.store.emit import emit_entry, emit_section
from headway.store.read import Unsure, read_entry, read_mapping, undented
from headway.store.scan import EXPERIMENTS, OPEN_LIST, Span, content_end
from headway.store.version import Version, number_of

_FIELD = re.compile(rb"([A-Za-z_][\w.\-]*)[ ]*:(?=[ \r\n]|\Z)")
_OPEN_KEY = re.compile(rb"[^\n]*:[ ]*(?:\#[^\n]*)?\r?\n(?:[ ]*(?:\#[^\n]*)?\r?\n)*([ ]+)(?=[^ \r\n\#])")

WRITTEN_KEPT = 24


class Splice(NamedTuple):
    """Put `text` in the place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


@dataclass
class Change:
    """What a list of edits amounts to: final values, each thing once."""

    sections: dict[str, Any] = field(default_factory=dict)
    replaced: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    appended: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sections or self.replaced or self.appended)


def compose(edits: Iterable[Edit], version: Version) -> Change:
    """Add up edits, later ones over earlier ones.

    Args:
        edits: in the order in which they are to take effect.
        version: what they are applied to.
    Raises: RequestWrong, when one cannot be carried out: a number taken, unknown, or not that of its row.
    """
    change = Change()
    for edit in edits:
        if isinstance(edit, SetSection):
            if edit.name == EXPERIMENTS:
                raise RequestWrong("`experiments` is changed by its entries, not as a whole", str(version.path))
            change.sections[edit.name] = edit.value
        elif isinstance(edit, AppendExperiment):
            _append(change, edit, version)
        else:
            _replace(change, edit, version)
    return change


def _append(change: Change, edit: AppendExperiment, version: Version) -> None:
    number = number_of(edit.row)
    if number < 0:
        raise RequestWrong("an experiment needs a whole number as its `iteration`", str(version.path))
    if number in change.appended or version.index_of(number) is not None:
        raise RequestWrong(f"experiment {number} is in the log already", str(version.path), "replace it instead")
    change.appended[number] = edit.row


def _replace(change: Change, edit: ReplaceExperiment, version: Version) -> None:
    if number_of(edit.row) != edit.iteration:
        raise RequestWrong(f"the new row of experiment {edit.iteration} bears another number", str(version.path))
    if edit.iteration in change.appended:
        change.appended[edit.iteration] = edit.row
    elif version.index_of(edit.iteration) is None:
        raise RequestWrong(f"experiment {edit.iteration} is not in the log", str(version.path), "append it instead")
    elif version.holds_twice(edit.iteration):
        what = f"the log has two experiments {edit.iteration}"
        raise DataDamaged(what, str(version.path), "give one of them another number in an editor")
    else:
        change.replaced[edit.iteration] = edit.row


def splices_of(change: Change, version: Version) -> list[Splice]:
    """Where the bytes of a version change, in the file's order; nothing for what stays as it is.

    Raises: RequestWrong, when a value has no safe text; DataDamaged, when what is replaced cannot be read.
    """
    found = [_replacement(version, number, row) for number, row in change.replaced.items()]
    found.extend(_appended(version, list(change.appended.values())))
    new: list[Splice] = []
    for name in sorted(change.sections, key=_rank):
        value = change.sections[name]
        span = version.layout.section(name)
        if span is None:
            if value is not None:
                new.append(Splice(*_place_of(version, name), _encoded(version, emit_section(name, value))))
        elif value is None:
            found.append(Splice(span.start, span.end, b""))
        else:
            found.append(_section_splice(version, span, value))
    real = [splice for splice in found if version.buffer[splice.start : splice.end] != splice.text]
    return sorted([*real, *new], key=lambda splice: (splice.start, splice.end))


def spliced(version: Version, splices: Sequence[Splice]) -> tuple[int, bytes]:
    """The first changed place, and all bytes of the new version from there on.

    Args:
        splices: in the file's order, not overlapping, at least one.
    """
    buffer, ending = version.buffer, version.layout.ending
    first = place = splices[0].start
    out = bytearray()
    for splice in splices:
        out += buffer[place : splice.start]
        if splice.text and splice.start == len(buffer) and (out[-1:] or buffer[-1:]) != b"\n":
            out += ending  # the file's last line had no end
        out += splice.text
        place = splice.end
    out += buffer[place:]
    return first, bytes(out)


def entry_splice(version: Version, index: int, row: Mapping[str, Any]) -> Splice:
    """Put a new row in the place of the experiment at this place in the list, touching no more than needed."""
    start, end = version.layout.entry(version.buffer, index)
    whole = _noted(_encoded(version, emit_entry(row, version.layout.indent)))
    old = bytes(version.buffer[start:end])
    if _is_own(version, old, read_entry):
        return Splice(start, end, whole)
    dash = version.layout.starts[index] - start
    column = dash + 1 + len(old[dash + 1 :]) - len(old[dash + 1 :].lstrip(b" "))
    kept = _respelled(version, old, column, column, version.row(index), row)
    return Splice(start, end, kept if kept is not None and _reads_as([row], kept, version.path) else whole)


def row_bytes(version: Version, row: Mapping[str, Any]) -> bytes:
    """A row as an item of this version's list."""
    return _noted(_encoded(version, emit_entry(row, version.layout.indent)))


def _replacement(version: Version, number: int, row: Mapping[str, Any]) -> Splice:
    index = version.index_of(number)
    if index is None:
        raise RequestWrong(f"experiment {number} is not in the log", str(version.path), "append it instead")
    return entry_splice(version, index, row)


def _appended(version: Version, rows: list[Mapping[str, Any]]) -> list[Splice]:
    if not rows:
        return []
    text = b"".join(row_bytes(version, row) for row in rows)
    span = version.layout.section(EXPERIMENTS)
    if span is None:
        return [Splice(*_place_of(version, EXPERIMENTS), _encoded(version, "experiments:\n") + text)]
    if version.count or OPEN_LIST.match(version.buffer, span.start):
        return [Splice(span.end, span.end, text)]
    return [Splice(span.start, span.end, _encoded(version, "experiments:\n") + text)]


def _section_splice(version: Version, span: Span, value: Any) -> Splice:
    whole = _noted(_encoded(version, emit_section(span.name, value)))
    old = bytes(version.buffer[span.start : span.end])
    if old == whole or _is_own(version, old, read_mapping):
        return Splice(span.start, span.end, whole)
    before = version.section(span.name)
    if before == value and _same_text(before, value):
        return Splice(span.start, span.end, old)
    opening = _OPEN_KEY.match(old)
    kept = None
    if opening and isinstance(before, dict) and isinstance(value, Mapping):
        kept = _respelled(version, old, opening.end(), len(opening[1]), before, value)
    is_right = kept is not None and _reads_as({span.name: value}, kept, version.path)
    return Splice(span.start, span.end, kept if kept is not None and is_right else whole)


def _respelled(
    version: Version, old: bytes, first: int, column: int, before: Mapping[str, Any], after: Mapping[str, Any]
) -> bytes | None:
    """The text of a mapping with only the differing fields written anew; None when its lines are not plain enough.

    Args:
        version: gives the line end.
        old: the text; its first key stands at `first`, all at `column`.
        first: see there.
        column: see there; at least 1.
        before: what the text says.
        after: what it shall say.
    """
    fields = _fields(old, first, column)
    if fields is None or [span.name for span in fields] != list(before) or not after:
        return None
    spans = {span.name: span for span in fields}
    if fields[0].name not in after or next(iter(after)) not in before:
        return None
    pad = b" " * column
    splices: list[Splice] = []
    place = fields[0].end
    for name, value in after.items():
        text = _encoded(version, emit_section(name, value, column))
        span = spans.pop(name, None)
        if span is None:
            splices.append(Splice(place, place, text))
            continue
        place = span.end
        if before[name] != value or not _same_text(before[name], value):
            splices.append(Splice(span.start, span.end, text[column:]))
    splices.extend(Splice(span.start - len(pad), span.end, b"") for span in spans.values())
    if not splices:
        return old
    start, data = spliced(Version(old, version.path, version.layout), sorted(splices, key=lambda s: (s.start, s.end)))
    return old[:start] + data


def _fields(old: bytes, first: int, column: int) -> list[Span] | None:
    shallow = re.compile(rb"\n {0,%d}(?=[^ \r\n#])" % (column - 1))
    if column < 1 or shallow.search(old, first):
        return None
    starts = [first, *(match.end() for match in re.finditer(rb"\n {%d}(?=[^ \r\n#\-])" % column, old[first:]))]
    starts[1:] = [first + start for start in starts[1:]]
    spans = []
    for index, start in enumerate(starts):
        match = _FIELD.match(old, start)
        if not match:
            return None
        bound = starts[index + 1] - column if index + 1 < len(starts) else len(old)
        spans.append(Span(match[1].decode("ascii"), start, content_end(old, start, bound, column)))
    return spans


def _same_text(before: Any, after: Any) -> bool:
    """Whether two equal values are also written alike: 1, 1.0 and true are equal and are not."""
    return emit_section("v", before) == emit_section("v", after)


_written: OrderedDict[bytes, None] = OrderedDict()
"""The last texts that this process made, known to be its own without reading them."""


def _noted(text: bytes) -> bytes:
    """Keep a text that was made just now, so that it is known when it is to be replaced."""
    _written[text] = None
    while len(_written) > WRITTEN_KEPT:
        _written.popitem(last=False)
    return text


def _is_own(version: Version, old: bytes, quick: Any) -> bool:
    """Whether headway wrote this text itself and nobody has touched it."""
    if old in _written:
        return True
    try:
        quick(undented(old.decode("utf-8"), version.layout.indent if quick is read_entry else 0))
    except Unsure:
        return False
    return True


def _reads_as(expected: Any, text: bytes, path: Path) -> bool:
    try:
        return bool(parse(text.decode("utf-8"), path) == expected)
    except DataDamaged:
        return False


def _place_of(version: Version, name: str) -> tuple[int, int]:
    """Where a new section goes: behind the last one that stands before it in the seed's order."""
    rank = _rank(name)
    earlier = [span for span in version.layout.sections if name not in SECTION_ORDER or _rank(span.name) < rank]
    place = earlier[-1].end if earlier else version.layout.sections[0].start
    return place, place


def _rank(name: str) -> int:
    return SECTION_ORDER.index(name) if name in SECTION_ORDER else len(SECTION_ORDER)


def _encoded(version: Version, text: str) -> bytes:
    if version.layout.ending != b"\n":
        text = text.replace("\n", "\r\n")
    return text.encode("utf-8")
