"""What a job's tree may do and what becomes of it: descriptors, keepers that take a second job, limits, process ids."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters import supervisor
from headway.adapters.job_folder import JobStatus, read_keeper
from headway.adapters.processes import Jobs
from tests.jobs import a_client, a_job, eventually, living, python, text_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")
pytestmark = linux


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """The jobs of one run; its supervisor must have nothing to complain about."""
    made = Jobs(tmp_path / "run")
    yield made
    made.end_all_but_measurements()
    made.close(wait=True)
    assert text_of(tmp_path / "run" / "supervisor.log") == ""


def keeper_of(folder: Path) -> int:
    keeper = read_keeper(folder)
    assert keeper is not None
    return keeper.pid


def test_no_socket_and_no_pipe_of_headway_reaches_a_command(jobs: Jobs, tmp_path: Path) -> None:
    """Not even one that headway's own parent left inheritable, before the supervisor or between two jobs."""
    ends = [*os.pipe(), *(end.detach() for end in socket.socketpair())]
    for end in ends:
        os.set_inheritable(end, True)
    try:
        for number in (1, 2):
            shown = jobs.run(a_job(tmp_path / str(number), "ls -l /proc/self/fd; readlink /proc/$PPID/fd/0 || true"))
            assert "socket:" not in shown.stdout_path.read_text() and "pipe:" not in shown.stdout_path.read_text()
    finally:
        for end in ends:
            os.close(end)


def test_a_pipe_that_a_leftover_holds_open_holds_nobody_up(jobs: Jobs, tmp_path: Path) -> None:
    """A background process with the command's pipe, and one that fills a pipe that nobody reads, end with the job."""
    command = "(sleep 600; echo late) | cat & yes | (exec 0<&3; sleep 600) 3</dev/null & sleep 0.1; echo done"
    ended = jobs.run(a_job(tmp_path / "1", command))
    assert ended.ok and ended.elapsed_seconds < 5 and ended.stdout_path.read_text() == "done\n"
    assert not living(tmp_path / "1")


def test_a_keeper_whose_job_left_nothing_takes_the_next_one(jobs: Jobs, tmp_path: Path) -> None:
    """It counts each job's costs and leftovers for that job alone, and calls itself by the job that it works on."""
    first = jobs.run(a_job(tmp_path / "1", python("a = bytearray(90 << 20)") + " & wait; sleep 600 & exit 3"))
    second = jobs.run(a_job(tmp_path / "2"))
    assert keeper_of(tmp_path / "1") == keeper_of(tmp_path / "2")
    assert first.max_rss_kb > 90_000 > second.max_rss_kb
    assert (first.code, len(first.leftovers), second.code, second.leftovers) == (3, 1, 0, ())
    names = {json.loads((tmp_path / name / "job.json").read_text())["keeper"]["name"] for name in ("1", "2")}
    assert len(names) == 2 and all(name.startswith("headway-") for name in names)


def test_a_keeper_that_took_the_next_job_is_not_taken_for_the_last_ones(jobs: Jobs, tmp_path: Path) -> None:
    """An exit that somebody removed makes a lost job, not one that waits for its keeper's next jobs to end."""
    assert jobs.run(a_job(tmp_path / "1")).ok
    jobs.start(a_job(tmp_path / "2", "sleep 60"))
    (tmp_path / "1" / "exit.json").unlink()
    assert keeper_of(tmp_path / "1") == keeper_of(tmp_path / "2")
    assert jobs.attach(tmp_path / "1").status is JobStatus.LOST


def test_a_keeper_that_could_not_write_its_exit_takes_no_other_job(jobs: Jobs, tmp_path: Path) -> None:
    """Whoever waits for it must see it go."""
    jobs.start(a_job(tmp_path / "1", f"touch {tmp_path}/up; until [ -e {tmp_path}/go ]; do sleep 0.01; done"))
    keeper = keeper_of(tmp_path / "1")
    assert eventually((tmp_path / "up").exists)
    (tmp_path / "1" / "exit.json").write_text("{}")
    (tmp_path / "go").touch()
    jobs.attach(tmp_path / "1")
    assert eventually(lambda: supervisor.look_at(keeper) is None)
    assert jobs.run(a_job(tmp_path / "2")).ok and keeper_of(tmp_path / "2") != keeper


def test_a_cancel_that_comes_too_late_hits_no_other_job(jobs: Jobs, tmp_path: Path) -> None:
    """The keeper may have begun the next one."""
    for number in range(40):
        jobs.start(a_job(tmp_path / f"{number}-first"))
        jobs.cancel(tmp_path / f"{number}-first")
        assert jobs.run(a_job(tmp_path / f"{number}-second")).ok


