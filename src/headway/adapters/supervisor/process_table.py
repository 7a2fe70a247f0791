"""The process table: who lives, who is below whom, who carries a job's mark, and signals that hit nobody else."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

MARK = "HEADWAY_JOB"  # in the environment of a job's every process: its folder
COMMAND_LINE_KEPT = 300
FEW_PIDS = 2048  # asked for one by one, they are cheaper than a listing of all
HAS_PROC = sys.platform == "linux"


class Process(NamedTuple):
    """One line of the process table.

    `group` is its process group, `start` in clock ticks since boot, `name` what it calls itself (15 bytes).
    """

    pid: int
    parent: int
    group: int
    state: str
    start: int
    name: str


def read_proc(path: str) -> bytes:
    """The content of a file of /proc; empty if it is gone or not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    text = b""
    try:
        while part := os.read(descriptor, 16384):
            text += part
    except OSError:  # its process went meanwhile
        return b""
    finally:
        os.close(descriptor)
    return text


def look_at(pid: int | str) -> Process | None:
    """What /proc says of a process; None if it is gone, or where there is no /proc."""
    text = read_proc(f"/proc/{pid}/stat")
    if not text:
        return None
    number, _, rest = text.partition(b" (")
    name, _, rest = rest.rpartition(b") ")  # the name may hold spaces and brackets
    state, parent, group, *fields = rest.split()
    start = int(fields[16])
    return Process(int(number), int(parent), int(group), state.decode(), start, name.decode(errors="replace"))


_boot_ids: list[str | None] = []


def boot_id() -> str | None:
    """Names this boot of the machine, so that a process id of an earlier one is not taken for ours; None if unknown."""
    if not _boot_ids:
        _boot_ids.append(read_proc("/proc/sys/kernel/random/boot_id").decode().strip() or None)
    return _boot_ids[0]


def all_pids() -> list[int]:
    """Every process id there is; none where there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def last_pid() -> int:
    """The process id that was given last; 0 where there is no /proc."""
    words = read_proc("/proc/loadavg").split()
    return int(words[-1]) if words else 0


def is_pid_alive(pid: int) -> bool:
    """Whether some process has this id now; where there is no /proc nothing more can be said."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def descendants(ancestors: Iterable[int], but: Collection[int] = ()) -> list[Process]:
    """The living processes below `ancestors`, without these and the branches of `but`; none where there is no /proc."""
    children: dict[int, list[Process]] = {}
    for pid in all_pids():
        if process := look_at(pid):
            children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    ahead = list(ancestors)
    while ahead:
        for process in children.get(ahead.pop(), ()):
            if process.pid not in but:
                ahead.append(process.pid)
                if process.state not in "ZX":
                    found.append(process)
    return found


def job_of(pid: int) -> bytes | None:
    """The job folder that a process carries in its environment; None if it carries none or may not be read."""
    environment = read_proc(f"/proc/{pid}/environ")
    _, mark, rest = (b"\0" + environment).partition(b"\0" + MARK.encode() + b"=")
    return rest.partition(b"\0")[0] if mark else None


def marked(folders: Iterable[str], newer_than: int = 0) -> list[int]:
    """Process ids that carry one of these job folders in their environment.

    Args:
        folders: job folders as they stand in `HEADWAY_JOB`.
        newer_than: look only at ids above this one; right only while ids have not gone round.
    """
    wanted = {os.fsencode(folder) for folder in folders}
    last = last_pid() if newer_than else 0
    if newer_than and 0 <= last - newer_than <= FEW_PIDS:
        return [pid for pid in range(newer_than + 1, last + 1) if job_of(pid) in wanted]
    return [pid for pid in all_pids() if pid > newer_than and job_of(pid) in wanted]


def command_line(pid: int) -> str:
    """A process's command line in one bounded line; empty if it is gone."""
    return read_proc(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()[:COMMAND_LINE_KEPT]


def signal_groups(number: int, processes: Iterable[Process]) -> None:
    """Signal each process group once, so that no process gets a second TERM, which many take for "at once"."""
    for group in {process.group for process in processes} - {os.getpgrp()}:
        signal_group(number, group)


def signal_group(number: int, group: int) -> None:
    """Signal a process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_processes(processes: Iterable[Process]) -> None:
    """KILL each process that is still the one that was looked at."""
    starts = {process.pid: process.start for process in processes}

    def is_still(pid: int) -> bool:
        now = look_at(pid)
        return now is not None and now.start == starts[pid]

    kill_each(starts, is_still)


def kill_marked(pids: Iterable[int], folders: Iterable[str]) -> None:
    """KILL each process that still carries one of these job folders in its environment."""
    wanted = {os.fsencode(folder) for folder in folders}
    kill_each(pids, lambda pid: job_of(pid) in wanted)


def kill_each(pids: Iterable[int], is_still: Callable[[int], bool] = lambda _: True) -> None:
    """KILL each process; one that is gone is no error.

    Args:
        pids: process ids.
        is_still: asked once an id can no longer pass to another process, where the kernel can promise that.
    """
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            handle = _handle(pid)
            try:
                if not is_still(pid):
                    continue
                if sys.platform == "linux" and handle is not None:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGKILL)
            finally:
                if handle is not None:
                    os.close(handle)


def _handle(pid: int) -> int | None:
    """A descriptor that stands for this one process; None where the kernel has none (before Linux 5.3, elsewhere).

    Raises: ProcessLookupError, if it is gone.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None
