"""Which paths of the repository an entry of the spec's scope names.

An entry is one of two things:

- a **prefix**: a file, or a folder with all below it (`src`, `src/`, `./src/` and `src/app.py`; `.` is everything);
- a **glob**, when it holds a `*`: `*` stands for any characters within one folder's or file's name, `**` for any
  characters across folders, `**/` also for no folder at all. A glob names exactly the paths that it matches; one that
  ends in `/` names folders, hence all below them. `?` and `[` are ordinary characters.

Two entries overlap when some path would be named by both. That is decided by walking both patterns at once, without
looking at which files exist: `**/*.py` and `data` overlap, since `data/x.py` would be in both. Only beside a glob, a
prefix whose last name has an extension is taken for a file, unless it ends in `/` or the glob itself goes below it:
`**/*.py` and `data/cases.json` are apart. Where that guess is wrong nothing is lost: a path that both scopes name is
immutable.
Source: CONTRACTS section 3 (repository-relative prefixes or `*`/`**` globs).
"""

from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache


class Wild(Enum):
    """The parts of a pattern that are not a character of their own."""

    NAME = auto()
    """Any characters but a slash."""
    ANY = auto()
    """Any characters."""
    MAYBE = auto()
    """The two parts that follow may be left out."""


Part = str | Wild


class ScopeEntryWrong(ValueError):
    """An entry of a scope names nothing inside the repository."""

    def __init__(self, entry: str, why: str) -> None:
        super().__init__(entry, why)
        self.entry, self.why = entry, why

    def __str__(self) -> str:
        return f"{self.entry!r} {self.why}"


def normalise(entry: str) -> str:
    """Give a repository-relative path in its one spelling.

    Args:
        entry: a path or glob; `./`, doubled slashes and a trailing slash are allowed.
    Returns: the same without them; "" for the whole repository; a glob that named folders ends in `/**`.
    Raises: ScopeEntryWrong, where the path is absolute, empty or holds `..`.
    """
    if not entry.strip():
        raise ScopeEntryWrong(entry, "is empty: name a file or folder, or '.' for the whole repository")
    if entry.startswith("/"):
        raise ScopeEntryWrong(entry, "is absolute: write it relative to the repository's root")
    names = [name for name in entry.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ScopeEntryWrong(entry, "holds '..': write it relative to the repository's root")
    if entry.endswith("/") and "*" in entry:
        names.append("**")
    return "/".join(names)


def matches(path: str, entries: Sequence[str]) -> bool:
    """Say whether any entry names a path.

    Args:
        path: of a file, repository-relative.
        entries: of a scope, as in the spec.
    Returns: true where at least one names it or a folder above it.
    Raises: ScopeEntryWrong, where path or an entry lies outside the repository.
    """
    wanted = normalise(path)
    return any(_names(normalise(entry), wanted) for entry in entries)


def overlap(mutable: Sequence[str], immutable: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Find the entries of two scopes that name a path in common.

    Args:
        mutable: entries of the one.
        immutable: entries of the other.
    Returns: the pairs (mutable entry, immutable entry) that overlap, as written; empty where the scopes are apart.
    Raises: ScopeEntryWrong, where an entry lies outside the repository.
    """
    return tuple(
        (one, other)
        for one in mutable
        for other in immutable
        if _meet(_pattern_beside(one, other), _pattern_beside(other, one))
    )


def _pattern_beside(entry: str, other: str) -> tuple[Part, ...]:
    """Give the pattern of an entry, of the file alone where it stands beside a glob and is spelled like a file."""
    name, beside = normalise(entry), normalise(other)
    alone = "*" in beside and not beside.startswith(name + "/") and not entry.endswith("/")
    is_file = alone and "*" not in name and "." in name.rpartition("/")[2][1:]
    return tuple(name) if is_file else _pattern(name)


def _names(entry: str, path: str) -> bool:
    if "*" in entry:
        return _meet(_pattern(entry), tuple(path))
    return not entry or path == entry or path.startswith(entry + "/")


@lru_cache(maxsize=1024)
def _pattern(entry: str) -> tuple[Part, ...]:
    if not entry:
        return (Wild.ANY,)
    if "*" not in entry:
        return (*entry, Wild.MAYBE, "/", Wild.ANY)
    parts: list[Part] = []
    at = 0
    while at < len(entry):
        at = _read_part(entry, at, parts)
    return tuple(parts)


def _read_part(entry: str, at: int, parts: list[Part]) -> int:
    """Add the part of a glob that starts at `at`; give where the next one starts."""
    if entry[at] != "*":
        parts.append(entry[at])
        return at + 1
    end = at
    while end < len(entry) and entry[end] == "*":
        end += 1
    if end - at == 1:
        parts.append(Wild.NAME)
    elif entry[end : end + 1] == "/" and (at == 0 or entry[at - 1] == "/"):
        parts.extend((Wild.MAYBE, Wild.ANY, "/"))
        end += 1
    else:
        parts.append(Wild.ANY)
    return end


def _meet(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    """Say whether some text matches both patterns, by visiting every pair of positions once."""
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        i, j = todo.pop()
        if i == len(one) and j == len(other):
            return True
        for step in _steps(one, i, other, j):
            if step not in seen:
                seen.add(step)
                todo.append(step)
    return False


def _steps(one: tuple[Part, ...], i: int, other: tuple[Part, ...], j: int) -> list[tuple[int, int]]:
    left = one[i] if i < len(one) else None
    right = other[j] if j < len(other) else None
    if left is Wild.MAYBE:
        return [(i + 1, j), (i + 3, j)]
    if right is Wild.MAYBE:
        return [(i, j + 1), (i, j + 3)]
    steps = []
    if isinstance(left, Wild):
        steps.append((i + 1, j))
        if isinstance(right, str) and (left is Wild.ANY or right != "/"):
            steps.append((i, j + 1))
    if isinstance(right, Wild):
        steps.append((i, j + 1))
        if isinstance(left, str) and (right is Wild.ANY or left != "/"):
            steps.append((i + 1, j))
    if isinstance(left, str) and left == right:
        steps.append((i + 1, j + 1))
    return steps
