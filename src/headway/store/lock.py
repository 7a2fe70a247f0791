"""One writer per run: a lock that the kernel takes back when its owner dies, and a note of who owns it.

`flock` alone says whether the lock is held on this machine; the note in the file says by whom. The file is never
deleted, since two processes could then hold locks on two files of one name.
Source: DESIGN section 5, CONTRACTS section 3 (one writer).
"""

import contextlib
import fcntl
import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from headway.errors import RunOwned
from headway.store.atomic import disk_failure

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PATIENCE_SECONDS = 0.2
_LONGEST_NOTE = 4096


@dataclass(frozen=True)
class Owner:
    """The process that holds, or held, the lock.

    Attributes:
        pid: its number.
        started: when it started, as the system counts it; tells it from a later process with its number.
        boot_id: the start of the machine that it ran under; empty where the system names none.
        host: the machine's name.
        command: what it was started as.
        at: when it took the lock, ISO 8601.
    """

    pid: int
    started: str
    boot_id: str
    host: str
    command: str
    at: str


class RunLock:
    """The lock of one state root. Hold one object for as long as the lock is to be held."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self, command: str) -> Owner | None:
        """Take the lock at once, or say who has it.

        Args:
            command: what a person would recognise this process by.
        Returns: the owner that died without releasing it, which the caller should tell; None when it was free.
        Raises: RunOwned, naming the live owner, or one on another machine; DiskFailed.
        """
        if self._handle is not None:
            return None
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_failure(error, self._path) from error
        try:
            before = self._locked(handle)
            _write_note(handle, _note_of(_this_process(command)))
        except OSError as error:
            os.close(handle)
            raise disk_failure(error, self._path) from error
        except RunOwned:
            os.close(handle)
            raise
        self._handle = handle
        return before

    def release(self) -> None:
        """Give the lock back; without holding it, nothing happens."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        with contextlib.suppress(OSError):  # a note that stays names a dead owner: told once more, harmless
            _write_note(handle, b"")
        os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _locked(self, handle: int) -> Owner | None:
        """Lock the file; the owner that left its note without releasing, if one did."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _owned(_patient_owner(self._path), self._path) from error
        before = read_owner(self._path)
        if before is not None and _is_elsewhere(before):
            raise _owned_elsewhere(before, self._path)
        return before


def read_owner(path: Path) -> Owner | None:
    """Who the lock file names; None when nobody, or when the note is being written just now.

    Raises: DiskFailed.
    """
    try:
        note = path.read_bytes()[:_LONGEST_NOTE]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_failure(error, path) from error
    try:
        found = json.loads(note)
        return Owner(int(found["pid"]), *(str(found[name]) for name in ("started", "boot_id", "host", "command", "at")))
    except (ValueError, KeyError, TypeError):
        return None


def is_alive(owner: Owner) -> bool:
    """Whether an owner's process still runs; one on another machine counts as alive, nothing is known of it here."""
    if _is_elsewhere(owner):
        return True
    return owner.boot_id == _boot_id() and _start_of(owner.pid) == owner.started


def _owned(owner: Owner | None, path: Path) -> RunOwned:
    if owner is None:
        return RunOwned("another process owns this run", str(path), "wait for it to end, or end it")
    who = f"process {owner.pid} on {owner.host} (`{owner.command}`, since {owner.at})"
    if is_alive(owner):
        return RunOwned(f"{who} owns this run", str(path), f"wait for it, or end it: kill {owner.pid}")
    what = f"{who} has ended, but a process that it started still holds the lock"
    return RunOwned(what, str(path), f"find and end that process: fuser {path}")


def _owned_elsewhere(owner: Owner, path: Path) -> RunOwned:
    what = f"process {owner.pid} on another machine, {owner.host} (`{owner.command}`, since {owner.at}), owns this run"
    mend = f"end it on {owner.host}; if it is certain that nothing runs there, empty the lock file: : > '{path}'"
    return RunOwned(what, str(path), mend)


def _patient_owner(path: Path) -> Owner | None:
    """The owner's note; it may still be on its way to the file, in the place of a dead owner's."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        owner = read_owner(path)
        if (owner is not None and is_alive(owner)) or time.monotonic() > deadline:
            return owner
        time.sleep(0.01)


def _is_elsewhere(owner: Owner) -> bool:
    """Whether an owner ran on another machine: one machine has one name, or at least one running kernel."""
    return owner.host != _host() and (not owner.boot_id or owner.boot_id != _boot_id())


def _this_process(command: str) -> Owner:
    pid = os.getpid()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Owner(pid, _start_of(pid) or "", _boot_id(), _host(), command, at)


def _note_of(owner: Owner) -> bytes:
    return json.dumps(asdict(owner)).encode("ascii") + b"\n"


def _write_note(handle: int, note: bytes) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, note, 0)
    os.fsync(handle)


def _host() -> str:
    return os.uname().nodename


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def _start_of(pid: int) -> str | None:
    """When a live process started, in the system's own counting; None when there is none, or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return None if _BOOT_ID.exists() else _start_by_ps(pid)
    except ProcessLookupError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _start_by_ps(pid: int) -> str | None:
    """As `_start_of`, where there is no `/proc` (macOS)."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C", **_PATH})
    except OSError:
        return None
    state, _, started = shown.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else re.sub(r"\s+", " ", started.strip())


_PATH = {"PATH": "/bin:/usr/bin"}
