"""Replace a file's end: everything before the first changed byte is copied, the rest written, then renamed.

Source: LOG-STORE section 3 (design D1): temporary file, flush, rename, flush the folder, read back by name.
"""

import contextlib
import os
from pathlib import Path

from headway.errors import DiskFailed, RequestWrong
from headway.store.atomic import disk_failure, fsync_folder, write_fully

Identity = tuple[int, int, int, int]
"""What tells one version of a file from another: inode, size, times of change of content and of the inode."""

_WORTH_COPYING = 1 << 16


class Overtaken(Exception):
    """Somebody saved the file in the meantime; nothing was written."""


def identity_of(path: Path) -> Identity | None:
    """What tells the present version of a file from others; None when there is no file.

    Raises: DiskFailed.
    """
    try:
        return _identity(path.stat())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_failure(error, path) from error


def read_whole(path: Path) -> tuple[bytearray, Identity]:
    """A file's bytes and the identity of the version that they are.

    Raises: RequestWrong, when there is no file; DiskFailed.
    """
    try:
        with path.open("rb", buffering=0) as handle:
            while True:
                before = _identity(os.fstat(handle.fileno()))
                buffer = bytearray(before[1])
                handle.seek(0)
                filled = handle.readinto(buffer) or 0
                del buffer[filled:]
                buffer += handle.read()
                if _identity(os.fstat(handle.fileno())) == before:
                    return buffer, before
    except FileNotFoundError as error:
        raise RequestWrong("there is no experiment log", str(path), "start the run, or name its place") from error
    except OSError as error:
        raise disk_failure(error, path) from error


def replace_tail(
    path: Path, buffer: bytes | bytearray, first: int, data: bytes, expected: Identity | None, *, from_disk: bool
) -> Identity:
    """Make a file hold `buffer[:first] + data`, durably and in one step, if it still is the version expected.

    Args:
        path: the file.
        buffer: its version's bytes, as far as `first` at least.
        first: the first byte that changes.
        data: all bytes from there on.
        expected: the version on disk; None when no file shall be there.
        from_disk: whether that version begins with `buffer[:first]`, so that the system may copy it.
    Returns: the identity of the new version.
    Raises: Overtaken, when the file is another one by now; DiskFailed, when the disk refuses or does not give back
        what it was given. In both cases no temporary file is left.
    """
    name = path.with_name(f".{path.name}.new")  # one writer, one name: what a crash leaves is overwritten
    try:
        handle = _opened(name, path)
        try:
            done = _copy(path, handle, first, expected) if from_disk and first >= _WORTH_COPYING else 0
            with memoryview(buffer) as view, view[done:first] as rest:
                write_fully(handle, rest)
            write_fully(handle, data)
            os.fsync(handle)
            written = _identity(os.fstat(handle))
            if identity_of(path) != expected:
                raise Overtaken
            name.rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                name.unlink()
            raise
        finally:
            os.close(handle)
        fsync_folder(path.parent)
        return _read_back(path, first, data, written)
    except OSError as error:
        raise disk_failure(error, path) from error


def _opened(name: Path, path: Path) -> int:
    """A fresh file under `name`, with the mode and owner of the one at `path`."""
    name.unlink(missing_ok=True)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _adopt_mode(handle, path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _identity(status: os.stat_result) -> Identity:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _copy(path: Path, handle: int, length: int, expected: Identity | None) -> int:
    """Let the system copy the unchanged beginning; how far it came (the caller writes the rest)."""
    if not hasattr(os, "copy_file_range"):
        return 0
    source = os.open(path, os.O_RDONLY)
    try:
        if _identity(os.fstat(source)) != expected:
            raise Overtaken
        done = 0
        while done < length:
            copied = os.copy_file_range(source, handle, length - done)
            if copied == 0:
                raise Overtaken
            done += copied
        if _identity(os.fstat(source)) != expected:
            raise Overtaken
        return done
    except OSError:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        return 0
    finally:
        os.close(source)


def _read_back(path: Path, first: int, data: bytes, written: Identity) -> Identity:
    """Open the file anew by its name and compare; the identity of what was written, also if it was overtaken."""
    reader = os.open(path, os.O_RDONLY)
    try:
        status = os.fstat(reader)
        got = os.pread(reader, len(data) + 1, first)
    finally:
        os.close(reader)
    found = _identity(status)
    if found[:3] != written[:3]:  # a person saved since: the next look at the file sees that
        return written
    if got != data:
        raise DiskFailed(
            "the log read back differs from what was written",
            str(path),
            "look at the system's log for disk errors before going on",
        )
    return found


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
