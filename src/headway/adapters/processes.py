"""Runs jobs, from any thread: the client of a run's supervisor, and with `git.py` the only file that starts a process.

    jobs = Jobs(log_folder)
    exit = jobs.run(JobOrder(folder, "exp0003/measure/cand/2", JobKind.MEASURE, ...))

The supervisor is started by the first job. One that dies is replaced by the next job; the jobs that it left are waited
for by their keepers' ids. A job that another headway started is taken up with `attach`.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.adapters import supervisor
from headway.adapters.job_folder import (
    JobExit,
    JobOrder,
    JobState,
    JobStatus,
    KeeperId,
    Leftover,
    exit_from,
    job_name,
    read_exit,
    read_keeper,
    read_state,
    write_lost,
)
from headway.adapters.job_seals import Seals
from headway.errors import InternalFault, JobFolderTaken, JobNotStarted, SupervisorFailed

START_SECONDS = 30.0
START_LOOK_SECONDS = 0.2
START_ATTEMPTS = 3
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.01, 1.0  # at a keeper of another supervisor: it may live on after its job
SUPERVISOR = Path(supervisor.__file__).parent
ORPHAN_PATIENCE_SECONDS = 10.0

KEPT_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT"),
        *("JAVA_HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"),
    }
)
KEPT_PREFIXES = ("LC_", "XDG_", "SSL_CERT_")


def base_environment(source: Mapping[str, str]) -> dict[str, str]:
    """What of the user's environment every job gets: where things are and how to speak, by a list of what is allowed.

    No secret and no `GIT_*` passes. `PYTHONPATH` does not, because it may name the user's own checkout, which then
    would be measured in the candidate's place; proxies do not, because their addresses may hold passwords. A spec's
    commands can set either, and agents get more through `agent.env`.
    """
    return {name: value for name, value in source.items() if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)}


@dataclass
class _Flight:
    """A job that a supervisor of ours was asked to run; `ended` is set when no more will be heard of it."""

    order: JobOrder
    link: "_Link"
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    exit: JobExit | None = None
    refused: Mapping[str, Any] | None = None

    def close(self) -> None:
        self.started.set()
        self.ended.set()


class _Link:
    """One supervisor and the connection to it."""

    def __init__(self, log: Path) -> None:
        self.is_open = True
        self._process, self._socket = _start_supervisor(log)
        self.pid = self._process.pid

    def send(self, message: Mapping[str, Any]) -> None:
        """Say it; if nobody is there any more, `lines` comes to its end."""
        with contextlib.suppress(OSError):
            self._socket.sendall(supervisor.line(message))

    def lines(self) -> Iterable[dict[str, Any]]:
        """What the supervisor says, until it is gone."""
        with contextlib.suppress(OSError), self._socket.makefile("rb") as file:
            for text in file:
                if text.endswith(b"\n"):  # the last words of one that was killed may be cut off
                    yield json.loads(text)
        self._process.wait()

    def close(self) -> None:
        """Let go of the connection."""
        self._socket.close()


def _start_supervisor(log: Path) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """Start a supervisor and let it call back, in a folder that only we can enter and that is gone afterwards."""
    folder = _short_folder()
    address = str(folder / "s")
    try:
        with socket.socket(socket.AF_UNIX) as listener, log.open("ab") as output:
            listener.bind(address)
            listener.listen(1)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", str(SUPERVISOR), address],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd="/",
                env=base_environment(os.environ),  # without the mark of a job that we may run in
            )
            try:
                return process, _accept(listener, process, log)
            except BaseException:
                process.kill()
                process.wait()
                raise
    except OSError as problem:
        raise SupervisorFailed(str(problem), str(log)) from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> Path:
    """A new private folder, with a path that fits into a socket's address: TMPDIR may be long, /tmp is not."""
    with contextlib.suppress(OSError):
        return Path(tempfile.mkdtemp(prefix="headway-jobs-", dir="/tmp"))
    return Path(tempfile.mkdtemp(prefix="headway-jobs-"))


def _accept(listener: socket.socket, process: "subprocess.Popen[bytes]", log: Path) -> socket.socket:
    listener.settimeout(START_LOOK_SECONDS)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(TimeoutError):
            connection, _ = listener.accept()
            connection.settimeout(None)
            return connection
        if process.poll() is not None:
            raise SupervisorFailed(f"it ended with {process.returncode} before it began", str(log))
    raise SupervisorFailed(f"it did not begin within {START_SECONDS:g} s", str(log))


