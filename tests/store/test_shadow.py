"""Commits through the spare copy: whatever reads, links, edits or dies beside them, the log stays whole."""

import contextlib
import mmap
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
from headway.errors import DiskFailed
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from headway.store.strategies import StrategyName, discard_spare, probe
from headway.store.strategies import shadow as shadow_module
from headway.store.strategies.kernel import Unavailable, exchange
from headway.store.strategies.shadow import spare_of
from tests.store.logs import a_row, agreed, edited, log_rows, notices, numbers, save


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes; on a file system that has what the shadow needs."""
    report = probe(tmp_path)
    if report.name is not StrategyName.SHADOW:
        pytest.skip(f"no shadow here: {report.why}")
    return tmp_path / "experiment-log.yaml"


@pytest.fixture
def log(path: Path) -> LogFile:
    """An open log whose spare is in use."""
    log = LogFile.create(path, log_rows(3))
    tick(log, 2)
    assert copies(log) == 1
    return log


def tick(log: LogFile, count: int = 1) -> None:
    """What a run commits: an experiment and the state that changes with it."""
    for _ in range(count):
        number = max(log.iterations()) + 1
        log.commit([AppendExperiment(a_row(number)), SetSection("run_state", {"status": "running", "tick": number})])


def copies(log: LogFile) -> int:
    """How many commits wrote the file whole."""
    assert log.strategy.name is StrategyName.SHADOW
    return log._committer.copies or 0


def is_whole(log: LogFile, path: Path) -> bool:
    """Whether the file holds, to the byte, what memory says, and both loaders read it."""
    document = agreed(path)
    return path.read_bytes() == bytes(log._version.buffer) and numbers(document["experiments"]) == log.iterations()


def test_only_the_first_commit_of_a_process_writes_the_file_whole(path: Path, log: LogFile) -> None:
    """Afterwards two files take turns: appends, recent and old updates, sections, in any order."""
    inodes = set()
    for number in range(6, 12):
        log.commit([AppendExperiment(a_row(number))])
        log.commit([ReplaceExperiment(number - 1, a_row(number - 1, note="x" * (number * 37 % 90)))])
        log.commit([SetSection("run_state", {"tick": number}), ReplaceExperiment(1, a_row(1, note=number))])
        log.commit([SetSection("hypothesis_backlog", [])])
        inodes.add(path.stat().st_ino)
        assert is_whole(log, path)
    assert copies(log) == 1
    assert len(inodes) <= 2


def test_the_data_is_flushed_before_the_names_and_the_names_after(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two flushes in this order: a name never points to bytes that a power cut may still take."""
    calls: list[str] = []
    flush = os.fsync

    def fsync(handle: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "data")
        flush(handle)

    def exchanged(one: Path, other: Path) -> None:
        calls.append("exchange")
        exchange(one, other)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(shadow_module, "exchange", exchanged)
    tick(log)
    assert calls == ["data", "exchange", "folder"]


def test_a_save_at_the_moment_of_the_exchange_gets_its_name_back_and_is_merged(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the last look at the log a person saves: remark and experiment are both there, nothing is set aside."""
    saves = iter([lambda: edited(path, "run_id:", "# just now\nrun_id:")])

    def exchanged(one: Path, other: Path) -> None:
        next(saves, lambda: None)()
        exchange(one, other)

    monkeypatch.setattr(shadow_module, "exchange", exchanged)
    tick(log)
    assert b"# just now\n" in path.read_bytes()
    assert log.iterations() == [1, 2, 3, 4, 5, 6]
    assert is_whole(log, path)
    assert notices(log) == [NoticeKind.EDIT_MERGED]


def test_of_two_saves_within_one_commit_the_later_is_merged_and_the_earlier_kept_and_told(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second save falls between the two exchanges: it has the name, and the first is not destroyed."""
    first = path.read_bytes().replace(b"run_id:", b"# first\nrun_id:")
    second = path.read_bytes().replace(b"run_id:", b"# second\nrun_id:")
    saves = iter([first, second])

    def exchanged(one: Path, other: Path) -> None:
        data = next(saves, None)
        if data is not None:
            save(path, data)
        exchange(one, other)

    monkeypatch.setattr(shadow_module, "exchange", exchanged)
    tick(log)
    assert b"# second\n" in path.read_bytes()
    assert is_whole(log, path)
    told = [notice for notice in log.notices if notice.kind is NoticeKind.SAVE_OVERTAKEN]
    assert [notice.set_aside.read_bytes() for notice in told if notice.set_aside] == [first]
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6]


