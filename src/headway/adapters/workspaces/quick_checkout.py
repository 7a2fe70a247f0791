"""Makes a tree equal to a commit without starting git, when only a few files differ.

Only where git would write the very bytes of a blob: no `.gitattributes` in either commit. What certainly is untouched
since the tree was last made equal to a commit is left alone (signatures, see `tree_files`); any other file is written.
The tree's index no longer tells the truth then; the caller removes it, and the next full checkout makes it again.

Source: DESIGN section 12 (about nine git calls fit).
"""

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from headway.adapters.git_listing import EXECUTABLE, REGULAR, SYMLINK, Listing
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.workspaces.stage import mode_of, open_file
from headway.adapters.workspaces.tree_files import Signature, remove, signature_of, stuck

MOST_FILES = 64
MOST_BYTES_HASHED = 1 << 20
SHA1_DIGITS = 40
_MODES = (REGULAR, EXECUTABLE, SYMLINK)


def check_out_quickly(
    private: PrivateRepository,
    root: Path,
    before: Listing,
    wanted: Listing,
    found: Mapping[str, Signature],
    untouched: Callable[[str, Signature], bool],
) -> dict[str, Signature] | None:
    """Write what differs from a commit into a tree that held another one.

    Args:
        private: where the blobs are.
        root: the tree; all that `wanted` does not have was removed from it.
        before: the files of the commit that it was last made equal to.
        wanted: the files of the commit that it is to hold.
        found: the signatures of the files that stand in it.
        untouched: says whether a file is certainly as it was when it was made equal to `before`.
    Returns: the signatures of all files afterwards; None when git has to do it, with nothing written.
    Raises: TreeStuck.
    """
    if before.attribute_files or wanted.attribute_files:
        return None
    differing = [
        path
        for path, entry in wanted.entries.items()
        if path not in found or before.entries.get(path) != entry or not untouched(path, found[path])
    ]
    differing = [path for path in differing if path not in found or not _holds(root / path, found[path], wanted, path)]
    if len(differing) > MOST_FILES or any(wanted.entries[path].mode not in _MODES for path in differing):
        return None
    blobs = private.small_blobs(wanted.entries[path].sha for path in differing)
    if blobs is None:
        return None
    signatures = dict(found)
    for path in differing:
        entry = wanted.entries[path]
        try:
            signatures[path] = _write(root / path, entry.mode, blobs[entry.sha])
        except OSError as problem:
            raise stuck(root, problem, f"{problem.strerror} ({path})") from problem
    return signatures


def _holds(path: Path, signature: Signature, wanted: Listing, name: str) -> bool:
    """Say by its content whether a file is what it should be: one written just now looks touched, and is not."""
    entry = wanted.entries[name]
    if not stat.S_ISREG(signature.mode) or signature.size > MOST_BYTES_HASHED or mode_of(signature) != entry.mode:
        return False
    with open_file(path) as read:
        content = read.read()
    kind = "sha1" if len(entry.sha) == SHA1_DIGITS else "sha256"
    return hashlib.new(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == entry.sha


def _write(path: Path, mode: str, content: bytes) -> Signature:
    """Put a file or link into its place, never through a link that stands there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(path):
        remove(path)
    if mode == SYMLINK:
        path.symlink_to(os.fsdecode(content))
        return signature_of(path.lstat())
    permissions = 0o777 if mode == EXECUTABLE else 0o666
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, permissions)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return signature_of(path.lstat())
