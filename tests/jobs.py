"""Builders and looks for tests of jobs: real processes in real folders."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import headway
from headway.adapters import supervisor
from headway.adapters.job_folder import JobKind, JobOrder, job_name
from headway.adapters.processes import base_environment

SOURCE = Path(headway.__file__).parents[1]


def a_job(
    folder: Path,
    command: str = "true",
    *,
    argv: tuple[str, ...] = (),
    kind: JobKind = JobKind.MEASURE,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    timeout_seconds: float = 20.0,
    idle_timeout_seconds: float | None = None,
    futility_seconds: float | None = None,
    outlives: bool = False,
    machine_lock: Path | None = None,
    grace_seconds: float = 0.3,
) -> JobOrder:
    """A job order, with a short grace so that tests are short."""
    return JobOrder(
        folder=folder,
        id=f"exp0001/{kind}/{folder.name}",
        kind=kind,
        cwd=folder.parent if cwd is None else cwd,
        env=base_environment(os.environ) if env is None else env,
        command="" if argv else command,
        argv=argv,
        stdin=stdin,
        timeout_seconds=timeout_seconds,
        idle_timeout_seconds=idle_timeout_seconds,
        futility_seconds=futility_seconds,
        outlives=outlives,
        machine_lock=machine_lock,
        grace_seconds=grace_seconds,
    )


def python(code: str) -> str:
    """A shell command that runs Python code without start-up costs."""
    return f"exec {sys.executable} -I -S -c '{code}'"


def until(path: Path) -> str:
    """A shell command that waits for a file."""
    return f"until [ -e {path} ]; do sleep 0.02; done"


def a_client(script: str, *arguments: object) -> "subprocess.Popen[bytes]":
    """Another headway: a process that runs `script` with the jobs' names imported and `sys.argv[1:]` = `arguments`."""
    prelude = (
        f"import sys, threading; sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parent)!r}]\n"
        "from pathlib import Path\n"
        "from headway.adapters.processes import Jobs\n"
        "from tests.jobs import a_job\n"
    )
    words = [sys.executable, "-c", prelude + script, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def living(*folders: Path) -> list[int]:
    """The processes that carry the mark of one of these job folders."""
    return supervisor.marked([job_name(folder) for folder in folders])


def eventually(claim: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether the claim comes true in time."""
    until = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def text_of(path: Path) -> str:
    """A file's text; empty while it is missing."""
    return path.read_text() if path.exists() else ""
