"""What the system offers for the shadow: two names exchanged in one step, a lease that nobody else has a file open.

A lease holds for one open file, not for a process or thread, and no signal handler is touched: a break is announced
with SIGURG, which does nothing by default, where the usual SIGIO would end the process.
Source: rename(2), fcntl(2), statfs(2); LOG-STORE section 2.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import signal
import sys
from pathlib import Path
from typing import Any

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE
_ABSENT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_KINDS = {
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0xF2F52010: "f2fs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
    0x794C7630: "overlayfs",
}
"""File systems whose files only this machine opens, by the number that statfs gives."""


class Unavailable(Exception):
    """The system does not offer this here; the message says what is missing."""


def refuse_system() -> None:
    """Find out whether leases and the exchange of names can be had on this system at all.

    Raises: Unavailable.
    """
    if sys.platform != "linux":
        raise Unavailable(f"{sys.platform} has no leases on open files")
    if not hasattr(_library(), "renameat2"):
        raise Unavailable("the C library cannot exchange two names (renameat2)")
    if signal.getsignal(signal.SIGURG) not in (signal.SIG_DFL, signal.SIG_IGN):
        raise Unavailable("this program uses the signal SIGURG for something else")


def local_kind(folder: Path) -> str:
    """The name of the file system that a folder lies on, when only this machine opens files on it.

    Raises: Unavailable, for all others, such as network file systems; OSError, when the folder cannot be looked at.
    """
    found = ctypes.create_string_buffer(512)
    if _library().statfs(os.fsencode(folder), found):
        raise _failed(folder)
    number = ctypes.c_ulong.from_buffer(found).value & 0xFFFFFFFF
    if number not in _KINDS:
        raise Unavailable(f"the file system (type {number:#x}) is not known to be this machine's alone")
    return _KINDS[number]


def exchange(one: Path, other: Path) -> None:
    """Let two names of one file system change places, in one step.

    Raises: Unavailable, when system or file system cannot do it; OSError.
    """
    if _library().renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        error = _failed(one)
        if error.errno in _ABSENT:
            raise Unavailable("the file system cannot exchange two names (RENAME_EXCHANGE)") from error
        raise error


def take_lease(handle: int) -> bool:
    """Ask that nobody else may open a file while it is written; whether nobody has it open now, or mapped."""
    if sys.platform != "linux":
        return False
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        return False
    return True


def end_lease(handle: int) -> bool:
    """Give a lease back; whether nobody wanted to open the file while it was held."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError):
        is_whole = fcntl.fcntl(handle, fcntl.F_GETLEASE) == fcntl.F_WRLCK
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return is_whole
    return False


@functools.cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _failed(path: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(path))
