"""A change that could not be written waits beside the log, and the next start carries it out or says why not."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.errors import DiskFailed
from headway.store.log import LogFile
from headway.store.parked import edits_in, is_parked_beside, take_up
from tests.store.faults import largest_file
from tests.store.logs import a_row, agreed, edited, log_rows, numbers

EDITS: list[Edit] = [
    AppendExperiment(a_row(4, headway={"id": "12e4567"})),
    ReplaceExperiment(2, a_row(2, outcome="reverted", primary_delta="-0.3")),
    SetSection("run_state", {"status": "running", "tick": 4}),
    SetSection("best", None),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with three experiments, and a change beside it that the disk had no room for."""
    path = tmp_path / "experiment-log.yaml"
    log = LogFile.create(path, log_rows(3))
    with largest_file(path.stat().st_size), pytest.raises(DiskFailed):
        log.commit(EDITS)
    assert is_parked_beside(path)
    return path


def beside(path: Path) -> list[str]:
    """The files beside a log that a person sees."""
    return sorted(file.name for file in path.parent.glob("[!.]*") if file != path)


def expected() -> dict[str, Any]:
    """The log with the change carried out."""
    rows = log_rows(3, run_state={"status": "running", "tick": 4})
    rows["experiments"] = [a_row(1), EDITS[1].row, a_row(3), EDITS[0].row]  # type: ignore[union-attr]
    del rows["best"]
    return rows


def test_a_parked_change_reads_back_as_the_edits_that_it_is(path: Path) -> None:
    """The side file says all of it, in order."""
    assert list(edits_in(path.with_name("experiment-log.pending.yaml"))) == EDITS


def test_the_next_start_carries_a_parked_change_out(path: Path) -> None:
    """It is in the log, the side file is gone, a person is told what it was."""
    log = LogFile.open(path)
    told = take_up(log)
    assert agreed(path) == expected()
    assert told == (
        "a change that could not be written before is in the log now: experiment 4, experiment 2, run_state, best"
    )
    assert (beside(path), log.pending, is_parked_beside(path)) == ([], None, False)
    assert take_up(LogFile.open(path)) == ""


def test_a_change_that_had_reached_the_log_is_not_carried_out_twice(path: Path) -> None:
    """The name was durable after all: nothing is written, the side file goes."""
    side = path.with_name("experiment-log.pending.yaml")
    text = side.read_bytes()
    take_up(LogFile.open(path))
    side.write_bytes(text)
    before = path.stat()
    assert take_up(LogFile.open(path)).startswith("a change that could not be written before is in the log now")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (agreed(path), beside(path)) == (expected(), [])


def test_a_change_that_the_disk_refuses_again_stays_parked(path: Path) -> None:
    """The error is the disk's; the next start tries once more."""
    before = path.read_bytes()
    with largest_file(len(before)), pytest.raises(DiskFailed):
        take_up(LogFile.open(path))
    assert path.read_bytes() == before
    assert beside(path) == ["experiment-log.pending.yaml"]
    take_up(LogFile.open(path))
    assert agreed(path) == expected()


def test_a_log_that_was_edited_since_keeps_the_edit_and_the_change_is_set_aside(path: Path) -> None:
    """A parked backlog would undo what the person did to it; the records have the facts."""
    edited(path, "priority: low", "priority: medium")
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 1_000_000_000))
    saved = path.read_bytes()
    told = take_up(LogFile.open(path))
    assert "not taken up (the log was changed since)" in told
    assert (path.read_bytes(), beside(path)) == (saved, ["experiment-log.pending.not-taken-1.yaml"])
    assert beside(path)[0] in told
    assert LogFile.open(path).pending is None


@pytest.mark.parametrize(
    "text", ["edits: 5\n", "edits:\n- set: x\n", "edits: [\n", "a: b\n", "edits:\n- append_experiment: {}\n", "- x\n"]
)
def test_a_side_file_that_says_something_else_hinders_no_start(path: Path, text: str) -> None:
    """It is set aside with the reason; the log is as it was."""
    before = path.read_bytes()
    path.with_name("experiment-log.pending.yaml").write_text(text)
    assert "was not taken up" in take_up(LogFile.open(path))
    assert (path.read_bytes(), beside(path)) == (before, ["experiment-log.pending.not-taken-1.yaml"])


def test_a_change_that_the_log_has_no_place_for_is_set_aside(path: Path) -> None:
    """Another row stands under its number: nothing is put over it."""
    side = path.with_name("experiment-log.pending.yaml")
    text = side.read_bytes()
    side.unlink()
    LogFile.open(path).commit([AppendExperiment(a_row(4, outcome="error"))])
    side.write_bytes(text)
    assert "experiment 4 is in the log already" in take_up(LogFile.open(path))
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]
    assert beside(path) == ["experiment-log.pending.not-taken-1.yaml"]
