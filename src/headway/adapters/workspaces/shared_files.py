"""Copies of the user's uncommitted files (`parallel.shared_files`) in a tree.

Copied and never linked: code that is measured must not be able to change the user's data through a link. Links in
the user's checkout are followed, what they lead to is copied; one that leads nowhere is left out. A copy that nobody
touched and whose source did not change is not made again. What else stands in a shared folder of the tree is removed.
Source: BR-51 (a missing file is an error of set-up, never a bad score).
"""

import os
import shutil
import stat
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from headway.adapters.git_listing import parents
from headway.adapters.workspaces.tree_files import Signature, remove, signature_of, stuck
from headway.errors import SharedFileMissing


class SharedCopies:
    """The copies in one tree, remembered by the signatures of source and copy."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._made: dict[str, tuple[Signature, Signature]] = {}

    def copy(self, source_root: Path, shared_files: Sequence[str], tracked: Collection[str]) -> list[str]:
        """Make the tree's copies equal to the sources.

        Args:
            source_root: the user's checkout.
            shared_files: repository-relative files and folders.
            tracked: the files of the commit that the tree holds; these are never overwritten.
        Returns: the files that are copies now.
        Raises: SharedFileMissing, also for a path that leads out of the checkout; TreeStuck.
        """
        done: list[str] = []
        for name in shared_files:
            path = _clean(name, source_root)
            try:
                sources = {rel: file for rel, file in _sources(source_root, path).items() if rel not in tracked}
                self._remove_others(path, sources, tracked)
                for rel, file in sources.items():
                    self._place(rel, file)
            except OSError as problem:
                raise stuck(self._tree, problem, f"the shared file `{path}` cannot be copied ({problem})") from problem
            done += sources
        return done

    def _place(self, rel: str, source: Path) -> None:
        """Copy one file unless its copy is known to be good."""
        copy = self._tree / rel
        facts = signature_of(source.stat())
        made = self._made.get(rel)
        if made and os.path.lexists(copy) and made == (facts, signature_of(copy.lstat())):
            return
        for folder in sorted(parents([rel])):
            _real_folder(self._tree / folder)
        if os.path.lexists(copy):
            remove(copy)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
        self._made[rel] = (facts, signature_of(copy.lstat()))

    def _remove_others(self, path: str, wanted: Collection[str], tracked: Collection[str]) -> None:
        """Remove what stands in a shared folder of the tree and is neither shared nor tracked."""
        if not (self._tree / path).is_dir():
            return
        for folder, names, files in os.walk(self._tree / path):
            below = PurePosixPath(os.path.relpath(folder, self._tree))
            links = [name for name in names if Path(folder, name).is_symlink()]
            for name in [*files, *links]:
                if str(below / name) not in wanted and str(below / name) not in tracked:
                    remove(Path(folder, name))


def _clean(name: str, source_root: Path) -> str:
    """Give a shared file's path in its one spelling. Raises: SharedFileMissing."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or ".git" in path.parts or not path.parts:
        raise SharedFileMissing(name, str(source_root), "may not be shared: it has to lie inside the repository")
    if not (source_root / path).exists():
        raise SharedFileMissing(str(path), str(source_root))
    return str(path)


def _sources(root: Path, path: str) -> dict[str, Path]:
    """Find the files behind a shared path; every folder is entered once, so that links in a circle end."""
    found: dict[str, Path] = {}
    entered: set[Path] = set()
    waiting = [path]
    while waiting:
        rel = waiting.pop()
        source = root / rel
        if source.is_dir():
            if source.resolve() not in entered:
                entered.add(source.resolve())
                waiting += [f"{rel}/{inner.name}" for inner in source.iterdir() if inner.name != ".git"]
        elif source.exists() and stat.S_ISREG(source.stat().st_mode):
            found[rel] = source
    return dict(sorted(found.items()))


def _real_folder(folder: Path) -> None:
    """Make sure that a path is a folder and no link to elsewhere."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        remove(folder)
    folder.mkdir(exist_ok=True)
