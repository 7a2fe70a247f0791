"""One version of a log's bytes, and what they say: sections and rows are parsed when they are asked for."""

import bisect
import functools
import json
import operator
from array import array
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from headway.store.document import MEND, damaged, decode, locate, parse
from headway.store.read import Unsure, read_entry, read_mapping, undented
from headway.store.scan import EXPERIMENTS, NO_ITERATION, Buffer, Layout, scan, scan_from

Key = tuple[int, int]
"""An experiment's number, and which one it is of those that bear it (older logs may lack numbers)."""

_MOST_CACHED = 256
_TAIL = 20


class Version:
    """The bytes of a log, their layout, and the values in them. Values handed out are the caller's own."""

    def __init__(self, buffer: Buffer, path: Path, layout: Layout, values: dict[str, Any] | None = None) -> None:
        """Args:
        buffer: the whole file.
        path: where it lies, for messages.
        layout: its spans.
        values: the parsed whole, when the scan was not sure and a full parse was made.
        """
        self.buffer = buffer
        self.path = path
        self.layout = layout
        self._document = values
        self._sections: dict[str, Any] = {}
        self._rows: dict[int, Any] = {}

    @property
    def names(self) -> list[str]:
        """The top-level keys, in the file's order."""
        if self._document is not None:
            return list(self._document)
        return [span.name for span in self.layout.sections]

    @property
    def count(self) -> int:
        """How many experiments the log holds."""
        return len(self.layout.iterations)

    @property
    def may_be_spliced(self) -> bool:
        """Whether new text fits into this layout."""
        return bool(self.layout.sections)

    def section(self, name: str) -> Any:
        """The value of a top-level key other than `experiments`; None when it is absent.

        Raises: DataDamaged, with the line.
        """
        if self._document is not None:
            return copied(self._document.get(name))
        if name not in self._sections:
            span = self.layout.section(name)
            if span is None:
                return None
            found = self._parsed(span.start, span.end, read_mapping)
            self._sections[name] = found[name] if isinstance(found, dict) and len(found) == 1 else None
        return copied(self._sections[name])

    def row(self, index: int) -> dict[str, Any]:
        """The row of the experiment at this place in the list.

        Raises: DataDamaged, with the line.
        """
        if index not in self._rows:
            if len(self._rows) >= _MOST_CACHED:
                self._rows.clear()
            self._rows[index] = self._row(index)
        return copied(self._rows[index])  # type: ignore[no-any-return]

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows in order; one is parsed at a time and none is kept.

        Raises: DataDamaged, with the line.
        """
        for index in range(self.count):
            yield self._row(index)

    def fresh_row(self, index: int) -> dict[str, Any]:
        """As `row`, without keeping it for a later call.

        Raises: DataDamaged, with the line.
        """
        return self._row(index)

    @functools.cached_property
    def keys(self) -> dict[Key, int]:
        """Each experiment's key with its place in the list, in the list's order."""
        seen: dict[int, int] = {}
        keys: dict[Key, int] = {}
        for index, number in enumerate(self.layout.iterations):
            nth = seen.get(number, 0)
            seen[number] = nth + 1
            keys[number, nth] = index
        return keys

    def index_of(self, iteration: int) -> int | None:
        """The place of the experiment with this number, the last one if an older log has it twice."""
        numbers = self.layout.iterations
        if iteration < 0:
            return None
        if self._ascends:
            index = bisect.bisect_left(numbers, iteration)
            return index if numbers[index : index + 1] == array("q", [iteration]) else None
        return max((at for at, number in enumerate(numbers) if number == iteration), default=None)

    def holds_twice(self, iteration: int) -> bool:
        """Whether two experiments bear this number, as only other tools write it."""
        return not self._ascends and self.layout.iterations.count(iteration) > 1

    @functools.cached_property
    def _ascends(self) -> bool:
        """Whether every experiment's number is above that of the one before it, as in all of headway's own logs."""
        numbers = self.layout.iterations
        return all(map(operator.lt, numbers, numbers[1:]))

    def entry_bytes(self, index: int) -> bytes:
        """The text of the experiment at this place in the list."""
        start, end = self.layout.entry(self.buffer, index)
        return bytes(self.buffer[start:end])

    def mark(self, index: int) -> str:
        """What the text of an experiment is recognised by; empty where its place in the text is not known."""
        return "" if self._document is not None else sha256(self.entry_bytes(index)).hexdigest()[:16]

    def section_bytes(self, name: str) -> bytes | None:
        """The text of a top-level key with its value; None when it is absent."""
        span = self.layout.section(name)
        return bytes(self.buffer[span.start : span.end]) if span else None

    def line_at(self, place: int) -> int:
        """The number of the line that holds the byte at `place`."""
        return self.buffer.count(b"\n", 0, place) + 1

    def followed_by(self, buffer: Buffer, first: int) -> "Version":
        """The version after a change of the bytes from `first` on: what stands before is not scanned again.

        The index is taken over, not copied: this version is used up, as its buffer is.

        Args:
            buffer: the whole file as it is now.
            first: the first changed byte.
        Raises: Unsure, when the new text has to be looked at whole.
        """
        old = self.layout
        if old.indent or not old.is_sure:
            raise Unsure
        kept = bisect.bisect_right(old.starts, first) - 1
        start = old.starts[kept] if kept >= 0 else 0
        behind = [span.start for span in old.sections if start < span.start <= first]
        if behind:
            start, kept = behind[-1], bisect.bisect_left(old.starts, behind[-1])
        kept = max(kept, 0)
        ascends = self._ascends
        sections = [span for span in old.sections if span.start < start]
        unchanged = [span.name for span in sections[:-1]]
        del old.starts[kept:], old.iterations[kept:]
        layout = Layout(sections, old.starts, old.iterations, 0, old.ending)
        scan_from(buffer, layout, start, sections[-1].name if sections else None)
        version = Version(buffer, self.path, layout)
        new = layout.iterations[max(kept - 1, 0) :]
        if ascends and all(map(operator.lt, new, new[1:])):
            version._ascends = True
        version._sections = {name: self._sections[name] for name in unchanged if name in self._sections}
        version._rows = {index: row for index, row in self._rows.items() if index < kept}
        return version

    def line_of(self, index: int) -> int:
        """The number of the line where the experiment at this place in the list begins; 1 where that is not known."""
        starts = self.layout.starts
        return self.line_at(starts[index]) if index < len(starts) else 1

    def _row(self, index: int) -> dict[str, Any]:
        if self._document is not None:
            row = copied(self._document[EXPERIMENTS][index])
        else:
            row = self._parsed(*self.layout.entry(self.buffer, index), read_entry)
        if not isinstance(row, dict):
            raise damaged(self.path, self.line_of(index), f"experiment {index + 1} of the log is not a mapping")
        return row

    def _parsed(self, start: int, end: int, quick: Any) -> Any:
        text = decode(self.buffer[start:end], self.path)
        try:
            return quick(undented(text, self.layout.indent if quick is read_entry else 0))
        except Unsure:
            value = parse(text, self.path, self.line_at(start))
        if quick is read_entry:
            return value[0] if isinstance(value, list) and len(value) == 1 else value
        return value


def version_of(buffer: Buffer, path: Path) -> Version:
    """Index the bytes of a log, and check that its sections and its newest experiments can be read.

    Args:
        buffer: the whole file.
        path: where it lies, for messages.
    Raises: DataDamaged, with the line: no UTF-8, no mapping, invalid YAML in what was read, a key twice.
    """
    refuse_torn_text(buffer, path)
    try:
        version = Version(buffer, path, scan(buffer))
    except Unsure:
        layout, values = locate(buffer, path)
        if not isinstance(values.get(EXPERIMENTS) or [], list):
            raise damaged(path, 1, "`experiments` is not a list") from None
        version = Version(buffer, path, layout, values)
    for name in version.names:
        if name != EXPERIMENTS:
            version.section(name)
    for index in range(max(version.count - _TAIL, 0), version.count):
        version.row(index)
    _refuse_cut_end(version)
    return version


def refuse_torn_text(buffer: Buffer, path: Path) -> None:
    """Refuse bytes that are no text at all, or none.

    Raises: DataDamaged.
    """
    if not buffer.strip():
        raise damaged(path, 1, "the log is empty", "put an earlier copy back; headway has left the file as it is")
    if buffer.isascii():
        return
    place = 0
    while place < len(buffer):
        end = min(place + (1 << 20), len(buffer))
        while end < len(buffer) and buffer[end] & 0xC0 == 0x80:  # not inside a character
            end += 1
        try:
            buffer[place:end].decode("utf-8")
        except UnicodeDecodeError as error:
            line = buffer.count(b"\n", 0, place + error.start) + 1
            raise damaged(path, line, "the file is not UTF-8 text") from error
        place = end


def ends_inside_experiments(version: Version) -> bool:
    """Whether nothing follows the experiments although the file names a run, as after a cut."""
    names = version.names
    return names[-1:] == [EXPERIMENTS] and "best" not in names and "run_id" in names and version.count > 0


def _refuse_cut_end(version: Version) -> None:
    """Refuse a log whose last entry was visibly cut off.

    A cut at a line end behind the entry's required fields leaves valid YAML that no rule can tell from a short
    entry; the caller is told by a notice (`ends_inside_experiments`) that nothing follows it.
    """
    if not ends_inside_experiments(version):
        return
    index = version.count - 1
    whole = version.buffer[-1:] == b"\n" and _is_complete(version.row(index))
    if not whole:
        line = version.line_at(len(version.buffer.rstrip()) - 1)
        what = f"the log ends inside experiment {index + 1}: the end of the file was cut off"
        raise damaged(version.path, line, what, f"put an earlier copy back, or {MEND}")


def _is_complete(row: Mapping[str, Any]) -> bool:
    return all(row.get(key) is not None for key in ("iteration", "hypothesis", "outcome"))


def copied(value: Any) -> Any:
    """A copy of plain values that shares nothing with them."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def differ(one: Any, other: Any) -> bool:
    """Whether two values differ; unlike `==` it tells 1 from 1.0 and from true."""
    return one is not other and canonical(one) != canonical(other)


def canonical(value: Any) -> str:
    """One text for one value, whatever the order of its keys, and whatever kinds of keys a person's mapping has."""
    return json.dumps(_ordered(value), default=repr)


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        pairs = [(json.dumps(key, default=repr), _ordered(item)) for key, item in value.items()]
        return {"": sorted(pairs, key=lambda pair: pair[0])}
    return [_ordered(item) for item in value] if isinstance(value, (list, tuple)) else value


def number_of(row: Mapping[str, Any]) -> int:
    """A row's iteration; `NO_ITERATION` when it has none."""
    value = row.get("iteration")
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else NO_ITERATION