class Jobs:
    """Runs jobs and waits for them. Every method may be called from any thread."""

    def __init__(self, log_folder: Path) -> None:
        """Make it ready; nothing is started yet.

        Args:
            log_folder: the run's: where the supervisor's own complaints go, as `supervisor.log`, and where the secret
                lies that its jobs are sealed with; another headway knows them by it.
        """
        self._seals = Seals(log_folder)
        self._log = log_folder / "supervisor.log"
        self._sending = threading.Lock()  # taken before `_state`; the reader takes only that, so it always reads on
        self._state = threading.Lock()
        self._flights: dict[str, _Flight] = {}
        self._link: _Link | None = None
        self._reader: threading.Thread | None = None
        self._closed = False

    @property
    def supervisor_pid(self) -> int | None:
        """The supervisor's process id, for whoever reports on a run; None while there is none."""
        link = self._link
        return link.pid if link is not None and link.is_open else None

    def run(self, order: JobOrder) -> JobExit:
        """Run a job to its end.

        Returns: how it ended. `canceled` when another thread asked for that, or when its supervisor was killed.
        Raises: JobFolderTaken; JobNotStarted; SupervisorFailed, when no supervisor can be had.
        """
        flight = self._begin(order, wants_start=False)
        return self._outcome(flight) if flight else self._exit_on_disk(order.folder)

    def start(self, order: JobOrder) -> None:
        """Begin a job; when this returns its claim, `job.json`, is durable. `attach` waits for its end.

        Raises: as `run`.
        """
        self._begin(order, wants_start=True)

    def attach(self, folder: Path) -> JobExit:
        """Wait for a job that a folder tells of, whoever started it, and say how it ended.

        Returns: `lost` when its keeper died without a word, when nothing of it ever ran, and when somebody else wrote
            its claim or its exit. What is lost stays lost: an exit that comes later is refused.
        Raises: JobFileDamaged, when a file of the folder cannot be read.
        """
        with self._state:
            flight = self._flights.get(job_name(folder))
        if flight is not None:
            flight.ended.wait()
            return self._outcome(flight)
        return self._exit_on_disk(folder)

    def state(self, folder: Path) -> JobState:
        """What a folder says of its job, now.

        Raises: JobFileDamaged, when a file of the folder cannot be read.
        """
        return read_state(folder, self._seals.key(folder))

    def cancel(self, folder: Path) -> None:
        """Ask a job to end: TERM, its grace, KILL. A job that does not run is left as it is; waits for nothing."""
        name = job_name(folder)
        with self._sending:
            with self._state:
                flight = self._flights.get(name)
            if flight is not None:
                flight.link.send({"cancel": name})
                return
        keeper = read_keeper(folder, self._seals.key(folder))
        if keeper is not None and read_exit(folder) is None:
            _terminate(keeper)

    def end_all_but_measurements(self) -> None:
        """End every job of ours that may not outlive headway, and return when they have ended."""
        with self._state:
            flights = [flight for flight in self._flights.values() if not flight.order.outlives]
        for flight in flights:
            self.cancel(flight.order.folder)
        for flight in flights:
            flight.ended.wait()

    def close(self, wait: bool = False) -> None:
        """Take no more jobs, and end those that may not outlive headway. Measurements run on.

        Their exits say that it was asked for, so that no later process takes it for a death.

        Args:
            wait: return only when every job of ours has ended and the supervisor is gone.
        """
        with self._state:
            folders = [flight.order.folder for flight in self._flights.values() if not flight.order.outlives]
        for folder in folders:
            self.cancel(folder)
        with self._sending:
            self._closed = True
            if self._link is not None:
                self._link.send({"stop": True})
        if wait and self._reader is not None:
            self._reader.join()

    def _begin(self, order: JobOrder, wants_start: bool) -> _Flight | None:
        """Launch a job and wait for its end, or its start; again, if its supervisor died before the claim.

        Returns: None, when a keeper of such a supervisor turns out to have claimed the job after all.
        """
        for attempt in range(START_ATTEMPTS):
            try:
                flight = self._launch(order, wants_start)
                (flight.started if wants_start else flight.ended).wait()
                self._check_refusal(flight)
            except JobFolderTaken:
                if attempt == 0:
                    raise
                return None
            if not self._never_began(flight):
                return flight
        raise SupervisorFailed("it died each time before the job began", str(self._log))

    def _launch(self, order: JobOrder, wants_start: bool) -> _Flight:
        """Hand a job to the supervisor, in a folder that holds none yet."""
        self._prepare(order)
        name = job_name(order.folder)
        message = order.to_message(self._seals.key(order.folder), wants_start)
        with self._sending:
            if self._closed:
                raise InternalFault(f"the job {order.id} was started after the jobs were closed", str(order.folder))
            link = self._open_link()
            flight = _Flight(order, link)
            with self._state:
                if name in self._flights:
                    raise JobFolderTaken(order.id, name)
                self._flights[name] = flight
                if not link.is_open:  # it died since: nobody else will say so
                    self._flights.pop(name)
                    flight.close()
            link.send({"start": message})
        return flight

    def _prepare(self, order: JobOrder) -> None:
        try:
            if order.machine_lock is not None:
                order.machine_lock.parent.mkdir(parents=True, exist_ok=True)
            order.folder.mkdir(parents=True, exist_ok=True)  # one that holds a job is refused by the keeper's claim
        except OSError as problem:
            raise JobNotStarted(order.id, str(order.folder), str(problem)) from problem

    def _open_link(self) -> _Link:
        """The link to a living supervisor; called with `_sending` held."""
        if self._link is None or not self._link.is_open:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            self._link = _Link(self._log)
            self._reader = threading.Thread(target=self._read, args=(self._link,), name="headway-jobs", daemon=True)
            self._reader.start()
        return self._link

    def _read(self, link: _Link) -> None:
        for message in link.lines():
            self._hear(message)
        with self._state:
            link.is_open = False
            left = [flight for flight in self._flights.values() if flight.link is link]
            self._flights = {name: flight for name, flight in self._flights.items() if flight.link is not link}
        for flight in left:
            flight.close()
        with self._sending:  # nobody may be writing to what is closed
            link.close()

    def _hear(self, message: Mapping[str, Any]) -> None:
        kind, name = next(iter(message.items()))
        with self._state:
            flight = self._flights.get(name) if kind == "started" else self._flights.pop(name, None)
        if flight is None:
            return
        if kind == "started":
            flight.started.set()
            return
        if kind == "ended":
            flight.exit = exit_from(flight.order.folder, message["exit"])
        elif kind == "refused":
            flight.refused = message
        flight.close()

    def _outcome(self, flight: _Flight) -> JobExit:
        """How a job ended; where its supervisor could not say, its folder can."""
        return flight.exit or self._exit_on_disk(flight.order.folder)

    def _exit_on_disk(self, folder: Path) -> JobExit:
        """How a job ended, by its folder; waits for its keeper, and closes the folder of one that died."""
        key = self._seals.key(folder)
        found = read_exit(folder, key)
        if found is not None:
            return found
        keeper = read_keeper(folder, key)
        if keeper is None:
            return JobExit(folder, JobStatus.LOST, reason="nothing of it ever ran")
        _wait_for(keeper)
        found = read_exit(folder, key)
        if found is not None:
            return found
        sweep_orphans((folder,))  # what it left behind would work on in a tree that is the next job's
        return write_lost(folder, key)

    def _check_refusal(self, flight: _Flight) -> None:
        if flight.refused is not None:
            folder = str(flight.order.folder)
            if flight.refused["taken"]:
                raise JobFolderTaken(flight.order.id, folder)
            raise JobNotStarted(flight.order.id, folder, flight.refused["why"])

    def _never_began(self, flight: _Flight) -> bool:
        """Whether the supervisor died before the job's claim was made, so that another one may run it."""
        return flight.ended.is_set() and flight.exit is None and self.state(flight.order.folder) is JobState.ABSENT


