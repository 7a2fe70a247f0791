"""Reads a spec from its YAML file: every mistake at once, each with its line.

The YAML is walked as a tree of nodes, not loaded: so that lines are known, keys written twice are found, numbers such
as `1e-3` are numbers, dates stay text, and aliases cannot blow a small file up.
Source: DESIGN section 3.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headway.core.spec import Spec, SpecProblem
from headway.core.spec_problems import notices, read_spec
from headway.core.spec_rules import Location
from headway.errors import OutsideFailed, RequestWrong, SpecInvalid
from headway.store.shipped import spec_schema_path

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import Node

MOST_BYTES: Final = 1_000_000
MOST_LEVELS: Final = 40
MOST_REPEATED: Final = 20_000
"""Values that aliases may stand for again; what is written out is bounded by the file's size."""
"""Values that a spec may hold, aliases written out."""
TAG: Final = "tag:yaml.org,2002:"
TEXT_TAGS: Final = frozenset(TAG + name for name in ("str", "timestamp", "value"))
GROUP_TAGS: Final = frozenset((TAG + "map", TAG + "seq"))
VALUE_TAGS: Final = frozenset(TAG + name for name in ("null", "bool", "int", "float"))


@dataclass(frozen=True)
class LoadedSpec:
    """A valid spec with the bytes it came from, their SHA-256, and what its writer should know about it."""

    spec: Spec
    text: bytes
    sha256: str
    warnings: tuple[str, ...]


def load_spec(path: Path) -> LoadedSpec:
    """Read a spec file.

    Args:
        path: of the file.
    Returns: the spec, its bytes, their hash, and warnings.
    Raises: SpecInvalid, with all mistakes and their lines; RequestWrong, where there is no such file; OutsideFailed,
    where it cannot be read.
    """
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise RequestWrong("there is no such spec", str(path), "give the path of a spec file") from None
    except IsADirectoryError:
        raise RequestWrong("this is a folder, not a spec", str(path), "give the path of the file in it") from None
    except OSError as wrong:
        mend = "make the file readable for this user"
        raise OutsideFailed(f"the spec cannot be read: {wrong.strerror}", str(path), mend) from wrong
    return parse_spec(text, str(path))


def parse_spec(text: bytes, name: str) -> LoadedSpec:
    """Read a spec from its bytes.

    Args:
        text: YAML, in UTF-8.
        name: of the file, for messages.
    Returns: the spec, its bytes, their hash, and warnings.
    Raises: SpecInvalid, with all mistakes and their lines.
    """
    document = _Document.read(text)
    spec, problems = (None, ()) if document.broken else read_spec(document.data)
    if spec is None or document.problems:
        told = [*document.problems, *((document.line(problem), problem) for problem in problems)]
        told.sort(key=lambda pair: pair[0])
        raise SpecInvalid(name, tuple(f"line {line}: {problem}" for line, problem in told), spec_schema_path())
    warnings = tuple(f"line {document.line(notice)}: {notice}" for notice in notices(spec))
    return LoadedSpec(spec, text, hashlib.sha256(text).hexdigest(), warnings)


