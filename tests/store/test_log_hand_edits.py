"""A person saves the log between two commits: what is theirs is merged, what is fact is put back."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
from headway.errors import DataDamaged
from headway.store.atomic import fsync_folder
from headway.store.log import LogFile
from headway.store.merge import merge
from headway.store.notices import NoticeKind
from headway.store.rewrite import whole_log
from headway.store.version import Version, version_of
from tests.store.logs import a_row, agreed, by_ruamel, edited, lines, log_rows, notices, numbers, save


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "experiment-log.yaml"


@pytest.fixture
def log(path: Path) -> LogFile:
    """An open log with three experiments."""
    return LogFile.create(path, log_rows(3))


def tick(log: LogFile, count: int = 1) -> None:
    """What a run commits: an experiment and the state that changes with it."""
    for _ in range(count):
        number = max(log.iterations()) + 1
        log.commit([AppendExperiment(a_row(number)), SetSection("run_state", {"status": "running", "tick": number})])


def set_aside(path: Path) -> list[bytes]:
    """The copies of saves that were not taken over."""
    return [copy.read_bytes() for copy in sorted(path.parent.glob("experiment-log.edited-*.yaml"))]


def test_comments_and_layout_survive_the_next_commits(path: Path, log: LogFile) -> None:
    """Comments, blank lines, another spelling and reordered quotes stay to the byte."""
    edited(path, "spec: demo", "# mine\nspec:   'demo'  # so")
    edited(path, "- iteration: 2\n", "\n# look at this\n- iteration: 2   # odd\n")
    edited(path, "best:\n", "# the best\nbest:\n    # so far\n")
    edited(path, "    p95_ms: 4.2\n", "    p95_ms: 4.2  # slow\n")
    entries, _, rest = path.read_bytes().partition(b"# the best\n")
    tick(log, 2)
    after = path.read_bytes()
    assert after.startswith(entries)
    assert b"# the best\n" + rest.partition(b"run_state:")[0] in after
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5]
    assert notices(log) == [NoticeKind.EDIT_MERGED]
    assert set_aside(path) == []


def test_the_backlog_learnings_and_deletions_are_the_persons(path: Path, log: LogFile) -> None:
    """They are taken over, and told."""
    edited(path, "hypothesis_backlog:\n", "hypothesis_backlog:\n- description: my own\n  priority: high\n")
    text = path.read_text()
    first = text.index("- iteration: 1")
    second = text.index("- iteration: 2")
    save(path, (text[:first] + text[second:]).replace("    first\n", "    First of all\n", 1).encode())
    tick(log)
    document = agreed(path)
    assert numbers(document["experiments"]) == [2, 3, 4]
    assert document["experiments"][0]["learnings"].startswith("First of all")
    assert document["hypothesis_backlog"] == [
        {"description": "my own", "priority": "high"},
        *log_rows()["hypothesis_backlog"],
    ]
    assert {**log.sections(), "experiments": list(log.rows())} == document
    assert notices(log) == [NoticeKind.ENTRIES_DELETED, NoticeKind.EDIT_MERGED]
    assert set_aside(path) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("outcome: kept", "outcome: reverted"),
        ("aggregate: 1.5", "aggregate: 1.6"),
        ("gates_passed: true", "gates_passed: 1"),
        ("  iteration: 0\n", "  iteration: 2\n"),
        ("tick: 3", "tick: 2"),
        ("aggregate: 4.2", "aggregate: 9.9"),
        ('spec_sha256: "0123456"\n', 'spec_sha256: "0123456"\n  caps: {}\n'),
        ("spec: demo\n", ""),
        ("best:\n", "best: {iteration: 5}\nother:\n"),
        ('  commit: "12e4567"\n', "  commit: 12e4567\n"),
        ("- iteration: 3\n", "- iteration: 3\n  note: forged\n"),
        ("best:\n", "- iteration: 9\n  outcome: kept\nbest:\n"),
        ("- iteration: 2\n", "- iteration: 22\n"),
    ],
)
def test_a_changed_fact_is_put_back_and_the_save_set_aside(path: Path, log: LogFile, old: str, new: str) -> None:
    """The log holds what was recorded; the person's file is kept beside; allowed edits of it are merged."""
    edited(path, old, new)
    edited(path, "run_id:", "# a remark\nrun_id:")
    edited(path, "priority: low", "priority: medium")
    saved = path.read_bytes()
    assert saved.count(new.encode()) >= 1
    tick(log)
    document = agreed(path)
    backlog = document.pop("hypothesis_backlog")
    document.pop("other", None)
    expected = log_rows(4, run_state={"status": "running", "tick": 4})
    expected.pop("hypothesis_backlog")
    assert repr(sorted(document.items())) == repr(sorted(expected.items()))
    assert backlog[1]["priority"] == "medium"
    assert b"# a remark\n" in path.read_bytes()
    assert set_aside(path) == [saved]
    assert log.notices[0].kind is NoticeKind.FACTS_RESTORED
    assert log.notices[0].set_aside is not None


