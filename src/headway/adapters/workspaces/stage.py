"""A staging area: changed files on their way into a commit.

Files are copied here out of a tree before git looks at them, so git never runs in a folder that an agent has written,
and line endings and filters are decided by the base commit's `.gitattributes` alone (git takes them from the index,
because the staging area holds none). Source: CONTRACTS section 1.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from headway.adapters.git import Place, nul_terminated, run_git
from headway.adapters.git_listing import EXECUTABLE, REGULAR, SYMLINK, FileChange, compare_trees
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.workspaces.tree_files import Signature, remove


class Stage:
    """One staging area of one tree; its folder is made, empty, when it is first needed."""

    def __init__(self, private: PrivateRepository, name: str, base_commit: str) -> None:
        self._private = private
        self._base = base_commit
        self._name = name

    @cached_property
    def _folder(self) -> Path:
        folder = self._private.area("headway-stage") / self._name
        if os.path.lexists(folder):
            remove(folder)
        (folder / "files").mkdir(parents=True)
        return folder

    def ignored(self, paths: Iterable[str], ignore_files: Mapping[str, bytes]) -> set[str]:
        """Say which untracked files the base commit's ignore rules leave out.

        Args:
            paths: repository-relative paths of files.
            ignore_files: the base commit's `.gitignore` files with their bytes.
        Returns: those of the paths that are ignored, also by the user's `info/exclude`.
        """
        rules = self._folder / "rules"
        rules.mkdir(exist_ok=True)
        for path, text in ignore_files.items():
            (rules / path).parent.mkdir(parents=True, exist_ok=True)
            (rules / path).write_bytes(text)
        words = ("check-ignore", "--no-index", "-z", "--stdin")
        place = self._private.place.at(rules, self._folder / "no-index")
        asked = nul_terminated(f"./{path}" for path in paths)  # with `./` no path is taken for pathspec magic
        answer = run_git(place, *words, stdin=asked, accept=(0, 1), environment={"GIT_LITERAL_PATHSPECS": "0"})
        return {path.removeprefix("./") for path in answer.fields}

    def add(self, tree: Path, found: Mapping[str, Signature | None], base_index: Path | None) -> Place:
        """Put files into a fresh index of the base commit.

        Args:
            tree: the tree that the files stand in.
            found: each path with its signature, None for a file that is gone.
            base_index: an index that holds the base commit; None: git reads one.
        Returns: the place of that index.
        """
        files, index_file = self._folder / "files", self._folder / "index"
        place = self._private.place.at(files, index_file)
        if base_index is None:
            run_git(self._private.place.at(None, index_file), "read-tree", self._base)
        else:
            shutil.copyfile(base_index, index_file)
        present = {path for path, signature in found.items() if signature is not None}
        for path in present:
            _copy(tree / path, files / path)
        paths = [path for path in found if path in present or not _is_below(path, present)]
        words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        run_git(place, *words, stdin=nul_terminated(paths))
        return place

    def write_tree(self, place: Place) -> tuple[str, tuple[FileChange, ...]]:
        """Write the index as a tree and give its differences from the base commit."""
        tree = run_git(place, "write-tree").text
        return tree, compare_trees(self._private.place, self._base, tree)


def mode_of(signature: Signature) -> str:
    """Give git's mode for a file."""
    if stat.S_ISLNK(signature.mode):
        return SYMLINK
    return EXECUTABLE if signature.mode & 0o100 else REGULAR


def open_file(path: Path) -> BinaryIO:
    """Open a file of a tree for reading, never through a link; one closed to its owner is opened first."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags), "rb")
    except PermissionError:
        path.chmod(path.lstat().st_mode & 0o777 | 0o400)
        return os.fdopen(os.open(path, flags), "rb")


def _copy(source: Path, target: Path) -> None:
    """Copy a file or link as it is, with its executable bit."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))  # noqa: PTH115 - Path.readlink tidies the text up
        return
    with open_file(source) as read, target.open("wb") as write:
        shutil.copyfileobj(read, write, 1 << 20)
        os.fchmod(write.fileno(), 0o755 if os.fstat(read.fileno()).st_mode & 0o100 else 0o644)


def _is_below(path: str, files: set[str]) -> bool:
    """Say whether a path lies below one that is a file now: it goes with it."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in files:
            return True
        folder = folder.rpartition("/")[0]
    return False
