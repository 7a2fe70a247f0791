"""The supervisor and its keepers: limits, sweeps, claims and exits, with real processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters import supervisor
from headway.adapters.job_folder import JobKind, JobStatus, job_name, read_keeper
from headway.adapters.processes import Jobs
from headway.errors import JobFolderTaken
from tests.jobs import a_client, a_job, eventually, living, python, text_of

KEY = "ab" * 32
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """One supervisor for all tests here, as in a run; it must have nothing to complain about."""
    folder = tmp_path_factory.mktemp("log")
    made = Jobs(folder)
    yield made
    made.end_all_but_measurements()
    made.close(wait=True)
    assert text_of(folder / "supervisor.log") == ""


def test_a_command_that_ends_by_itself_reports_its_code_and_its_cost(jobs: Jobs, tmp_path: Path) -> None:
    """Exit code, output, times and memory of the job reach the caller and `exit.json` alike."""
    job = a_job(
        tmp_path / "1", python("import sys; a = bytearray(50 << 20); print(1); sys.stderr.write(str(2)); sys.exit(3)")
    )
    ended = jobs.run(job)
    assert (ended.status, ended.code, ended.signal, ended.ok) == (JobStatus.EXITED, 3, None, False)
    assert (ended.stdout_path.read_text(), ended.stderr_path.read_text()) == ("1\n", "2")
    assert ended.max_rss_kb > 50_000 and 0 < ended.elapsed_seconds < 10 and ended.leftovers == ()
    on_disk = json.loads((job.folder / "exit.json").read_text())
    assert on_disk["status"] == "exited" and on_disk["elapsed_seconds"] == ended.elapsed_seconds
    assert on_disk["futility"] is False


@pytest.mark.parametrize("code", [124, 125])
def test_a_commands_own_124_is_not_taken_for_a_timeout(jobs: Jobs, tmp_path: Path, code: int) -> None:
    """Only headway's own limit makes a timeout; the same number from a command is its exit code."""
    ended = jobs.run(a_job(tmp_path / "1", f"exit {code}"))
    assert (ended.status, ended.code, ended.futility) == (JobStatus.EXITED, code, False)


def test_a_command_that_kills_itself_reports_its_signal(jobs: Jobs, tmp_path: Path) -> None:
    """A signal is told apart from an exit code."""
    ended = jobs.run(a_job(tmp_path / "1", "kill -SEGV $$"))
    assert (ended.status, ended.code, ended.signal) == (JobStatus.SIGNALED, None, signal.SIGSEGV)


def test_a_timeout_ends_the_job_at_its_limit(jobs: Jobs, tmp_path: Path) -> None:
    """A command that heeds TERM ends at the limit, may still write, and the job is a timeout whatever its code."""
    ended = jobs.run(a_job(tmp_path / "1", 'trap "echo bye; exit 0" TERM; sleep 60 & wait', timeout_seconds=0.3))
    assert (ended.status, ended.code, ended.signal) == (JobStatus.TIMEOUT, 124, None)
    assert 0.3 <= ended.elapsed_seconds < 0.6 and ended.stdout_path.read_text() == "bye\n"


def test_a_command_that_ignores_term_is_killed_after_the_grace(jobs: Jobs, tmp_path: Path) -> None:
    """Nothing runs longer than its limit and the grace."""
    command = python("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)")
    ended = jobs.run(a_job(tmp_path / "1", command, timeout_seconds=0.3, grace_seconds=0.4))
    assert ended.status is JobStatus.TIMEOUT and 0.7 <= ended.elapsed_seconds < 1.2
    assert not living(tmp_path / "1")


def test_a_stopped_command_is_killed_too(jobs: Jobs, tmp_path: Path) -> None:
    """A process that stopped itself cannot hear TERM; it dies after the grace all the same."""
    ended = jobs.run(a_job(tmp_path / "1", "kill -STOP $$", timeout_seconds=0.2, grace_seconds=0.2))
    assert ended.status is JobStatus.TIMEOUT and not living(tmp_path / "1")


@linux
def test_what_a_command_leaves_in_the_background_is_ended_and_named(jobs: Jobs, tmp_path: Path) -> None:
    """A background process, and one in a session of its own, die with their job and stand in its exit."""
    ended = jobs.run(a_job(tmp_path / "1", "sleep 61 & setsid sleep 62 & sleep 0.1; exit 0"))
    assert ended.ok and ended.elapsed_seconds < 5
    assert sorted(left.cmdline for left in ended.leftovers) == ["sleep 61", "sleep 62"]
    assert not living(tmp_path / "1")


ESCAPE = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        if os.environ.get("CLEAN"):
            os.execve(%r, ["sleep", "%s"], {})
        time.sleep(63)
    os._exit(0)
