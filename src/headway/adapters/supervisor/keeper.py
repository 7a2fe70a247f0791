"""A keeper: sees one job after another through, each from `job.json` to `exit.json`.

It is the subreaper of the job's tree, so that nothing that the command starts can leave it. It takes another job only
when the last one's tree is proved to be gone: the kernel has no child left for it (`ECHILD`), for whatever lives below
a subreaper hangs on one of its children, fork by fork, or is made its own child when its parent dies. What escapes was
never below it: a process that a daemon started for the job, or one that a root process put into a pid namespace which
was there before. Those are found if they carry the job's mark in their environment, and not otherwise.
"""

import contextlib
import errno
import fcntl
import math
import os
import signal
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from .channel import CONTROL, Channel
from .command import Command
from .exit_report import ASKED_FOR, Costs, Verdict, exit_report
from .job_files import EXIT_FILE, JOB_FILE, STDERR_FILE, STDOUT_FILE, publish, sync_folder
from .process_table import (
    HAS_PROC,
    boot_id,
    command_line,
    descendants,
    kill_each,
    kill_marked,
    kill_processes,
    last_pid,
    look_at,
    marked,
    signal_group,
    signal_groups,
)
from .system_calls import call_oneself, die_with_parent, now

DROP_GRACE_SECONDS = 2.0  # where nobody waits any more, the grace is at most this
KILL_PATIENCE_SECONDS = 10.0  # a process that the kernel cannot end by then is reported as alive
IDLE_LOOKS = 10  # looks at the output within one idle limit
LEFTOVERS_KEPT = 50
SHORT_JOB_SECONDS = 1.0  # too short for process ids to have gone round once
IDLE_NAME = "headway-idle"


def keep_jobs() -> None:
    """Keep jobs until there will be none, or until one leaves something that could touch the next."""
    channel = Channel()
    call_oneself(IDLE_NAME)
    while (order := channel.next_order()) is not None:
        name = "headway-" + blake2b(os.fsencode(order["folder"]), digest_size=4).hexdigest()[:7]
        call_oneself(name)
        if not Job(channel, order, name).keep():
            return


