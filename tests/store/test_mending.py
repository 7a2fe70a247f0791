"""Repair of a damaged log: what can be read stays byte for byte, the rest lies beside, and nothing is thrown away."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.core.edits import AppendExperiment
from headway.errors import DataDamaged, RequestWrong
from headway.store.log import LogFile
from headway.store.mending import repair, rewrite_with_backup
from headway.store.rewrite import parked, whole_log
from headway.store.salvage import salvage
from tests.store.logs import a_row, agreed, lines, log_rows, numbers

NOW = datetime(2026, 11, 30, 17, 46, tzinfo=UTC)


def a_log(tmp_path: Path, data: bytes) -> Path:
    """A log file with these bytes."""
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(data)
    return path


def test_a_damaged_entry_is_set_aside_and_all_else_stays_as_it_is(tmp_path: Path) -> None:
    """With a copy of the whole, and the lines named."""
    before = whole_log(log_rows(4))
    torn = before.replace(b'primary_delta: "+0.7"', b'primary_delta: "+0.7', 2).replace(
        b'primary_delta: "+0.7', b'primary_delta: "+0.7"', 1
    )
    path = a_log(tmp_path, torn)
    done = repair(path, NOW)
    assert done.salvaged is not None
    assert [part.what for part in done.salvaged.lost] == ["experiment 2"]
    first = torn[: torn.index(b"- iteration: 2")].count(b"\n") + 1
    assert done.salvaged.lost[0].first == first
    assert done.salvaged.experiments == (1, 3, 4)
    assert done.backup is not None
    assert done.aside is not None
    assert done.backup.read_bytes() == torn
    assert path.read_bytes() == torn.replace(done.aside.read_bytes(), b"")
    assert numbers(agreed(path)["experiments"]) == [1, 3, 4]


def test_a_log_cut_at_any_place_keeps_its_whole_parts(tmp_path: Path) -> None:
    """Every byte is in the log or beside it, and the log opens."""
    whole = whole_log(log_rows(2))
    for end in range(len(whole) - 1, 60, -7):
        cut = whole[:end]
        try:
            found = salvage(cut, tmp_path / "log.yaml")
        except DataDamaged as error:
            pytest.fail(f"cut at {end}: {error.what}")
        assert sum(len(part.data) for part in found.lost) + len(found.data) in (end, end + 1)
        assert set(found.experiments) <= {1, 2}
        path = a_log(tmp_path, found.data)
        LogFile.open(path)


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (b"\0" * 512, "hypothesis_backlog"),
        (b"\xff\xfe broken\n", "hypothesis_backlog"),
        (b"best: {iteration: 7}\n", "best"),
        (b"note: [1, 2\n", "note"),
    ],
)
def test_each_kind_of_damage_is_set_aside_with_its_reason(damage: bytes, lost: str, tmp_path: Path) -> None:
    """Zeros after a power cut, bytes that are no text, a section twice, one that is no YAML."""
    path = a_log(tmp_path, whole_log(log_rows(2)) + damage)
    done = repair(path, NOW)
    assert done.salvaged is not None
    assert [part.what for part in done.salvaged.lost] == [lost]
    assert done.salvaged.lost[0].why
    assert agreed(path)["best"] == {"iteration": 0, "metrics": {"p95_ms": 4.2}}


def test_a_log_that_can_be_read_is_left_alone(tmp_path: Path) -> None:
    """No copy, no write."""
    path = a_log(tmp_path, whole_log(log_rows(2)))
    before = path.stat()
    done = repair(path, NOW)
    assert (done.salvaged, done.backup, done.aside, done.pending) == (None, None, None, "")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("data", [b"\0" * 100, b"hello\n", b"[1, 2\n", b"\xff\xff"])
def test_what_is_no_log_at_all_is_refused_and_untouched(data: bytes, tmp_path: Path) -> None:
    """Nothing is written, not even a copy."""
    path = a_log(tmp_path, data)
    with pytest.raises(DataDamaged, match="nothing of this file"):
        repair(path, NOW)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == data


def test_a_foreign_layout_keeps_its_whole_entries(tmp_path: Path) -> None:
    """Indented items, CRLF, comments: bytes of what is kept are not touched."""
    text = lines("spec: x", "experiments:", "  # ours", "  - iteration: 1", "    hypothesis: a", "  - iteration: 2")
    text = (text + lines("    hypothesis: [b", "best:", "  iteration: 0")).replace(b"\n", b"\r\n")
    path = a_log(tmp_path, text)
    done = repair(path, NOW)
    assert done.salvaged is not None
    assert [part.what for part in done.salvaged.lost] == ["experiment 2"]
    assert agreed(path) == {"spec": "x", "experiments": [{"iteration": 1, "hypothesis": "a"}], "best": {"iteration": 0}}
    assert b"  # ours\r\n" in path.read_bytes()


def test_a_parked_change_is_taken_up(tmp_path: Path) -> None:
    """It could not be written when it was made."""
    path = a_log(tmp_path, whole_log(log_rows(1)))
    (tmp_path / "experiment-log.pending.yaml").write_bytes(parked([AppendExperiment(a_row(2))]))
    done = repair(path, NOW)
    assert "experiment 2" in done.pending
    assert numbers(agreed(path)["experiments"]) == [1, 2]
    assert not (tmp_path / "experiment-log.pending.yaml").exists()


def test_copies_never_take_each_others_names(tmp_path: Path) -> None:
    """Two in one second."""
    path = a_log(tmp_path, b"old: 1\n")
    first = rewrite_with_backup(path, {"spec": "x"}, NOW)
    second = rewrite_with_backup(path, {"spec": "y"}, NOW)
    assert (first.read_bytes(), second.read_bytes()) == (b"old: 1\n", b"spec: x\n")
    assert first.name == "experiment-log.before-migration-20261130T174600Z.yaml"


def test_a_value_without_safe_text_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """The log is what it was."""
    path = a_log(tmp_path, b"old: 1\n")
    with pytest.raises(RequestWrong):
        rewrite_with_backup(path, {"spec": 2**70}, NOW)
    assert [found.read_bytes() for found in tmp_path.iterdir()] == [b"old: 1\n"]
