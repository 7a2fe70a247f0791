"""Read YAML of any layout with a real parser, bounded, and say where it is damaged.

The parser is ruamel.yaml (YAML 1.2), loaded only when text is met that headway did not write itself. Its part in C
is about four times as fast and is left alone where it is installed: it speaks YAML 1.1 below its values, refuses other
files than the part in Python does, and has no bound on nesting, so a log would mean something else by what happens to
be installed. Timestamps stay the text they are; tags that make other objects are refused.
"""

import functools
import warnings
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headway.errors import DataDamaged
from headway.store.atomic import disk_failure
from headway.store.read import Unsure, read_mapping
from headway.store.scan import EXPERIMENTS, NO_ITERATION, Buffer, Layout, Span, content_end

MEND = "mend that place in an editor; headway has left the file as it is"
MOST_ALIASED = 10_000
"""How many values aliases may add to a document before it is refused; long text counts once per 100 characters."""

_BOM = "\ufeff"


def read_document(path: Path) -> dict[str, Any]:
    """Read one YAML file whole.

    Args:
        path: the file.
    Returns: its root mapping, as plain values.
    Raises: DataDamaged, when it is no YAML mapping, has a key twice, or aliases that would swell it; names the
        line. DiskFailed, when it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise disk_failure(error, path) from error
    return parse_mapping(decode(data, path), path)


def parse_mapping(text: str, path: Path) -> dict[str, Any]:
    """The root mapping of a whole document.

    Raises: DataDamaged, as `read_document`.
    """
    try:
        return read_mapping(text.replace("\r\n", "\n"))
    except Unsure:
        value = parse(text, path)
    if not isinstance(value, dict):
        found = "is empty" if value is None else f"holds a {_kind(value)} where names with values belong"
        raise damaged(path, 1, f"the file {found}")
    return value


def parse(text: str, path: Path, first_line: int = 1) -> Any:
    """The value of any YAML text, as plain values.

    Args:
        text: a document, or a stretch of one that stands for itself.
        path: the file it comes from, for messages.
        first_line: the number of its first line in that file.
    Raises: DataDamaged, with the line.
    """
    if "&" in text and "*" in text:
        _bound_aliases(text, path, first_line)
    return _guarded(lambda: _yaml().load(text), text, path, first_line)


def locate(data: Buffer, path: Path) -> tuple[Layout, dict[str, Any]]:
    """Find the sections and experiments of a log that the scan was not sure of, and read it whole.

    Args:
        data: the whole file.
        path: where it lies, for messages.
    Returns: the layout, `is_sure` False, without spans where text cannot be spliced in; and the values.
    Raises: DataDamaged, with the line.
    """
    text = decode(data, path)
    values = parse_mapping(text, path)
    bare = text.removeprefix(_BOM)
    found = _guarded(lambda: _marks(_yaml().parse(bare)), bare, path, 1)
    layout = _layout_of(found, bare, data)
    entries = values.get(EXPERIMENTS)
    layout.iterations = array("q", [_number(entry) for entry in entries] if isinstance(entries, list) else [])
    if layout.sections and len(layout.starts) != len(layout.iterations):
        layout.sections, layout.starts = [], array("q")
    return layout, values


def decode(data: Buffer, path: Path) -> str:
    """The text of a file's bytes.

    Raises: DataDamaged, when they are not UTF-8, with the line.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise damaged(path, line, "the file is not UTF-8 text") from error


def damaged(path: Path, line: int, what: str, mend: str = MEND) -> DataDamaged:
    """An error that names a line of a stored file."""
    return DataDamaged(what, f"{path}, line {line}", mend)


def _guarded(work: Any, text: str, path: Path, first_line: int) -> Any:
    from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
    from ruamel.yaml.reader import ReaderError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", YAMLWarning)
            return work()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip("\n").count("\n")  # a parser may name the line behind the last
        line = first_line + (min(mark.line, last) if mark else 0)
        raise damaged(path, line, f"the file is not valid YAML: {_problem(error)}") from error
    except ReaderError as error:
        line = first_line + text.count("\n", 0, error.position)
        raise damaged(path, line, "the file holds a character that YAML does not allow") from error
    except (YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError, AssertionError) as error:
        raise damaged(path, first_line, f"the file cannot be read as YAML: {error}") from error
    except RecursionError as error:
        raise damaged(path, first_line, "the file is nested too deeply") from error


def _problem(error: Any) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return " ".join(", ".join(parts).split())[:200]


def _kind(value: Any) -> str:
    return "list" if isinstance(value, list) else "single value"


def _number(entry: Any) -> int:
    value = entry.get("iteration") if isinstance(entry, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else NO_ITERATION


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)  # a new one each time: a failure leaves the old one unusable
    yaml.Constructor = _plain_constructor()
    return yaml