os.wait()
open("%s", "w").close()
time.sleep(%s)
"""


@linux
@pytest.mark.parametrize("clean", ["", "yes"])
@pytest.mark.parametrize("stays", [0, 60])
def test_a_process_that_escapes_by_a_double_fork_is_ended(jobs: Jobs, tmp_path: Path, clean: str, stays: float) -> None:
    """New session, no parent, no descriptors, no environment: it still is below the keeper and dies with the job."""
    script = tmp_path / "escape.py"
    own = f"63.{time.time_ns()}"  # to be told from the sleep of any other test
    script.write_text(ESCAPE % (shutil.which("sleep"), own, tmp_path / "out", stays))
    env = {"PATH": os.environ["PATH"], "CLEAN": clean}
    job = a_job(tmp_path / "1", argv=(sys.executable, "-I", "-S", str(script)), env=env, timeout_seconds=1.0)
    ended = jobs.run(job)
    assert ended.status is (JobStatus.TIMEOUT if stays else JobStatus.EXITED)
    assert (tmp_path / "out").exists() and not living(job.folder)
    everything = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    assert not [pid for pid in everything if supervisor.command_line(pid) == f"sleep {own}"]
    if not stays:
        assert len(ended.leftovers) == 1


@linux
def test_a_tree_that_keeps_forking_is_ended(jobs: Jobs, tmp_path: Path) -> None:
    """Processes that fork and exit in a chain, each in a session of its own, do not outrun the sweep."""
    script = tmp_path / "chain.py"
    script.write_text(
        "import os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            if os.fork() > 0: os._exit(0)\n"
        "            os.setsid()\n"
        "            time.sleep(0.001)\n"
        "time.sleep(60)\n"
    )
    job = a_job(tmp_path / "1", argv=(sys.executable, "-I", "-S", str(script)), timeout_seconds=0.4, grace_seconds=0.1)
    began = time.monotonic()
    assert jobs.run(job).status is JobStatus.TIMEOUT
    assert time.monotonic() - began < 5 and not living(job.folder)


@linux
def test_a_process_that_a_daemon_started_for_the_job_is_ended(jobs: Jobs, tmp_path: Path) -> None:
    """What carries the job's mark dies with the job, even when it was never below its keeper."""
    folder = tmp_path / "1"
    folder.mkdir()
    stranger = subprocess.Popen(["sleep", "64"], env={"HEADWAY_JOB": job_name(folder), "PATH": os.environ["PATH"]})
    ended = jobs.run(a_job(folder, "sleep 1.1"))  # long enough for ids older than the command to be looked at
    assert stranger.wait(5) == -signal.SIGKILL
    assert [(left.pid, left.cmdline) for left in ended.leftovers] == [(stranger.pid, "sleep 64")]


def test_a_silent_job_is_ended_by_its_idle_limit(jobs: Jobs, tmp_path: Path) -> None:
    """Output of either kind keeps a job alive; silence as long as the limit ends it."""
    talks = "for i in 1 2 3 4 5 6; do echo $i >&2; sleep 0.1; done; sleep 60"
    ended = jobs.run(a_job(tmp_path / "1", talks, kind=JobKind.AUTHOR, idle_timeout_seconds=0.4))
    assert (ended.status, ended.code) == (JobStatus.IDLE_TIMEOUT, 124)
    assert 0.9 <= ended.elapsed_seconds < 2 and text_of(ended.stderr_path).endswith("6\n")


def test_a_command_that_cannot_start_says_why(jobs: Jobs, tmp_path: Path) -> None:
    """No program, no folder, no input: exit code 127 with the reason, in the exit and on the job's standard error."""
    no_program = jobs.run(a_job(tmp_path / "1", argv=("no-such-program-here",)))
    no_folder = jobs.run(a_job(tmp_path / "2", cwd=tmp_path / "missing"))
    no_input = jobs.run(a_job(tmp_path / "3", stdin=tmp_path / "missing.txt"))
    for ended, named in ((no_program, "No such file"), (no_folder, "missing"), (no_input, "missing.txt")):
        assert (ended.status, ended.code) == (JobStatus.EXITED, 127)
        assert named in ended.reason and named in ended.stderr_path.read_text()


def test_a_job_gets_its_own_environment_and_nothing_else(jobs: Jobs, tmp_path: Path) -> None:
    """The command sees the given variables and its mark; `job.json` names them and holds no value."""
    job = a_job(tmp_path / "1", argv=("/usr/bin/env",), env={"SECRET": "sesame-1", "B": "Ü"})
    ended = jobs.run(job)
    assert sorted(ended.stdout_path.read_text().split()) == [
        "B=Ü",
        f"HEADWAY_JOB={job_name(job.folder)}",
        "SECRET=sesame-1",
    ]
    claim = (job.folder / "job.json").read_text()
    assert json.loads(claim)["environment"] == ["B", "SECRET"] and "sesame-1" not in claim