def test_saves_that_follow_each_other_without_a_pause_do_not_keep_a_commit_waiting(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overtaken again and again, it reads at once what reads well; a half-written save it still waits for."""
    whole = path.read_bytes()
    count, pauses = 0, 0

    def remarked() -> bytes:
        return whole.replace(b"run_id:", b"".join(b"# remark %d\n" % n for n in range(1, count + 1)) + b"run_id:")

    def exchanged(one: Path, other: Path) -> None:
        nonlocal count
        if count < 30:
            count += 1
            save(path, remarked() if count % 10 else b"")
        exchange(one, other)

    def sleep(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if not path.read_bytes():
            path.write_bytes(remarked())

    monkeypatch.setattr(shadow_module, "exchange", exchanged)
    monkeypatch.setattr("headway.store.log.time.sleep", sleep)
    tick(log)
    assert path.read_bytes().count(b"# remark ") == 30
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6]
    assert pauses < 10
    assert is_whole(log, path)


def test_the_version_that_a_merge_makes_shares_nothing_with_the_save_it_displaces(path: Path, log: LogFile) -> None:
    """The person's file becomes the spare, and differs from the merged log in more than the last change."""
    edited(path, "spec:", "# mine\nspec:")
    edited(path, "try way 1:", f"try {'another ' * 200}way 1:")
    for _ in range(4):
        tick(log)
        assert is_whole(log, path)
    assert b"# mine\n" in path.read_bytes()


def test_a_save_into_the_file_that_was_the_log_is_kept_and_told(path: Path, log: LogFile) -> None:
    """An editor that writes in place has opened the log before a commit and writes after it."""
    with path.open("r+b") as editor:
        whole = editor.read()
        tick(log)
        editor.seek(0)
        editor.write(b"# in place\n" + whole)
    tick(log)
    assert is_whole(log, path)
    (notice,) = log.notices
    assert notice.kind is NoticeKind.SAVE_OVERTAKEN
    assert notice.set_aside is not None
    assert notice.set_aside.read_bytes() == b"# in place\n" + whole


def test_a_slow_reader_sees_one_version(path: Path, log: LogFile) -> None:
    """Half of the file before five commits, half after: the spare that it holds is left alone."""
    before = path.read_bytes()
    with path.open("rb", buffering=0) as reader:
        half = reader.read(len(before) // 2)
        tick(log, 5)
        assert half + reader.readall() == before
    assert copies(log) > 1
    whole = copies(log)
    tick(log, 5)
    assert copies(log) <= whole + 1
    assert is_whole(log, path)


def test_a_reader_that_has_mapped_the_file_sees_one_version(path: Path, log: LogFile) -> None:
    """A mapping counts as reading although its descriptor is closed."""
    before = path.read_bytes()
    with path.open("rb") as reader:
        mapped = mmap.mmap(reader.fileno(), 0, prot=mmap.PROT_READ)
    with mapped:
        tick(log, 5)
        assert mapped[:] == before


def test_a_hard_link_keeps_its_bytes(path: Path, log: LogFile) -> None:
    """Some make their backups by a second link."""
    before = path.read_bytes()
    backup = path.with_name("backup.yaml")
    backup.hardlink_to(path)
    tick(log, 5)
    assert backup.read_bytes() == before
    assert is_whole(log, path)


def test_a_spare_that_a_crash_left_is_never_used(path: Path, log: LogFile) -> None:
    """Half-written by a process that died: the next one opens the log as it is and makes a new spare."""
    script = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from headway.core.edits import AppendExperiment
        from headway.store.log import LogFile
        from headway.store.strategies import shadow
        from tests.store.logs import a_row
        log = LogFile.open(Path(sys.argv[1]))
        log.commit([AppendExperiment(a_row(6))])
        def torn(handle, pair, step):
            os.write(handle, b"spec: [torn")
            os._exit(9)
        shadow._bring_up_to_date = torn
        log.commit([AppendExperiment(a_row(7))])
        """
    )
    done = run_script(script, path)
    assert done.wait() == 9
    assert spare_of(path).read_bytes().startswith(b"spec: [torn")
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6]
    later = LogFile.open(path)
    tick(later, 2)
    assert is_whole(later, path)
    assert copies(later) == 1
    assert later.notices == []


def run_script(script: str, *arguments: object, **options: Any) -> "subprocess.Popen[str]":
    """Start Python on a script that may import the tests' own builders."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, text=True, env=environment, **options)


def test_without_an_exchange_of_names_the_log_is_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found out at the first commit; it goes through, nothing is left beside the log, and the report says why."""

    asked: list[object] = []

    def refuse(*names: object) -> None:
        asked.append(names)
        raise Unavailable("the file system cannot exchange two names")

    log = LogFile.create(path, log_rows(1))
    monkeypatch.setattr(shadow_module, "exchange", refuse)
    tick(log, 3)
    assert is_whole(log, path)
    assert str(log.strategy) == "copy: the file system cannot exchange two names"
    assert os.listdir(path.parent) == [path.name]
    assert len(asked) == 1


def test_other_bytes_than_were_written_are_found_out(path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is opened anew by its own name and compared, from the first byte that this commit wrote."""
    real = os.open

    def lie(name: Any, flags: int, *mode: int) -> int:
        if name == path and flags & os.O_ACCMODE == os.O_RDONLY:
            path.write_bytes(path.read_bytes().replace(b"iteration: 6", b"iteration: 7"))
            os.utime(path, ns=(0, written[-1]))
        return real(name, flags, *mode)

    written: list[int] = []
    flush = os.fsync

    def fsync(handle: int) -> None:
        flush(handle)
        written.append(os.fstat(handle).st_mtime_ns if not written else written[0])

    monkeypatch.setattr(os, "open", lie)
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DiskFailed, match="read back differs"):
        tick(log)


def test_a_program_that_follows_the_log_is_no_obstacle(path: Path, log: LogFile) -> None:
    """`tail -F` holds each version open for a while; commits go through, and it is shown the last one."""
    shown = path.with_name("shown")
    with shown.open("wb") as out:
        follower = subprocess.Popen(["tail", "-s", "0.05", "-n", "+1", "-F", str(path)], stdout=out, stderr=out)
        try:
            for _ in range(8):
                tick(log)
                time.sleep(0.03)
            end = time.monotonic() + 20
            while b"- iteration: 13\n" not in shown.read_bytes() and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            follower.kill()
            follower.wait()
    assert b"- iteration: 13\n" in shown.read_bytes()
    assert is_whole(log, path)


def test_the_spare_of_a_linked_log_lies_beside_the_file_itself(tmp_path: Path, path: Path) -> None:
    """A symbolic link stays one, and its own folder gets nothing."""
    LogFile.create(path, log_rows(1))
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "experiment-log.yaml"
    link.symlink_to(path)
    log = LogFile.open(link)
    tick(log, 3)
    assert link.is_symlink()
    assert os.listdir(link.parent) == [link.name]
    assert spare_of(path).exists()
    assert is_whole(log, path)


def test_a_link_in_the_place_of_the_spare_is_not_followed(path: Path, log: LogFile) -> None:
    """What it points to stays as it is."""
    other = path.with_name("other")
    other.write_bytes(b"mine")
    spare_of(path).unlink()
    spare_of(path).symlink_to(other)
    tick(log, 2)
    assert other.read_bytes() == b"mine"
    assert is_whole(log, path)


def test_who_may_read_the_log_stays_the_same_over_all_commits(path: Path, log: LogFile) -> None:
    """Both files have the mode that a person gave the one."""
    path.chmod(0o640)
    for _ in range(4):
        tick(log)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert is_whole(log, path)


def test_two_processes_leave_the_log_whole(path: Path, log: LogFile) -> None:
    """One commits after the other has: each takes the other's version for a person's save, and nothing is torn."""
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from headway.core.edits import SetSection
        from headway.store.log import LogFile
        log = LogFile.open(Path(sys.argv[1]))
        for line in sys.stdin:
            log.commit([SetSection("hypothesis_backlog", [{"description": line.strip(), "priority": "low"}])])
            print(len(log.iterations()), flush=True)
        """
    )
    other = run_script(script, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None
    assert other.stdout is not None
    try:
        for number in range(1, 5):
            other.stdin.write(f"way {number}\n")
            other.stdin.flush()
            other.stdout.readline()
            assert agreed(path)["hypothesis_backlog"][0]["description"] == f"way {number}"
            tick(log)
            assert is_whole(log, path)
    finally:
        other.stdin.close()
        other.wait()
        other.stdout.close()
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_who_opens_the_spare_while_it_is_written_costs_a_copy(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search through the folder waits for the write to end; the process is not ended by the signal of it."""
    flush = os.fsync
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(spare_of(path).read_bytes()))

    def fsync(handle: int) -> None:
        flush(handle)
        if not seen and not reader.is_alive():
            reader.start()
            while "BREAKING" not in Path("/proc/locks").read_text():
                time.sleep(0.001)

    monkeypatch.setattr(os, "fsync", fsync)
    tick(log)
    reader.join()
    monkeypatch.undo()
    assert copies(log) == 2
    assert len(seen) == 1
    assert is_whole(log, path)


