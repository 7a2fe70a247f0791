"""An editor that had an older version open saves it: what came since is back, what the person meant stays."""

from pathlib import Path
from typing import Any

import pytest

from headway.core.edits import AppendExperiment, SetSection
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from tests.store.logs import a_row, agreed, log_rows, notices, numbers, save


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "experiment-log.yaml"


@pytest.fixture
def log(path: Path) -> LogFile:
    """An open log with one experiment and two hypotheses that wait."""
    return LogFile.create(path, log_rows(1))


def commit(log: LogFile, number: int, **sections: Any) -> None:
    """An experiment under a number of its own, with the run state that changes with it."""
    state = {"status": "running", "tick": log.section("run_state")["tick"] + 1, "pending_waits": []}
    changes = [SetSection(name, value) for name, value in {"run_state": state, **sections}.items()]
    log.commit([AppendExperiment(a_row(number)), *changes])


def remarked(text: bytes) -> bytes:
    """A save with a remark of the person's."""
    return text.replace(b"run_id:", b"# mine\nrun_id:", 1)


def without(text: bytes, number: int) -> bytes:
    """A save in which one experiment was deleted."""
    start = text.index(b"- iteration: %d\n" % number)
    end = min(at for mark in (b"\n- iteration: ", b"\nbest:") if (at := text.find(mark, start)) >= 0) + 1
    return text[:start] + text[end:]


def test_an_experiment_with_a_lower_number_that_came_later_is_not_taken_for_deleted(path: Path, log: LogFile) -> None:
    """Number 3 is committed, the editor reads, number 2 is committed, the editor saves: all are there."""
    commit(log, 3)
    read = path.read_bytes()
    commit(log, 2)
    save(path, remarked(read))
    commit(log, 4)
    assert numbers(agreed(path)["experiments"]) == [1, 3, 2, 4]
    assert b"# mine\n" in path.read_bytes()
    assert notices(log) == [NoticeKind.ENTRIES_RESTORED, NoticeKind.EDIT_MERGED]


def test_a_deletion_in_such_a_save_is_respected_and_told(path: Path, log: LogFile) -> None:
    """The editor's version held number 3 and no number 2: one was deleted, the other is missing."""
    commit(log, 3)
    read = path.read_bytes()
    commit(log, 2)
    save(path, without(read, 3))
    commit(log, 4)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 4]
    assert notices(log) == [NoticeKind.ENTRIES_RESTORED, NoticeKind.ENTRIES_DELETED, NoticeKind.EDIT_MERGED]


def test_a_save_older_than_the_process_loses_nothing(path: Path, log: LogFile) -> None:
    """A process that started since remembers no version like it: what the save lacks is back, and told."""
    commit(log, 3)
    read = path.read_bytes()
    commit(log, 2)
    later = LogFile.open(path)
    save(path, remarked(read))
    commit(later, 4)
    assert numbers(agreed(path)["experiments"]) == [1, 3, 2, 4]
    assert b"# mine\n" in path.read_bytes()
    assert NoticeKind.ENTRIES_RESTORED in notices(later)


def test_a_backlog_older_than_the_process_brings_back_nothing_that_was_begun(path: Path, log: LogFile) -> None:
    """Hypotheses that have an experiment by now, or wait for one, stay away; new ones of either side stay."""
    items = [
        {"description": name, "priority": "low", "headway": {"id": f"h{name}", "source": "user"}} for name in "abcd"
    ]
    log.commit([SetSection("hypothesis_backlog", items)])
    read = path.read_bytes().replace(b"- description: d\n", b"- description: own\n  priority: high\n- description: d\n")
    wait = {"item": "exp 3", "headway": {"hypothesis": items[1], "iteration": 3}}
    log.commit(
        [
            AppendExperiment(a_row(2, hypothesis="a", headway={"hypothesis_id": "ha"})),
            SetSection("run_state", {"status": "running", "tick": 9, "pending_waits": [wait]}),
            SetSection("hypothesis_backlog", [*items[2:], {"description": "new", "priority": "low"}]),
        ]
    )
    later = LogFile.open(path)
    save(path, read)
    later.commit([SetSection("best", {"iteration": 0})])
    assert [item["description"] for item in agreed(path)["hypothesis_backlog"]] == ["c", "own", "d", "new"]


def test_a_changed_fact_does_not_undo_what_the_person_may_do(path: Path, log: LogFile) -> None:
    """A forged best, a deleted experiment, a hypothesis taken out: the first is restored, the rest stays."""
    commit(log, 2)
    read = without(path.read_bytes(), 1).replace(b"best:\n  iteration: 0\n", b"best:\n  iteration: 2\n")
    save(path, read.replace(b'- description: "no"\n  priority: low\n', b""))
    commit(log, 3)
    document = agreed(path)
    assert numbers(document["experiments"]) == [2, 3]
    assert document["best"] == log_rows()["best"]
    assert [item["description"] for item in document["hypothesis_backlog"]] == ["a: b"]
    assert notices(log) == [NoticeKind.FACTS_RESTORED, NoticeKind.ENTRIES_DELETED, NoticeKind.EDIT_MERGED]
    assert len(list(path.parent.glob("experiment-log.edited-*.yaml"))) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_forged_run_state_deletes_nothing(path: Path, log: LogFile, number: int) -> None:
    """A save that nothing dates: what it lacks is restored; deleting it once more is enough."""
    commit(log, 2)
    save(path, without(path.read_bytes(), number).replace(b"tick: 2", b"tick: 20"))
    commit(log, 3)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3]
    assert NoticeKind.ENTRIES_RESTORED in notices(log)
    save(path, without(path.read_bytes(), number))
    commit(log, 4)
    assert numbers(agreed(path)["experiments"]) == [one for one in (1, 2, 3, 4) if one != number]


def test_learnings_that_a_person_sets_back_are_theirs_again(path: Path, log: LogFile) -> None:
    """First, other, first again: what an older version said too is still an edit of the newest one."""
    commit(log, 2)
    for tick, words in enumerate(("other words", "first", "other words")):
        text = path.read_bytes()
        place = text.index(b"- iteration: 2\n")
        row = next(row for row in agreed(path)["experiments"] if row["iteration"] == 2)
        old = row["learnings"].split("\n")[0].encode()
        save(path, text[:place] + text[place:].replace(old, words.encode(), 1))
        log.commit([SetSection("run_state", {"status": "running", "tick": 10 + tick, "pending_waits": []})])
        assert agreed(path)["experiments"][1]["learnings"].startswith(words)