def test_an_unfinished_experiment_cannot_be_deleted(path: Path) -> None:
    """An experiment that is still being decided is a fact."""
    log = LogFile.create(path, log_rows(2, experiments=[a_row(1), a_row(2, outcome="measured")]))
    text = path.read_text()
    save(path, (text[: text.index("- iteration: 2")] + text[text.index("best:") :]).encode())
    tick(log)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3]
    assert NoticeKind.FACTS_RESTORED in notices(log)


def test_a_stale_save_loses_no_acknowledged_entry(path: Path, log: LogFile) -> None:
    """An editor that had an older version open saves its comment: what came since is back, nothing was forged."""
    stale = path.read_bytes().replace(b"run_id:", b"# from yesterday\nrun_id:")
    tick(log, 5)
    log.commit([ReplaceExperiment(2, a_row(2, outcome="reverted")), SetSection("best", {"iteration": 4})])
    before = agreed(path)
    save(path, stale)
    tick(log)
    document = agreed(path)
    assert numbers(document["experiments"]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert document["experiments"][:8] == before["experiments"]
    assert document["best"] == {"iteration": 4}
    assert b"# from yesterday\n" in path.read_bytes()
    assert notices(log) == [NoticeKind.ENTRIES_RESTORED, NoticeKind.EDIT_MERGED]
    assert set_aside(path) == []


def test_a_stale_save_may_delete_what_its_own_version_held(path: Path, log: LogFile) -> None:
    """Deletion is told from staleness by the version that the editor had, not by numbers."""
    tick(log, 1)
    text = path.read_text()
    stale = text[: text.index("- iteration: 4")] + text[text.index("best:") :]
    tick(log, 2)
    save(path, stale.encode())
    tick(log, 1)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 5, 6, 7]
    assert notices(log) == [NoticeKind.ENTRIES_RESTORED, NoticeKind.ENTRIES_DELETED, NoticeKind.EDIT_MERGED]


def test_a_save_of_unknown_age_deletes_nothing_recent(path: Path, log: LogFile) -> None:
    """Facts that no remembered version has: the newest experiments count as missed, not as deleted."""
    stale = path.read_bytes().replace(b"tick: 3", b"tick: 33")
    tick(log, 3)
    save(path, stale)
    tick(log)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4, 5, 6, 7]


def test_learnings_that_are_only_old_are_not_a_persons(path: Path, log: LogFile) -> None:
    """A stale save carries learnings that headway has written anew since: the new ones stay."""
    stale = path.read_bytes().replace(b"run_id:", b"# x\nrun_id:")
    log.commit([ReplaceExperiment(1, a_row(1, learnings="much more")), SetSection("run_state", {"tick": 3.5})])
    save(path, stale)
    tick(log)
    assert agreed(path)["experiments"][0] == a_row(1, learnings="much more")


def test_a_backlog_changed_on_both_sides_keeps_both_changes(path: Path, log: LogFile) -> None:
    """A hypothesis that was dispatched stays away, one that the person added or took away stays so."""
    items = [{"description": name, "priority": "low"} for name in "abcd"]
    log.commit([SetSection("hypothesis_backlog", items)])
    stale = path.read_text().replace("- description: b\n  priority: low\n", "- description: mine\n  priority: low\n")
    stale = stale.replace("- description: c\n  priority: low\n", "- description: c\n  priority: high\n")
    log.commit([SetSection("hypothesis_backlog", [*items[1:], {"description": "e", "priority": "low"}])])
    save(path, stale.encode())
    tick(log)
    backlog = [(item["description"], item["priority"]) for item in agreed(path)["hypothesis_backlog"]]
    assert backlog == [("mine", "low"), ("c", "high"), ("d", "low"), ("e", "low")]


