"""One writer: a live owner is named, a dead one taken over at once."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from headway.errors import DiskFailed, RunOwned
from headway.store.lock import Owner, RunLock, is_alive, read_owner
from tests.jobs import eventually

HOLDER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from headway.store.lock import RunLock
    lock = RunLock(Path(sys.argv[1]))
    lock.acquire("headway run spec.yaml")
    print("held", flush=True)
    time.sleep(60)
    """
)


def a_holder(path: Path) -> "subprocess.Popen[str]":
    """Another process that holds the lock."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: "subprocess.Popen[str]") -> None:
    """Kill a process as the out-of-memory killer does."""
    child.send_signal(signal.SIGKILL)
    child.wait()
    if child.stdout:
        child.stdout.close()


def note(path: Path, owner: Owner) -> None:
    """Leave an owner's note without holding the lock."""
    path.write_text(json.dumps(asdict(owner)))


def this_owner(path: Path) -> Owner:
    """The note that this process leaves."""
    with RunLock(path) as lock:
        lock.acquire("test")
        owner = read_owner(path)
    assert owner is not None
    return owner


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the lock goes."""
    return tmp_path / "lock"


def test_a_live_owner_is_named_and_a_killed_one_taken_over_at_once(path: Path) -> None:
    """A second process is refused by pid, host and command; after kill -9 it takes over in well under a second."""
    child = a_holder(path)
    try:
        with pytest.raises(RunOwned) as caught:
            RunLock(path).acquire("headway status")
        for part in (f"process {child.pid} ", os.uname().nodename, "`headway run spec.yaml`"):
            assert part in caught.value.what
        assert f"kill {child.pid}" in caught.value.mend
        owner = read_owner(path)
        assert owner is not None and is_alive(owner)
    finally:
        end(child)
    assert not is_alive(owner)
    start = time.monotonic()
    before = RunLock(path).acquire("headway resume")
    assert time.monotonic() - start < 0.5
    assert before == owner


def test_a_released_lock_is_free_without_a_notice(path: Path) -> None:
    """An owner that released is no dead owner; the file stays."""
    first, second = RunLock(path), RunLock(path)
    assert first.acquire("one") is None
    assert first.acquire("one") is None
    with pytest.raises(RunOwned):
        second.acquire("two")
    first.release()
    first.release()
    assert second.acquire("two") is None
    second.release()
    assert path.exists()
    assert read_owner(path) is None


def test_a_refused_process_does_not_change_the_note(path: Path) -> None:
    """Who owns the run stays readable."""
    lock = RunLock(path)
    lock.acquire("owner")
    before = path.read_bytes()
    with pytest.raises(RunOwned):
        RunLock(path).acquire("other")
    assert path.read_bytes() == before
    lock.release()


def test_a_reused_process_number_is_not_taken_for_the_owner(path: Path) -> None:
    """This process has the number, but started at another time."""
    owner = replace(this_owner(path), started="1", command="long gone")
    assert not is_alive(owner)
    note(path, owner)
    assert RunLock(path).acquire("new") == owner


def test_an_owner_before_a_restart_of_the_machine_is_dead(path: Path) -> None:
    """The same host with another boot: numbers of processes mean nothing any more."""
    owner = replace(this_owner(path), boot_id="00000000-0000-0000-0000-000000000000")
    assert not is_alive(owner)
    note(path, owner)
    assert RunLock(path).acquire("new") == owner


def test_an_owner_on_another_machine_is_not_taken_over(path: Path) -> None:
    """The kernel here knows nothing of locks there: refused, with the host and the mend."""
    owner = replace(this_owner(path), host="elsewhere", boot_id="0", pid=1234)
    note(path, owner)
    with pytest.raises(RunOwned, match="another machine, elsewhere") as caught:
        RunLock(path).acquire("new")
    assert f": > '{path}'" in caught.value.mend
    assert is_alive(owner)
    assert read_owner(path) == owner
    path.write_bytes(b"")
    assert RunLock(path).acquire("new") is None


def test_a_lock_that_a_child_of_a_dead_owner_holds_is_told_as_that(path: Path) -> None:
    """The owner has ended, but a process that inherited the descriptor lives on."""
    lock = RunLock(path)
    lock.acquire("parent")
    owner = read_owner(path)
    assert owner is not None
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        os.close(lock._handle or -1)  # the parent goes without releasing; the child has the lock
        lock._handle = None
        note(path, replace(owner, started="1"))
        with pytest.raises(RunOwned, match="process that it started still holds"):
            RunLock(path).acquire("new")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert RunLock(path).acquire("new") is not None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": "x"}', "\x00\xff"])
def test_an_unreadable_note_is_no_owner(path: Path, text: str) -> None:
    """A note being written, or damaged, stops nobody when the lock itself is free."""
    path.write_bytes(text.encode("latin-1"))
    assert read_owner(path) is None
    assert RunLock(path).acquire("new") is None


def test_a_zombie_is_dead(path: Path) -> None:
    """A process that has ended but was not waited for runs nothing any more."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        stat = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        assert not is_alive(replace(this_owner(path), pid=child, started=stat[19]))
    finally:
        os.waitpid(child, 0)


