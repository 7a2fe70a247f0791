"""The jobs' client: starting, waiting, attaching, canceling, and reading what a job printed."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters import processes, supervisor
from headway.adapters.job_folder import (
    JobExit,
    JobKind,
    JobOrder,
    JobState,
    JobStatus,
    last_lines,
    read_bounded,
    read_exit,
    read_keeper,
)
from headway.adapters.job_seals import Seals
from headway.adapters.processes import Jobs, base_environment, sweep_orphans
from headway.errors import InternalFault, JobFileDamaged, JobFolderTaken, JobNotStarted, SupervisorFailed
from tests.jobs import a_client, a_job, eventually, living, until


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """The jobs of one headway."""
    made = Jobs(tmp_path / "log")
    yield made
    made.end_all_but_measurements()
    made.close(wait=True)


def in_background(jobs: Jobs, order: JobOrder, into: list[JobExit]) -> threading.Thread:
    """Run a job in another thread; return once it has begun."""
    thread = threading.Thread(target=lambda: into.append(jobs.run(order)))
    thread.start()
    assert eventually((order.folder / "stdout").exists)
    return thread


def test_a_folder_left_between_its_making_and_its_claim_is_used(jobs: Jobs, tmp_path: Path) -> None:
    """A crash after `mkdir` leaves an empty folder, or a half-made claim; the job runs there as if it were new."""
    folder = tmp_path / "jobs" / "1"
    folder.mkdir(parents=True)
    (folder / ".job.json.123").write_text('{"half')
    assert jobs.state(folder) is JobState.ABSENT
    assert jobs.run(a_job(folder)).ok
    assert jobs.state(folder) is JobState.DONE


def test_a_folder_that_holds_a_job_is_refused(jobs: Jobs, tmp_path: Path) -> None:
    """Nothing is written over: a second job in the same folder is a fault, running or done."""
    jobs.start(a_job(tmp_path / "1", "echo first; sleep 0.3"))
    with pytest.raises(JobFolderTaken):
        jobs.run(a_job(tmp_path / "1", "echo second"))
    assert jobs.attach(tmp_path / "1").ok
    with pytest.raises(JobFolderTaken):
        jobs.start(a_job(tmp_path / "1", "echo third"))
    assert (tmp_path / "1" / "stdout").read_text() == "first\n"


def test_a_started_job_is_claimed_on_disk_when_start_returns(jobs: Jobs, tmp_path: Path) -> None:
    """From then on any headway finds it running, and can wait for it."""
    jobs.start(a_job(tmp_path / "1", "sleep 0.4; exit 5"))
    claim = json.loads((tmp_path / "1" / "job.json").read_text())
    assert (claim["id"], claim["kind"]) == ("exp0001/measure/1", "measure")
    stranger = Jobs(tmp_path / "log")
    assert stranger.state(tmp_path / "1") is JobState.RUNNING
    assert stranger.attach(tmp_path / "1").code == 5
    assert jobs.attach(tmp_path / "1").code == 5


def test_attaching_to_an_ended_job_reads_its_exit(jobs: Jobs, tmp_path: Path) -> None:
    """The exit on disk is equal to the one that `run` returned."""
    ended = jobs.run(a_job(tmp_path / "1", "sleep 67 & exit 4"))
    assert Jobs(tmp_path / "log").attach(tmp_path / "1") == ended == read_exit(tmp_path / "1")


def test_a_job_whose_keeper_is_of_another_boot_is_lost(jobs: Jobs, tmp_path: Path) -> None:
    """An id that lives again after a reboot, or that came round, is not taken for the keeper."""
    jobs.start(a_job(tmp_path / "1", "sleep 60"))
    claim = json.loads((tmp_path / "1" / "job.json").read_text())
    others: list[dict[str, object]] = [
        {"boot": "another"},
        {"start": 1},
        {"pid": 2**22 + 1},
        {"name": "headway-another"},
    ]
    seals = Seals(tmp_path / "log")
    for number, other in enumerate([*others, {}]):
        folder = tmp_path / f"old-{number}"
        folder.mkdir()
        content = {**claim, "keeper": {**claim["keeper"], **other}}
        supervisor.publish(str(folder), "job.json", content, seals.key(folder))
        if not other:  # nothing else makes the difference
            assert jobs.state(folder) is JobState.RUNNING
            break
        assert jobs.state(folder) is JobState.LOST
        assert jobs.attach(folder).status is JobStatus.LOST
        jobs.cancel(folder)
    assert jobs.state(tmp_path / "1") is JobState.RUNNING
    assert jobs.attach(tmp_path / "never").status is JobStatus.LOST


def test_damaged_files_of_a_job_are_named(jobs: Jobs, tmp_path: Path) -> None:
    """An exit that cannot be read is never taken for a result."""
    jobs.run(a_job(tmp_path / "1"))
    for damage in ("", "{", "[]"):
        (tmp_path / "1" / "exit.json").write_text(damage)
        with pytest.raises(JobFileDamaged, match=r"exit\.json"):
            jobs.attach(tmp_path / "1")


def test_a_running_job_is_canceled_from_another_thread(jobs: Jobs, tmp_path: Path) -> None:
    """`run` returns as soon as the job is down, and says that it was canceled."""
    ended: list[JobExit] = []
    thread = in_background(jobs, a_job(tmp_path / "1", "sleep 60 & sleep 60"), ended)
    jobs.cancel(tmp_path / "1")
    thread.join(5)
    assert [(it.status, it.code) for it in ended] == [(JobStatus.CANCELED, None)]
    assert not living(tmp_path / "1")
    jobs.cancel(tmp_path / "1")  # nothing to do, no harm


def test_a_job_is_canceled_as_soon_as_it_is_asked_for(jobs: Jobs, tmp_path: Path) -> None:
    """A cancel right behind a start is never overtaken by it."""
    for number in range(10):
        jobs.start(a_job(tmp_path / str(number), "sleep 60"))
        jobs.cancel(tmp_path / str(number))
        assert jobs.attach(tmp_path / str(number)).status is JobStatus.CANCELED


def test_a_job_of_another_headway_can_be_canceled(jobs: Jobs, tmp_path: Path) -> None:
    """A measurement that was taken up again obeys its new owner."""
    jobs.start(a_job(tmp_path / "1", "sleep 60"))
    stranger = Jobs(tmp_path / "log")
    stranger.cancel(tmp_path / "1")
    assert stranger.attach(tmp_path / "1").status is JobStatus.CANCELED
    assert not living(tmp_path / "1")


def test_an_interrupt_ends_all_but_measurements(jobs: Jobs, tmp_path: Path) -> None:
    """Agents and judges are down when it returns; a measurement goes on."""
    jobs.start(a_job(tmp_path / "agent", "sleep 60", kind=JobKind.AUTHOR))
    jobs.start(a_job(tmp_path / "judge", "sleep 60", kind=JobKind.JUDGE))
    jobs.start(a_job(tmp_path / "sample", until(tmp_path / "go") + "; echo 7", outlives=True))
    jobs.end_all_but_measurements()
    assert jobs.state(tmp_path / "agent") is jobs.state(tmp_path / "judge") is JobState.DONE
    assert jobs.state(tmp_path / "sample") is JobState.RUNNING
    (tmp_path / "go").touch()
    sample = jobs.attach(tmp_path / "sample")
    assert sample.ok and sample.stdout_path.read_text() == "7\n"


def test_closing_waits_for_measurements_and_ends_the_rest(jobs: Jobs, tmp_path: Path) -> None:
    """After a close that waits no process of the jobs is left, and no new job is taken."""
    jobs.start(a_job(tmp_path / "agent", "sleep 60", kind=JobKind.AUTHOR))
    jobs.start(a_job(tmp_path / "sample", "sleep 0.5", outlives=True))
    jobs.close(wait=True)
    assert jobs.attach(tmp_path / "agent").status is JobStatus.CANCELED
    assert jobs.attach(tmp_path / "sample").ok
    with pytest.raises(InternalFault):
        jobs.run(a_job(tmp_path / "late"))


def test_an_end_that_was_asked_for_is_no_death(jobs: Jobs, tmp_path: Path) -> None:
    """BR-22: closing says so in the exit; else each stop by hand would count against the experiment under way."""
    ended: list[JobExit] = []
    agent = in_background(jobs, a_job(tmp_path / "agent", "sleep 60", kind=JobKind.AUTHOR), ended)
    jobs.close(wait=True)
    agent.join(5)
    assert [(it.status, it.reason) for it in ended] == [(JobStatus.CANCELED, supervisor.ASKED_FOR)]


def test_a_killed_supervisor_is_replaced_by_the_next_job(jobs: Jobs, tmp_path: Path) -> None:
    """Agents end with it, measurements are waited for all the same, and new jobs get a new one."""
    ended: list[JobExit] = []
    agent = in_background(jobs, a_job(tmp_path / "agent", "sleep 60", kind=JobKind.AUTHOR), ended)
    waits = until(tmp_path / "go") + "; echo 8"
    sample = in_background(jobs, a_job(tmp_path / "sample", waits, outlives=True), ended)
    assert jobs.supervisor_pid is not None
    os.kill(jobs.supervisor_pid, signal.SIGKILL)
    agent.join(5)
    assert [(it.status, it.reason) for it in ended] == [(JobStatus.CANCELED, "headway's connection ended")]
    assert jobs.run(a_job(tmp_path / "next")).ok
    (tmp_path / "go").touch()
    sample.join(5)
    assert ended[1].ok and ended[1].stdout_path.read_text() == "8\n"
    assert not living(tmp_path / "agent", tmp_path / "sample")


def test_a_supervisor_that_cannot_begin_is_named_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where to look, and no folder of the socket stays behind."""
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no')")
    monkeypatch.setattr(processes, "SUPERVISOR", broken)
    before = set(Path("/tmp").glob("headway-jobs-*"))
    with pytest.raises(SupervisorFailed, match=r"supervisor\.log"):
        Jobs(tmp_path / "log").run(a_job(tmp_path / "1"))
    assert set(Path("/tmp").glob("headway-jobs-*")) <= before
    assert (tmp_path / "log" / "supervisor.log").read_text() == "no\n"


