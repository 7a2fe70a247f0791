"""The throw-away `.git` that an agent's tree is given before each turn.

It holds the reference as its only commit: no history, no other refs, no remotes, no link to another repository. The
agent may do in it what it likes; it is never read, and thrown away with the tree's other leftovers.
"""

import hashlib
import os
import shutil
import stat
import struct
import threading
from pathlib import Path

from headway.adapters.git import run_git
from headway.adapters.git_listing import GITLINK, Listing
from headway.adapters.private_repository import PrivateRepository, store_loose
from headway.adapters.workspaces.direct_commit import commit_text, write_trees
from headway.adapters.workspaces.quick_checkout import MOST_FILES
from headway.adapters.workspaces.tree_files import remove, stuck

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
_LOOSE_KEPT = 60
_COMPARED_BYTES = 4 << 20
"""Reading a larger file costs about what copying it anew does."""
_LONGEST_NAME = 0xFFF


class AgentGit:
    """Gives trees their `.git`; a template is made once for each reference, and trees are made equal to it."""

    def __init__(self, private: PrivateRepository) -> None:
        self._private = private
        self._making = threading.Lock()  # several agents of a batch start from one reference at once

    def give(self, tree: Path, commit: str) -> None:
        """Make a tree's `.git` one with the one commit, byte for byte; most turns leave little or nothing to write.

        Args:
            tree: the tree, just made equal to the commit.
            commit: the reference.
        Raises: TreeStuck, GitFailed.
        """
        try:
            with self._making:
                template, given = self._template(commit), tree / ".git"
                try:
                    _make_equal(template, given)
                except OSError:  # no folder, or one that an agent has closed
                    remove(given)
                    _make_equal(template, given)
        except OSError as problem:
            raise stuck(tree, problem, f"no .git of its own could be made in it ({problem})") from problem

    def _template(self, commit: str) -> Path:
        """Give the template for a commit, made if it is not there yet, from the newest one where that is less work."""
        area = self._private.area("headway-templates")
        template = area / commit
        if not template.is_dir():
            unfinished = area / f"{commit}.new"
            shutil.rmtree(unfinished, ignore_errors=True)
            earlier = _newest(area)
            if earlier is None or not self._turn_into(unfinished, commit, earlier):
                self._make(unfinished, commit)
            unfinished.rename(template)
            self._forget_old(area, template)
        return template

    def _make(self, folder: Path, commit: str) -> None:
        """Write a repository that holds one root commit with the files of `commit`."""
        private = self._private
        is_sha256 = private.user.object_format == "sha256"
        tree = private.tree_of(commit)
        if is_sha256:
            root = private.commit_tree(tree, None, _SUBJECT, _DATE)
        else:
            root = private.store_object("commit", commit_text(tree, None, _SUBJECT, _DATE))
        for name in ("objects/pack", "refs/heads"):
            (folder / name).mkdir(parents=True)
        words = ("pack-objects", "--revs", "-q", "--window=0", str(folder / "objects" / "pack" / "pack"))
        run_git(private.place, *words, stdin=f"{root}\n".encode())
        run_git(private.place.at(None, folder / "index"), "read-tree", commit)
        (folder / "config").write_text(_CONFIG.format(version=int(is_sha256)) + (_SHA256 if is_sha256 else ""))
        (folder / "refs" / "heads" / "work").write_text(f"{root}\n")
        (folder / "HEAD").write_text("ref: refs/heads/work\n")

    def _turn_into(self, folder: Path, commit: str, earlier: Path) -> bool:
        """Turn an earlier template into the one for `commit`; False when that is too much, and nothing was done.

        Only what is new is stored, as loose objects. What the few references before it had so lies in it unreferenced,
        until the next one is packed whole.
        """
        if self._private.user.object_format != "sha1":
            return False
        before, after = self._private.ls_tree(earlier.name), self._private.ls_tree(commit)
        changed = {path for path, entry in after.entries.items() if before.entries.get(path) != entry}
        gone = before.entries.keys() - after.entries.keys()
        if len(changed) > MOST_FILES or any(after.entries[path].mode == GITLINK for path in changed):
            return False
        blobs = self._private.small_blobs(after.entries[path].sha for path in changed)
        if blobs is None:
            return False
        earlier.rename(folder)

        def put(kind: str, content: bytes) -> str:
            return store_loose(folder / "objects", kind, content)

        for content in blobs.values():
            put("blob", content)
        tree = write_trees(put, after, changed | gone)
        root = put("commit", commit_text(tree, None, _SUBJECT, _DATE))
        (folder / "index").write_bytes(_index_of(after))
        (folder / "refs" / "heads" / "work").write_text(f"{root}\n")
        return True

    @staticmethod
    def _forget_old(area: Path, newest: Path) -> None:
        """Remove all but the last few templates."""
        others = sorted((path for path in area.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
        for path in others[: max(0, len(others) - _TEMPLATES_KEPT + 1)]:
            shutil.rmtree(path, ignore_errors=True)


def _index_of(listing: Listing) -> bytes:
    """Give the index that `git read-tree` writes for a commit's files, SHA-1 (gitformat-index, version 2)."""
    parts = [b"DIRC" + struct.pack(">LL", 2, len(listing.entries))]
    for name, entry in sorted((os.fsencode(path), entry) for path, entry in listing.entries.items()):
        facts = struct.pack(">24xL12x20sH", int(entry.mode, 8), bytes.fromhex(entry.sha), min(len(name), _LONGEST_NAME))
        parts.append(facts + name + bytes(8 - (len(facts) + len(name)) % 8))
    content = b"".join(parts)
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


def _make_equal(template: Path, given: Path) -> None:
    """Make a folder hold just what the template holds; what is equal already is left alone, links are not followed.

    Raises: OSError.
    """
    given.mkdir(exist_ok=True)
    if given.stat().st_mode & 0o700 != 0o700:
        given.chmod(0o755)
    with os.scandir(template) as entries:
        wanted = {entry.name: entry.is_dir() for entry in entries}
    with os.scandir(given) as entries:
        found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    for name, facts in found.items():
        if name not in wanted or stat.S_ISDIR(facts.st_mode) != wanted[name]:
            remove(given / name)
    for name, is_folder in wanted.items():
        ours, theirs = template / name, given / name
        if is_folder:
            _make_equal(ours, theirs)
        elif name not in found or not _is_same_file(ours, theirs, found[name]):
            theirs.unlink(missing_ok=True)
            shutil.copyfile(ours, theirs)


def _is_same_file(ours: Path, theirs: Path, facts: os.stat_result) -> bool:
    """Say whether a plain file that no program may start, under one name only, has the template's bytes."""
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1 or facts.st_mode & 0o7111 or not facts.st_mode & 0o400:
        return False
    if facts.st_size > _COMPARED_BYTES or facts.st_size != ours.stat().st_size:
        return False
    return ours.read_bytes() == theirs.read_bytes()


def _newest(area: Path) -> Path | None:
    """Give the newest whole template, unless many loose objects were added to it already: it is packed anew then."""
    whole = [path for path in area.iterdir() if (path / "HEAD").is_file() and path.suffix != ".new"]
    newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or sum(1 for _ in (newest / "objects").glob("??/*")) >= _LOOSE_KEPT:
        return None
    return newest