def test_the_lock_needs_no_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without symbolic or hard links is good enough: nothing but one plain file is made."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "this file system has no links")

    for name in ("symlink", "link"):
        monkeypatch.setattr(os, name, refuse)
    lock = RunLock(path)
    assert lock.acquire("one") is None
    with pytest.raises(RunOwned):
        RunLock(path).acquire("two")
    lock.release()
    assert os.listdir(path.parent) == [path.name]
    assert stat.S_ISREG(path.lstat().st_mode)


def test_of_many_that_start_at_once_one_owns_the_run(path: Path) -> None:
    """Started together, exactly one gets the lock; all others are told who has it."""
    script = HOLDER.replace("lock.acquire", "sys.stdin.readline(); lock.acquire").replace(
        "time.sleep(60)", "sys.stdin.readline()"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert eventually(
        lambda: sum(child.poll() is not None for child in children) == 4
    )  # the owner waits for a second line
    (winner,) = [child for child in children if child.poll() is None]
    out, err = zip(*(child.communicate("end\n") for child in children), strict=True)
    assert [text for text in out if text] == ["held\n"]
    refusals = [text for text in err if text]
    assert len(refusals) == 4
    assert all("RunOwned" in text and f"process {winner.pid} " in text for text in refusals)


def test_a_job_that_outlives_its_owner_does_not_keep_the_lock(path: Path) -> None:
    """A program started by the owner inherits no descriptor of the lock: the dead owner is taken over while it runs."""
    script = HOLDER.replace(
        'print("held"', 'import subprocess; job = subprocess.Popen(["sleep", "60"]); print(f"held {job.pid}"'
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    job = int(child.stdout.readline().split()[1])
    end(child)
    try:
        os.kill(job, 0)
        before = RunLock(path).acquire("headway resume")
        assert before is not None and before.pid == child.pid
    finally:
        os.kill(job, signal.SIGKILL)


def test_two_names_of_one_machine_are_one_machine(path: Path) -> None:
    """Renamed while an owner died: the running kernel is the same, so its lock says that nobody is there."""
    owner = replace(this_owner(path), host="before-renaming", started="1")
    note(path, owner)
    assert RunLock(path).acquire("new") == owner


def test_a_place_where_no_lock_can_be_made_is_told_as_that(tmp_path: Path) -> None:
    """No folder, or something else under the name: the disk's words, not another owner's."""
    with pytest.raises(DiskFailed, match="the folder is gone"):
        RunLock(tmp_path / "gone" / "lock").acquire("one")
    (tmp_path / "lock").mkdir()
    with pytest.raises(DiskFailed) as caught:
        RunLock(tmp_path / "lock").acquire("one")
    assert (caught.value.where, bool(caught.value.mend)) == (str(tmp_path / "lock"), True)
