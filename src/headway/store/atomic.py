"""Write, flush, rename: a file is either its old bytes or its new bytes, whatever happens between.

Source: LOG-STORE section 2 (an atomic replace needs two flushes: the data, then the name).
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headway.errors import DiskFailed

_REASONS = {
    errno.ENOSPC: ("no space is left on the disk", "free some space there, then start the command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space there, then start the command again"),
    errno.EFBIG: (
        "the file would pass the largest size allowed here",
        "raise that limit (`ulimit -f`), then try again",
    ),
    errno.EROFS: ("the file system is read-only", "mount it writable, or name another place with --state-root"),
    errno.EACCES: ("permission was denied", "give this user write permission there, or use --state-root"),
    errno.EPERM: ("permission was denied", "give this user write permission there, or use --state-root"),
    errno.EIO: ("the disk reports a fault", "look at the system's log for disk errors before going on"),
    errno.ENOENT: ("the folder is gone", "put the folder back, or name another place with --state-root"),
    errno.EMFILE: ("too many files are open", "raise that limit (`ulimit -n`), then try again"),
}


def disk_failure(error: OSError, path: Path) -> DiskFailed:
    """Put an error of the operating system into words someone at a terminal can act on."""
    number = error.errno or 0
    what, mend = _REASONS.get(number, (error.strerror or str(error), "look at that place, then try again"))
    return DiskFailed(what, str(path), mend, number)


def is_disk_trouble(error: OSError) -> bool:
    """Say whether the system refused because of the disk, not because headway asked for what is not there."""
    return error.errno in _REASONS and error.errno != errno.ENOENT


def write_atomic(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, durably; on any failure it holds what it held before.

    Raises: DiskFailed, when the disk refuses; no temporary file is left.
    """
    try:
        with _temporary(path) as (handle, name):
            _keep_mode(handle, path)
            write_fully(handle, data)
            os.fsync(handle)
            name.replace(path)
        fsync_folder(path.parent)
    except OSError as error:
        raise disk_failure(error, path) from error


def write_derived(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, whole for every reader but not synced: for files that are made anew from durable ones.

    Raises: DiskFailed, when the disk refuses; `path` then holds what it held before.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise disk_failure(error, path) from error


def write_no_clobber(path: Path, data: bytes) -> bool:
    """Create `path` with `data`, durably and whole, unless something has that name already.

    Returns: False when the name was taken; what stands there is untouched.
    Raises: DiskFailed, when the disk refuses.
    """
    try:
        with _temporary(path) as (handle, name):
            os.fchmod(handle, 0o644)
            write_fully(handle, data)
            os.fsync(handle)
            try:
                os.link(name, path)
            except FileExistsError:
                return False
        fsync_folder(path.parent)
    except OSError as error:
        raise disk_failure(error, path) from error
    return True


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Raises: OSError, as the system gives it.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot flush a folder and need not
            raise
    finally:
        os.close(handle)


def write_fully(handle: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data` at the descriptor's place, however small the pieces that the system takes.

    Raises: OSError, as the system gives it.
    """
    with memoryview(data) as rest:
        done = 0
        while done < len(rest):
            done += os.write(handle, rest[done:])


def open_temporary(path: Path) -> tuple[int, Path]:
    """Open a fresh hidden file beside `path`, for a later rename.

    Raises: OSError, as the system gives it.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    return handle, Path(name)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, Path]]:
    handle, name = open_temporary(path)
    try:
        yield handle, name
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):  # gone after a rename
            name.unlink()


def _keep_mode(handle: int, path: Path) -> None:
    try:
        mode = path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mode = 0o644
    os.fchmod(handle, mode)
