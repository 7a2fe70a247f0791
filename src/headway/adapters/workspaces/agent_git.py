"""The throw-away `.git` that an agent's tree is given before each turn.

It holds the reference as its only commit: no history, no other refs, no remotes, no link to another repository. The
agent may do in it what it likes; it is never read, and thrown away with the tree's other leftovers.
"""

import shutil
import threading
from pathlib import Path

from headway.adapters.git import run_git
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.workspaces.direct_commit import commit_text
from headway.errors import TreeStuck

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
_PACKS_KEPT = 12


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
            raise TreeStuck(str(tree), f"no .git of its own could be made in it ({problem})") from problem

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

        Objects are taken over from an earlier template, so that only what is new is packed. What the few references
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
        packs, besides = folder / "objects" / "pack", ""
        if earlier is not None:
            known = (earlier / "refs" / "heads" / "work").read_text().strip()
            besides = f"^{known}^{{tree}}\n"  # the tree itself: of an unrelated commit git would pack all again
            for path in (earlier / "objects" / "pack").iterdir():
                (packs / path.name).hardlink_to(path)
        words = ("pack-objects", "--revs", "-q", "--window=0", str(packs / "pack"))
        run_git(private.place, *words, stdin=f"{root}\n{besides}".encode())
        run_git(private.place.at(None, folder / "index"), "read-tree", commit)
        (folder / "config").write_text(_CONFIG.format(version=int(is_sha256)) + (_SHA256 if is_sha256 else ""))
        (folder / "refs" / "heads" / "work").write_text(f"{root}\n")
        (folder / "HEAD").write_text("ref: refs/heads/work\n")

    @staticmethod
    def _forget_old(area: Path, newest: Path) -> None:
        """Remove all but the last few templates."""
        others = sorted((path for path in area.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
        for path in others[: max(0, len(others) - _TEMPLATES_KEPT + 1)]:
            shutil.rmtree(path, ignore_errors=True)


def _newest(area: Path) -> Path | None:
    """Give the newest whole template, unless it is made of many packs already."""
    whole = [path for path in area.iterdir() if (path / "HEAD").is_file() and path.suffix != ".new"]
    newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or len(list((newest / "objects" / "pack").glob("*.pack"))) >= _PACKS_KEPT:
        return None
    return newest