@dataclass
class _Document:
    """A YAML document as plain data, with the line of every value."""

    data: Any = None
    broken: bool = False
    """Whether the text is no YAML, so that there are no data to check."""
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[tuple[int, SpecProblem]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    repeated: int = 0

    @classmethod
    def read(cls, text: bytes) -> "_Document":
        document = cls()
        try:
            document._read(text)
        except _Unreadable as wrong:
            document.broken = True
            document.problems = [(wrong.line, SpecProblem((), wrong.what, wrong.mend))]
        return document

    def line(self, problem: SpecProblem) -> int:
        """Give the line of a problem: its own, else that of the nearest level above."""
        place = problem.location
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def _read(self, text: bytes) -> None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        yaml = YAML(typ="safe", pure=True)
        decoded = _decode(text)
        try:
            root = yaml.compose(decoded)
        except MarkedYAMLError as wrong:
            raise _syntax(wrong, decoded) from None
        except YAMLError as wrong:  # a character that YAML does not allow
            line = decoded.count("\n", 0, getattr(wrong, "position", 0)) + 1
            raise _Unreadable(line, "holds a character that YAML does not allow") from None
        except RecursionError:
            raise _Unreadable(1, "is nested too deeply for a spec") from None
        if root is None:
            raise _Unreadable(1, "the spec is empty", "a spec needs at least name, metric, measurement and scope")
        self.data = self._value(root, (), yaml, ())

    def _value(self, node: "Node", place: Location, yaml: "YAML", above: tuple[int, ...]) -> Any:
        from ruamel.yaml.nodes import MappingNode, SequenceNode

        line = _line(node)
        self.lines.setdefault(place, line)
        if id(node) in self.seen:
            self.repeated += 1
        self.seen.add(id(node))
        if len(place) > MOST_LEVELS:
            raise _Unreadable(line, "is nested too deeply for a spec")
        if self.repeated > MOST_REPEATED or id(node) in above:
            raise _Unreadable(line, "holds aliases that make it too large", "write the values out")
        if isinstance(node, MappingNode | SequenceNode) and node.tag not in GROUP_TAGS:
            self._note_tag(node, place)
        within = (*above, id(node))
        if isinstance(node, MappingNode):
            return {key: self._value(value, (*place, key), yaml, within) for key, value in self._keys(node, place)}
        if isinstance(node, SequenceNode):
            return [self._value(item, (*place, index), yaml, within) for index, item in enumerate(node.value)]
        return self._scalar(node, place, yaml)

    def _keys(self, node: "Node", place: Location) -> Iterator[tuple[str, "Node"]]:
        """Give the keys of a mapping with their values; note those that stand twice and those that are no text."""
        first: dict[str, int] = {}
        for key, value in node.value:
            line, name = _line(key), key.value
            if not isinstance(name, str) or name == "<<":
                mend = "merge keys are not read: write the values out" if name == "<<" else ""
                self._note(line, SpecProblem(place, "a key must be plain text", mend))
                continue
            if name in first:
                self._note(line, SpecProblem((*place, name), f"stands twice, first in line {first[name]}"))
                continue
            first[name] = line
            self.lines[*place, name] = line
            yield name, value

    def _scalar(self, node: "Node", place: Location, yaml: "YAML") -> Any:
        if node.tag in TEXT_TAGS:
            return node.value
        if node.tag not in VALUE_TAGS:
            self._note_tag(node, place)
            return f"{node.tag} {node.value}"
        try:
            return yaml.constructor.construct_object(node, deep=True)
        except (ValueError, OverflowError):
            self._note(_line(node), SpecProblem(place, "is no number that can be read"))
            return None

    def _note_tag(self, node: "Node", place: Location) -> None:
        mend = "put the text in quotes" if str(node.tag).startswith("!") else ""
        self._note(_line(node), SpecProblem(place, f"has the tag {node.tag}, which a spec does not use", mend))

    def _note(self, line: int, problem: SpecProblem) -> None:
        self.problems.append((line, problem))


class _Unreadable(Exception):
    """The text is no YAML document that a spec could be."""

    def __init__(self, line: int, what: str, mend: str = "") -> None:
        super().__init__(line, what, mend)
        self.line, self.what, self.mend = line, what, mend


def _line(node: "Node") -> int:
    return int(node.start_mark.line) + 1


def _decode(text: bytes) -> str:
    if len(text) > MOST_BYTES:
        raise _Unreadable(1, f"has {len(text)} bytes; a spec has at most {MOST_BYTES}")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = text.count(b"\n", 0, wrong.start) + 1
        raise _Unreadable(line, f"holds the byte 0x{text[wrong.start]:02x}: not UTF-8", "save it as UTF-8") from None


def _syntax(wrong: Any, text: str) -> _Unreadable:
    """Say what YAML could not read; a gate's check without quotes is the usual cause, and is named."""
    mark = wrong.problem_mark or wrong.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    here = lines[line - 1] if line <= len(lines) else ""
    unquoted = here.partition("check:")[2].strip().startswith((">", "!"))
    mend = "put the check in quotes" if unquoted else ""
    said = wrong.problem or wrong.context
    said = f"{wrong.context} {said}" if said.startswith("but found") else said
    return _Unreadable(line, f"not readable as YAML: {said}", mend)
