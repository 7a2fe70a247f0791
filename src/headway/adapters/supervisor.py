"""The process that runs a run's jobs, so that no job outlives its limits and a measurement may outlive headway.

Started by `processes.py` as `python -I -S supervisor.py SOCKET`, in a session of its own; standard library only, and
in one file because it is started by its path. Two kinds of process run this file:

    headway -- socket --> supervisor -- fork, socketpair --> keeper, one a job -- fork, exec --> the job's command

- The **supervisor** forks keepers and passes lines between them and headway. It decides nothing about a job.
- A **keeper** owns one job, from `job.json` to `exit.json`. It is the subreaper of the job's tree, so that nothing that
  the command starts can leave it; it talks over one socketpair, whose end of file means that nobody waits any more.
  One is always forked ahead, and the process that will become its command too: forks are the dear part of a small job.

Lines are JSON. To the supervisor: `{"start": order}`, `{"cancel": folder}`, `{"stop": true}`. From it:
`{"started": folder}`, then one of `{"ended": folder, "exit": {...}}` and `{"lost": folder}` (its keeper died); or, when
nothing of it runs, `{"refused": folder, "taken": bool, "why": text}`, `taken` = the folder already holds a job.
Source: CONTRACTS.md, section 5. On systems without /proc and subreapers the group alone is ended.
"""

import contextlib
import errno
import fcntl
import gc
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

JOB_FILE, EXIT_FILE, STDOUT_FILE, STDERR_FILE = "job.json", "exit.json", "stdout", "stderr"
MARK = "HEADWAY_JOB"  # in the environment of a job's every process: its folder
TIMEOUT_CODE = 124
NOT_FOUND_CODE = 127
DROP_GRACE_SECONDS = 2.0  # where nobody waits any more, the grace is at most this
KILL_PATIENCE_SECONDS = 10.0  # a process that the kernel cannot end by then is reported as alive
IDLE_LOOKS = 10  # looks at the output within one idle limit
LEFTOVERS_KEPT, COMMAND_LINE_KEPT = 50, 300
SHORT_JOB_SECONDS = 1.0  # too short for process ids to have gone round once
ASKED_FOR = "canceled"  # the reason of an end that headway asked for; every other one is a death
CONTROL = 3  # a keeper's end of its socketpair
HAS_PROC = sys.platform == "linux"


class Process(NamedTuple):
    """One line of the process table; `group` is its process group, `start` in clock ticks since boot."""

    pid: int
    parent: int
    group: int
    state: str
    start: int


# ---------------------------------------------------------------- the process table


