"""Look at the files of a tree, and take away what does not belong there, without any help of git's.

Nothing here follows a symbolic link or reads an agent's `.git`. A file's signature (type, permissions, size, times,
inode) tells an untouched file from a touched one: the change time is the kernel's, no program can set it, so an edit
that keeps size and modification time is caught too. Not caught, and stated: a process that may set the machine's
clock and turns it back to hide an edit.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from headway.adapters.git_listing import GITLINK, SYMLINK, Listing, parents
from headway.errors import OutsideFailed, TreeStuck
from headway.store.atomic import disk_failure

LEFTOVER_NAMES = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store", ".headway"}
)
"""What common tools leave behind: never part of a candidate and no evidence of anything, unless it is tracked."""

_OPEN = 0o700


_NO_FAULT_OF_THE_TREE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


def stuck(tree: Path, problem: OSError, detail: str) -> OutsideFailed:
    """Give the error for a tree that cannot be written: the disk's, where removing the tree would mend nothing.

    Args:
        tree: the tree.
        problem: what the system said; of several files at once it has no number, and the words tell.
        detail: what to say of a tree that is stuck.
    """
    for number in _NO_FAULT_OF_THE_TREE:
        if problem.errno == number or (problem.errno is None and os.strerror(number) in str(problem)):
            return disk_failure(OSError(number, os.strerror(number)), tree)
    return TreeStuck(str(tree), detail)


class Signature(NamedTuple):
    """What changes when a file is touched."""

    mode: int
    size: int
    modified_ns: int
    changed_ns: int
    inode: int


@dataclass(frozen=True)
class Kept:
    """Untracked files and folders that belong to a tree although no commit has them: build caches, shared files."""

    paths: frozenset[str]
    above: frozenset[str]

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Kept":
        """Take repository-relative paths, with or without a slash at their end."""
        clean = frozenset(path.removeprefix("./").strip("/") for path in paths) - {""}
        return cls(clean, frozenset(parents(clean)))


@dataclass
class Scan:
    """What stands in a tree: files and links with their signatures, and folders that hold a repository."""

    files: dict[str, Signature] = field(default_factory=dict)
    repositories: list[str] = field(default_factory=list)


def signature_of(facts: os.stat_result) -> Signature:
    """Give the signature of a file."""
    return Signature(facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)


def signatures(root: Path, listing: Listing) -> dict[str, Signature]:
    """Give the signature of every file of a listing that stands in a tree."""
    found, prefix = {}, f"{root}/"
    for path in listing.entries:
        try:
            found[path] = signature_of(os.lstat(prefix + path))
        except OSError:
            continue
    return found


def clear(root: Path, listing: Listing, kept: Kept) -> dict[str, Signature]:
    """Remove all that a commit does not have: untracked, ignored, of another type, with links elsewhere, any `.git`.

    Args:
        root: the tree; made where it is missing, made anew where it is no folder.
        listing: the commit's files.
        kept: untracked paths that stay.
    Returns: the signature of every tracked file that is left (its content may differ from the commit's).
    Raises: TreeStuck.
    """
    left: dict[str, Signature] = {}
    try:
        _real_folder(root)
        folders = [("", False)]
        while folders:
            folder, keeps_all = folders.pop()
            for path, entry in _inside(root, folder):
                facts = entry.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(facts.st_mode)
                listed = listing.entries.get(path)
                if listed is not None:
                    if _is_as_listed(entry.path, facts, listed.mode):
                        left[path] = signature_of(facts)
                    else:
                        remove(Path(entry.path))
                elif is_folder and (path in listing.folders or path in kept.above):
                    folders.append((path, keeps_all or path in kept.paths))
                elif not keeps_all and (path not in kept.paths or stat.S_ISLNK(facts.st_mode)):
                    remove(Path(entry.path))
    except OSError as problem:
        raise stuck(root, problem, f"{problem.strerror} ({problem.filename})") from problem
    return left


def scan(root: Path, listing: Listing, left_out: Kept) -> Scan:
    """See what stands in a tree that others may have changed.

    Args:
        root: the tree.
        listing: the commit that it is compared with.
        left_out: untracked paths that are not looked at (shared files, build caches).
    Returns: files and links, leftovers of common tools left out; the tree's own `.git` is passed over, a nested one is
        named by its folder and hides what is not tracked beside it.
    Raises: TreeStuck.
    """
    seen = Scan()
    try:
        folders = [("", False)]
        while folders:
            folder, only_tracked = folders.pop()
            entries = _inside(root, folder)
            if folder and any(entry.name.casefold() == ".git" for _, entry in entries):
                seen.repositories.append(folder)
                only_tracked = True
            for path, entry in entries:
                if entry.name.casefold() == ".git":
                    continue
                facts = entry.stat(follow_symlinks=False)
                is_tracked = path in listing.entries or path in listing.folders
                if not is_tracked and (only_tracked or path in left_out.paths or is_leftover(entry.name)):
                    continue
                if not stat.S_ISDIR(facts.st_mode):
                    if stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode):
                        seen.files[path] = signature_of(facts)
                elif path in listing.entries and listing.entries[path].mode == GITLINK:
                    if _inside(root, path):
                        seen.repositories.append(path)
                else:
                    folders.append((path, only_tracked or path in left_out.paths))
    except OSError as problem:
        raise stuck(root, problem, f"{problem.strerror} ({problem.filename})") from problem
    return seen


def is_leftover(name: str) -> bool:
    """Say whether a file or folder of this name is what a common tool leaves behind."""
    return name in LEFTOVER_NAMES or name.endswith((".pyc", ".pyo"))


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, read-only folders included; links are not followed."""
    if not stat.S_ISDIR(path.lstat().st_mode):
        path.unlink()
        return
    folders = [str(path)]
    while folders:
        folders.extend(entry.path for entry in _open_folder(folders.pop()) if entry.is_dir(follow_symlinks=False))
    shutil.rmtree(path)


def _real_folder(root: Path) -> None:
    """Make sure that a tree's root is a folder of its own and no link to elsewhere."""
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        root.unlink()
    root.mkdir(parents=True, exist_ok=True)


def _inside(root: Path, folder: str) -> list[tuple[str, "os.DirEntry[str]"]]:
    """Give what stands in a folder of a tree, by its path in the tree."""
    prefix = f"{folder}/" if folder else ""
    return [(prefix + entry.name, entry) for entry in _open_folder(f"{root}/{folder}" if folder else str(root))]


def _open_folder(folder: str) -> "list[os.DirEntry[str]]":
    """List a folder; one that was closed to its owner is opened first."""
    mode = os.lstat(folder).st_mode
    if mode & _OPEN != _OPEN:
        Path(folder).chmod(0o755)
    with os.scandir(folder) as entries:
        return list(entries)


def _is_as_listed(path: str, facts: os.stat_result, mode: str) -> bool:
    """Say whether what stands at a tracked path is of the right type and reachable by no other name."""
    if mode == GITLINK:
        return stat.S_ISDIR(facts.st_mode) and not _open_folder(path)
    if mode == SYMLINK:
        return stat.S_ISLNK(facts.st_mode)
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
