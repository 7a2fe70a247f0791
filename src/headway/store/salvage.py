"""Take a damaged log apart, and keep every part of it that can be read.

The bytes are cut where a section or an experiment begins. A part that cannot be read by itself is set aside; the others
stay as they are, byte for byte. The result must open as a log, or nothing is changed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from headway.errors import DataDamaged
from headway.store.document import parse
from headway.store.scan import EXPERIMENTS
from headway.store.version import version_of

_KEY = re.compile(rb"""(?m)^(?:[A-Za-z_][\w.\-]*|"[^"\\\r\n]*"|'[^'\r\n]*')[ ]*:(?=[ \r\n]|\Z)""")
_ITEM = re.compile(rb"(?m)^( *)-(?=[ \r\n])")
_NEEDED = ("iteration", "hypothesis", "outcome")
_MEND = "headway has left the file as it is; put an earlier copy back, or mend the lines named in an editor"


@dataclass(frozen=True)
class Lost:
    """A part that was set aside.

    Args:
        what: a section's name, `experiment 3`, or `text between the parts`.
        first: its first line.
        last: its last line.
        why: why it cannot be read.
        data: its bytes.
    """

    what: str
    first: int
    last: int
    why: str
    data: bytes


@dataclass(frozen=True)
class Salvaged:
    """What a damaged log comes to.

    Args:
        data: the bytes of the log without its damaged parts.
        sections: names of the sections kept.
        experiments: numbers of the experiments kept; those without a number are counted in `count` alone.
        count: experiments kept.
        lost: what was set aside, in the file's order.
    """

    data: bytes
    sections: tuple[str, ...]
    experiments: tuple[int, ...]
    count: int
    lost: tuple[Lost, ...]


class _Part(NamedTuple):
    """A stretch of the file: a section, the head of `experiments`, one of its items, or text before them all."""

    kind: str
    name: str
    start: int
    end: int
    is_last: bool = False


def salvage(data: bytes, path: Path) -> Salvaged:
    """Say what of a damaged log can be kept.

    Args:
        data: the file's bytes.
        path: where it lies, for messages.
    Returns: the readable parts and the others; nothing was written.
    Raises: DataDamaged, when no log is left without the damaged parts.
    """
    kept: list[bytes] = []
    lost: list[Lost] = []
    seen: set[str] = set()
    for part in _parts(data):
        text = data[part.start : part.end]
        why = _trouble(part, text, path, seen)
        if why:
            lost.append(Lost(part.name, _line(data, part.start), _line(data, max(part.end - 1, part.start)), why, text))
        else:
            kept.append(text if text.endswith(b"\n") or not text else text + b"\n")
    whole = b"".join(kept)
    if not any(part.strip() for part in kept) or not seen:
        raise DataDamaged("nothing of this file can be read as a log", str(path), _MEND)
    version = version_of(whole, path)
    numbers = tuple(number for number in version.layout.iterations if number >= 0)
    return Salvaged(whole, tuple(version.names), numbers, version.count, tuple(lost))


def _parts(data: bytes) -> Iterator[_Part]:
    keys = [(match.start(), match.group().split(b":")[0].strip(b" \"'")) for match in _KEY.finditer(data)]
    starts = [start for start, _ in keys]
    if not starts or starts[0] > 0:
        yield _Part("text", "text before the first section", 0, starts[0] if starts else len(data))
    for index, (start, name) in enumerate(keys):
        end = starts[index + 1] if index + 1 < len(starts) else len(data)
        if name.decode("ascii", "replace") == EXPERIMENTS:
            yield from _items(data, start, end)
        else:
            yield _Part("section", name.decode("utf-8", "replace"), start, end)


def _items(data: bytes, start: int, end: int) -> Iterator[_Part]:
    first = _ITEM.search(data, start, end)
    if first is None:
        yield _Part("section", EXPERIMENTS, start, end)
        return
    column = len(first[1])
    marks = [match.start() for match in _ITEM.finditer(data, start, end) if len(match[1]) == column]
    yield _Part("head", EXPERIMENTS, start, marks[0])
    for index, mark in enumerate(marks):
        stop = marks[index + 1] if index + 1 < len(marks) else end
        yield _Part("item", f"experiment {index + 1}", mark, stop, is_last=stop == len(data))


def _trouble(part: _Part, text: bytes, path: Path, seen: set[str]) -> str:
    """Say why a part cannot be kept; empty where it can. `seen` gains the section that it is."""
    if part.kind == "text" and not text.strip(b"\xef\xbb\xbf \t\r\n"):
        return ""
    try:
        value = parse(text.decode("utf-8"), path)
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    except DataDamaged as error:
        return error.what.replace("the file", "it", 1)
    return _misfit(part, value, text, seen)


def _misfit(part: _Part, value: Any, text: bytes, seen: set[str]) -> str:
    if part.kind == "text":
        return "" if value is None else "it belongs to no section"
    if part.kind == "item":
        if not (isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and value[0]):
            return "it is no experiment"
        is_whole = text.endswith(b"\n") and all(value[0].get(name) is not None for name in _NEEDED)
        return "it is cut off" if part.is_last and not is_whole else ""
    if not isinstance(value, dict) or len(value) != 1:
        return "it is no section"
    if part.name in seen:
        return "the section is there already"
    if part.kind == "head" and value.get(EXPERIMENTS) is not None:
        return "its text stands where experiments belong"
    if part.kind == "section" and not text.endswith(b"\n"):
        return "the file ends inside it"
    seen.add(part.name)
    return ""


def _line(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1
