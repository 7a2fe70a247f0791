"""Makes commits of code that nobody's turn has written: exemplars of the spec, and forgeries.

Each is a child of the base commit with the changes inside the mutable scope alone, as a candidate's would be.
Source: CONTRACTS section 9; DESIGN section 6 (measured as any candidate is).
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git import nul_terminated, run_git
from headway.adapters.git_listing import EXECUTABLE, REGULAR, TreeEntry
from headway.adapters.private_repository import PrivateRepository


@dataclass(frozen=True)
class ProbeCommit:
    """A probe's commit, its difference from the base, and the paths of other changes that are not in it."""

    commit: str
    patch: bytes
    left_out: tuple[str, ...] = ()


def within_scope(
    private: PrivateRepository, base: str, made: str, in_scope: Callable[[str], bool], message: str, when: str
) -> ProbeCommit:
    """Make a commit of the difference between two commits, as far as it lies in scope.

    Args:
        private: holds both commits.
        base: parent of the new commit.
        made: the state wanted.
        in_scope: says whether a path may be changed.
        message, when: of the commit; the same arguments give the same hash.
    """
    changes = private.changes(base, made)
    wanted = {change.path: change.new for change in changes if in_scope(change.path)}
    left_out = tuple(change.path for change in changes if change.path not in wanted)
    return _committed(private, base, wanted, message, when, left_out)


def with_files(
    private: PrivateRepository, base: str, files: Mapping[str, bytes], message: str, when: str
) -> ProbeCommit:
    """Make a commit of the base with other bytes in some of its files; they keep their modes."""
    entries = private.ls_tree(base).entries
    new = {path: TreeEntry(entries[path].mode, _stored(private, content)) for path, content in files.items()}
    return _committed(private, base, new, message, when, ())


def source_files(private: PrivateRepository, commit: str, wanted: Callable[[str], bool]) -> dict[str, TreeEntry]:
    """Give the regular files of a commit that are wanted, those nearest to its root first."""
    found = {
        path: entry
        for path, entry in private.ls_tree(commit).entries.items()
        if entry.mode in (REGULAR, EXECUTABLE) and wanted(path)
    }
    return dict(sorted(found.items(), key=lambda item: (item[0].count("/"), item[0])))


def _stored(private: PrivateRepository, content: bytes) -> str:
    if private.user.object_format == "sha1":
        return private.store_object("blob", content)
    return run_git(private.place, "hash-object", "-w", "--stdin", stdin=content).text


def _committed(
    private: PrivateRepository,
    base: str,
    entries: Mapping[str, TreeEntry | None],
    message: str,
    when: str,
    left_out: tuple[str, ...],
) -> ProbeCommit:
    nothing = TreeEntry("0", "0" * len(base))
    lines = [f"{(entry or nothing).mode} {(entry or nothing).sha}\t{path}" for path, entry in entries.items()]
    with tempfile.TemporaryDirectory(dir=private.area("headway-index")) as folder:
        place = private.place.at(None, Path(folder) / "index")
        run_git(place, "read-tree", base)
        run_git(place, "update-index", "-z", "--index-info", stdin=nul_terminated(lines))
        tree = run_git(place, "write-tree").text
    commit = private.commit_tree(tree, base, message, when)
    return ProbeCommit(commit, private.diff(base, commit), left_out)