def test_an_in_place_save_is_waited_for(path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that fills the file bit by bit loses nothing, also where a part would pass for a whole file."""
    whole = path.read_bytes().replace(b"run_id:", b"# slow editor\nrun_id:")
    parts = [whole[: whole.index(b"- iteration: 3")], whole[: whole.index(b"approval:")], whole]
    path.write_bytes(b"")
    monkeypatch.setattr("headway.store.log.time.sleep", lambda _: path.write_bytes(parts.pop(0)) if parts else None)
    tick(log)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]
    assert b"# slow editor\n" in path.read_bytes()
    assert notices(log) == [NoticeKind.EDIT_MERGED]


def test_a_save_while_the_disk_flushes_is_not_overwritten(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flush takes long; a person who saves meanwhile finds both their remark and the new experiment."""
    real = os.fsync
    saved: list[bool] = []

    def flush_slowly(handle: int) -> None:
        real(handle)
        if not saved:
            saved.append(True)
            edited(path, "run_id:", "# meanwhile\nrun_id:")

    monkeypatch.setattr("headway.store.replace.os.fsync", flush_slowly)
    tick(log)
    assert b"# meanwhile\n" in path.read_bytes()
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]


def test_a_stale_save_right_behind_a_commit_is_merged_at_once(
    path: Path, log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When `commit` returns, the experiment is in the file under its name, whoever saved in between."""
    stale = path.read_bytes().replace(b"run_id:", b"# late\nrun_id:")
    real = fsync_folder
    saved: list[bool] = []

    def save_first(folder: Path) -> None:
        if not saved:
            saved.append(True)
            save(path, stale)
        real(folder)

    monkeypatch.setattr("headway.store.replace.fsync_folder", save_first)
    tick(log)
    assert b"# late\n" in path.read_bytes()
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]


def test_a_removed_log_is_written_again(path: Path, log: LogFile) -> None:
    """The one source of truth does not vanish by a slip."""
    path.unlink()
    tick(log)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]
    assert notices(log) == [NoticeKind.LOG_RECREATED]


def test_a_save_that_no_parser_reads_stops_the_commit_and_stays(path: Path, log: LogFile) -> None:
    """File and line are named, the file is left alone, the change is parked; mended, the next commit goes through."""
    good = path.read_bytes()
    edited(path, "batch: 1\n", "batch: 1\n\tbroken: [\n", count=2)
    broken = path.read_bytes()
    with pytest.raises(DataDamaged) as caught:
        tick(log)
    line = broken[: broken.index(b"\tbroken")].count(b"\n") + 1
    assert caught.value.where == f"{path}, line {line}"
    assert path.read_bytes() == broken
    assert log.pending is not None
    assert by_ruamel(log.pending.read_bytes())["edits"][0] == {"append_experiment": a_row(4)}
    save(path, good)
    tick(log)
    assert numbers(agreed(path)["experiments"]) == [1, 2, 3, 4]
    assert [file.name for file in path.parent.glob("[!.]*")] == [path.name]


def test_a_layout_without_room_for_new_text_is_written_anew_and_kept_aside(path: Path, log: LogFile) -> None:
    """A list in brackets cannot take a block entry: the values stay, the person's file is kept beside."""
    text = path.read_bytes()
    start, end = text.index(b"experiments:"), text.index(b"best:")
    rows = [a_row(number) for number in (1, 2, 3)]
    flow = f"experiments: {json.dumps(rows)}\n".encode()
    save(path, text[:start] + flow + text[end:])
    saved = path.read_bytes()
    tick(log)
    assert agreed(path)["experiments"] == [*rows, a_row(4)]
    assert set_aside(path) == [saved]
    assert NoticeKind.LAYOUT_LOST in notices(log)


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_change_that_would_break_an_alias_gives_the_layout_up(path: Path, log: LogFile, is_silent: bool) -> None:
    """Replacing what an alias points to would leave it pointing nowhere, or elsewhere: its value is written out."""
    baseline = log_rows()["baseline"]
    saved = path.read_bytes().replace(b"baseline:\n", b"baseline: &kept\n") + b"own: *kept\n"
    saved = saved.replace(b"spec: demo\n", b"other: &kept 5\nspec: demo\n") if is_silent else saved
    save(path, saved)
    log.reload()
    log.commit([SetSection("baseline", {"metrics": {}})])
    assert (agreed(path)["baseline"], agreed(path)["own"]) == ({"metrics": {}}, baseline)
    assert set_aside(path) == [saved]
    assert notices(log) == [NoticeKind.LAYOUT_LOST]


def test_a_touch_is_no_change(path: Path, log: LogFile) -> None:
    """Other times or links with the same bytes are not an edit."""
    path.touch()
    (path.parent / "link").hardlink_to(path)
    assert not log.changed_outside()
    edited(path, "run_id:", "# x\nrun_id:")
    assert log.changed_outside()
    log.reload()
    assert not log.changed_outside()


def test_notices_come_once(path: Path, log: LogFile) -> None:
    """A merged edit is not told again by the next commit."""
    edited(path, "run_id:", "# x\nrun_id:")
    tick(log)
    log.notices.clear()
    tick(log)
    assert log.notices == []


mutations = st.lists(
    st.tuples(
        st.sampled_from(["comment", "backlog", "learnings", "delete", "fact", "forge", "drop section", "cut"]),
        st.integers(0, 7),
    ),
    max_size=4,
)


def mutated(text: bytes, moves: list[tuple[str, int]]) -> bytes:
    """A save by a person who does all kinds of things."""
    for kind, number in moves:
        if kind == "comment":
            place = [0, *(at + 1 for at, byte in enumerate(text[:-1]) if byte == 10)]
            starts = [at for at in place if text[at : at + 1] not in (b" ", b"#")]
            at = starts[number % len(starts)]
            text = text[:at] + b"# remark\n\n" + text[at:]
        elif kind == "backlog":
            text = text.replace(
                b"hypothesis_backlog:\n", f"hypothesis_backlog:\n- description: own {number}\n".encode(), 1
            )
        elif kind == "learnings":
            text = text.replace(b"    first\n", f"    other {number}\n".encode(), 1 + number % 3)
        elif kind == "delete":
            piece = text.split(b"- iteration: ")
            text = b"- iteration: ".join(piece[: 1 + number % 4] + piece[2 + number % 4 :]) if len(piece) > 3 else text
        elif kind == "fact":
            text = text.replace(b"outcome: kept", b"outcome: error", 1 + number % 3)
        elif kind == "forge":
            text = text.replace(b"best:\n", f"- iteration: {50 + number}\n  outcome: kept\nbest:\n".encode(), 1)
        elif kind == "drop section":
            text = text.replace(b"run_state:\n", b"own_words:\n", 1)
        elif kind == "cut":
            text = text[: max(len(text) - 10 * number, 1)]
    return text


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3), mutations)
def test_no_save_changes_a_fact_or_loses_an_unfinished_experiment(age: int, moves: list[tuple[str, int]]) -> None:
    """Whatever a person saves, from whatever age: merged, every fact is ours, every row a recorded one or gone."""
    place = Path("log.yaml")
    history = [version_of(as_bytes(log_rows(3 + step, run_state={"tick": step})), place) for step in range(4)]
    ours, older = history[-1], history[-2::-1]
    saved = mutated(bytes(history[age].buffer), moves)
    try:
        theirs = version_of(saved, place)
        found = merge(ours, theirs, older)
    except DataDamaged:
        return
    merged = version_of(found.buffer, place)
    assert by_ruamel(found.buffer)["experiments"] == list(merged.rows())
    for name in ("spec", "run_id", "baseline", "best", "approval", "run_state"):
        assert merged.section(name) == ours.section(name)
    recorded = {row["iteration"]: row for row in ours.rows()}
    assert numbers(merged.rows()) == [number for number in recorded if number not in found.deleted]
    for row in merged.rows():
        assert {**row, "learnings": ""} == {**recorded[row["iteration"]], "learnings": ""}
    assert set(found.deleted) <= set(numbers(history[age].rows())) - set(theirs.layout.iterations)


def as_bytes(rows: dict[str, Any]) -> bytes:
    """A log in headway's own layout."""
    return whole_log(rows)


def test_comments_of_a_person_are_kept_when_a_touched_entry_is_merged(path: Path, log: LogFile) -> None:
    """A stale save with a remark inside an entry that has changed since: the remark stays, the facts are new."""
    stale = path.read_bytes().replace(b"  category: algorithm\n", b"  category: algorithm\n  # doubtful\n", 1)
    log.commit([ReplaceExperiment(1, a_row(1, outcome="reverted"))])
    save(path, stale)
    tick(log)
    text = path.read_bytes()
    assert b"  category: algorithm\n  # doubtful\n  outcome: reverted\n" in text
    assert agreed(path)["experiments"][0] == a_row(1, outcome="reverted")


def test_a_version_of_a_list_of_nothing_can_be_merged() -> None:
    """A log without experiments yet, with a comment added, is merged like any other."""
    place = Path("log.yaml")
    ours = version_of(as_bytes(log_rows(0)), place)
    theirs = version_of(lines("# c") + bytes(ours.buffer), place)
    assert isinstance(theirs, Version)
    assert merge(ours, theirs, []).buffer == theirs.buffer