@functools.cache
def _plain_constructor() -> Any:
    from ruamel.yaml.constructor import ConstructorError, SafeConstructor

    class PlainConstructor(SafeConstructor):
        """Makes nothing but mappings, lists, strings, numbers, booleans and None."""

        def refuse(self, node: Any) -> None:
            raise ConstructorError(None, None, f"the tag {node.tag} has no place in a log", node.start_mark)

    PlainConstructor.add_constructor("tag:yaml.org,2002:timestamp", PlainConstructor.construct_yaml_str)
    for tag in ("binary", "omap", "pairs", "set"):
        PlainConstructor.add_constructor(f"tag:yaml.org,2002:{tag}", PlainConstructor.refuse)
    return PlainConstructor


def _bound_aliases(text: str, path: Path, first_line: int) -> None:
    """Refuse a document that its aliases would swell beyond bounds, or make endless.

    The walk adds up sizes as the aliases would expand and keeps none of the document, so it takes no longer than one
    look at the text, and no more memory than the names of its anchors.
    """
    found = _guarded(lambda: _trouble_with_aliases(_yaml().parse(text)), text, path, first_line)
    if found is not None:
        line, what = found
        raise damaged(path, first_line + line, what)


def _trouble_with_aliases(events: Iterable[Any]) -> tuple[int, str] | None:
    """The line, from 0, at which aliases have added too much or name what they stand in; None when they never do."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = aliased = 0
    for event in events:
        kind = type(event).__name__
        if kind == "AliasEvent":
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                return event.start_mark.line, f"the alias *{event.anchor} stands inside what it names"
            aliased += sizes.get(event.anchor, 1)
            total += sizes.get(event.anchor, 1)
            if aliased > MOST_ALIASED:
                return event.start_mark.line, f"aliases would add more than {MOST_ALIASED} values to the file"
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            open_nodes.append((event.anchor, total))
            total += 1
        elif kind == "ScalarEvent":
            size = 1 + len(event.value) // 100
            total += size
            if event.anchor:
                sizes[event.anchor] = size
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = total - before
    return None


_Marks = tuple[list[tuple[str, int]], list[int], int]


def _layout_of(found: _Marks | None, text: str, data: Buffer) -> Layout:
    """The spans that a parser's marks tell; a layout without spans where new text would not fit in."""
    layout = Layout(ending=b"\r\n" if b"\r\n" in data[:4096] else b"\n", is_sure=False)
    if found is None:
        return layout
    keys, items, end = found
    dashes = [_dash(text, item) for item in items]
    columns = {dash - (text.rfind("\n", 0, dash) + 1) for dash in dashes if dash is not None}
    if None in dashes or len(columns) > 1:
        return layout
    to_byte = _byte_offsets(text, [*(at for _, at in keys), *(dash for dash in dashes if dash is not None), end], data)
    bounds = [to_byte[at] for _, at in keys[1:]] + [to_byte[end]]
    for (name, at), bound in zip(keys, bounds, strict=True):
        layout.sections.append(Span(name, to_byte[at], content_end(data, to_byte[at], bound)))
    layout.starts = array("q", [to_byte[dash] for dash in dashes if dash is not None])
    layout.indent = columns.pop() if columns else 0
    return layout


def _marks(events: Iterable[Any]) -> _Marks | None:
    """The top-level keys and the experiments' items with their places, and the end; None for other shapes."""
    keys: list[tuple[str, int]] = []
    items: list[int] = []
    end = None
    for depth, position, event in _walk(events):
        mark = event.start_mark
        if depth == 0 and position:
            end = mark.index
        elif depth == 0 and getattr(event, "flow_style", True):
            return None
        elif depth == 1 and position % 2 == 0:
            if mark.column or not isinstance(getattr(event, "value", None), str):
                return None
            keys.append((event.value, mark.index))
        elif depth == 1 and keys[-1][0] == EXPERIMENTS and getattr(event, "flow_style", False):
            return None
        elif depth == 2 and keys[-1][0] == EXPERIMENTS:
            items.append(mark.index)
    return (keys, items, end) if keys and end is not None else None


def _walk(events: Iterable[Any]) -> Iterator[tuple[int, int, Any]]:
    """Each node with its depth and its position among its siblings; the root's end as a second node of depth 0."""
    positions = [0]
    for event in events:
        kind = type(event).__name__
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            positions.pop()
            if len(positions) == 1:
                yield 0, 1, event
        elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"):
            yield len(positions) - 1, positions[-1], event
            positions[-1] += 1
            if kind.endswith("StartEvent"):
                positions.append(0)


def _dash(text: str, item: int) -> int | None:
    """Where the dash before an item stands, when it begins its line; None otherwise."""
    place = len(text[:item].rstrip(" \r\n")) - 1
    line = text.rfind("\n", 0, place) + 1
    return place if place >= 0 and text[place] == "-" and not text[line:place].strip(" ") else None


def _byte_offsets(text: str, places: list[int], data: Buffer) -> dict[int, int]:
    """The places of characters as places of bytes (a parser's marks count characters)."""
    offset = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    found: dict[int, int] = {}
    last = 0
    for place in sorted(set(places)):
        offset += len(text[last:place].encode("utf-8"))
        found[place] = offset
        last = place
    return found