def test_a_full_disk_leaves_the_log_whole_and_no_spare(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The torn spare is removed, which also gives its room back; the next commit makes a new one."""
    before = path.read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(shadow_module, "write_fully", refuse)
    with pytest.raises(DiskFailed, match="no space"):
        tick(log)
    assert path.read_bytes() == before
    assert not spare_of(path).exists()
    monkeypatch.undo()
    tick(log, 2)
    assert is_whole(log, path)
    assert copies(log) == 2


def test_a_log_removed_at_the_moment_of_the_exchange_is_written_again(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one source of truth does not vanish by a slip."""
    slips = iter([path.unlink])

    def exchanged(one: Path, other: Path) -> None:
        next(slips, lambda: None)()
        exchange(one, other)

    monkeypatch.setattr(shadow_module, "exchange", exchanged)
    tick(log)
    assert is_whole(log, path)
    assert notices(log) == [NoticeKind.LOG_RECREATED]
    assert os.listdir(path.parent) == [path.name]


def test_the_spare_is_removed_with_its_log_unless_somebody_wrote_into_it(path: Path, log: LogFile) -> None:
    """A process that ends in peace leaves the log alone in its folder; a person's save is not removed."""
    other = LogFile.open(path)
    tick(log)
    del other
    assert spare_of(path).exists()
    with spare_of(path).open("ab") as late:
        late.write(b"# mine\n")
    log._committer = None  # type: ignore[assignment]
    assert spare_of(path).read_bytes().endswith(b"# mine\n")
    later = LogFile.open(path)
    tick(later)
    assert spare_of(path).exists()
    del later
    assert os.listdir(path.parent) == [path.name]


def test_what_a_crash_left_goes_away_with_an_archived_log(path: Path, log: LogFile) -> None:
    """Neither spare nor draft stays where the next run begins."""
    path.with_name(f".{path.name}.new").write_bytes(b"torn")
    discard_spare(path)
    assert os.listdir(path.parent) == [path.name]
    discard_spare(path)


def test_the_report_says_which_way_and_why(tmp_path: Path, path: Path) -> None:
    """Here the shadow; the copy where the file system is not known, the folder is gone, or the signal is in use."""
    assert "leases" in probe(tmp_path).why
    assert str(probe(Path("/proc"))).startswith("copy: the file system")
    assert str(probe(tmp_path / "nowhere")).startswith("copy: the folder cannot be looked at")
    before = signal.signal(signal.SIGURG, lambda *_: None)
    try:
        assert "SIGURG" in probe(tmp_path).why
    finally:
        signal.signal(signal.SIGURG, before)
    assert os.listdir(tmp_path) == []


moves = st.lists(
    st.sampled_from(
        ["append", "replace", "section", "remark", "stale", "touch", "chmod", "link", "hold", "drop", "lose"]
    ),
    max_size=7,
)


@settings(max_examples=25, deadline=None)
@given(moves)
def test_whatever_happens_between_commits_the_file_is_what_memory_says(plan: list[str]) -> None:
    """To the byte, after every commit, with readers that each see the one version that they opened."""
    with contextlib.ExitStack() as stack, a_folder() as folder:
        path = folder / "log.yaml"
        log = LogFile.create(path, log_rows(2))
        stale = path.read_bytes()
        for count, move in enumerate(plan):
            if move == "append":
                log.commit([AppendExperiment(a_row(max(log.iterations()) + 1))])
            elif move == "replace":
                log.commit([ReplaceExperiment(1 + count % 2, a_row(1 + count % 2, note="x" * (count * 41 % 97)))])
            elif move == "section":
                log.commit([SetSection("run_state", {"tick": count})])
            elif not path.exists():
                continue  # only a commit brings it back
            elif move == "hold":
                held = stack.enter_context(path.open("rb"))
                stack.callback(_reads, held, path.read_bytes())
                continue
            else:
                _happens(move, path, stale, count)
                continue
            assert is_whole(log, path)
        log.commit([SetSection("run_state", {"tick": 99})])
        assert is_whole(log, path)


def _reads(held: Any, expected: bytes) -> None:
    assert held.read() == expected


def _happens(move: str, path: Path, stale: bytes, count: int) -> None:
    if move == "remark":
        edited(path, "spec:", f"# remark {count}\nspec:")
    elif move == "stale":
        save(path, stale)
    elif move == "touch":
        path.touch()
    elif move == "chmod":
        path.chmod(0o600 | count)
    elif move == "link":
        path.with_name(f"link-{count}").hardlink_to(path)
    elif move == "drop":
        spare_of(path).unlink(missing_ok=True)
    else:
        path.unlink()


@contextlib.contextmanager
def a_folder() -> Iterator[Path]:
    """A fresh folder, gone afterwards: hypothesis runs many examples in one test."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
