"""Jobs that want to outlive their end: how many processes are left, and how many late results were credited.

Each run is one supervised job whose tree forks, double-forks, makes sessions of its own, ignores TERM, closes its
descriptors, blocks on filled pipes, drops its environment (and with it the job's mark), and writes results for ever: to
the output it inherited, to the job's files by their names, to a forged `exit.json`. A run ends by itself, by its time
limit, by its idle limit, by a cancel, or by the death of its keeper or of its supervisor. Every process carries the
run's token in its command line, so that it is found whatever it did to its environment.

The last line is one JSON object: `left_after_10s` and `late_credited` must be 0.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from headway.adapters import supervisor
from headway.adapters.job_folder import JobExit, JobKind, JobOrder, JobStatus, read_keeper
from headway.adapters.processes import Jobs, base_environment

TREE = r"""
import os, random, signal, sys, time
token, seed, forges, lasts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
job = os.environ.get("HEADWAY_JOB") or sys.argv[5]
chance = random.Random(seed)
LATE = b'{"score": 999}\n'

def begin_anew():
    env = {} if chance.random() < 0.5 else dict(os.environ)
    os.execve(sys.executable, [sys.executable, "-I", "-S", sys.argv[0], *sys.argv[1:5], job, "stay"], env)

def stay():
    if chance.random() < 0.7:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    if chance.random() < 0.4:
        os.closerange(0, 64)
    while True:
        for write in (lambda: os.write(1, LATE), lambda: append(job + "/stdout"), forge if forges else lambda: None):
            try:
                write()
            except OSError:
                pass
        time.sleep(0.01)

def append(path):
    with open(path, "ab") as file:
        file.write(LATE)

def forge():
    with open(job + "/exit.json", "x") as file:
        file.write('{"status": "exited", "code": 0}')

def fill_a_pipe():
    reader, writer = os.pipe()
    if os.fork() == 0:
        while True:
            os.write(writer, b"x" * 65536)

def fork():
    if os.fork() == 0:
        stay()

def double_fork():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            begin_anew() if chance.random() < 0.5 else stay()
        os._exit(0)
    os.wait()

def chain():
    if os.fork() == 0:
        for _ in range(400):
            if os.fork() > 0:
                os._exit(0)
            os.setsid()
            time.sleep(0.002)
        stay()

if len(sys.argv) > 6:
    chance.seed(seed + 1)
    stay()
for shape in chance.choices([fork, double_fork, chain, fill_a_pipe], k=chance.randint(2, 5)):
    shape()
if lasts > 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(lasts)
os.write(1, b'{"score": 1}\n')
"""
ENDINGS = ("itself", "itself", "itself", "timeout", "idle", "cancel", "keeper dies", "supervisor dies")


class Run:
    """One job with a nasty tree, and what became of it."""

    def __init__(self, jobs: Jobs, root: Path, number: int, seed: int) -> None:
        self.jobs = jobs
        self.chance = random.Random(seed)
        self.token = f"nasty-{os.getpid()}-{number}"
        self.folder = root / str(number)
        self.ending = ENDINGS[number % len(ENDINGS)]
        self.forges = number % 5 == 4
        self.end: JobExit | None = None

    def order(self, tree: Path) -> JobOrder:
        """The job: a long one unless it is to end by itself."""
        lasts = 0.1 if self.ending == "itself" else 60
        return JobOrder(
            folder=self.folder,
            id=self.token,
            kind=JobKind.MEASURE,
            cwd=self.folder.parent,
            env=base_environment(os.environ),
            timeout_seconds={"timeout": 0.3, "idle": 2}.get(self.ending, 20),
            idle_timeout_seconds=0.3 if self.ending == "idle" else None,
            grace_seconds=0.2,
            outlives=self.ending != "supervisor dies",
            argv=(
                *(sys.executable, "-I", "-S", str(tree), self.token, str(self.chance.randrange(1 << 30))),
                *(str(int(self.forges)), str(lasts)),
            ),
        )

    def go(self, tree: Path) -> None:
        """Run the job to its end, whatever that is."""
        thread = threading.Thread(target=self._run, args=(self.order(tree),))
        thread.start()
        if self.ending in ("cancel", "keeper dies", "supervisor dies"):
            while not (self.folder / "stdout").exists():
                time.sleep(0.005)
            time.sleep(0.2)
            self._interfere()
        thread.join()

    def _run(self, order: JobOrder) -> None:
        self.end = self.jobs.run(order)

    def _interfere(self) -> None:
        if self.ending == "cancel":
            self.jobs.cancel(self.folder)
            return
        keeper = read_keeper(self.folder)
        pid = self.jobs.supervisor_pid if self.ending == "supervisor dies" else keeper and keeper.pid
        if pid:
            os.kill(pid, signal.SIGKILL)

    def left(self) -> list[int]:
        """The processes of this run that live."""
        wanted = self.token.encode() + b"\0"
        return [pid for pid in supervisor.all_pids() if wanted in supervisor.read_proc(f"/proc/{pid}/cmdline")]

    def is_late_credited(self) -> bool:
        """Whether a second look, some time after the end, credits anything that the first one did not."""
        again = self.jobs.attach(self.folder)
        if self.end is None or again.status is not self.end.status or again.ok != self.end.ok:
            return True
        size = (self.folder / "stdout").stat().st_size
        return again.ok and (size != again.stdout_bytes or again != self.end)

    def is_as_told(self) -> bool:
        """Whether it ended as it was meant to; a forged exit makes every ending a lost one."""
        told = {
            "itself": JobStatus.EXITED,
            "timeout": JobStatus.TIMEOUT,
            "idle": JobStatus.IDLE_TIMEOUT,
            "cancel": JobStatus.CANCELED,
            "keeper dies": JobStatus.LOST,
            "supervisor dies": JobStatus.CANCELED,
        }[self.ending]
        possible = {told, JobStatus.LOST} if self.forges else {told}
        if self.ending == "idle":  # trees that never stop talking run into the other limit
            possible.add(JobStatus.TIMEOUT)
        return self.end is not None and self.end.status in possible


def main() -> None:
    """Run the trees two at a time, then look for what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="jobs (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the trees' shapes (default 1)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-nasty-") as name:
        root = Path(name)
        (tree := root / "tree.py").write_text(TREE)
        jobs = Jobs(root / "run")
        runs = [Run(jobs, root, number, asked.seed * 100_003 + number) for number in range(asked.runs)]
        for run in runs:
            run.go(tree)
        ended = time.monotonic()
        while any(run.left() for run in runs) and time.monotonic() < ended + 10:
            time.sleep(0.1)
        left = sum(len(run.left()) for run in runs)
        figures = {
            "runs": len(runs),
            "left_after_10s": left,
            "late_credited": sum(run.is_late_credited() for run in runs),
            "not_as_told": sum(not run.is_as_told() for run in runs),
            "killed_leftovers": sum(len(run.end.leftovers) for run in runs if run.end),
        }
        print(dict(Counter(f"{run.ending}: {run.end.status if run.end else None}" for run in runs)))
        jobs.close(wait=True)
        print(json.dumps(figures))
    sys.exit(1 if figures["left_after_10s"] or figures["late_credited"] or figures["not_as_told"] else 0)


if __name__ == "__main__":
    main()