@linux
def test_a_job_gets_three_descriptors_and_default_signals(jobs: Jobs, tmp_path: Path) -> None:
    """Nothing of the supervisor's is open in a command, and no signal is blocked or ignored in it."""
    command = "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    shown = jobs.run(a_job(tmp_path / "1", command)).stdout_path.read_text().split()
    assert [shown[0], shown[1], shown[3]] == ["4", "SigBlk:", "SigIgn:"]  # ls opens the fourth
    kept_by_the_c_library = 0b11 << 31  # signals 32 and 33: no program can set them
    assert [int(mask, 16) & ~kept_by_the_c_library for mask in (shown[2], shown[4])] == [0, 0]


def test_input_comes_from_the_given_file_or_is_empty(jobs: Jobs, tmp_path: Path) -> None:
    """A brief reaches the command on standard input; without one it reads nothing."""
    brief = tmp_path / "brief.md"
    brief.write_text("do this\n")
    assert jobs.run(a_job(tmp_path / "1", "cat", stdin=brief)).stdout_path.read_text() == "do this\n"
    assert jobs.run(a_job(tmp_path / "2", "cat")).stdout_path.read_text() == ""


def test_late_output_never_reaches_another_job(jobs: Jobs, tmp_path: Path) -> None:
    """When a job has ended its output is complete: what it left cannot write any more, there or elsewhere."""
    late = "(trap '' TERM; while :; do echo late; sleep 0.01; done) & sleep 0.1; echo done"
    first = jobs.run(a_job(tmp_path / "1", late))
    size = first.stdout_path.stat().st_size
    second = jobs.run(a_job(tmp_path / "2", "sleep 0.2; echo second"))
    assert second.stdout_path.read_text() == "second\n"
    assert first.stdout_path.stat().st_size == size


def test_an_exit_is_never_written_over(jobs: Jobs, tmp_path: Path) -> None:
    """A command that writes its own `exit.json` gains nothing: the file stays as evidence, the job counts as lost."""
    ended = jobs.run(a_job(tmp_path / "1", "echo forged > $HEADWAY_JOB/exit.json"))
    assert ended.status is JobStatus.LOST and "was there before" in ended.reason
    assert (tmp_path / "1" / "exit.json").read_text() == "forged\n"
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == ["exit.json", "job.json", "stderr", "stdout"]


def test_a_job_that_removes_its_own_folder_is_lost(jobs: Jobs, tmp_path: Path) -> None:
    """An exit that could not be made durable is no exit; the caller learns why."""
    ended = jobs.run(a_job(tmp_path / "1", "rm -r $HEADWAY_JOB"))
    assert ended.status is JobStatus.LOST and "could not be written" in ended.reason


def test_a_large_environment_and_an_odd_path_arrive_whole(jobs: Jobs, tmp_path: Path) -> None:
    """Orders of any size pass, and folders keep their bytes, blanks and all."""
    folder = tmp_path / "ä 'b' \udcff"
    env = {f"V{number}": "ü" * 50_000 for number in range(10)}
    ended = jobs.run(
        a_job(folder, 'printf "%s" "$V9" | wc -c; cd "$HEADWAY_JOB" && ls', env={"PATH": "/usr/bin:/bin", **env})
    )
    assert ended.stdout_path.read_text().split() == ["100000", "job.json", "stderr", "stdout"]
    assert jobs.attach(folder) == ended


