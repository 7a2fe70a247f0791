"""A log that something else damaged, and a disk that refuses: nothing is lost, and the place is named."""

import errno
import os
import stat
from pathlib import Path

import pytest

from headway.core.edits import AppendExperiment, Edit, SetSection
from headway.errors import DataDamaged, DiskFailed
from headway.store.document import MOST_ALIASED, read_document
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from headway.store.strategies import StrategyName, StrategyReport
from tests.store.faults import largest_file
from tests.store.logs import a_row, agreed, by_ruamel, lines, log_rows, notices, numbers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "experiment-log.yaml"


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"", 1, "is empty"),
        (b"\n\n", 1, "is empty"),
        (b"# only this\n", 1, "is empty"),
        (b"- a\n- b\n", 1, "holds a list"),
        (b"just text\n", 1, "single value"),
        (lines("spec: demo", "best: {}", "spec: other"), 3, "duplicate key"),
        (lines("experiments:", "- iteration: 1", "  batch: 1", "  batch: 2", "best: {}"), 4, "duplicate key"),
        (lines("experiments: {a: 1}", "best: {}"), 1, "not a list"),
        (lines("experiments:", "- iteration: 1", "- just text", "best: {}"), 3, "not a mapping"),
        (lines("spec: demo", "note: a", "  - iteration: 9 : b: c"), 3, "not valid YAML"),
        (lines("spec: demo", "best:", "\ta: 1"), 3, "not valid YAML"),
        (lines("spec: demo") + b"note: caf\xe9\n", 2, "not UTF-8"),
        (lines("spec: demo", "") + b"note: a\0b\n", 3, "does not allow"),
        (lines("spec: demo", "---", "spec: two"), 2, "single document"),
        (lines("spec: demo", "when: !!python/object:os.system x"), 2, "tag"),
        (lines("spec: demo", "when: !!set {a}"), 2, "tag"),
        (lines("spec: demo", "when: *nowhere"), 2, "alias"),
        (lines("<<<<<<< HEAD", "spec: a", "=======", "spec: b", ">>>>>>> x"), 2, "not valid YAML"),
        (b"a: " + b"[" * 700, 1, "nested"),
    ],
)
def test_damage_is_named_with_file_line_and_mend_and_left_alone(path: Path, data: bytes, line: int, what: str) -> None:
    """No guess, no repair behind a person's back."""
    path.write_bytes(data)
    for read in (LogFile.open, lambda path: [*LogFile.open(path).rows()]):
        with pytest.raises(DataDamaged, match=what) as caught:
            read(path)
        assert caught.value.where == f"{path}, line {line}"
        assert caught.value.mend
    assert path.read_bytes() == data


def test_damage_in_an_old_entry_is_named_when_it_is_read(path: Path) -> None:
    """Opening reads the newest entries; an older broken one is told by its own line, not by the file's first."""
    rows = log_rows(40)
    LogFile.create(path, rows)
    text = path.read_text().replace("- iteration: 5\n", "- iteration: 5\n  batch: [\n", 1)
    path.write_text(text)
    with pytest.raises(DataDamaged) as caught:
        LogFile.open(path).entry(5)
    line = text[: text.index("- iteration: 5")].count("\n") + 2
    assert int(caught.value.where.rpartition(" ")[2]) in range(line, line + 3)


def test_aliases_that_would_swell_a_document_are_refused(path: Path) -> None:
    """A few aliases are read; a bomb of them is refused before it is built."""
    path.write_bytes(lines("a: &a {x: 1}", "b: *a", "c: [*a, *a]"))
    assert read_document(path) == {"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]}
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 30)]
    path.write_bytes(lines(*bomb))
    with pytest.raises(DataDamaged, match=str(MOST_ALIASED)) as caught:
        read_document(path)
    assert caught.value.where.endswith("line 4")