class Job:
    """One job. Its `order` is the client's JobOrder as JSON, with the secret that its files are sealed with."""

    def __init__(self, channel: Channel, order: Mapping[str, Any], keeper_name: str) -> None:
        self.channel = channel
        self.order = order
        self.folder = str(order["folder"])
        self.keeper_name = keeper_name
        self.command: Command | None = None
        self.main_status: int | None = None
        self.costs = Costs()
        self.begun: float | None = None
        self.started_at: str | None = None
        self.elapsed = 0.0
        self.pids_before = 0
        self.outputs: list[int] = []
        self.leftovers: dict[int, str] = {}

    def keep(self) -> bool:
        """See the job through; what cannot be claimed is refused and nothing runs.

        Returns: whether nothing is left of it, so that its keeper may take another one.
        """
        try:
            self.command = Command(self.order)
            self.claim()
        except OSError as problem:
            taken = isinstance(problem, FileExistsError)
            self.channel.tell({"refused": self.folder, "taken": taken, "why": str(problem)})
            return False  # and the waiting process goes with us
        if self.order["wants_start"]:
            self.channel.tell({"started": self.folder})
        verdict, is_clean = self.run(self.command)
        return self.finish(verdict, is_clean)

    def claim(self) -> None:
        """Write `job.json`: from here on the folder says which process owns it."""
        me = look_at("self")
        keeper = {"pid": os.getpid(), "start": me.start if me else None, "boot": boot_id(), "name": self.keeper_name}
        kept = {key: value for key, value in self.order.items() if key not in ("env", "key", "wants_start")}
        environment = sorted(self.order["env"])  # names only: values may be secrets
        content = {**kept, "environment": environment, "keeper": keeper, "at": now()}
        publish(self.folder, JOB_FILE, content, self.order["key"], with_folder=False)

    def run(self, command: Command) -> tuple[Verdict, bool]:
        """Take the lock, run the command to its end or limit, and end all that it left; the lock is held until then.

        Returns: how it ended, and whether nothing is left of it.
        """
        lock = None
        try:
            if self.order["machine_lock"]:
                lock = self.take_lock(self.order["machine_lock"])
            if why := self.asked_to_end(waiting=True):
                verdict = Verdict("canceled", why)
            else:
                self.launch(command)
                verdict = self.watch(command)
            if self.begun is not None and verdict.status != "exited":
                self.end(command)
        except OSError as problem:
            verdict = Verdict("lost", f"headway could not run it: {problem}")
        is_clean = self.sweep(command)
        if lock is not None:
            os.close(lock)
        return verdict, is_clean

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
            self.channel.listen(None)
            ended, status = os.waitpid(waiter, os.WNOHANG)
        if status != 0 and not self.asked_to_end(waiting=True):
            os.close(lock)
            raise OSError(errno.ENOLCK, f"the lock {path} could not be taken")
        return lock

    def launch(self, command: Command) -> None:
        """Start the command, and make its folder's name durable while it runs."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for name in (STDOUT_FILE, STDERR_FILE):
            self.outputs.append(os.open(os.path.join(self.folder, name), flags, 0o644))
        self.pids_before, self.started_at, self.begun = last_pid(), now(), time.monotonic()
        command.begin()
        sync_folder(os.path.dirname(self.folder))

    def watch(self, command: Command) -> Verdict:
        """Sleep until the command ends, somebody asks for its end, or a limit is reached."""
        begun = self.begun or 0.0
        size, grown = 0, begun
        idle = self.order["idle_timeout_seconds"] or math.inf
        while True:
            self.reap()
            at = time.monotonic()
            if self.main_status is not None:
                self.elapsed = at - begun
                return Verdict("exited", command.problem())
            if why := self.asked_to_end():
                return Verdict("canceled", why)
            if verdict := self.over_the_limit(at - begun):
                return verdict
            before, size = size, sum(self.sizes())
            grown = at if size != before else grown
            if at - grown >= idle:
                return Verdict("idle_timeout", f"it printed nothing for {idle:g} s")
            self.channel.listen(min(self.time_left(at - begun), idle / IDLE_LOOKS))

    def over_the_limit(self, ran: float) -> Verdict | None:
        """Whether a limit on wall time is reached after `ran` seconds; the own limit goes before the futility cut."""
        timeout, futility = self.order["timeout_seconds"], self.order["futility_seconds"]
        if ran >= timeout:
            return Verdict("timeout", f"it ran longer than {timeout:g} s")
        if futility is not None and ran >= futility:
            return Verdict("timeout", f"it could not win any more after {futility:g} s", futility=True)
        return None

    def time_left(self, ran: float) -> float:
        """Seconds to the nearest limit on wall time."""
        limits = [self.order["timeout_seconds"], self.order["futility_seconds"]]
        return float(min(limit for limit in limits if limit is not None)) - ran

    def sizes(self) -> tuple[int, int]:
        """Bytes on standard output and standard error so far."""
        out, err = (os.fstat(output).st_size for output in self.outputs) if len(self.outputs) == 2 else (0, 0)
        return out, err

    def asked_to_end(self, waiting: bool = False) -> str:
        """Why the job must end before its time, else empty. One that is `waiting` for its turn outlives nobody."""
        if self.channel.is_canceled(self.folder):
            return ASKED_FOR
        if self.channel.was_told_to_end:
            return "the keeper was told to end (TERM)"
        if not self.channel.is_open and (waiting or not self.order["outlives"]):
            return "headway's connection ended"
        return ""

    def end(self, command: Command) -> None:
        """TERM to the tree, then wait for all of it to go, at most the grace."""
        if tree := descendants([os.getpid()]):
            signal_groups(signal.SIGTERM, tree)
        else:
            signal_group(signal.SIGTERM, command.pid)
        until = time.monotonic() + self.grace()
        while self.reap() and time.monotonic() < until:
            self.channel.listen(until - time.monotonic())

    def grace(self) -> float:
        """Seconds between TERM and KILL."""
        grace = float(self.order["grace_seconds"])
        return grace if self.channel.is_open else min(grace, DROP_GRACE_SECONDS)

    def sweep(self, command: Command) -> bool:
        """KILL what is left until nothing is, escapees included, and remember what it was; say whether nothing is."""
        until = time.monotonic() + KILL_PATIENCE_SECONDS
        if not HAS_PROC:
            signal_group(signal.SIGKILL, command.pid)
        while (is_left := self.reap()) and time.monotonic() < until:
            tree = descendants([os.getpid()])
            self.note(process.pid for process in tree if process.pid != command.pid)
            signal_groups(signal.SIGKILL, tree)
            kill_processes(tree)
            self.channel.listen(0.002)
        if self.begun is not None:
            self.elapsed = self.elapsed or time.monotonic() - self.begun
        while strangers := self.strangers():
            self.note(strangers)
            kill_marked(strangers, [self.folder])
            if time.monotonic() >= until:
                return False
            self.channel.listen(0.01)
        return not is_left

    def strangers(self) -> list[int]:
        """Processes outside the tree that carry the job's mark, as those that a daemon started for it."""
        if not HAS_PROC or self.begun is None:
            return []
        is_short = time.monotonic() - self.begun < SHORT_JOB_SECONDS and last_pid() >= self.pids_before
        return marked([self.folder], newer_than=self.pids_before if is_short else 0)

    def note(self, pids: Iterable[int]) -> None:
        """Remember what was left over, a bounded number of them."""
        for pid in pids:
            if pid not in self.leftovers and len(self.leftovers) < LEFTOVERS_KEPT:
                self.leftovers[pid] = command_line(pid)

    def reap(self) -> bool:
        """Take in the children that ended; say whether any is still alive."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.costs.add(usage)
            if self.command is not None and pid == self.command.pid:
                self.main_status = status

    def finish(self, verdict: Verdict, is_clean: bool) -> bool:
        """Write `exit.json`, then say so. An exit that could not be made durable is told as lost.

        Returns: whether the keeper may take another job: `is_clean`, the exit is written, and somebody may order one.
        """
        report = exit_report(
            verdict,
            main_status=self.main_status if self.begun is not None else None,
            costs=self.costs,
            started_at=self.started_at,
            elapsed_seconds=self.elapsed,
            sizes=self.sizes(),
            leftovers=self.leftovers,
        )
        problem = ""
        try:
            publish(self.folder, EXIT_FILE, report, self.order["key"])
        except FileExistsError:
            problem = f"{EXIT_FILE} was there before the job ended"
        except OSError as trouble:
            problem = f"{EXIT_FILE} could not be written: {trouble}"
        if problem:
            report |= {"status": "lost", "code": None, "reason": problem}
        is_free = HAS_PROC and is_clean and not problem and self.channel.is_open and not self.channel.was_told_to_end
        if is_free:
            self.let_go()
        self.channel.tell({"ended": self.folder, "exit": report}, *([{"free": self.folder}] if is_free else []))
        return is_free

    def let_go(self) -> None:
        """Close what was the job's own, and say in the process table that we no longer work on it."""
        if self.command is not None:
            self.command.close()
        for output in self.outputs:
            os.close(output)
        call_oneself(IDLE_NAME)
