"""Disks and folders that refuse: the old log is whole, the change is parked, the error says what to do."""

import errno
import os
import shutil
import signal
import threading
from pathlib import Path
from types import FrameType

import pytest

from headway.core.edits import AppendExperiment, SetSection
from headway.errors import DiskFailed
from headway.store.lock import RunLock
from headway.store.log import LogFile
from headway.store.parked import take_up
from tests.store.faults import on_a_file_system_of_its_own, without_rights
from tests.store.logs import a_row, agreed, log_rows, numbers

COMMIT = """
import json, subprocess, sys
from pathlib import Path
from headway.core.edits import AppendExperiment, SetSection
from headway.errors import DiskFailed
from headway.store.log import LogFile
from headway.store.parked import take_up
from tests.store.logs import a_row, agreed, log_rows, numbers

def say(*values):
    print(json.dumps(values))

def fill(path):
    with (path.parent / "fill").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass

def commit(log, number):
    try:
        log.commit([AppendExperiment(a_row(number)), SetSection("run_state", {"tick": number})])
    except DiskFailed as error:
        return [error.number, error.exit_code, error.what, error.mend]

def names(path):
    return sorted(file.name for file in path.parent.iterdir() if file.name != "fill")

path = Path(sys.argv[1]) / "log.yaml"
log = LogFile.create(path, log_rows(20))
before = path.read_bytes()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "root" / "experiment-log.yaml"


@pytest.fixture
def log(path: Path) -> LogFile:
    """An open log with one experiment."""
    path.parent.mkdir()
    return LogFile.create(path, log_rows(1))


def test_a_full_disk_keeps_the_old_log_and_the_next_start_takes_the_change_up(tmp_path: Path) -> None:
    """A tmpfs filled to the last byte: no space, in words and as exit code 4; with room again, nothing is missing."""
    script = """
    fill(path)
    say(*commit(log, 21))
    say(path.read_bytes() == before, numbers(log.rows()) == list(range(1, 21)))
    (path.parent / "fill").unlink()
    fresh = LogFile.open(path)
    told = take_up(fresh)
    say(told, names(path)[-1])
    commit(fresh, max(numbers(fresh.rows())) + 1)
    say(numbers(agreed(path)["experiments"])[-1], names(path)[-1])
    """
    refused, kept, taken, after = on_a_file_system_of_its_own(tmp_path, COMMIT + _dedented(script))
    assert refused[:2] == [errno.ENOSPC, 4]
    assert refused[2:] == [
        "no space is left on the disk",
        "free some space there, then start the command again",
    ]
    assert kept == [True, True]
    assert taken in (
        ["", "log.yaml"],  # no room for the side file either
        ["a change that could not be written before is in the log now: experiment 21, run_state", "log.yaml"],
    )
    assert after == [22 if taken[0] else 21, "log.yaml"]


def test_a_disk_with_room_for_the_side_file_alone_parks_the_change(tmp_path: Path) -> None:
    """The log is large, the change is small: what does not fit into the log fits beside it, and is taken up."""
    script = """
    del log
    path.unlink()
    log = LogFile.create(path, log_rows(150))
    fill(path)
    with (path.parent / "fill").open("ab") as file:
        file.truncate(file.tell() // 4096 * 4096 - 8192)
    refused = commit(log, 151)
    say(refused and refused[:2], names(path), numbers(agreed(path)["experiments"])[-1])
    (path.parent / "fill").unlink()
    say(take_up(LogFile.open(path)), names(path)[-1], numbers(agreed(path)["experiments"])[-1])
    """
    refused, taken = on_a_file_system_of_its_own(tmp_path, COMMIT + _dedented(script))
    if refused[0] is None:  # a way of writing that needs no second copy found room
        assert refused[2] == 151
        return
    assert refused == [[errno.ENOSPC, 4], ["log.pending.yaml", "log.yaml"], 150]
    assert taken == [
        "a change that could not be written before is in the log now: experiment 151, run_state",
        "log.yaml",
        151,
    ]


def test_a_file_system_that_became_read_only_keeps_the_old_log(tmp_path: Path) -> None:
    """As a disk does after a fault: told as that, with the way out; writable again, the next commit goes through."""
    script = """
    def remount(how):
        subprocess.run(["mount", "-o", "remount," + how, str(path.parent)], check=True)
    remount("ro")
    refused = commit(log, 21)
    say(*refused)
    say(path.read_bytes() == before, numbers(log.rows())[-1])
    remount("rw")
    say(commit(log, 21), numbers(agreed(path)["experiments"])[-1], names(path)[-1])
    """
    refused, kept, after = on_a_file_system_of_its_own(tmp_path, COMMIT + _dedented(script))
    assert refused == [
        errno.EROFS,
        4,
        "the file system is read-only",
        "mount it writable, or name another place with --state-root",
    ]
    assert kept == [True, 20]
    assert after == [None, 21, "log.yaml"]


def _dedented(script: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in script.splitlines()) + "\n"


def test_a_folder_that_may_not_be_written_keeps_the_old_log(path: Path, log: LogFile) -> None:
    """A user without rights there: permission denied, with the place and the mend; with rights, it goes on."""
    before = path.read_bytes()
    for folder in (path.parent, *path.parents[1:4]):
        folder.chmod(0o555 if folder == path.parent else 0o755)
    path.chmod(0o444)
    try:
        with without_rights(), pytest.raises(DiskFailed, match="permission was denied") as caught:
            log.commit([AppendExperiment(a_row(2))])
        with without_rights(), pytest.raises(DiskFailed, match="permission was denied"):
            RunLock(path.with_name("lock")).acquire("test")
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)
    assert (caught.value.exit_code, "--state-root" in caught.value.mend) == (4, True)
    assert str(path) in caught.value.where
    assert (path.read_bytes(), os.listdir(path.parent)) == (before, [path.name])
    log.commit([AppendExperiment(a_row(2))])
    assert numbers(agreed(path)["experiments"]) == [1, 2]


def test_a_log_that_may_not_be_read_is_told_as_that(path: Path, log: LogFile) -> None:
    """Not as a damaged one: nothing is known of it."""
    path.chmod(0)
    for folder in path.parents[:4]:
        folder.chmod(0o755)
    try:
        with without_rights(), pytest.raises(DiskFailed, match="permission was denied"):
            LogFile.open(path)
    finally:
        path.chmod(0o644)


def test_a_folder_that_vanished_is_told_and_its_return_is_enough(path: Path, log: LogFile) -> None:
    """Moved away, it takes no new log in its old place; back, the next commit goes through."""
    before = path.read_bytes()
    away = path.parent.with_name("away")
    path.parent.rename(away)
    with pytest.raises(DiskFailed, match="the folder is gone") as caught:
        log.commit([AppendExperiment(a_row(2))])
    assert (caught.value.number, caught.value.exit_code, bool(caught.value.mend)) == (errno.ENOENT, 4, True)
    assert not path.parent.exists()
    assert (away / path.name).read_bytes() == before
    away.rename(path.parent)
    log.commit([AppendExperiment(a_row(2))])
    assert numbers(agreed(path)["experiments"]) == [1, 2]
    shutil.rmtree(path.parent)
    with pytest.raises(DiskFailed, match="the folder is gone"):
        log.commit([AppendExperiment(a_row(3))])


def test_signals_in_the_middle_of_system_calls_do_no_harm(path: Path, log: LogFile) -> None:
    """A timer interrupts writes, flushes and renames a thousand times a second: every commit lands whole."""
    hits: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        hits.append(number)

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, note)
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for number in range(2, 32):
            log.commit([AppendExperiment(a_row(number, learnings="long " * 4000)), SetSection("run_state", {"t": 1})])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(hits) > 10
    assert numbers(agreed(path)["experiments"]) == list(range(1, 32))
    assert log.notices == []
    assert take_up(LogFile.open(path)) == ""
