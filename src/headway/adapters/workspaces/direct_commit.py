"""Commits a candidate without starting git: objects are made here and stored loose, as git itself would.

Only where git would store the very bytes of a file: no `.gitattributes` in the base commit (so no filter and no line
endings to convert), SHA-1, files of moderate size. Everywhere else the staging area is used (`stage.py`), which gives
the same hashes; a test compares the two. One experiment so costs three calls of git instead of seven.

Source: DESIGN section 12 (about nine git calls fit); git's object format (gitformat-object, `git hash-object`).
"""

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headway.adapters.git import run_git
from headway.adapters.git_listing import FileChange, Listing, TreeEntry
from headway.adapters.private_repository import IDENTITY, PrivateRepository
from headway.adapters.workspaces.stage import mode_of, open_file
from headway.adapters.workspaces.tree_files import Signature

MOST_BYTES = 32 << 20
TREE_MODE = "40000"
Put = Callable[[str, bytes], str]
_RAW_DATE = re.compile(r"\d+ [+-]\d{4}")


@dataclass(frozen=True)
class Committed:
    """A commit made here: its hash, its tree's, what it changes, and the difference as a patch."""

    commit: str
    tree_sha: str
    changes: tuple[FileChange, ...]
    patch: bytes


def fits(private: PrivateRepository, base: Listing, found: Mapping[str, Signature | None]) -> bool:
    """Say whether git would store these files as they are."""
    if private.user.object_format != "sha1" or base.attribute_files:
        return False
    return sum(s.size for s in found.values() if s is not None) <= MOST_BYTES


def commit_directly(
    private: PrivateRepository,
    base_commit: str,
    tree: Path,
    found: Mapping[str, Signature | None],
    message: str,
    when: str | None,
) -> Committed | None:
    """Make a commit of changed files on top of a base commit; no ref is set.

    Args:
        private: where the objects go.
        base_commit: the commit's parent.
        tree: the folder that the files stand in; read, never through a link.
        found: each changed path with its signature, None for one that is gone.
        message: of the commit.
        when: its date, ISO 8601 or `1700000000 +0000`; None: now.
    Returns: the commit; None when nothing differs after all.
    """
    base = private.ls_tree(base_commit)
    made: list[str] = []

    def put(kind: str, content: bytes) -> str:
        made.append(private.store_object(kind, content))
        return made[-1]

    changes = []
    for path, signature in sorted(found.items()):
        change = _change(private, put, base, tree, path, signature)
        if change is not None:
            changes.append(change)
    if not changes:
        return None
    after = base.with_changes(changes)
    tree_sha = write_trees(put, after, {change.path for change in changes})
    commit = put("commit", commit_text(tree_sha, base_commit, message, when))
    private.know_objects(commit, made[::-1])
    private.remember(commit, after)
    private.know_tree(commit, tree_sha)
    counted, patch = _counted(private, base_commit, commit, changes)
    return Committed(commit, tree_sha, counted, patch)


def _change(
    private: PrivateRepository, put: Put, base: Listing, tree: Path, path: str, signature: Signature | None
) -> FileChange | None:
    before = base.entries.get(path)
    if signature is None:
        return None if before is None else FileChange(path, "D", None, None, None)
    content = _content(tree / path, signature)
    entry = TreeEntry(mode_of(signature), put("blob", content))
    private.keep_blob(entry.sha, content)
    if entry == before:
        return None
    if before is None:
        return FileChange(path, "A", None, None, entry)
    same_type = before.mode[:3] == entry.mode[:3]
    return FileChange(path, "M" if same_type else "T", None, None, entry)


def _content(path: Path, signature: Signature) -> bytes:
    if stat.S_ISLNK(signature.mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115 - Path.readlink tidies the text up
    with open_file(path) as read:
        return read.read()


def write_trees(put: Put, listing: Listing, changed: set[str]) -> str:
    """Store the trees of every folder that holds a change; give the root's hash.

    Args:
        put: stores an object of a kind and gives its hash.
        listing: every file, after the change.
        changed: paths of the files that changed.
    """
    folders: dict[str, dict[str, tuple[str, str]]] = {"": {}}
    for path, entry in listing.entries.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = (entry.mode, entry.sha)
    for folder in listing.folders:
        folders.setdefault(folder, {})
    touched = {""}
    for path in changed:
        folder = path.rpartition("/")[0]
        while folder:
            touched.add(folder)
            folder = folder.rpartition("/")[0]
    shas: dict[str, str] = {}
    for folder in sorted(folders, key=lambda f: -f.count("/") if f else 1):
        content = _tree_content(folders[folder])
        sha = put("tree", content) if folder in touched else _tree_hash(content)
        shas[folder] = sha
        if folder:
            parent, _, name = folder.rpartition("/")
            folders[parent][name] = (TREE_MODE, sha)
    return shas[""]


def _tree_content(entries: Mapping[str, tuple[str, str]]) -> bytes:
    """Give a tree object's bytes: entries in git's order, a folder as if its name ended in a slash."""
    named = [(os.fsencode(name), mode, sha) for name, (mode, sha) in entries.items()]
    named.sort(key=lambda e: e[0] + b"/" if e[1] == TREE_MODE else e[0])
    return b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(sha)) for name, mode, sha in named)


def _tree_hash(content: bytes) -> str:
    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def commit_text(tree_sha: str, parent: str | None, message: str, when: str | None) -> bytes:
    """Give a commit object's bytes, under headway's own name."""
    person = f"{IDENTITY['GIT_AUTHOR_NAME']} <{IDENTITY['GIT_AUTHOR_EMAIL']}> {_date(when)}"
    text = message.replace("\0", "")
    body = text if text.endswith("\n") else text + "\n"
    above = f"parent {parent}\n" if parent is not None else ""
    head = f"tree {tree_sha}\n{above}author {person}\ncommitter {person}\n\n"
    return (head + body).encode(errors="replace")


def _date(when: str | None) -> str:
    """Give a date as commits hold it; what has that form already stays."""
    if when is not None and _RAW_DATE.fullmatch(when):
        return when
    return f"{int(datetime.fromisoformat(when).timestamp() if when is not None else time.time())} +0000"


def _counted(
    private: PrivateRepository, before: str, after: str, changes: list[FileChange]
) -> tuple[tuple[FileChange, ...], bytes]:
    """Give the changes with their line counts, and the patch: one call of git for both."""
    words = ("diff-tree", "-r", "--numstat", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff")
    out = run_git(private.place, *words, "--no-textconv", "--no-color", before, after).out
    counts, _, patch = out.partition(b"\n\n")
    lines = [line.split(b"\t", 2)[:2] for line in counts.split(b"\n") if line]
    by_path = sorted(changes, key=lambda change: os.fsencode(change.path))
    counted = (
        change._replace(added=_number(added), removed=_number(removed))
        for change, (added, removed) in zip(by_path, lines, strict=True)
    )
    return tuple(sorted(counted, key=lambda change: change.path)), patch


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