def test_a_keeper_goes_on_with_its_second_job_without_headway(jobs: Jobs, tmp_path: Path) -> None:
    """A measurement outlives headway whichever job of its keeper it is."""
    script = (
        "root = Path(sys.argv[1]); jobs = Jobs(root / 'run')\n"
        "jobs.run(a_job(root / 'first'))\n"
        "jobs.run(a_job(root / 'sample', f'until [ -e {root}/go ]; do sleep 0.02; done; echo 44', outlives=True))"
    )
    client = a_client(script, tmp_path)
    assert eventually((tmp_path / "sample" / "stdout").exists)
    client.kill()
    client.wait()
    (tmp_path / "go").touch()
    sample = jobs.attach(tmp_path / "sample")
    assert sample.ok and sample.stdout_path.read_text() == "44\n"
    assert keeper_of(tmp_path / "first") == keeper_of(tmp_path / "sample")


def test_a_job_that_closed_its_output_is_silent(jobs: Jobs, tmp_path: Path) -> None:
    """The idle limit asks for output, not for an open file; what talks in another session is output."""
    closed = jobs.run(a_job(tmp_path / "1", "exec >&- 2>&-; while :; do :; done", idle_timeout_seconds=0.3))
    assert (closed.status, closed.code) == (JobStatus.IDLE_TIMEOUT, 124)
    talks = "setsid sh -c 'for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.1; done' & wait"
    assert jobs.run(a_job(tmp_path / "2", talks, idle_timeout_seconds=0.4)).ok


def test_a_futility_cut_is_125_with_headways_own_mark(jobs: Jobs, tmp_path: Path) -> None:
    """The tree dies as at any limit; a command's own 125 has no mark, and a limit that is not reached cuts nothing."""
    cut = jobs.run(a_job(tmp_path / "1", "echo half; sleep 60 & sleep 60", futility_seconds=0.3))
    assert (cut.status, cut.code, cut.futility, cut.ok) == (JobStatus.TIMEOUT, 125, True, False)
    assert "could not win" in cut.reason and 0.3 <= cut.elapsed_seconds < 5 and not living(tmp_path / "1")
    own = jobs.run(a_job(tmp_path / "2", "exit 125", futility_seconds=20))
    assert (own.status, own.code, own.futility) == (JobStatus.EXITED, 125, False)
    assert jobs.run(a_job(tmp_path / "3", "true", futility_seconds=20)).ok
    assert jobs.attach(tmp_path / "1") == cut


def test_a_timeout_goes_before_a_futility_cut(jobs: Jobs, tmp_path: Path) -> None:
    """Too slow for the spec is too slow, whatever the bound."""
    ended = jobs.run(a_job(tmp_path / "1", "sleep 60", timeout_seconds=0.2, futility_seconds=0.2))
    assert (ended.status, ended.code, ended.futility) == (JobStatus.TIMEOUT, 124, False)


def test_a_process_that_took_over_an_id_is_not_killed() -> None:
    """What was looked at is killed if it is still the same: by its start, by its mark."""
    bystander = subprocess.Popen(["sleep", "70"])
    try:
        seen = supervisor.look_at(bystander.pid)
        assert seen is not None
        supervisor.kill_processes([seen._replace(start=seen.start - 1)])
        supervisor.kill_marked([bystander.pid], ["/some/job"])
        supervisor.kill_each([2**22 + 1])  # one that is gone is no error
        with pytest.raises(subprocess.TimeoutExpired):
            bystander.wait(0.2)
        supervisor.kill_processes([seen])
        assert bystander.wait(5) == -signal.SIGKILL
    finally:
        bystander.kill()
        bystander.wait()


def test_only_new_ids_are_asked_for_a_mark_where_few_were_given(tmp_path: Path) -> None:
    """Asked one by one or all at once, the same processes carry the mark."""
    before = supervisor.look_at("self")
    assert before is not None
    process = subprocess.Popen(["sleep", "71"], env={"HEADWAY_JOB": str(tmp_path), "PATH": os.environ["PATH"]})
    try:
        assert eventually(lambda: supervisor.marked([str(tmp_path)]) == [process.pid])
        assert supervisor.marked([str(tmp_path)], newer_than=process.pid - 1) == [process.pid]
        assert supervisor.marked([str(tmp_path)], newer_than=process.pid) == []
    finally:
        process.kill()
        process.wait()
