"""What a command writes in a keeper's name is found out: claims and exits are sealed, and what is lost stays lost."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters import supervisor
from headway.adapters.job_folder import (
    FORGED,
    KEEPER_DIED,
    OUTPUT_CHANGED,
    JobState,
    JobStatus,
    read_keeper,
    write_lost,
)
from headway.adapters.job_seals import KEY_FILE, Seals
from headway.adapters.processes import Jobs
from tests.jobs import a_job, eventually, living

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """The jobs of a run whose folder is `run`."""
    made = Jobs(tmp_path / "run")
    yield made
    made.end_all_but_measurements()
    made.close(wait=True)


def a_forged_result(folder: Path, **more: object) -> None:
    """Write what a keeper would have written of a job that printed the best value and ended well."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stdout").write_text('{"score": 999, "ok": 1}\n')
    (folder / "stderr").write_text("")
    keeper = {"pid": os.getpid(), "start": 1, "boot": supervisor.boot_id(), "name": "headway-1234567"}
    (folder / "job.json").write_text(json.dumps({"keeper": keeper, **more}))
    (folder / "exit.json").write_text(json.dumps({"status": "exited", "code": 0, **more}))


def test_a_result_that_was_written_before_its_job_ran_is_not_credited(jobs: Jobs, tmp_path: Path) -> None:
    """An agent that knows how folders are named puts a result where the next measurement will look."""
    a_forged_result(tmp_path / "run" / "measure-cand-1")
    a_forged_result(tmp_path / "run" / "measure-cand-2", seal="0" * 32)
    for name in ("measure-cand-1", "measure-cand-2"):
        folder = tmp_path / "run" / name
        assert jobs.state(folder) is JobState.LOST
        assert (jobs.attach(folder).status, jobs.attach(folder).reason) == (JobStatus.LOST, FORGED)


@linux
def test_a_claim_that_names_a_living_process_is_not_waited_for(jobs: Jobs, tmp_path: Path) -> None:
    """Else a forged claim would hold the run up for as long as that process lives."""
    jobs.start(a_job(tmp_path / "1", "sleep 60"))
    claim = json.loads((tmp_path / "1" / "job.json").read_text())
    other = tmp_path / "2"
    other.mkdir()
    (other / "job.json").write_text(json.dumps({**claim, "id": "another"}))
    assert jobs.state(other) is JobState.LOST
    assert jobs.attach(other).status is JobStatus.LOST
    jobs.cancel(other)
    assert jobs.state(tmp_path / "1") is JobState.RUNNING


def test_a_real_result_does_not_count_in_another_jobs_folder(jobs: Jobs, tmp_path: Path) -> None:
    """Copying the folder of a good sample does not make a second one of it."""
    assert jobs.run(a_job(tmp_path / "run" / "1", "echo 7")).ok
    shutil.copytree(tmp_path / "run" / "1", tmp_path / "run" / "2")
    assert jobs.attach(tmp_path / "run" / "1").ok
    assert jobs.attach(tmp_path / "run" / "2").reason == FORGED


def test_a_claim_does_not_pass_for_an_exit(jobs: Jobs, tmp_path: Path) -> None:
    """A seal is of one file, too."""
    jobs.start(a_job(tmp_path / "1", "sleep 60"))
    shutil.copy(tmp_path / "1" / "job.json", tmp_path / "1" / "exit.json")
    assert jobs.state(tmp_path / "1") is JobState.LOST


@linux
def test_a_command_that_kills_its_keeper_and_writes_its_own_exit_gains_nothing(jobs: Jobs, tmp_path: Path) -> None:
    """The kill that should make room for a forged exit makes a lost job."""
    script = tmp_path / "forger.py"
    script.write_text(
        "import os, signal\n"
        "keeper, job = os.getppid(), os.environ['HEADWAY_JOB']\n"
        "if os.fork() == 0:\n"
        "    open(job + '/exit.json', 'w').write('{\"status\": \"exited\", \"code\": 0}')\n"
        "    os.kill(keeper, signal.SIGKILL)\n"
        "os.wait()\n"
    )
    folder = tmp_path / "1"
    assert jobs.run(a_job(folder, argv=(sys.executable, "-I", "-S", str(script)))).status is JobStatus.LOST
    assert jobs.attach(folder).reason == FORGED and not living(folder)


