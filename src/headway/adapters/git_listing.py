"""The files of a commit as plain values, and the differences between two commits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from headway.adapters.git import Place, run_git

GITLINK = "160000"
SYMLINK = "120000"
EXECUTABLE = "100755"
REGULAR = "100644"


class TreeEntry(NamedTuple):
    """One file of a commit: git's mode (`100644`, `100755`, `120000`, `160000`) and the blob's hash."""

    mode: str
    sha: str


class FileChange(NamedTuple):
    """One file that differs between two commits.

    `status` is git's letter: A added, M modified, D deleted, T another type of file. `added` and `removed` count
    lines, None for binary files. Renames are a D and an A. `new` is the entry afterwards, None for a deletion.
    """

    path: str
    status: str
    added: int | None
    removed: int | None
    new: TreeEntry | None


@dataclass(frozen=True)
class Listing:
    """Every file of one commit, by path."""

    entries: Mapping[str, TreeEntry]

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that holds a file of the commit, the root left out."""
        return frozenset(parents(self.entries))

    @cached_property
    def gitlinks(self) -> list[str]:
        """Submodules."""
        return [path for path, entry in self.entries.items() if entry.mode == GITLINK]

    @cached_property
    def attribute_files(self) -> list[str]:
        """The `.gitattributes` files."""
        return self._named(".gitattributes")

    @cached_property
    def ignore_files(self) -> list[str]:
        """The `.gitignore` files."""
        return self._named(".gitignore")

    def with_changes(self, changes: Iterable[FileChange]) -> "Listing":
        """Give the listing of the commit that these changes lead to."""
        entries = dict(self.entries)
        for change in changes:
            if change.new is None:
                entries.pop(change.path, None)
            else:
                entries[change.path] = change.new
        return Listing(entries)

    def _named(self, name: str) -> list[str]:
        return [path for path in self.entries if path == name or path.endswith(f"/{name}")]


def parents(paths: Iterable[str]) -> set[str]:
    """Name every folder above the paths, the root left out."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def list_commit(place: Place, commit: str) -> Listing:
    """Read every file of a commit."""
    entries = {}
    for line in run_git(place, "ls-tree", "-r", "-z", "--full-tree", commit).fields:
        facts, _, path = line.partition("\t")
        mode, _, sha = facts.split(" ")
        entries[path] = TreeEntry(mode, sha)
    return Listing(entries)


def compare_trees(place: Place, before: str, after: str) -> tuple[FileChange, ...]:
    """Give the files that differ between two commits or trees, sorted by path."""
    words = ("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-abbrev", "--no-ext-diff")
    return _read_changes(run_git(place, *words, before, after).fields)


def _read_changes(fields: list[str]) -> tuple[FileChange, ...]:
    """Read the output of `--raw --numstat -z`: first all raw records, then all counts."""
    raw: dict[str, tuple[str, TreeEntry | None]] = {}
    counts: dict[str, tuple[int | None, int | None]] = {}
    rest = iter(fields)
    for field in rest:
        if field.startswith(":"):
            _, mode, _, sha, status = field.split(" ")
            raw[next(rest)] = (status[0], None if status[0] == "D" else TreeEntry(mode, sha))
        else:
            added, removed, path = field.split("\t", 2)
            counts[path] = (_count(added), _count(removed))
    return tuple(
        FileChange(path, status, *counts.get(path, (0, 0)), new) for path, (status, new) in sorted(raw.items())
    )


def _count(text: str) -> int | None:
    return None if text == "-" else int(text)
