"""What supervision costs a small job: `cat /dev/null` as a job, against `subprocess.run` of the same command.

A job has a claim and an end that are synced to the disk, limits, and a tree that is proved to be dead; `subprocess.run`
starts the command and waits. The two alternate in one run, so that a busy machine hurts both: quote the ratios. Wall
times are medians; processor times (user and system) are of all processes together, per job, over the whole run.
The last line is one JSON object.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headway.adapters.job_folder import JobKind, JobOrder
from headway.adapters.processes import Jobs, base_environment

COMMAND = "cat /dev/null"
ENVIRONMENT = base_environment(os.environ)


def a_job(jobs: Jobs, folder: Path) -> None:
    """Run the command as a supervised job in a new folder."""
    order = JobOrder(
        folder=folder,
        id="bench",
        kind=JobKind.MEASURE,
        cwd=folder.parents[1],
        env=ENVIRONMENT,
        timeout_seconds=60,
        command=COMMAND,
    )
    if not jobs.run(order).ok:
        sys.exit(f"the job in {folder} failed")


def plain(*_: object) -> None:
    """Run the command with `subprocess.run`, its output captured."""
    subprocess.run(COMMAND, shell=True, stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, check=True)


def wall_ms(call: Callable[[], None]) -> float:
    """Give the wall time of a call, in milliseconds."""
    begun = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begun)


def cpu_ms(call: Callable[[], None]) -> float:
    """Give the processor time of a call, in milliseconds: ours and that of every process that has ended meanwhile."""
    before = os.times()
    call()
    after = os.times()
    return 1000 * sum(after[:4]) - 1000 * sum(before[:4])


def cpu_of_jobs(root: Path, count: int) -> float:
    """Give the processor time of a supervisor's life with `count` jobs, its start and its end included."""
    jobs = Jobs(root / f"cpu-{count}")

    def all_of_them() -> None:
        for number in range(count):
            a_job(jobs, root / f"cpu-{count}" / "jobs" / str(number))
        jobs.close(wait=True)

    return cpu_ms(all_of_them)


def main() -> None:
    """Measure both, print medians and ratios, end with one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=300, help="jobs of each kind (default 300)")
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the jobs' folders lie (default: a temporary one)"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-bench-", dir=asked.folder) as name:
        root = Path(name)
        jobs = Jobs(root / "run")
        for number in range(10):
            a_job(jobs, root / "run" / "warm" / str(number))
        walls = [
            (wall_ms(lambda at=at: a_job(jobs, root / "run" / "jobs" / str(at))), wall_ms(plain))  # type: ignore[misc]
            for at in range(asked.jobs)
        ]
        jobs.close(wait=True)
        few, many = cpu_of_jobs(root, 10), cpu_of_jobs(root, 10 + asked.jobs)
        plain_cpu = cpu_ms(lambda: [plain() for _ in range(asked.jobs)] and None) / asked.jobs
    job_ms, plain_ms = (statistics.median(times) for times in zip(*walls, strict=True))
    job_cpu = (many - few) / asked.jobs
    figures = {
        "job_ms": round(job_ms, 2),
        "plain_ms": round(plain_ms, 2),
        "job_vs_plain": round(job_ms / plain_ms, 2),
        "job_cpu_ms": round(job_cpu, 2),
        "plain_cpu_ms": round(plain_cpu, 2),
        "job_vs_plain_cpu": round(job_cpu / plain_cpu, 2),
        "jobs": asked.jobs,
    }
    print(f"a job takes {figures['job_vs_plain']} times the wall time of the command alone")
    print(f"and {figures['job_vs_plain_cpu']} times its processor time")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