def _wait_for(keeper: KeeperId) -> None:
    """Return when the keeper is gone, or works on that job no more."""
    with contextlib.ExitStack() as stack:
        poller = select.poll()
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # gone already, or a kernel before 5.3
                handle = os.pidfd_open(keeper.pid)
                stack.callback(os.close, handle)
                poller.register(handle, select.POLLIN)
        look = FIRST_LOOK_SECONDS
        while keeper.is_alive():  # asked while the id cannot come round again
            poller.poll(look * 1000)
            look = min(2 * look, LAST_LOOK_SECONDS)


def _terminate(keeper: KeeperId) -> None:
    """Ask a keeper of another supervisor to end its job."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(keeper.pid)
            try:
                if keeper.is_alive():
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
                return
            finally:
                os.close(handle)
    if keeper.is_alive():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(keeper.pid, signal.SIGTERM)


def sweep_orphans(folders: Iterable[Path]) -> list[Leftover]:
    """KILL what jobs left behind whose keepers died with them: all that carries their mark, and all below it.

    Args:
        folders: job folders of this run; those whose keeper lives are left alone.
    Returns: what was killed; empty where the system has no /proc.
    """
    names = {job_name(folder) for folder in folders if read_state(folder) is not JobState.RUNNING}
    killed: dict[int, Leftover] = {}
    until = time.monotonic() + ORPHAN_PATIENCE_SECONDS
    while names and (orphans := supervisor.marked(names)) and time.monotonic() < until:
        below = supervisor.descendants(orphans)
        for pid in {*orphans, *(process.pid for process in below)}:
            killed.setdefault(pid, Leftover(pid, supervisor.command_line(pid)))
        supervisor.kill_marked(orphans, names)
        supervisor.kill_processes(below)
        time.sleep(0.005)
    return list(killed.values())
