"""Real kills of a headway that runs jobs: what must die dies, what may outlive it is found again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.adapters import supervisor
from headway.adapters.job_folder import JobState, JobStatus
from headway.adapters.processes import Jobs, sweep_orphans
from tests.jobs import a_client, a_job, eventually, living, until

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers"),
]

BOTH = """
root, command = Path(sys.argv[1]), sys.argv[2]
jobs = Jobs(root / "log")
stubborn = "trap : TERM; sleep 60 & setsid sleep 60 & while :; do sleep 1; done"
jobs.start(a_job(root / "agent", stubborn, grace_seconds=0.5))
jobs.start(a_job(root / "sample", command, outlives=True, timeout_seconds=float(sys.argv[3])))
jobs.attach(root / "sample")
jobs.attach(root / "agent")
"""


def a_headway_at_work(root: Path, command: str, timeout_seconds: float = 20.0) -> "subprocess.Popen[bytes]":
    """Another headway with an agent that heeds nothing, and a measurement."""
    client = a_client(BOTH, root, command, timeout_seconds)
    assert eventually((root / "sample" / "stdout").exists)
    assert eventually(lambda: len(living(root / "agent")) >= 4)
    return client


def kill(client: "subprocess.Popen[bytes]") -> None:
    client.kill()
    client.wait()


def supervisors_of(client: "subprocess.Popen[bytes]") -> list[int]:
    return [process.pid for process in supervisor.descendants([client.pid]) if process.parent == client.pid]


def test_a_killed_headway_leaves_only_its_measurement_and_the_next_one_takes_it_up(tmp_path: Path) -> None:
    """The agent's whole tree is gone within 10 s; the sample is finished, kept, and handed to a new headway."""
    client = a_headway_at_work(tmp_path, until(tmp_path / "go") + "; echo 42")
    kill(client)
    assert eventually(lambda: not living(tmp_path / "agent"), 10)
    jobs = Jobs(tmp_path / "log")
    assert jobs.state(tmp_path / "sample") is JobState.RUNNING
    (tmp_path / "go").touch()
    sample = jobs.attach(tmp_path / "sample")
    assert sample.ok and sample.stdout_path.read_text() == "42\n"
    assert jobs.attach(tmp_path / "agent").status is JobStatus.CANCELED
    assert not living(tmp_path / "agent", tmp_path / "sample")


def test_the_supervisor_of_a_killed_headway_goes_when_its_last_job_has_ended(tmp_path: Path) -> None:
    """After the measurement's end no process of the run is left, its limit being kept without any headway."""
    client = a_headway_at_work(tmp_path, "sleep 60 & sleep 60", timeout_seconds=2.0)
    (pid,) = supervisors_of(client)
    kill(client)
    assert eventually(lambda: _is_gone(pid), 15)
    assert Jobs(tmp_path / "log").attach(tmp_path / "sample").status is JobStatus.TIMEOUT
    assert not living(tmp_path / "agent", tmp_path / "sample")


def test_a_measurement_survives_headway_and_supervisor_killed_together(tmp_path: Path) -> None:
    """Its keeper alone sees it through; the agent's keeper ends the agent."""
    client = a_headway_at_work(tmp_path, until(tmp_path / "go") + "; echo 43")
    for pid in supervisors_of(client):
        os.kill(pid, signal.SIGKILL)
    kill(client)
    assert eventually(lambda: not living(tmp_path / "agent"), 10)
    (tmp_path / "go").touch()
    sample = Jobs(tmp_path / "log").attach(tmp_path / "sample")
    assert sample.ok and sample.stdout_path.read_text() == "43\n"


def test_everything_killed_at_once_leaves_lost_jobs_and_a_clean_machine(tmp_path: Path) -> None:
    """Headway, supervisor and keepers die together: their commands go with them, the sweep ends what escaped."""
    client = a_headway_at_work(tmp_path, "setsid sleep 60 & sleep 60")
    tree = [client.pid, *supervisors_of(client)]
    keepers = [below.pid for below in supervisor.descendants(tree[1:]) if below.parent == tree[1]]
    commands = [below.pid for below in supervisor.descendants(keepers) if below.parent in keepers]
    tree += keepers
    for pid in tree:
        os.kill(pid, signal.SIGSTOP)
    for pid in tree:
        os.kill(pid, signal.SIGKILL)
    client.wait()
    jobs = Jobs(tmp_path / "log")
    assert eventually(lambda: jobs.state(tmp_path / "sample") is JobState.LOST)
    assert eventually(lambda: all(map(_is_gone, commands)))
    sweep_orphans([tmp_path / "agent", tmp_path / "sample"])
    assert not living(tmp_path / "agent", tmp_path / "sample")
    assert jobs.attach(tmp_path / "sample").status is jobs.attach(tmp_path / "agent").status is JobStatus.LOST


def test_what_a_dead_keeper_left_behind_is_ended_before_its_job_is_given_up(tmp_path: Path) -> None:
    """Else it would work on in a tree that is the next job's by then."""
    jobs = Jobs(tmp_path / "log")
    jobs.start(a_job(tmp_path / "agent", "setsid sleep 60 & sleep 60"))
    assert eventually(lambda: len(living(tmp_path / "agent")) >= 3)
    mine = [p.pid for p in supervisor.descendants([os.getpid()]) if p.parent == os.getpid()]
    keepers = [p.pid for p in supervisor.descendants(mine) if p.parent in mine]
    for pid in (*mine, *keepers):
        os.kill(pid, signal.SIGSTOP)
    for pid in (*mine, *keepers):
        os.kill(pid, signal.SIGKILL)
    assert jobs.attach(tmp_path / "agent").status is JobStatus.LOST
    assert not living(tmp_path / "agent")
    jobs.close(wait=True)


def test_a_measurement_that_waits_for_the_lock_ends_with_its_headway(tmp_path: Path) -> None:
    """A job that has not begun outlives nobody: it would start when nobody looks."""
    ours, lock = Jobs(tmp_path / "log"), tmp_path / "lock"
    ours.start(a_job(tmp_path / "holder", "sleep 60", machine_lock=lock))
    assert eventually((tmp_path / "holder" / "stdout").exists)
    script = (
        "root = Path(sys.argv[1]); jobs = Jobs(root / 'log')\n"
        "jobs.run(a_job(root / 'waiter', 'true', outlives=True, machine_lock=root / 'lock'))"
    )
    client = a_client(script, tmp_path)
    assert eventually((tmp_path / "waiter" / "job.json").exists)
    kill(client)
    waiter = ours.attach(tmp_path / "waiter")
    assert (waiter.status, waiter.started_at) == (JobStatus.CANCELED, None)
    assert ours.state(tmp_path / "holder") is JobState.RUNNING
    ours.end_all_but_measurements()
    ours.close(wait=True)


def test_a_stopped_headway_that_goes_on_gets_the_results_of_its_jobs(tmp_path: Path) -> None:
    """SIGSTOP is not death: the jobs run on meanwhile, and their exits are waiting."""
    script = "root = Path(sys.argv[1]); sys.exit(0 if Jobs(root).run(a_job(root / '1', 'sleep 0.3')).ok else 1)"
    client = a_client(script, tmp_path)
    assert eventually((tmp_path / "1" / "stdout").exists)
    os.kill(client.pid, signal.SIGSTOP)
    assert eventually((tmp_path / "1" / "exit.json").exists)
    os.kill(client.pid, signal.SIGCONT)
    assert client.wait(5) == 0


def _is_gone(pid: int) -> bool:
    seen = supervisor.look_at(pid)
    return seen is None or seen.state == "Z"