@linux
def test_what_is_lost_stays_lost(jobs: Jobs, tmp_path: Path) -> None:
    """Once a job was given up, nobody can end it well: the exit that comes late finds the name taken."""
    folder = tmp_path / "1"
    jobs.start(a_job(folder, "sleep 60", outlives=True))
    keeper = read_keeper(folder)
    assert keeper is not None and jobs.supervisor_pid is not None
    os.kill(jobs.supervisor_pid, signal.SIGKILL)
    os.kill(keeper.pid, signal.SIGKILL)
    assert eventually(lambda: jobs.state(folder) is JobState.LOST)
    assert not (folder / "exit.json").exists()  # to look is not to give up
    assert jobs.attach(folder).reason == KEEPER_DIED
    key = Seals(tmp_path / "run").key(folder)
    with pytest.raises(FileExistsError):
        supervisor.publish(str(folder), "exit.json", {"status": "exited", "code": 0}, key)
    assert Jobs(tmp_path / "run").attach(folder).reason == KEEPER_DIED


@linux
def test_an_exit_at_the_last_moment_counts_and_is_not_given_up(jobs: Jobs, tmp_path: Path) -> None:
    """Between the look at the keeper and the giving up an exit may come; the first one of the two counts."""
    folder = tmp_path / "1"
    jobs.start(a_job(folder, "sleep 60"))
    keeper = read_keeper(folder)
    assert keeper is not None
    key = Seals(tmp_path / "run").key(folder)
    supervisor.publish(str(folder), "exit.json", {"status": "exited", "code": 3}, key)
    os.kill(keeper.pid, signal.SIGKILL)
    assert eventually(lambda: jobs.state(folder) is JobState.DONE)
    assert jobs.attach(folder).code == write_lost(folder, key).code == 3


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_output_that_grew_or_shrank_after_the_end_is_not_credited(jobs: Jobs, tmp_path: Path, name: str) -> None:
    """What was written late, or what a dying machine did not keep, is no result."""
    for number, change in enumerate((b"late\n", None)):
        folder = tmp_path / str(number)
        assert jobs.run(a_job(folder, "echo 7; echo 8 >&2")).ok
        with (folder / name).open("ab" if change else "wb") as file:
            file.write(change or b"")
        assert jobs.state(folder) is JobState.LOST
        ended = jobs.attach(folder)
        assert (ended.status, ended.code, ended.reason) == (JobStatus.LOST, None, OUTPUT_CHANGED)


def test_another_headway_of_the_same_run_knows_its_jobs_and_of_another_run_does_not(jobs: Jobs, tmp_path: Path) -> None:
    """A resumed run reads what the killed one left; a folder of some other run is nobody's word."""
    assert jobs.run(a_job(tmp_path / "run" / "jobs" / "1")).ok
    assert Jobs(tmp_path / "run").attach(tmp_path / "run" / "jobs" / "1").ok
    assert Jobs(tmp_path / "other").attach(tmp_path / "run" / "jobs" / "1").reason == FORGED


def test_a_run_that_was_moved_knows_its_jobs(jobs: Jobs, tmp_path: Path) -> None:
    """A seal is of a place within the run."""
    assert jobs.run(a_job(tmp_path / "run" / "jobs" / "1", cwd=tmp_path)).ok
    (tmp_path / "run").rename(tmp_path / "moved")
    assert Jobs(tmp_path / "moved").attach(tmp_path / "moved" / "jobs" / "1").ok


def test_the_secret_is_the_users_alone_and_reaches_no_command(jobs: Jobs, tmp_path: Path) -> None:
    """Mode 0600 in the run's folder; not in what a command gets, nor in the files of its job."""
    folder = tmp_path / "1"
    ended = jobs.run(a_job(folder, "env; cat /proc/self/cmdline; ls -l /proc/self/fd"))
    secret = tmp_path / "run" / KEY_FILE
    assert secret.stat().st_mode & 0o777 == 0o600
    own = Seals(tmp_path / "run").key(folder)
    shown = ended.stdout_path.read_text() + "".join((folder / name).read_text() for name in ("job.json", "exit.json"))
    assert own not in shown and secret.read_bytes().hex() not in shown


def test_a_secret_that_a_dying_machine_cut_short_is_made_anew(tmp_path: Path) -> None:
    """Nothing can have been sealed with it."""
    (tmp_path / KEY_FILE).write_bytes(b"short")
    first = Seals(tmp_path).key(tmp_path / "1")
    assert first == Seals(tmp_path).key(tmp_path / "1") != Seals(tmp_path).key(tmp_path / "2")
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [(KEY_FILE, 32)]
