"""Small system calls of the supervisor, its keepers and the processes that become commands."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable

NAME_KEPT = 15  # bytes of a process's name

_prctl: Callable[[int, int | bytes], object] | None = None


def load_prctl() -> None:
    """Fetch prctl once, before any fork; only Linux has it."""
    global _prctl
    if sys.platform == "linux":
        import ctypes

        _prctl = ctypes.CDLL(None).prctl


def die_with_parent(parent: int) -> None:
    """Have the kernel KILL this process when its parent dies, and go at once if it is dead already."""
    if _prctl is not None:
        _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def become_subreaper() -> None:
    """Have orphans below this process become its children, whatever session or group they made for themselves."""
    if _prctl is not None:
        _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def call_oneself(name: str) -> None:
    """Take a name in the process table, at most 15 bytes of it."""
    if _prctl is not None:
        _prctl(15, name.encode()[:NAME_KEPT])  # PR_SET_NAME


def default_signals() -> None:
    """Undo what a parent ignored or blocked, as `nohup` does; a broken pipe stays an error of the call."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def wake_on(number: int) -> int:
    """A descriptor that becomes readable when this signal, or another one that is handled, arrives."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(number, lambda *_: None)
    return reader


def drain(descriptor: int) -> bytes:
    """All that can be read now; empty at the end of file too."""
    text = b""
    with contextlib.suppress(BlockingIOError):
        while part := os.read(descriptor, 16384):
            text += part
    return text


def now() -> str:
    """The time of day in UTC, to the millisecond."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte, also where a pipe or a full disk takes them in parts."""
    while content:
        content = content[os.write(descriptor, content) :]
