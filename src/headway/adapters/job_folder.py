"""What a job is, and what its folder says of it: the order, how it ended, whether it still runs.

A folder is the durable source of a sample (CONTRACTS.md, section 5): `job.json` is its claim, `stdout` and `stderr` its
output, `exit.json` its end. Claim and end are written by the job's keeper (`supervisor/`) and sealed with the job's
secret (`job_seals.py`): who knows it can tell what a command put there in a keeper's name. Here they are read; the one
thing written is the end of a job whose keeper died without a word, so that no late one can be credited.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from headway.adapters import supervisor
from headway.errors import InternalFault, JobFileDamaged

GRACE_SECONDS = 5.0
KEEPER_DIED = "its keeper died"
OUTPUT_CHANGED = "its output is not what it was when the job had ended"
FORGED = "its exit.json was not written by its keeper"
HEAD_BYTES = 256 << 10
TAIL_BYTES = 2 << 20  # with its text and what is looked for in it under 20 MB of memory


class JobKind(StrEnum):
    """What a job is for."""

    AUTHOR = "author"
    SETUP = "setup"
    BUILD = "build"
    CHECKS = "checks"
    SMOKE = "smoke"
    MEASURE = "measure"
    JUDGE = "judge"


class JobState(StrEnum):
    """What a folder says of its job: `absent` = nothing of it ever ran, `lost` = its keeper died without a word."""

    ABSENT = "absent"
    RUNNING = "running"
    DONE = "done"
    LOST = "lost"


class JobStatus(StrEnum):
    """How a job ended. `timeout` and `idle_timeout` are headway's limits and no command can claim them."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMEOUT = "timeout"
    IDLE_TIMEOUT = "idle_timeout"
    CANCELED = "canceled"
    LOST = "lost"


@dataclass(frozen=True)
class JobOrder:
    """One job to run. Exactly one of `command` (for `/bin/sh -c`) and `argv` is given.

    Attributes:
        folder: the job's own folder; made if missing, and refused if it holds a job already.
        id: the action's id, as `exp0003/measure/cand/2`.
        cwd: where the command starts.
        env: its whole environment; `HEADWAY_JOB` is added. Values reach the command alone: `job.json` has the names.
        stdin: a file to read; None is `/dev/null`.
        timeout_seconds: wall time, counted from the command's start, > 0.
        idle_timeout_seconds: longest time without output; None is no limit.
        futility_seconds: wall time, said beforehand, after which the candidate cannot win any more: headway cuts the
            job with 125 and its own mark. None is no cut; a timeout that comes first, or together, is a timeout.
        outlives: the job runs on, to its end or timeout, when headway dies; measurements do.
        machine_lock: a lock file held from before the command starts until its tree is dead; waiting for it counts in
            no limit, and a job that waits outlives nobody.
        grace_seconds: time between TERM and KILL.
    """

    folder: Path
    id: str
    kind: JobKind
    cwd: Path
    env: Mapping[str, str]
    timeout_seconds: float
    command: str = ""
    argv: tuple[str, ...] = ()
    stdin: Path | None = None
    idle_timeout_seconds: float | None = None
    futility_seconds: float | None = None
    outlives: bool = False
    machine_lock: Path | None = None
    grace_seconds: float = GRACE_SECONDS

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.argv):
            raise InternalFault("a job needs either a command or arguments", where=self.id)

    def to_message(self, key: str, wants_start: bool) -> dict[str, Any]:
        """The order as the supervisor takes it.

        Args:
            key: the job's secret.
            wants_start: have it told when the claim is durable.
        """
        return {
            "key": key,
            "wants_start": wants_start,
            "folder": job_name(self.folder),
            "id": self.id,
            "kind": self.kind.value,
            "command": self.command,
            "argv": list(self.argv),
            "cwd": str(self.cwd.absolute()),
            "env": dict(self.env),
            "stdin": None if self.stdin is None else str(self.stdin.absolute()),
            "timeout_seconds": self.timeout_seconds,
            "idle_timeout_seconds": self.idle_timeout_seconds,
            "futility_seconds": self.futility_seconds,
            "outlives": self.outlives,
            "machine_lock": None if self.machine_lock is None else str(self.machine_lock.absolute()),
            "grace_seconds": self.grace_seconds,
        }


