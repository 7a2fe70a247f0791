"""The supervisor itself: passes lines between headway and the keepers, and decides nothing about a job."""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from .channel import CONTROL
from .job_files import line
from .keeper import KILL_PATIENCE_SECONDS, keep_jobs
from .process_table import descendants, kill_processes, signal_groups
from .system_calls import become_subreaper, default_signals, drain, load_prctl, wake_on

MOST_IDLE = 4  # keepers that wait for a job; one more goes


class Kept:
    """A keeper as the supervisor sees it."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control
        self.folder = ""  # empty: it waits for a job
        self.heard = b""
        self.answered = False  # it said how its job ended, or that it refuses it
        self.is_dismissed = False  # it was told that there will be no more orders


class Supervisor:
    """Gives each order to a keeper, passes lines on, and goes when nobody speaks to it and no keeper is left."""

    def __init__(self, client: socket.socket) -> None:
        self.client: socket.socket | None = client
        self.heard = bytearray()
        self.leaving = False
        self.kept: dict[int, Kept] = {}  # by the descriptor of its socket
        self.wake = wake_on(signal.SIGCHLD)
        self.poller = select.poll()
        self.poller.register(self.wake, select.POLLIN)
        self.poller.register(client, select.POLLIN)

    def serve(self) -> None:
        """Work until it may go."""
        with contextlib.suppress(OSError):  # the first job will try again, and tell
            self.fork_keeper()
        while self.kept or not self.leaving:
            for descriptor, _ in self.poller.poll():
                if descriptor == self.wake:
                    drain(self.wake)
                    self.reap()
                elif descriptor in self.kept:
                    self.hear_keeper(self.kept[descriptor])
                elif self.client is not None and descriptor == self.client.fileno():
                    self.hear_client(self.client)

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
                self.obey(json.loads(text), bytes(text) + b"\n")

    def obey(self, message: Mapping[str, Any], words: bytes) -> None:
        """Start, cancel or leave."""
        if "start" in message:
            self.start(message["start"]["folder"], words)
        elif "cancel" in message:
            for kept in self.kept.values():
                if kept.folder == message["cancel"]:
                    with contextlib.suppress(OSError):
                        kept.control.sendall(words)
        else:
            self.leave()

    def leave(self) -> None:
        """Tell every keeper that nobody waits any more: it ends its job, if that may not outlive headway."""
        self.leaving = True
        for kept in self.kept.values():
            self.dismiss(kept)

    def dismiss(self, kept: Kept) -> None:
        """Tell a keeper that there will be no more orders."""
        kept.is_dismissed = True
        with contextlib.suppress(OSError):
            kept.control.shutdown(socket.SHUT_WR)

    def idle(self) -> list[Kept]:
        """The keepers that wait for a job."""
        return [kept for kept in self.kept.values() if not kept.folder and not kept.is_dismissed]

    def start(self, folder: str, words: bytes) -> None:
        """Give a job to a keeper."""
        if self.leaving:
            self.refuse(folder, "the supervisor was told to stop")
            return
        try:
            kept = next(iter(self.idle()), None) or self.fork_keeper()
        except OSError as problem:
            self.refuse(folder, str(problem))
            return
        kept.folder, kept.answered = folder, False
        with contextlib.suppress(OSError):  # it died: `reap` tells that the job is lost, and headway tries again
            kept.control.sendall(words)

    def refuse(self, folder: str, why: str) -> None:
        """Say that nothing of a job will run."""
        self.push(line({"refused": folder, "taken": False, "why": why}))

    def fork_keeper(self) -> Kept:
        """A new keeper that waits for its job. Raises: OSError, if there can be none."""
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

    def hear_keeper(self, kept: Kept) -> bool:
        """Pass a keeper's whole lines on to headway; say whether it said anything."""
        words = b""
        with contextlib.suppress(OSError):
            words = kept.control.recv(65536, socket.MSG_DONTWAIT)
            if not words:  # its end; `reap` sees to the rest
                self.forget(kept)
        *lines, kept.heard = (kept.heard + words).split(b"\n")
        for text in lines:
            if text.startswith(b'{"free"'):
                self.free(kept)
            else:
                kept.answered = kept.answered or not text.startswith(b'{"started"')
                self.push(text + b"\n")
        return bool(words)

    def free(self, kept: Kept) -> None:
        """Take a keeper back whose job left nothing behind."""
        if self.leaving or len(self.idle()) >= MOST_IDLE:
            self.dismiss(kept)
        kept.folder = ""

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
                    while self.hear_keeper(kept):
                        pass
                    del self.kept[descriptor]
                    self.part(kept)

    def part(self, kept: Kept) -> None:
        """Let a keeper go; if it died at work, end what its job left and say that the job is lost."""
        self.forget(kept)
        kept.control.close()
        if kept.folder and not kept.answered:
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
            signal_groups(signal.SIGKILL, strays)
            kill_processes(strays)
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
    """In the forked child: keep jobs, in a session of its own, with nothing of the supervisor's open.

    Its descriptors are closed by number: their objects must stay as they are, or closing them would hit new files.
    """
    try:
        os.setsid()
        become_subreaper()
        signal.set_wakeup_fd(-1)
        if control != CONTROL:
            os.dup2(control, CONTROL, inheritable=False)
        os.closerange(CONTROL + 1, highest + 1)
        keep_jobs()
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
    gc.freeze()  # what is there now stays: a collection would touch, and copy, pages shared with the keepers
    Supervisor(client).serve()