def test_a_log_cut_at_any_byte_never_passes_for_a_shorter_whole_one(path: Path) -> None:
    """Cut anywhere in its last entry: damage with a line, or the entries before it whole and a word about the end.

    A cut at a line end behind the required fields leaves an entry that no rule can tell from a short one; then the
    notice says that what should follow the experiments is absent.
    """
    LogFile.create(path, log_rows(3))
    whole = path.read_bytes()
    start, end = whole.index(b"- iteration: 3"), whole.index(b"best:")
    passed = 0
    for cut in range(start, end):
        path.write_bytes(whole[:cut])
        try:
            log = LogFile.open(path)
        except DataDamaged as error:
            assert int(error.where.rpartition(" ")[2]) <= whole[:cut].count(b"\n") + 1
            assert path.read_bytes() == whole[:cut]
            continue
        passed += 1
        assert notices(log) == [NoticeKind.END_IN_DOUBT]
        assert list(log.rows())[:2] == [a_row(1), a_row(2)]
        assert cut == start or whole[cut - 1 : cut] == b"\n"
    assert 0 < passed < 30


def test_a_log_cut_in_its_last_sections_says_that_its_end_is_in_doubt(path: Path) -> None:
    """Without a line end the last value may be cut; the caller hears of it."""
    LogFile.create(path, log_rows(1))
    path.write_bytes(path.read_bytes()[:-3])
    try:
        assert notices(LogFile.open(path)) == [NoticeKind.END_IN_DOUBT]
    except DataDamaged as error:
        assert "line" in error.where


def test_a_full_disk_leaves_the_log_whole_and_parks_the_change(path: Path) -> None:
    """A clear error; the old log intact, no temporary file; the change in a side file until the next commit."""
    log = LogFile.create(path, log_rows(5))
    before = path.read_bytes()
    edits: list[Edit] = [AppendExperiment(a_row(6)), SetSection("run_state", {"tick": 6})]
    with largest_file(len(before)), pytest.raises(DiskFailed) as caught:
        log.commit(edits)
    assert caught.value.number == errno.EFBIG
    assert (str(path) in caught.value.where, bool(caught.value.mend)) == (True, True)
    assert path.read_bytes() == before
    assert list(log.rows()) == log_rows(5)["experiments"]
    parked = path.with_name("experiment-log.pending.yaml")
    assert sorted(path.parent.iterdir()) == sorted([path, parked])
    assert by_ruamel(parked.read_bytes()) == {
        "edits": [{"append_experiment": a_row(6)}, {"set_section": "run_state", "value": {"tick": 6}}]
    }
    assert (log.pending, LogFile.open(path).pending) == (parked, parked)
    LogFile.open(path).commit(edits)
    assert not parked.exists()
    assert LogFile.open(path).pending is None
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6]


def test_a_disk_too_full_for_the_side_file_too_still_gives_the_first_error(path: Path) -> None:
    """Parking is best effort; the log is what counts."""
    log = LogFile.create(path, log_rows(5))
    before = path.read_bytes()
    with largest_file(10), pytest.raises(DiskFailed):
        log.commit([AppendExperiment(a_row(6))])
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    assert log.pending is None


def test_a_disk_that_gives_back_other_bytes_is_found_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read back by name is compared with what was written."""
    log = LogFile.create(path, log_rows(1))
    real = os.pread

    def lie(handle: int, count: int, offset: int) -> bytes:
        return real(handle, count, offset).replace(b"iteration: 2", b"iteration: 7")

    monkeypatch.setattr("headway.store.replace.os.pread", lie)
    with pytest.raises(DiskFailed, match="read back differs"):
        log.commit([AppendExperiment(a_row(2))])


def test_the_data_is_flushed_before_its_name_and_the_name_after(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flushes in this order: a name never points to bytes that a power cut may still take."""
    copying = StrategyReport(StrategyName.COPY, "the shadow has its own test")
    monkeypatch.setattr("headway.store.strategies.probe", lambda _: copying)
    log = LogFile.create(path, log_rows(1))
    calls: list[str] = []
    flush, rename = os.fsync, Path.rename

    def fsync(handle: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "data")
        flush(handle)

    def renamed(self: Path, target: Path) -> Path:
        calls.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", renamed)
    log.commit([AppendExperiment(a_row(2))])
    assert calls == ["data", "rename", "folder"]


def test_a_failed_flush_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk cannot make the new bytes durable, the old file keeps its name."""
    log = LogFile.create(path, log_rows(1))
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr("headway.store.replace.os.fsync", fail)
    with pytest.raises(DiskFailed, match="reports a fault"):
        log.commit([AppendExperiment(a_row(2))])
    monkeypatch.undo()
    assert path.read_bytes() == before
    log.commit([AppendExperiment(a_row(2))])
    assert numbers(agreed(path)["experiments"]) == [1, 2]