@dataclass(frozen=True)
class Leftover:
    """A process that was alive after its job's command had ended, or after TERM and the grace."""

    pid: int
    cmdline: str


@dataclass(frozen=True)
class JobExit:
    """How a job ended, and what it cost.

    Attributes:
        code: the command's exit code; 124 for headway's own limits, 125 for its futility cut; None where there is none.
        signal: the signal that ended the command, where one did and no limit explains it.
        reason: why, where the status alone does not say.
        started_at: when the command started (UTC); None if it never did.
        elapsed_seconds: wall time of the command, by a clock that never jumps.
        max_rss_kb: largest resident set of any of its processes; never below the 10 MB or so of the one it starts from.
        stdout_bytes, stderr_bytes: what had been printed when all that could print was dead; None if nobody could say.
        leftovers: processes that had to be killed after the command's end, at most 50.
        futility: headway's mark that tells its own futility cut, a kind of timeout, from a command's 125.
    """

    folder: Path
    status: JobStatus
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    elapsed_seconds: float = 0.0
    max_rss_kb: int = 0
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    stdout_bytes: int | None = None
    stderr_bytes: int | None = None
    leftovers: tuple[Leftover, ...] = field(default=())
    futility: bool = False

    @property
    def ok(self) -> bool:
        """The command ended by itself with 0."""
        return self.status is JobStatus.EXITED and self.code == 0

    @property
    def stdout_path(self) -> Path:
        """Where its standard output lies; missing if the command never started."""
        return self.folder / supervisor.STDOUT_FILE

    @property
    def stderr_path(self) -> Path:
        """Where its standard error lies; missing if the command never started."""
        return self.folder / supervisor.STDERR_FILE


@dataclass(frozen=True)
class KeeperId:
    """Names a keeper at work on one job: ids come round again, an id with its start within a boot does not.

    `name` is what the keeper calls itself while it works on that job; it may take another one afterwards.
    """

    pid: int
    start: int | None
    boot: str | None
    name: str

    def is_alive(self) -> bool:
        """Whether this very process runs now, and works on this job."""
        if self.start is None:  # no /proc to ask
            return supervisor.is_pid_alive(self.pid)
        process = supervisor.look_at(self.pid)
        return (
            process is not None
            and process.state not in "ZX"
            and process.start == self.start
            and process.name == self.name
            and supervisor.boot_id() == self.boot
        )


NOBODY = KeeperId(0, 0, None, "")
"""Who wrote a claim that is not sealed: no process."""


def job_name(folder: Path) -> str:
    """The folder as `HEADWAY_JOB` spells it, whichever way the caller came to it."""
    return os.path.realpath(folder)


def exit_from(folder: Path, content: Mapping[str, Any]) -> JobExit:
    """An exit from the content of `exit.json`; keys that this version does not know are left out.

    One whose output is not as long as it was when all that could print was dead counts as lost: it lacks what a dying
    machine did not keep, or holds what was written later.
    """
    known = {key: content[key] for key in JobExit.__dataclass_fields__ if key in content and key != "folder"}
    known["status"] = JobStatus(known["status"])
    known["leftovers"] = tuple(Leftover(int(it["pid"]), str(it["cmdline"])) for it in known.get("leftovers", ()))
    end = JobExit(folder=folder, **known)
    told = ((end.stdout_path, end.stdout_bytes), (end.stderr_path, end.stderr_bytes))
    if end.status is not JobStatus.LOST and any(size not in (None, _size(path)) for path, size in told):
        return replace(end, status=JobStatus.LOST, code=None, reason=OUTPUT_CHANGED)
    return end


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def read_exit(folder: Path, key: str | None = None) -> JobExit | None:
    """How the job of this folder ended; None while its folder does not say.

    Args:
        folder: the job's.
        key: its secret; with it, an exit that its keeper did not write counts as lost.

    Raises: JobFileDamaged, if `exit.json` is there and cannot be read.
    """
    content = _read(folder / supervisor.EXIT_FILE)
    if content is None:
        return None
    if _is_forged(content, supervisor.EXIT_FILE, key):
        return JobExit(folder, JobStatus.LOST, reason=FORGED)
    try:
        return exit_from(folder, content)
    except (KeyError, TypeError, ValueError) as problem:
        raise JobFileDamaged(str(folder / supervisor.EXIT_FILE), str(problem)) from problem


