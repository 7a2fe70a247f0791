"""What an agent changed in a tree, made into a candidate: a commit of the changes in scope, and evidence of the others.

The tree is compared with the base commit file by file, without git: an untouched signature, else the content's hash.
Only the files in question are copied to a staging area and given to git there. So an agent's `.git`, hooks, settings
and attributes have no part in what is committed.

- Ignored files are not part of a candidate unless they are tracked; the base commit's `.gitignore` files and the
  user's `info/exclude` decide, never what the agent made of them. Nor is what common tools leave (`__pycache__`).
- Never in a candidate, whatever the scope says: nested repositories and gitlinks, `.gitmodules`, `.gitattributes`,
  links that lead out of the tree. An absolute target leads out, and so does a `..` that climbs above the root or
  follows a name (the name may be a link itself). Nor a file of more than a gibibyte: one turn that fills a file would
  fill the repository, and hold up the run for as long as git reads it.

Source: CONTRACTS section 1, DESIGN section 6; BR-10, BR-13, BR-42.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from headway.adapters.git_listing import GITLINK, FileChange, Listing, TreeEntry
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.workspaces.direct_commit import commit_directly, fits
from headway.adapters.workspaces.stage import Stage, mode_of, open_file
from headway.adapters.workspaces.tree_files import Kept, Signature, scan


class StrayKind(StrEnum):
    """Why a change is not part of the candidate."""

    IMMUTABLE = "immutable"
    OUT_OF_SCOPE = "out_of_scope"
    GITLINK = "gitlink"
    GITMODULES = "gitmodules"
    SYMLINK = "symlink"
    ATTRIBUTES = "attributes"
    TOO_LARGE = "too_large"


LARGEST_FILE = 1 << 30
"""Bytes that one file of a candidate may have."""


@dataclass(frozen=True)
class Stray:
    """A change that was left out, with the SHA-256 of what stood there and of what was found (None: nothing).

    Of a link the target's text is hashed. A nested repository has neither hash, a file that is too large no second one.
    """

    path: str
    kind: StrayKind
    expected_sha256: str | None
    found_sha256: str | None


@dataclass(frozen=True)
class CandidateBuilt:
    """A candidate: its commit, its tree, what it changes, what was left out, and the difference as a patch."""

    commit: str
    tree_sha: str
    changes: tuple[FileChange, ...]
    strays: tuple[Stray, ...]
    patch: bytes = b""


@dataclass(frozen=True)
class NoChange:
    """Nothing in scope was changed; what was changed out of scope stands in `strays`."""

    strays: tuple[Stray, ...]


@dataclass(frozen=True)
class TreeGone:
    """The folder of the turn is gone, or no folder any more: nothing can be said of what was done in it."""


@dataclass(frozen=True)
class Scope:
    """Which paths may be changed, and which must not be, whatever the first says."""

    in_mutable: Callable[[str], bool]
    in_immutable: Callable[[str], bool]


Untouched = Callable[[str, Signature], bool]
Differences = dict[str, Signature | None]


class CandidateBuilder:
    """Compares one tree with one base commit and commits the difference."""

    def __init__(self, private: PrivateRepository, name: str, tree: Path, base_commit: str, scope: Scope) -> None:
        self._private = private
        self._name = name
        self._tree = tree
        self._base_commit = base_commit
        self._base = private.ls_tree(base_commit)
        self._scope = scope
        self._known = Listing({})
        self._untouched: Untouched = lambda path, now: False
        self._base_index: Path | None = None

    def trust(self, commit: str, untouched: Untouched, index_file: Path) -> None:
        """Take over what is known of the tree, so that untouched files need not be read.

        Args:
            commit: the commit that the tree was last made equal to.
            untouched: says whether a file is certainly as it was then.
            index_file: the tree's index, which holds that commit.
        """
        self._known = self._private.ls_tree(commit)
        self._untouched = untouched
        self._base_index = index_file if commit == self._base_commit and index_file.is_file() else None

    def build(self, message: str, when: str | None, left_out: Kept) -> CandidateBuilt | NoChange:
        """Make the commit. Raises: GitFailed, TreeStuck."""
        seen = scan(self._tree, self._base, left_out)
        stage = Stage(self._private, self._name, self._base_commit)
        nested, differences = self._not_ignored(stage, seen.repositories, self._differences(seen.files))
        kinds = {path: self._refusal(path, now) for path, now in differences.items()}
        refused = {path: now for path, now in differences.items() if kinds[path] is not None}
        wanted = {path: now for path, now in differences.items() if kinds[path] is None}
        evidence = [(path, kinds[path]) for path in self._confirmed(stage, refused)]
        strays = self._strays([*evidence, *((folder, StrayKind.GITLINK) for folder in nested)], refused)
        if not wanted:
            return NoChange(strays)
        if fits(self._private, self._base, wanted):
            done = commit_directly(self._private, self._base_commit, self._tree, wanted, message, when)
            return (
                NoChange(strays)
                if done is None
                else CandidateBuilt(done.commit, done.tree_sha, done.changes, strays, done.patch)
            )
        tree_sha, changes = stage.write_tree(stage.add(self._tree, wanted, self._base_index))
        if not changes:
            return NoChange(strays)
        commit = self._private.commit_tree(tree_sha, self._base_commit, message, when)
        self._private.remember(commit, self._base.with_changes(changes))
        return CandidateBuilt(commit, tree_sha, changes, strays, self._private.diff(self._base_commit, commit))

    def _differences(self, files: dict[str, Signature]) -> Differences:
        """Find what is gone, changed or new; a file that git would clean may be named although it is unchanged."""
        found: Differences = {}
        for path, entry in self._base.entries.items():
            now = files.get(path)
            if entry.mode != GITLINK and (now is None or not self._is_same(path, entry, now)):
                found[path] = now
        found.update((path, now) for path, now in files.items() if path not in self._base.entries)
        return found

    def _is_same(self, path: str, entry: TreeEntry, now: Signature) -> bool:
        """Say whether a file has the bytes and the mode of an entry."""
        known = self._known.entries.get(path)
        if known is not None and self._untouched(path, now):
            return known == entry
        if is_too_large(now) and not self._base.attribute_files and now.size != self._private.size_of(entry.sha):
            return False
        return mode_of(now) == entry.mode and self._hash(path, now, as_blob=True) == entry.sha

    def _not_ignored(self, stage: Stage, nested: list[str], found: Differences) -> tuple[list[str], Differences]:
        """Take away new files and nested repositories that the base commit's rules ignore."""
        asked = [path for path in found if path not in self._base.entries] + [_probe(folder) for folder in nested]
        if not asked:
            return nested, found
        names = self._base.ignore_files
        texts = self._private.read_blobs(self._base.entries[name].sha for name in names)
        hidden = stage.ignored(asked, {name: texts[self._base.entries[name].sha] for name in names})
        kept = {path: now for path, now in found.items() if path not in hidden}
        return [folder for folder in nested if _probe(folder) not in hidden], kept

    def _refusal(self, path: str, now: Signature | None) -> StrayKind | None:
        """Say why a change may not be part of the candidate, None when it may."""
        name = path.rpartition("/")[2].casefold()
        if self._scope.in_immutable(path):
            return StrayKind.IMMUTABLE
        if is_too_large(now):
            return StrayKind.TOO_LARGE
        if name == ".gitmodules":
            return StrayKind.GITMODULES
        if name == ".gitattributes":
            return StrayKind.ATTRIBUTES
        if now is not None and stat.S_ISLNK(now.mode) and leaves_the_tree(path, self._target(path)):
            return StrayKind.SYMLINK
        return None if self._scope.in_mutable(path) else StrayKind.OUT_OF_SCOPE

    def _confirmed(self, stage: Stage, refused: Differences) -> Iterable[str]:
        """Leave out of the evidence what is only stored differently (line endings, LFS) and not changed at all."""
        if not self._base.attribute_files or not any(path in self._base.entries for path in refused):
            return refused
        attributes = [path for path in refused if path.endswith(".gitattributes")]  # never cleaned, never staged
        unread = [path for path, now in refused.items() if is_too_large(now)]
        staged = {path: now for path, now in refused.items() if path not in attributes and path not in unread}
        _, changes = stage.write_tree(stage.add(self._tree, staged, self._base_index))
        return [*attributes, *unread, *(change.path for change in changes)]

    def _strays(self, kinds: Iterable[tuple[str, StrayKind | None]], found: Differences) -> tuple[Stray, ...]:
        """Put the evidence together, sorted by path."""
        named = sorted((path, kind) for path, kind in kinds if kind is not None)
        entries = {path: self._base.entries[path] for path, _ in named if path in self._base.entries}
        texts = self._private.read_blobs(entry.sha for entry in entries.values() if entry.mode != GITLINK)
        expected = {path: hashlib.sha256(texts[e.sha]).hexdigest() for path, e in entries.items() if e.sha in texts}
        strays = []
        for path, kind in named:
            now = found.get(path)
            seen = None if now is None or is_too_large(now) else self._hash(path, now)
            strays.append(Stray(path, kind, expected.get(path), seen))
        return tuple(strays)

    def _target(self, path: str) -> str:
        """Give a link's text, letter for letter."""
        return os.readlink(self._tree / path)  # noqa: PTH115 - Path.readlink tidies the text up

    def _hash(self, path: str, now: Signature, *, as_blob: bool = False) -> str:
        """Give the SHA-256 of a file's bytes or a link's text, or git's hash of it as a blob."""
        digest = hashlib.new(self._private.user.object_format if as_blob else "sha256", usedforsecurity=False)
        if stat.S_ISLNK(now.mode):
            target = os.fsencode(self._target(path))
            digest.update((b"blob %d\0" % len(target) if as_blob else b"") + target)
            return digest.hexdigest()
        with open_file(self._tree / path) as read:
            if as_blob:
                digest.update(b"blob %d\0" % os.fstat(read.fileno()).st_size)
            while chunk := read.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()


def is_too_large(now: Signature | None) -> bool:
    """Say whether a file is none that a candidate may hold, or that is read for evidence."""
    return now is not None and now.size > LARGEST_FILE


def leaves_the_tree(path: str, target: str) -> bool:
    """Say whether a link at `path` may lead out of the tree.

    Args:
        path: of the link, repository-relative.
        target: the link's text.
    """
    if target.startswith("/"):
        return True
    names = [name for name in target.split("/") if name not in ("", ".")]
    climbs = next((n for n, name in enumerate(names) if name != ".."), len(names))
    return climbs > path.count("/") or ".." in names[climbs:]


def _probe(folder: str) -> str:
    """Name a file in a folder: what is said of it holds for the folder's content."""
    return f"{folder}/_"