def test_a_job_whose_folder_cannot_be_made_is_not_started(jobs: Jobs, tmp_path: Path) -> None:
    """The error names job and folder."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JobNotStarted, match="exp0001/measure/1"):
        jobs.run(a_job(tmp_path / "file" / "1", cwd=tmp_path))


MEMORY = """
from headway.core.output import read_metrics
from headway.adapters.job_folder import read_bounded
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
root, jobs = Path(sys.argv[1]), Jobs(Path(sys.argv[1]) / "log")
result = "; echo; echo '{\\"score\\": 7}'"
def measure(name, command):
    text = read_bounded(jobs.run(a_job(root / name, "echo head; " + command + result)).stdout_path)
    return text, read_metrics(text, output_format="json", extract={}).values
measure("small", "true")
before = peak()
text, values = measure("large", sys.argv[2] + " | head -c 200000000")
(root / "told").write_text(f"{peak() - before} {values['score']} {text.startswith('head')} {'bytes left out]' in text}")
jobs.close(wait=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads VmHWM")
@pytest.mark.parametrize(
    "noise",
    [
        "cat /dev/zero",
        "yes 'a line of a log 0123456789'",
        'yes \'{"step": 1, "loss": [1, 2]}\'',
        "yes 'wide \U0001f600'",
        "yes \"$(printf '\\033[32mgreen\\033[0m {')\"",
    ],
)
def test_200_megabytes_of_output_move_memory_by_less_than_20(tmp_path: Path, noise: str) -> None:
    """They stay on disk; what is read of them, and what is looked for in that, is bounded, with the cut marked."""
    assert a_client(MEMORY, tmp_path, noise).wait(120) == 0
    grown_kb, score, *seen = (tmp_path / "told").read_text().split()
    assert (score, seen) == ("7", ["True", "True"])
    assert int(grown_kb) < 20 << 10
    assert (tmp_path / "large" / "stdout").stat().st_size > 200_000_000
    (tmp_path / "large" / "stdout").unlink()  # test folders are kept for a while


def test_bounded_reading_keeps_head_and_tail_and_bad_bytes(tmp_path: Path) -> None:
    """Short output is whole, long output says how much is missing, wrong bytes never raise."""
    file = tmp_path / "stdout"
    assert read_bounded(file) == last_lines(file, 3) == ""
    file.write_bytes(b"a\xff\nb\n")
    assert read_bounded(file) == "a\ufffd\nb\n"
    file.write_bytes(b"0123456789")
    assert read_bounded(file, head_bytes=2, tail_bytes=3) == "01\n[headway: 5 bytes left out]\n789"
    assert read_bounded(file, head_bytes=5, tail_bytes=5) == "0123456789"


def test_last_lines_are_bounded_in_number_and_bytes(tmp_path: Path) -> None:
    """The end of a log, for a repair turn: not more lines and not more bytes than asked for."""
    file = tmp_path / "stderr"
    file.write_text("".join(f"line {n}\n" for n in range(1000)))
    assert last_lines(file, 2) == "line 998\nline 999\n"
    assert last_lines(file, 0) == ""
    assert last_lines(file, 500, max_bytes=12) == "98\nline 999\n"


def test_orphans_of_a_dead_keeper_are_swept_and_others_are_left(jobs: Jobs, tmp_path: Path) -> None:
    """What carries the mark of a job without a keeper is killed and named; a job that runs is left alone."""
    jobs.start(a_job(tmp_path / "dead", "setsid sleep 68 & sleep 69", outlives=True))
    jobs.start(a_job(tmp_path / "alive", until(tmp_path / "go"), outlives=True))
    assert eventually(lambda: len(living(tmp_path / "dead")) == 3)
    keeper = read_keeper(tmp_path / "dead")
    assert keeper is not None and jobs.supervisor_pid is not None
    os.kill(jobs.supervisor_pid, signal.SIGKILL)
    os.kill(keeper.pid, signal.SIGKILL)
    assert eventually(lambda: jobs.state(tmp_path / "dead") is JobState.LOST)
    killed = sweep_orphans([tmp_path / "dead", tmp_path / "alive", tmp_path / "never"])
    assert "sleep 68" in [left.cmdline for left in killed]
    assert not living(tmp_path / "dead")
    (tmp_path / "go").touch()
    assert jobs.attach(tmp_path / "alive").ok


def test_an_order_needs_one_command() -> None:
    """Neither and both are faults of the caller, told at once."""
    for command, argv in (("", ()), ("true", ("true",))):
        with pytest.raises(InternalFault):
            JobOrder(Path("1"), "exp1", JobKind.BUILD, Path(), {}, 1.0, command=command, argv=argv)


def test_the_base_environment_holds_no_secret_and_no_git() -> None:
    """Only listed names pass: places and languages, never keys, git's own variables or another checkout's path."""
    kept = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/c",
        "SSL_CERT_FILE": "/s",
        "VIRTUAL_ENV": "/v",
    }
    dropped = {
        "OPENAI_API_KEY": "k",
        "GIT_DIR": "/g",
        "PYTHONPATH": "/p",
        "HTTPS_PROXY": "http://u:p@h",
        "HEADWAY_JOB": "/j",
    }
    assert base_environment({**kept, **dropped}) == kept
