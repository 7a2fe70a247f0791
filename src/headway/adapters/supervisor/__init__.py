"""The process that runs a run's jobs, so that no job outlives its limits and a measurement may outlive headway.

Started by `processes.py` as `python -I -S` with this folder's path, in a session of its own; standard library only.
Three kinds of process run this code:

    headway -- socket --> supervisor -- fork, socketpair --> keeper, one job at a time -- fork, exec --> the command

- The **supervisor** (`server.py`) gives each job to a keeper and passes lines between them and headway. It decides
  nothing about a job.
- A **keeper** (`keeper.py`) owns one job, from `job.json` to `exit.json`. It is the subreaper of the job's tree; it
  talks over one socketpair (`channel.py`), whose end of file means that nobody waits any more. Forks are the dear part
  of a small job: a keeper whose job is proved to have left nothing takes the next one.
- The process that becomes the **command** (`command.py`) is forked while the claim is made durable, and let go then.

Lines are JSON. To the supervisor: `{"start": order}`, `{"cancel": folder}`, `{"stop": true}`. From it:
`{"started": folder}`, if the order `wants_start`, then one of `{"ended": folder, "exit": {...}}` and `{"lost": folder}`
(its keeper died); or, when nothing of it runs, `{"refused": folder, "taken": bool, "why": text}`, `taken` = the folder
already holds a job. A keeper that may take another job says `{"free": folder}` to the supervisor alone.

An order carries the job's secret (`key`), which headway keeps in the run's folder (`job_files.py`, `seal_of`): a claim
or an exit that somebody else wrote is told from a keeper's by its seal. This is evidence and no wall: without a sandbox
a job runs as the same user, who can read that file, and the keeper's memory, if he sets out to.
Source: CONTRACTS.md, section 5. On systems without /proc and subreapers the group alone is ended.
"""

from .exit_report import ASKED_FOR, FUTILITY_CODE, TIMEOUT_CODE
from .job_files import EXIT_FILE, JOB_FILE, SEAL, STDERR_FILE, STDOUT_FILE, job_key, line, publish, seal_of
from .process_table import (
    Process,
    all_pids,
    boot_id,
    command_line,
    descendants,
    is_pid_alive,
    kill_each,
    kill_marked,
    kill_processes,
    look_at,
    marked,
    read_proc,
)

__all__ = [
    "ASKED_FOR",
    "EXIT_FILE",
    "FUTILITY_CODE",
    "JOB_FILE",
    "SEAL",
    "STDERR_FILE",
    "STDOUT_FILE",
    "TIMEOUT_CODE",
    "Process",
    "all_pids",
    "boot_id",
    "command_line",
    "descendants",
    "is_pid_alive",
    "job_key",
    "kill_each",
    "kill_marked",
    "kill_processes",
    "line",
    "look_at",
    "marked",
    "publish",
    "read_proc",
    "seal_of",
]