def read_keeper(folder: Path, key: str | None = None) -> KeeperId | None:
    """The process that owns the job of this folder; None if nothing of the job ever ran.

    Args:
        folder: the job's.
        key: its secret; with it, a claim that no keeper wrote names nobody who lives.

    Raises: JobFileDamaged, if `job.json` is there and cannot be read.
    """
    content = _read(folder / supervisor.JOB_FILE)
    if content is None:
        return None
    if _is_forged(content, supervisor.JOB_FILE, key):
        return NOBODY
    try:
        keeper = content["keeper"]
        return KeeperId(int(keeper["pid"]), keeper["start"], keeper["boot"], str(keeper["name"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise JobFileDamaged(str(folder / supervisor.JOB_FILE), str(problem)) from problem


def read_state(folder: Path, key: str | None = None) -> JobState:
    """What this folder says of its job, now; with the job's secret `key`, what others wrote there says `lost`."""
    end = read_exit(folder, key)
    keeper = None
    if end is None:
        keeper = read_keeper(folder, key)
        if keeper is None:
            return JobState.ABSENT
        if keeper.is_alive():
            return JobState.RUNNING
        end = read_exit(folder, key)  # it may have ended between the two looks
    return JobState.LOST if end is None or end.status is JobStatus.LOST else JobState.DONE


def write_lost(folder: Path, key: str) -> JobExit:
    """Close the folder of a job whose keeper is dead, once and for all: the exit that is there first counts.

    Args:
        folder: the job's; its claim is there and its keeper is not.
        key: the job's secret.
    Returns: the exit that counts: lost, or one that was written at the last moment.
    """
    lost = JobExit(folder, JobStatus.LOST, reason=KEEPER_DIED)
    try:
        supervisor.publish(str(folder), supervisor.EXIT_FILE, {"status": lost.status, "reason": lost.reason}, key)
    except FileExistsError:
        return read_exit(folder, key) or lost
    except OSError:  # what cannot be written cannot be read as another exit either; the next look says lost again
        return lost
    return lost


def _is_forged(content: Mapping[str, Any], file: str, key: str | None) -> bool:
    return key is not None and content.get(supervisor.SEAL) != supervisor.seal_of(content, file, key)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as problem:
        raise JobFileDamaged(str(path), str(problem)) from problem
    if not isinstance(content, dict):
        raise JobFileDamaged(str(path), "it holds no mapping")
    return content


def read_bounded(path: Path, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> str:
    """A file's text with bounded memory; a missing file is empty.

    Args:
        head_bytes: kept from the start, >= 0.
        tail_bytes: kept from the end, >= 0; results usually stand there.
    Returns: the text, wrong bytes replaced; where bytes were left out a line of its own says how many.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= head_bytes + tail_bytes:
                return file.read(head_bytes + tail_bytes).decode(errors="replace")
            text = bytearray(file.read(head_bytes))
            text += f"\n[headway: {size - head_bytes - tail_bytes} bytes left out]\n".encode()
            file.seek(size - tail_bytes)
            text += file.read(tail_bytes)
    except FileNotFoundError:
        return ""
    return text.decode(errors="replace")  # all at once: its text may take four times the room of its bytes


def last_lines(path: Path, n: int, max_bytes: int = 64 << 10) -> str:
    """The last `n` lines of a file, and of them at most the last `max_bytes` bytes; a missing file is empty."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
            text = file.read(max_bytes).decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "".join(text.splitlines(keepends=True)[-n:]) if n > 0 else ""
