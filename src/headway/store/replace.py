"""What both ways to commit share: versions of a file told apart, a draft written beside it, the result read back.

Source: LOG-STORE section 3.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from headway.errors import DiskFailed, RequestWrong
from headway.store.atomic import disk_failure, fsync_folder, write_fully

Identity = tuple[int, int, int, int]
"""What tells one version of a file from another: inode, size, times of change of content and of the inode."""

_WORTH_COPYING = 1 << 16


class Overtaken(Exception):
    """Somebody saved the file in the meantime; nothing was written over it."""


@dataclass(frozen=True)
class Step:
    """The way from one version of a file to the next, `buffer[:first] + data`.

    Attributes:
        buffer: the bytes of the version that it starts from, as far as `first` at least.
        first: the first byte that changes.
        data: all bytes from there on.
        expected: the version on disk; None when no file shall be there.
        from_disk: whether that version is `buffer`, so that the system may copy from it.
    """

    buffer: bytes | bytearray
    first: int
    data: bytes
    expected: Identity | None
    from_disk: bool


def identity_of(path: Path) -> Identity | None:
    """What tells the present version of a file from others; None when there is no file.

    Raises: DiskFailed.
    """
    try:
        return identified(os.stat(path))  # noqa: PTH116 - a commit looks four times; this is half the price
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_failure(error, path) from error


def identified(status: os.stat_result) -> Identity:
    """The identity that a file's status holds."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_same_save(one: Identity, other: Identity | None) -> bool:
    """Whether two identities are of the same bytes in the same file; a renamed file keeps them."""
    return other is not None and one[:3] == other[:3]


def read_whole(path: Path) -> tuple[bytearray, Identity]:
    """A file's bytes and the identity of the version that they are.

    Raises: RequestWrong, when there is no file; DiskFailed.
    """
    try:
        with path.open("rb", buffering=0) as handle:
            while True:
                before = identified(os.fstat(handle.fileno()))
                buffer = bytearray(before[1])
                handle.seek(0)
                filled = handle.readinto(buffer) or 0
                del buffer[filled:]
                buffer += handle.read()
                if identified(os.fstat(handle.fileno())) == before:
                    return buffer, before
    except FileNotFoundError as error:
        raise RequestWrong("there is no experiment log", str(path), "start the run, or name its place") from error
    except OSError as error:
        raise disk_failure(error, path) from error


def write_draft(name: Path, path: Path, step: Step) -> Identity:
    """Write the next version of a file whole under another name, with mode and owner of the file, and flush it.

    Args:
        name: the draft; what has this name is removed first.
        path: the file that it is to become.
        step: what it is to hold.
    Raises: Overtaken, when the file changes while it is copied; OSError. In both cases no draft is left.
    """
    name.unlink(missing_ok=True)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _adopt_mode(handle, path)
        done = _copy(path, handle, step) if step.from_disk and step.first >= _WORTH_COPYING else 0
        with memoryview(step.buffer) as view, view[done : step.first] as rest:
            write_fully(handle, rest)
        write_fully(handle, step.data)
        os.fsync(handle)
        return identified(os.fstat(handle))
    except BaseException:
        with contextlib.suppress(OSError):
            name.unlink()
        raise
    finally:
        os.close(handle)


def confirm(path: Path, place: int, data: bytes, written: Identity) -> Identity:
    """Make a file's new name durable, open it anew by that name, and compare its end with what was written.

    Args:
        path: the file.
        place: where the written bytes begin.
        data: all bytes from there on.
        written: the version that should have the name.
    Returns: its present identity; `written`, when a person has saved since: the next look at the file sees that.
    Raises: DiskFailed, when the bytes differ; OSError.
    """
    fsync_folder(path.parent)
    reader = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = identified(os.fstat(reader))
        got = os.pread(reader, len(data) + 1, place)
    finally:
        os.close(reader)
    if not is_same_save(written, found):
        return written
    if got != data:
        raise DiskFailed(
            "the log read back differs from what was written",
            str(path),
            "look at the system's log for disk errors before going on",
        )
    return found


def _copy(path: Path, handle: int, step: Step) -> int:
    """Let the system copy the unchanged beginning; how far it came (the caller writes the rest)."""
    if not hasattr(os, "copy_file_range"):
        return 0
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if identified(os.fstat(source)) != step.expected:
            raise Overtaken
        done = 0
        while done < step.first:
            copied = os.copy_file_range(source, handle, step.first - done)
            if copied == 0:  # it has shrunk
                raise Overtaken
            done += copied
        if identified(os.fstat(source)) != step.expected:
            raise Overtaken
        return done
    except OSError:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        return 0
    finally:
        os.close(source)


def _adopt_mode(handle: int, path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        os.fchmod(handle, 0o644)
        return
    if status.st_uid != os.geteuid() or status.st_gid != os.getegid():
        with contextlib.suppress(PermissionError):
            os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, status.st_mode & 0o7777)