def test_a_job_whose_folder_cannot_be_written_does_not_run(jobs: Jobs, tmp_path: Path) -> None:
    """Without a durable claim nothing runs; the file that is in the way stays."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "job.json").write_text("{}")
    with pytest.raises(JobFolderTaken):
        jobs.run(a_job(tmp_path / "1", f"touch {tmp_path}/ran"))
    assert (tmp_path / "1" / "job.json").read_text() == "{}"
    assert not (tmp_path / "ran").exists() and sorted(path.name for path in (tmp_path / "1").iterdir()) == ["job.json"]


def test_two_jobs_run_at_once(jobs: Jobs, tmp_path: Path) -> None:
    """Each of two jobs waits for a file that only the other makes."""
    for mine, other in ((1, 2), (2, 1)):
        jobs.start(a_job(tmp_path / str(mine), f"touch {mine}.ready; until [ -e {other}.ready ]; do sleep 0.01; done"))
    assert jobs.attach(tmp_path / "1").ok and jobs.attach(tmp_path / "2").ok


def test_the_machine_lock_lets_one_job_run_at_a_time(jobs: Jobs, tmp_path: Path) -> None:
    """Jobs of two headways under one lock follow each other, and waiting counts in no limit."""
    lock, marks = tmp_path / "locks" / "machine", tmp_path / "marks"
    command = f"echo in >> {marks}; sleep 0.5; echo out >> {marks}"
    script = "Jobs(Path(sys.argv[1])).run(a_job(Path(sys.argv[1]), sys.argv[2], machine_lock=Path(sys.argv[3])))"
    other = a_client(script, tmp_path / "other", command, lock)
    assert eventually(lambda: text_of(marks))
    ours = jobs.run(a_job(tmp_path / "ours", command, machine_lock=lock, timeout_seconds=0.8))
    assert other.wait(10) == 0
    assert ours.ok and ours.elapsed_seconds < 0.8
    assert marks.read_text().split() == ["in", "out", "in", "out"]


def test_a_job_that_waits_for_the_lock_can_be_canceled(jobs: Jobs, tmp_path: Path) -> None:
    """A canceled job that never ran says so, leaves no waiter behind and does not disturb the holder."""
    lock = tmp_path / "lock"
    jobs.start(a_job(tmp_path / "1", "sleep 0.6", machine_lock=lock))
    assert eventually((tmp_path / "1" / "stdout").exists)
    jobs.start(a_job(tmp_path / "2", "true", machine_lock=lock))
    jobs.cancel(tmp_path / "2")
    waited = jobs.attach(tmp_path / "2")
    assert (waited.status, waited.code, waited.started_at, waited.elapsed_seconds) == (
        JobStatus.CANCELED,
        None,
        None,
        0,
    )
    assert not (tmp_path / "1" / "exit.json").exists()
    assert jobs.attach(tmp_path / "1").ok
    assert jobs.run(a_job(tmp_path / "3", machine_lock=lock)).ok


@linux
def test_a_killed_keeper_takes_its_whole_job_along(jobs: Jobs, tmp_path: Path) -> None:
    """The job is lost, its tree is dead before that is told, and its folder is closed: no exit can come later."""
    job = a_job(tmp_path / "1", "setsid sleep 65 & sleep 66")
    jobs.start(job)
    assert eventually(lambda: len(living(job.folder)) == 3)
    keeper = read_keeper(job.folder)
    assert keeper is not None
    os.kill(keeper.pid, signal.SIGKILL)
    assert jobs.attach(job.folder).status is JobStatus.LOST
    assert not living(job.folder)
    assert json.loads((job.folder / "exit.json").read_text())["status"] == "lost"


@linux
def test_a_killed_spare_costs_nobody_a_job(tmp_path: Path) -> None:
    """A keeper that dies before it claims a job is replaced, and the job runs."""
    jobs = Jobs(tmp_path)
    assert jobs.run(a_job(tmp_path / "1")).ok
    pid = jobs.supervisor_pid
    assert pid is not None
    assert eventually(lambda: [below.name for below in supervisor.descendants([pid])] == ["headway-idle"])
    for spare in supervisor.descendants([pid]):
        supervisor.kill_each([spare.pid])
    assert jobs.run(a_job(tmp_path / "2")).ok
    jobs.close(wait=True)


@linux
def test_many_jobs_from_many_threads_leave_no_process(jobs: Jobs, tmp_path: Path) -> None:
    """200 jobs later the supervisor has the keepers that wait for the next ones, and nothing else below it."""
    ended: list[bool] = []

    def work(worker: int) -> None:
        for number in range(50):
            ended.append(jobs.run(a_job(tmp_path / f"{worker}-{number}")).ok)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [True] * 200
    pid = jobs.supervisor_pid
    assert pid is not None
    assert eventually(lambda: {below.name for below in supervisor.descendants([pid])} == {"headway-idle"}, 5)
    assert len(supervisor.descendants([pid])) <= 4


def test_a_published_file_is_whole_and_never_replaces_another(tmp_path: Path) -> None:
    """The second of two files of one name is refused, and no half-made file stays behind."""
    supervisor.publish(str(tmp_path), "a.json", {"n": 1}, KEY)
    with pytest.raises(FileExistsError):
        supervisor.publish(str(tmp_path), "a.json", {"n": 2}, KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["n"] == 1 and written["seal"] == supervisor.seal_of(written, "a.json", KEY)


@linux
def test_a_process_is_read_whatever_its_name(tmp_path: Path) -> None:
    """A program's name may hold blanks and brackets without shifting what the process table says."""
    program = tmp_path / "a) R 1 (b"
    program.symlink_to(shutil.which("sleep") or "")
    process = subprocess.Popen([program, "66"])
    try:
        assert eventually(lambda: supervisor.command_line(process.pid).endswith("66"))
        seen = supervisor.look_at(process.pid)
        assert seen is not None and (seen.pid, seen.parent) == (process.pid, os.getpid())
        assert [below.pid for below in supervisor.descendants([os.getpid()])].count(process.pid) == 1
    finally:
        process.kill()
        process.wait()
    assert supervisor.look_at(process.pid) is None