def read_proc(path: str) -> bytes:
    """The content of a file of /proc; empty if it is gone or not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return drain(descriptor)
    except OSError:  # its process went meanwhile
        return b""
    finally:
        os.close(descriptor)


def look_at(pid: int | str) -> Process | None:
    """What /proc says of a process; None if it is gone, or where there is no /proc."""
    text = read_proc(f"/proc/{pid}/stat")
    if not text:
        return None
    number, _, _ = text.partition(b" ")
    fields = text[text.rindex(b")") + 2 :].split()  # the name before may hold spaces and brackets
    return Process(int(number), int(fields[1]), int(fields[2]), fields[0].decode(), int(fields[19]))


def boot_id() -> str | None:
    """Names this boot of the machine, so that a process id of an earlier one is not taken for ours; None if unknown."""
    return read_proc("/proc/sys/kernel/random/boot_id").decode().strip() or None


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


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
    for pid in _pids():
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
    return [pid for pid in _pids() if pid > newer_than and job_of(pid) in wanted]


def command_line(pid: int) -> str:
    """A process's command line in one bounded line; empty if it is gone."""
    return read_proc(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()[:COMMAND_LINE_KEPT]


def send_signal(number: int, processes: Iterable[Process]) -> None:
    """Signal each process group once, so that no process gets a second TERM, which many take for "at once"."""
    for group in {process.group for process in processes} - {os.getpgrp()}:
        signal_group(number, group)


def signal_group(number: int, group: int) -> None:
    """Signal a process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_each(pids: Iterable[int]) -> None:
    """KILL each process; one that is gone is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _last_pid() -> int:
    words = read_proc("/proc/loadavg").split()
    return int(words[-1]) if words else 0


# ---------------------------------------------------------------- small system calls

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


def default_signals() -> None:
    """Undo what a parent ignored or blocked, as `nohup` does; a broken pipe stays an error of the call."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def wake_on(*numbers: int) -> int:
    """A descriptor that becomes readable when one of these signals arrives."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in numbers:
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


def line(message: Mapping[str, Any]) -> bytes:
    """One message as one line; odd bytes in paths survive as escaped surrogates."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte, also where a pipe or a full disk takes them in parts."""
    while content:
        content = content[os.write(descriptor, content) :]


def sync_folder(folder: str) -> None:
    """Make the folder's names durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(folder: str, name: str, content: Mapping[str, Any], with_folder: bool = True) -> None:
    """Put a whole, durable file into the folder, never over another one.

    Args:
        folder: the job's.
        name: of the file.
        content: a JSON object.
        with_folder: make the name durable too, and the folder's own in the one above. A claim does without: a job
            that lost its claim with the machine's power died with it, and its end makes all names durable.

    Raises: FileExistsError, if the name is taken; OSError, if the disk refuses.
    """
    hidden = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_all(descriptor, json.dumps(content, indent=1).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(hidden, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)
    if with_folder:
        sync_folder(folder)
        sync_folder(os.path.dirname(folder))


# ---------------------------------------------------------------- a keeper: one job


@dataclass
class Verdict:
    """How a job ended: `status` as in exit.json, and why, where that is not plain from it."""

    status: str
    reason: str


@dataclass
class Keeper:
    """Owns one job. Its `order` is the client's JobOrder as JSON."""

    wake: int
    order: Mapping[str, Any] = field(default_factory=dict)
    me: Mapping[str, Any] = field(default_factory=dict)
    poller: "select.poll" = field(default_factory=select.poll)
    canceled: str = ""  # why, once somebody asked for the end
    dropped: bool = False
    main: int = 0
    main_status: int | None = None
    to_main: int = -1
    from_main: int = -1
    begun: float | None = None
    started_at: str | None = None
    elapsed: float = 0.0
    pids_before: int = 0
    outputs: list[int] = field(default_factory=list)
    cannot_start: str = ""
    leftovers: dict[int, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return str(self.order["folder"])

    def keep(self) -> None:
        """See a job through, from its claim to its end; what cannot be claimed is refused and nothing runs."""
        self.poller.register(self.wake, select.POLLIN)
        self.poller.register(CONTROL, select.POLLIN)
        me = look_at("self")
        self.me = {"pid": os.getpid(), "start": me.start if me else None, "boot": boot_id()}
        self.fork_ahead()
        words = self.receive()
        if not words:
            return
        signal.signal(signal.SIGTERM, self._on_term)
        self.order = json.loads(words)
        try:
            self.claim()
        except OSError as problem:
            taken = isinstance(problem, FileExistsError)
            self.tell({"refused": self.folder, "taken": taken, "why": str(problem)})
            return
        self.tell({"started": self.folder})
        self.finish(self.run(words))

    def fork_ahead(self) -> None:
        """Fork the process that will become the command; it waits for its order, and goes when we do."""
        reader, self.to_main = os.pipe()
        self.from_main, writer = os.pipe()
        keeper = os.getpid()
        self.main = os.fork()
        if self.main == 0:
            for descriptor in (CONTROL, self.to_main, self.from_main):
                os.close(descriptor)
            become_command(keeper, reader, writer)
        os.close(reader)
        os.close(writer)

    def receive(self) -> bytes:
        """The order, once it comes; empty if it never will."""
        parts = [b""]
        while b"\n" not in parts[-1]:
            parts.append(hear(65536))
            if not parts[-1]:
                return b""
        words, _, more = b"".join(parts).partition(b"\n")
        self.canceled = ASKED_FOR if more else ""
        return words + b"\n"

    def _on_term(self, *_: object) -> None:
        self.canceled = self.canceled or "the keeper was told to end (TERM)"

    def claim(self) -> None:
        """Write `job.json`: from here on the folder says which process owns it."""
        kept = {key: value for key, value in self.order.items() if key != "env"}
        environment = sorted(self.order["env"])  # names only: values may be secrets
        publish(self.folder, JOB_FILE, {**kept, "environment": environment, "keeper": self.me, "at": now()}, False)

    def run(self, words: bytes) -> Verdict:
        """Take the lock, run the command to its end or limit, and end all that it left; the lock is held until then."""
        lock = None
        try:
            if self.order["machine_lock"]:
                lock = self.take_lock(self.order["machine_lock"])
            if why := self.asked_to_end(waiting=True):
                return Verdict("canceled", why)
            self.launch(words)
            verdict = self.watch()
            if verdict.status != "exited":
                self.end()
        except OSError as problem:
            verdict = Verdict("lost", f"headway could not run it: {problem}")
        self.sweep()
        if lock is not None:
            os.close(lock)
        return verdict

    def take_lock(self, path: str) -> int:
        """Wait for the machine's lock without polling: a child blocks on the same open file, and its end wakes us."""
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        keeper = os.getpid()
        waiter = os.fork()
        if waiter == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.close(CONTROL)
            die_with_parent(keeper)
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
                os._exit(0)
            os._exit(1)
        ended, status = 0, 0
        while not ended:
            if self.asked_to_end(waiting=True):
                kill_each([waiter])
            self.listen(None)
            ended, status = os.waitpid(waiter, os.WNOHANG)
        if status != 0 and not self.asked_to_end(waiting=True):
            raise OSError(errno.ENOLCK, f"the lock {path} could not be taken")
        return lock

    def launch(self, words: bytes) -> None:
        """Start the command; return once it runs, or once it is known that it cannot."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self.outputs = [os.open(os.path.join(self.folder, name), flags, 0o644) for name in (STDOUT_FILE, STDERR_FILE)]
        self.pids_before, self.started_at, self.begun = _last_pid(), now(), time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it was killed while it waited: `reap` will say so
            write_all(self.to_main, words)
        self.cannot_start = os.read(self.from_main, 4096).decode(errors="replace")  # its end of file comes with exec

    def watch(self) -> Verdict:
        """Sleep until the command ends, somebody asks for its end, or a limit is reached."""
        begun = self.begun or 0.0
        deadline = begun + self.order["timeout_seconds"]
        idle = self.order["idle_timeout_seconds"]
        look = idle / IDLE_LOOKS if idle else math.inf
        size, grown = 0, begun
        while True:
            self.reap()
            at = time.monotonic()
            if self.main_status is not None:
                self.elapsed = at - begun
                return Verdict("exited", self.cannot_start)
            if why := self.asked_to_end():
                return Verdict("canceled", why)
            if at >= deadline:
                return Verdict("timeout", f"it ran longer than {self.order['timeout_seconds']:g} s")
            if idle:
                before, size = size, self.output_size()
                grown = at if size != before else grown
                if at - grown >= idle:
                    return Verdict("idle_timeout", f"it printed nothing for {idle:g} s")
            self.listen(min(deadline - at, look))

    def output_size(self) -> int:
        """Bytes printed so far."""
        return sum(os.fstat(output).st_size for output in self.outputs)

    def asked_to_end(self, waiting: bool = False) -> str:
        """Why the job must end before its time, else empty. One that is `waiting` for its turn outlives nobody."""
        if self.canceled:
            return self.canceled
        if self.dropped and (waiting or not self.order["outlives"]):
            return "headway's connection ended"
        return ""

    def grace(self) -> float:
        """Seconds between TERM and KILL."""
        grace = float(self.order["grace_seconds"])
        return min(grace, DROP_GRACE_SECONDS) if self.dropped else grace

    def end(self) -> None:
        """TERM to the tree, then wait for all of it to go, at most the grace."""
        send_signal(signal.SIGTERM, descendants([os.getpid()]) or [Process(self.main, 0, self.main, "", 0)])
        until = time.monotonic() + self.grace()
        while self.reap() and time.monotonic() < until:
            self.listen(until - time.monotonic())

    def sweep(self) -> None:
        """KILL what is left of the tree until nothing is, escapees included, and remember what it was."""
        until = time.monotonic() + KILL_PATIENCE_SECONDS
        if not HAS_PROC:
            signal_group(signal.SIGKILL, self.main)
        while self.reap() and time.monotonic() < until:
            tree = descendants([os.getpid()])
            self.note(process.pid for process in tree if process.pid != self.main)
            send_signal(signal.SIGKILL, tree)
            kill_each(process.pid for process in tree)
            self.listen(0.002)
        if self.begun is not None:
            self.elapsed = self.elapsed or time.monotonic() - self.begun
        while strangers := self.strangers():
            self.note(strangers)
            kill_each(strangers)
            if time.monotonic() >= until:
                break
            self.listen(0.01)

    def strangers(self) -> list[int]:
        """Processes outside the tree that carry the job's mark, as those that a daemon started for it."""
        if not HAS_PROC or self.begun is None:
            return []
        short = time.monotonic() - self.begun < SHORT_JOB_SECONDS and _last_pid() >= self.pids_before
        return marked([self.folder], newer_than=self.pids_before if short else 0)

    def note(self, pids: Iterable[int]) -> None:
        """Remember what was left over, a bounded number of them."""
        for pid in pids:
            if pid not in self.leftovers and len(self.leftovers) < LEFTOVERS_KEPT:
                self.leftovers[pid] = command_line(pid)

    def reap(self) -> bool:
        """Take in the children that ended; say whether any is still alive."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.main:
                self.main_status = status

    def listen(self, seconds: float | None) -> None:
        """Sleep until a child ends, somebody speaks, or `seconds` pass."""
        limit = None if seconds is None or math.isinf(seconds) else max(0, math.ceil(seconds * 1000))
        for descriptor, _ in self.poller.poll(limit):
            if descriptor == self.wake:
                drain(self.wake)
                continue
            if hear(64):
                self.canceled = self.canceled or ASKED_FOR
            else:
                self.dropped = True
                self.poller.unregister(CONTROL)

    def finish(self, verdict: Verdict) -> None:
        """Write `exit.json`, then say so. An exit that could not be made durable is told as lost."""
        report = self.report(verdict)
        try:
            publish(self.folder, EXIT_FILE, report)
        except FileExistsError:
            report |= {"status": "lost", "code": None, "reason": f"{EXIT_FILE} was there before the job ended"}
        except OSError as problem:
            report |= {"status": "lost", "code": None, "reason": f"{EXIT_FILE} could not be written: {problem}"}
        self.tell({"ended": self.folder, "exit": report})

    def report(self, verdict: Verdict) -> dict[str, Any]:
        """The content of `exit.json`. `futility` is the mark that tells headway's own cut from a command's 125."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        status, code, number = verdict.status, None, None
        if self.main_status is not None:
            if os.WIFSIGNALED(self.main_status):
                number = os.WTERMSIG(self.main_status)
                status = "signaled" if status == "exited" else status
            elif status == "exited":
                code = os.WEXITSTATUS(self.main_status)
        if status in ("timeout", "idle_timeout"):
            code, number = TIMEOUT_CODE, None
        return {
            "status": status,
            "code": code,
            "signal": number,
            "reason": verdict.reason,
            "started_at": self.started_at,
            "ended_at": now(),
            "elapsed_seconds": round(self.elapsed, 6),
            "max_rss_kb": usage.ru_maxrss // (1 if sys.platform == "linux" else 1024),
            "user_seconds": round(usage.ru_utime, 6),
            "system_seconds": round(usage.ru_stime, 6),
            "leftovers": [{"pid": pid, "cmdline": text} for pid, text in self.leftovers.items()],
            "futility": False,
        }

    def tell(self, message: Mapping[str, Any]) -> None:
        """Say it to the supervisor, if there still is one."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            write_all(CONTROL, line(message))


def hear(limit: int) -> bytes:
    """What the supervisor says to a keeper; empty when it is gone, be it with our words unread."""
    try:
        return os.read(CONTROL, limit)
    except ConnectionResetError:
        return b""


def become_command(keeper: int, orders: int, report: int) -> NoReturn:
    """In the forked child: wait for the order and turn into its command.

    What prevents that is said to `report` and on the job's standard error; `report` closes with exec.
    """
    try:
        die_with_parent(keeper)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        parts = [b""]
        while not parts[-1].endswith(b"\n"):
            parts.append(os.read(orders, 65536))
            if not parts[-1]:
                os._exit(0)
        take_on(json.loads(b"".join(parts)))
    except (OSError, ValueError) as problem:  # ValueError: a NUL in an argument
        text = f"the command could not be started: {problem}"
        os.write(report, text.encode(errors="replace"))
        os.write(2, f"headway: {text}\n".encode(errors="replace"))
    finally:
        os._exit(NOT_FOUND_CODE)


def take_on(order: Mapping[str, Any]) -> NoReturn:
    """Open the job's files as our own and become its command."""
    for target, name in ((2, STDERR_FILE), (1, STDOUT_FILE)):  # errors first, to have a place for the next one
        redirect(os.open(os.path.join(order["folder"], name), os.O_WRONLY | os.O_APPEND), target)
    redirect(os.open(order["stdin"] or os.devnull, os.O_RDONLY), 0)
    os.chdir(order["cwd"])
    argv = order["argv"] or ["/bin/sh", "-c", order["command"]]
    os.execvpe(argv[0], argv, {**order["env"], MARK: order["folder"]})


def redirect(descriptor: int, target: int) -> None:
    """Put an open file in the place of a standard stream."""
    os.dup2(descriptor, target)
    os.close(descriptor)


# ---------------------------------------------------------------- the supervisor


@dataclass
class Kept:
    """A keeper as the supervisor sees it."""

    pid: int
    control: socket.socket
    folder: str = ""  # empty: it waits for a job
    heard: bytes = b""
    answered: bool = False  # it said how its job ended, or that it refuses it


class Supervisor:
    """Forks a keeper an order, passes lines on, and goes when nobody speaks to it and no keeper is left."""

    def __init__(self, client: socket.socket) -> None:
        self.client: socket.socket | None = client
        self.heard = bytearray()
        self.leaving = False
        self.kept: dict[int, Kept] = {}  # by the descriptor of its socket
        self.spare: Kept | None = None
        self.wake = wake_on(signal.SIGCHLD)
        self.poller = select.poll()
        self.poller.register(self.wake, select.POLLIN)
        self.poller.register(client, select.POLLIN)

    def serve(self) -> None:
        """Work until it may go."""
        self.prepare_spare()
        while self.kept or not self.leaving:
            for descriptor, _ in self.poller.poll():
                if descriptor == self.wake:
                    drain(self.wake)
                elif descriptor in self.kept:
                    self.hear_keeper(self.kept[descriptor])
                elif self.client is not None:
                    self.hear_client(self.client)
            self.reap()

    def hear_client(self, client: socket.socket) -> None:
        """Carry out what headway asks; its end of file is the order to leave."""
        try:
            words = client.recv(65536)
        except OSError:
            words = b""
        if not words:
            self.poller.unregister(client)
            self.client = None
            self.leave()
        self.heard += words
        if b"\n" in words:
            *lines, self.heard = self.heard.split(b"\n")
            for text in lines:
                self.obey(json.loads(text))

    def obey(self, message: Mapping[str, Any]) -> None:
        """Start, cancel or leave."""
        if "start" in message:
            self.start(message["start"])
        elif "cancel" in message:
            for kept in self.kept.values():
                if kept.folder == message["cancel"]:
                    with contextlib.suppress(OSError):
                        kept.control.send(b"c")
        else:
            self.leave()

    def leave(self) -> None:
        """Tell every keeper that nobody waits any more: it ends its job, if that may not outlive headway."""
        self.leaving = True
        for kept in self.kept.values():
            with contextlib.suppress(OSError):
                kept.control.shutdown(socket.SHUT_WR)

    def start(self, order: Mapping[str, Any]) -> None:
        """Give a job to a keeper."""
        if self.leaving:
            self.refuse(order, "the supervisor was told to stop")
            return
        try:
            kept = self.spare or self.fork_keeper()
        except OSError as problem:
            self.refuse(order, str(problem))
            return
        self.spare = None
        kept.folder = order["folder"]
        with contextlib.suppress(OSError):  # it died: `reap` tells that the job is lost, and headway tries again
            kept.control.sendall(line(order))

    def refuse(self, order: Mapping[str, Any], why: str) -> None:
        """Say that nothing of a job will run."""
        self.push(line({"refused": order["folder"], "taken": False, "why": why}))

    def prepare_spare(self) -> None:
        """Fork a keeper ahead of its job, while nobody waits for us."""
        if self.spare is None and not self.leaving:
            with contextlib.suppress(OSError):  # the next job will try again, and tell
                self.spare = self.fork_keeper()

    def fork_keeper(self) -> Kept:
        """A new keeper that waits for its job."""
        ours, theirs = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if pid == 0:
            become_keeper(theirs.fileno(), highest=max(16, ours.fileno(), theirs.fileno(), *self.kept))
        theirs.close()
        kept = self.kept[ours.fileno()] = Kept(pid, ours)
        self.poller.register(ours, select.POLLIN)
        return kept

    def hear_keeper(self, kept: Kept) -> None:
        """Pass a keeper's whole lines on to headway."""
        words = b""
        with contextlib.suppress(OSError):
            while part := kept.control.recv(16384, socket.MSG_DONTWAIT):
                words += part
        if not words:  # its end; `reap` sees to the rest
            self.forget(kept)
        *lines, kept.heard = (kept.heard + words).split(b"\n")
        for text in lines:
            kept.answered = kept.answered or not text.startswith(b'{"started"')
            self.push(text + b"\n")

    def reap(self) -> None:
        """Take in keepers that ended. One that died without an answer leaves its tree to us, and its job lost."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for descriptor, kept in list(self.kept.items()):
                if kept.pid == pid:
                    self.hear_keeper(kept)
                    del self.kept[descriptor]
                    self.part(kept)
                    self.prepare_spare()

    def part(self, kept: Kept) -> None:
        """Let a keeper go; if it died at work, end what its job left and say that the job is lost."""
        self.forget(kept)
        kept.control.close()
        if kept is self.spare:
            self.spare = None
        elif not kept.answered:
            self.end_strays()
            self.push(line({"lost": kept.folder}))

    def forget(self, kept: Kept) -> None:
        """Listen to a keeper no more."""
        with contextlib.suppress(KeyError):
            self.poller.unregister(kept.control)

    def end_strays(self) -> None:
        """KILL all below us that is no keeper's: the trees of dead keepers, which we inherit."""
        until = time.monotonic() + KILL_PATIENCE_SECONDS
        keepers = {kept.pid for kept in self.kept.values()}
        while (strays := descendants([os.getpid()], but=keepers)) and time.monotonic() < until:
            send_signal(signal.SIGKILL, strays)
            kill_each(stray.pid for stray in strays)
            for stray in strays:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(stray.pid, os.WNOHANG)
            time.sleep(0.002)

    def push(self, text: bytes) -> None:
        """Say it to headway, if it still listens."""
        if self.client is not None:
            with contextlib.suppress(OSError):  # its end of file arrives by itself
                self.client.sendall(text)


def become_keeper(control: int, highest: int) -> NoReturn:
    """In the forked child: keep one job, in a session of its own, with nothing of the supervisor's open.

    Its descriptors are closed by number: their objects must stay as they are, or closing them would hit new files.
    """
    try:
        os.setsid()
        become_subreaper()
        signal.set_wakeup_fd(-1)
        if control != CONTROL:
            os.dup2(control, CONTROL, inheritable=False)
        os.closerange(CONTROL + 1, highest + 1)
        if _prctl is not None:
            _prctl(15, b"headway-keeper")  # PR_SET_NAME, for whoever looks at `ps`
        Keeper(wake_on(signal.SIGCHLD)).keep()
    except BaseException as problem:
        sys.excepthook(type(problem), problem, problem.__traceback__)
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def main() -> None:
    """Connect to the headway that started us and serve it."""
    default_signals()
    load_prctl()
    become_subreaper()
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    gc.freeze()
    Supervisor(client).serve()


if __name__ == "__main__":
    main()
