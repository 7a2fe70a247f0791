"""The throw-away `.git` that an agent's tree is given before each turn.

It holds the reference as its only commit: no history, no other refs, no remotes, no link to another repository. The
agent may do in it what it likes; it is never read, and thrown away with the tree's other leftovers.
"""

import shutil
import threading
from pathlib import Path

from headway.adapters.git import run_git
from headway.adapters.git_listing import GITLINK
from headway.adapters.private_repository import PrivateRepository, store_loose
from headway.adapters.workspaces.direct_commit import commit_text, write_trees
from headway.adapters.workspaces.quick_checkout import MOST_FILES
from headway.adapters.workspaces.tree_files import stuck

_CONFIG = """[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
[gc]
\tauto = 0
[user]
\tname = agent
\temail = agent@localhost
"""
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_DATE = "946684800 +0000"
_SUBJECT = "the state to start from"
_TEMPLATES_KEPT = 2
_LOOSE_KEPT = 9


class AgentGit:
    """Gives trees their `.git`; a template is made once for each reference and copied."""

    def __init__(self, private: PrivateRepository) -> None:
        self._private = private
        self._making = threading.Lock()  # several agents of a batch start from one reference at once

    def give(self, tree: Path, commit: str) -> None:
        """Put a `.git` with the one commit into a tree that was just made equal to it.

        Args:
            tree: the tree, without a `.git`.
            commit: the reference.
        Raises: TreeStuck, GitFailed.
        """
        try:
            with self._making:
                shutil.copytree(self._template(commit), tree / ".git", copy_function=shutil.copyfile)
        except OSError as problem:
            raise stuck(tree, problem, f"no .git of its own could be made in it ({problem})") from problem

    def _template(self, commit: str) -> Path:
        """Give the template for a commit, made if it is not there yet."""
        area = self._private.area("headway-templates")
        template = area / commit
        if not template.is_dir():
            unfinished = area / f"{commit}.new"
            shutil.rmtree(unfinished, ignore_errors=True)
            self._make(unfinished, commit, _newest(area))
            unfinished.rename(template)
            self._forget_old(area, template)
        return template

    def _make(self, folder: Path, commit: str, earlier: Path | None) -> None:
        """Write a repository that holds one root commit with the files of `commit`.

        Objects are taken over from an earlier template, so that only what is new is stored. What the few references
        before it had may so lie in it unreferenced, until the next one is packed whole.
        """
        private = self._private
        is_sha256 = private.user.object_format == "sha256"
        tree = private.tree_of(commit)
        if is_sha256:
            root = private.commit_tree(tree, None, _SUBJECT, _DATE)
        else:
            root = private.store_object("commit", commit_text(tree, None, _SUBJECT, _DATE))
        for name in ("objects/pack", "refs/heads"):
            (folder / name).mkdir(parents=True)
        if earlier is None or is_sha256 or not self._grow(folder / "objects", commit, earlier):
            words = ("pack-objects", "--revs", "-q", "--window=0", str(folder / "objects" / "pack" / "pack"))
            run_git(private.place, *words, stdin=f"{root}\n".encode())
        run_git(private.place.at(None, folder / "index"), "read-tree", commit)
        (folder / "config").write_text(_CONFIG.format(version=int(is_sha256)) + (_SHA256 if is_sha256 else ""))
        (folder / "refs" / "heads" / "work").write_text(f"{root}\n")
        (folder / "HEAD").write_text("ref: refs/heads/work\n")

    def _grow(self, objects: Path, commit: str, earlier: Path) -> bool:
        """Take an earlier template's objects over and add what is new as loose ones; False when that is too much."""
        before, after = self._private.ls_tree(earlier.name), self._private.ls_tree(commit)
        changed = {path for path, entry in after.entries.items() if before.entries.get(path) != entry}
        gone = before.entries.keys() - after.entries.keys()
        blobs = None
        if len(changed) <= MOST_FILES and all(after.entries[path].mode != GITLINK for path in changed):
            blobs = self._private.small_blobs(after.entries[path].sha for path in changed)
        if blobs is None:
            return False
        for path in (earlier / "objects").rglob("*"):
            target = objects / path.relative_to(earlier / "objects")
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.hardlink_to(path)

        def put(kind: str, content: bytes) -> str:
            return store_loose(objects, kind, content)

        for content in blobs.values():
            put("blob", content)
        tree = write_trees(put, after, changed | gone)
        put("commit", commit_text(tree, None, _SUBJECT, _DATE))
        return True

    @staticmethod
    def _forget_old(area: Path, newest: Path) -> None:
        """Remove all but the last few templates."""
        others = sorted((path for path in area.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
        for path in others[: max(0, len(others) - _TEMPLATES_KEPT + 1)]:
            shutil.rmtree(path, ignore_errors=True)


def _newest(area: Path) -> Path | None:
    """Give the newest whole template, unless many loose objects were added to it already."""
    whole = [path for path in area.iterdir() if (path / "HEAD").is_file() and path.suffix != ".new"]
    newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or sum(1 for _ in (newest / "objects").glob("??/*")) >= _LOOSE_KEPT:
        return None
    return newest
