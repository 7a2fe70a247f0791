"""The log: what a commit changes on disk and in memory, and what it leaves alone."""

import copy
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.edits import SECTION_ORDER, AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.errors import DataDamaged, RequestWrong
from headway.store.document import read_document
from headway.store.log import LogFile
from headway.store.scan import scan
from tests.store.logs import a_row, agreed, by_pyyaml, by_ruamel, lines, log_rows, numbers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log goes."""
    return tmp_path / "experiment-log.yaml"


def whole(log: LogFile) -> dict[str, Any]:
    """All that a log says of itself."""
    return {**log.sections(), "experiments": list(log.rows())}


def applied(document: dict[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """The same edits on a parsed document."""
    result = copy.deepcopy(document)
    for edit in edits:
        if isinstance(edit, AppendExperiment):
            result["experiments"].append(edit.row)
        elif isinstance(edit, ReplaceExperiment):
            place = numbers(result["experiments"]).index(edit.iteration)
            result["experiments"][place] = edit.row
        elif edit.value is None:
            result.pop(edit.name, None)
        else:
            result[edit.name] = edit.value
    return result


def test_a_created_log_says_what_it_was_given_in_the_seeds_order(path: Path) -> None:
    """Every section reads back, by loaders of both kinds, in the order of the seed."""
    rows = log_rows(3)
    log = LogFile.create(path, dict(reversed(rows.items())))
    assert agreed(path) == rows == whole(log)
    assert tuple(by_pyyaml(path.read_bytes())) == SECTION_ORDER


def test_a_log_is_never_created_over_another(path: Path) -> None:
    """What stands there stays, and the request is refused."""
    LogFile.create(path, log_rows(2))
    before = path.read_bytes()
    with pytest.raises(RequestWrong, match="never overwritten"):
        LogFile.create(path, log_rows(0))
    assert path.read_bytes() == before


def test_a_missing_log_is_refused_by_name(path: Path) -> None:
    """Opening nothing names the place."""
    with pytest.raises(RequestWrong) as caught:
        LogFile.open(path)
    assert str(path) in caught.value.where


def test_reading_offers_entries_tail_numbers_and_lines(path: Path) -> None:
    """One entry by its number, the last ones, all numbers, the line where an entry begins."""
    LogFile.create(path, log_rows(30))
    log = LogFile.open(path)
    assert log.count == 30
    assert log.iterations() == list(range(1, 31))
    assert log.entry(17) == a_row(17)
    assert numbers(log.tail(3)) == [28, 29, 30]
    assert len(log.tail(99)) == 30
    assert path.read_text().splitlines()[log.line_of(17) - 1] == "- iteration: 17"
    assert log.section("nothing") is None
    with pytest.raises(RequestWrong, match="no experiment 31"):
        log.entry(31)


def test_values_handed_out_are_the_callers_own(path: Path) -> None:
    """Changing what was read changes neither log nor later readings."""
    log = LogFile.create(path, log_rows(1))
    log.entry(1)["metrics"].clear()
    log.section("best").clear()
    assert log.entry(1) == a_row(1)
    assert log.section("best") == log_rows()["best"]


names = st.sampled_from([name for name in SECTION_ORDER if name != "experiments"] + ["notes"])
values = st.none() | st.sampled_from(
    [{"a": 1}, {"status": "x", "tick": 2}, [], {}, [{"description": "d\ne"}], "text", 5]
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 9)),
        st.tuples(st.just("replace"), st.integers(0, 9)),
        st.tuples(st.just("set"), names, values),
    ),
    max_size=5,
)


def edits_of(plan: list[tuple[Any, ...]], known: list[int]) -> list[Edit]:
    """Edits that fit a log with these experiments."""
    known = list(known)
    edits: list[Edit] = []
    for move in plan:
        if move[0] == "append":
            known.append(max(known, default=0) + 1 + move[1] % 3)
            edits.append(AppendExperiment(a_row(known[-1], batch=move[1])))
        elif move[0] == "replace" and known:
            edits.append(
                ReplaceExperiment(known[move[1] % len(known)], a_row(known[move[1] % len(known)], more=[move[1]]))
            )
        elif move[0] == "set":
            edits.append(SetSection(move[1], move[2]))
    return edits


LAYOUTS: dict[str, Callable[[bytes], bytes]] = {
    "own": lambda text: text,
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "no final line end": lambda text: text[:-1],
    "comments": lambda text: (
        text.replace(b"- iteration: 2\n", b"# before 2\n- iteration: 2  # it's\n").replace(
            b"best:\n", b"# on best\nbest:\n  # inside\n"
        )
        + b"# end\n"
    ),
    "indented list": lambda text: b"".join(
        b"  " + line if start <= place < end else line for place, line, start, end in _placed(text)
    ),
    "document mark": lambda text: b"---\n" + text,
    "quotes over lines": lambda text: b'notes: "a\n\n  b"\n' + text,
    "anchors": lambda text: text.replace(b"baseline:\n", b"baseline: &a\n") + b"again: *a\n",
    "flow list": lambda text: (
        text[: text.index(b"experiments:")]
        + b"experiments: [{iteration: 1, outcome: kept}, {iteration: 2}]\n"
        + text[text.index(b"best:") :]
    ),
}


def _placed(text: bytes) -> list[tuple[int, bytes, int, int]]:
    place, found = 0, []
    start, end = text.index(b"- iteration"), text.index(b"\nbest:") + 1
    for line in text.splitlines(keepends=True):
        found.append((place, line, start, end))
        place += len(line)
    return found


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(LAYOUTS)), st.integers(2, 5), st.lists(moves, max_size=4))
def test_edits_on_the_file_equal_edits_on_the_document(
    layout: str, count: int, batches: list[list[tuple[Any, ...]]]
) -> None:
    """In every layout, after every commit: file, memory and a reopened log all hold the edited document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.yaml"
        LogFile.create(path, log_rows(count))
        path.write_bytes(LAYOUTS[layout](path.read_bytes()))
        log = LogFile.open(path)
        document = by_ruamel(path.read_bytes())
        for plan in batches:
            edits = edits_of(plan, log.iterations())
            log.commit(edits)
            document = applied(document, edits)
            assert agreed(path) == document
            assert whole(log) == document
            assert log.iterations() == numbers(document["experiments"])
        assert whole(LogFile.open(path)) == document


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["own", "CRLF", "comments", "indented list"]), moves)
def test_bytes_outside_the_changed_spans_stay_identical(layout: str, plan: list[tuple[Any, ...]]) -> None:
    """Sections and entries that no edit names, and all comments between them, keep their bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.yaml"
        LogFile.create(path, log_rows(4))
        before = LAYOUTS[layout](path.read_bytes())
        path.write_bytes(before)
        log = LogFile.open(path)
        edits = edits_of(plan, log.iterations())
        log.commit(edits)
        after = path.read_bytes()
        named = {edit.name for edit in edits if isinstance(edit, SetSection)}
        changed = {edit.iteration for edit in edits if isinstance(edit, ReplaceExperiment)}
        assert kept_pieces(before, named, changed) == [
            piece for piece in kept_pieces(after, named, changed) if piece in before
        ]
        for piece in kept_pieces(before, named, changed):
            assert piece in after


def kept_pieces(data: bytes, named: set[str], changed: set[int]) -> list[bytes]:
    """The bytes of what no edit names, comments included, in order."""
    layout = scan(data)
    pieces = []
    for index, number in enumerate(layout.iterations):
        start, end = layout.entry(data, index)
        if number not in changed:
            pieces.append(data[start:end])
    spans = [span for span in layout.sections if span.name not in {*named, "experiments"}]
    comments = [line for line in data.splitlines(keepends=True) if line.startswith(b"#")]
    return [*pieces, *(data[span.start : span.end] for span in spans), *comments]


def test_only_the_changed_entry_is_written_anew(path: Path) -> None:
    """A person's spelling in other places survives a replacement to the byte."""
    path.write_bytes(
        lines("# mine", "spec:   'demo'", "experiments:", "- {iteration: 1,  outcome: kept}  # a", "", "# on two")
        + lines("- iteration: 2", "  outcome: kept", "  x: 0x10", "# last", "best:  {iteration: 1}  # b", "# end")
    )
    before = path.read_bytes()
    LogFile.open(path).commit([ReplaceExperiment(2, {"iteration": 2, "outcome": "reverted", "x": 16})])
    assert path.read_bytes() == before.replace(b"  outcome: kept\n", b"  outcome: reverted\n")


def test_a_touched_entry_keeps_its_comments_where_fields_do_not_change(path: Path) -> None:
    """In an entry or section that a person has touched, only the differing fields are written."""
    path.write_bytes(
        lines(
            "spec: demo", "experiments:", "-   iteration: 1  # first", "    # why", "    outcome: measured", "    a: ~"
        )
        + lines(
            "    b: |",
            "      x",
            "",
            "    c: 1",
            "best:",
            "    # on count",
            "    count: 1",
            "    m: 0x10  # hex",
            "run_state: {}",
        )
    )
    log = LogFile.open(path)
    row = {"iteration": 1, "outcome": "kept", "new": [1], "a": None, "b": "x\n"}
    log.commit([ReplaceExperiment(1, row), SetSection("best", {"count": 2, "m": 16})])
    assert path.read_bytes() == (
        lines("spec: demo", "experiments:", "-   iteration: 1  # first", "    # why", "    outcome: kept")
        + lines("    new:", "    - 1", "    a: ~", "    b: |", "      x", "", "best:", "    # on count")
        + lines("    count: 2", "    m: 0x10  # hex", "run_state: {}")
    )
    assert agreed(path)["experiments"] == [row]


def test_equal_values_of_another_kind_are_still_written(path: Path) -> None:
    """1, 1.0 and true are equal in Python and are not the same in a log."""
    path.write_bytes(lines("spec: demo", "experiments: []", "best:", "  # x", "  a: 1", "  b: 1"))
    LogFile.open(path).commit([SetSection("best", {"a": True, "b": 1.0})])
    assert repr(agreed(path)["best"]) == "{'a': True, 'b': 1.0}"


def test_a_new_section_goes_to_its_place_in_the_seeds_order(path: Path) -> None:
    """Before its first entry a log has no run_state; it goes between approval and backlog."""
    rows = log_rows(0)
    state = rows.pop("run_state")
    log = LogFile.create(path, rows)
    log.commit([SetSection("run_state", state), SetSection("zebra", 1)])
    assert list(agreed(path)) == [*SECTION_ORDER, "zebra"]


def test_text_behind_a_last_line_without_an_end_begins_a_line_of_its_own(path: Path) -> None:
    """The missing line end is added first, once."""
    path.write_bytes(lines("run_id: a", "best: {}", "experiments:", "- iteration: 1", "  outcome: kept")[:-1])
    LogFile.open(path).commit([AppendExperiment(a_row(2)), SetSection("run_state", {"tick": 1})])
    assert agreed(path)["experiments"] == [{"iteration": 1, "outcome": "kept"}, a_row(2)]
    assert b"outcome: kept\n- iteration: 2\n" in path.read_bytes()


def test_no_edits_are_no_commit(path: Path) -> None:
    """Neither an empty list nor edits that change nothing touch the file."""
    log = LogFile.create(path, log_rows(2))
    before = path.stat()
    log.commit([])
    log.commit([SetSection("best", log_rows()["best"]), ReplaceExperiment(2, a_row(2)), SetSection("zebra", None)])
    assert path.stat() == before


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (AppendExperiment(a_row(2)), "in the log already"),
        (AppendExperiment({"outcome": "kept"}), "whole number"),
        (AppendExperiment({"iteration": True}), "whole number"),
        (ReplaceExperiment(9, a_row(9)), "not in the log"),
        (ReplaceExperiment(2, a_row(1)), "another number"),
        (SetSection("experiments", []), "changed by its entries"),
        (SetSection("best", {"metrics": {"x": float("nan")}}), "not a finite"),
        (AppendExperiment(a_row(3, note="\ud800")), "surrogate"),
    ],
)
def test_an_edit_that_cannot_be_carried_out_changes_nothing(path: Path, edit: Edit, reason: str) -> None:
    """The whole list is refused; neither file nor memory has changed, and nothing is parked."""
    log = LogFile.create(path, log_rows(2))
    before = path.read_bytes()
    with pytest.raises(RequestWrong, match=reason):
        log.commit([SetSection("run_state", {"tick": 99}), edit])
    assert path.read_bytes() == before
    assert whole(log) == log_rows(2)
    assert log.pending is None
    assert os.listdir(path.parent) == [path.name]


def test_one_commit_may_append_and_then_replace(path: Path) -> None:
    """Edits take effect in order, in one step."""
    log = LogFile.create(path, log_rows(0))
    log.commit([AppendExperiment(a_row(1)), ReplaceExperiment(1, a_row(1, outcome="kept")), AppendExperiment(a_row(4))])
    assert agreed(path)["experiments"] == [a_row(1, outcome="kept"), a_row(4)]


def test_rows_are_read_while_commits_go_on(path: Path) -> None:
    """A walk over all rows sees the log as it is when it gets there."""
    log = LogFile.create(path, log_rows(3))
    seen = []
    for row in log.rows():
        seen.append(row["iteration"])
        if row["iteration"] == 2:
            log.commit([ReplaceExperiment(1, a_row(1, more="x" * 500)), AppendExperiment(a_row(4))])
    assert seen == [1, 2, 3, 4]


def test_a_log_behind_a_link_is_changed_where_it_lies(tmp_path: Path) -> None:
    """A symbolic link to the log stays a link."""
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    LogFile.create(real, log_rows(1))
    link.symlink_to(real)
    LogFile.open(link).commit([AppendExperiment(a_row(2))])
    assert link.is_symlink()
    assert len(agreed(real)["experiments"]) == 2


def test_a_commit_keeps_the_files_mode(path: Path) -> None:
    """Who may read the log does not change by a commit."""
    log = LogFile.create(path, log_rows(1))
    path.chmod(0o640)
    log.commit([AppendExperiment(a_row(2))])
    assert path.stat().st_mode & 0o777 == 0o640


def test_an_older_log_without_numbers_is_read(path: Path) -> None:
    """Entries without `iteration` count and are read; timestamps stay text."""
    path.write_bytes(
        lines("run_id: 2026-08-07T13:40:00Z", "experiments:", "- outcome: kept", "- iteration: 7", "best: {}")
    )
    log = LogFile.open(path)
    assert (log.count, log.iterations()) == (2, [7])
    assert log.section("run_id") == "2026-08-07T13:40:00Z"
    assert list(log.rows()) == [{"outcome": "kept"}, {"iteration": 7}]
    log.commit([AppendExperiment(a_row(8))])
    assert by_ruamel(path.read_bytes())["experiments"][-1] == a_row(8)


def test_a_number_that_two_experiments_bear_is_not_replaced(path: Path) -> None:
    """Which of the two is meant cannot be known."""
    path.write_bytes(lines("experiments:", "- iteration: 7", "- iteration: 7", "best: {}"))
    with pytest.raises(DataDamaged, match="two experiments 7"):
        LogFile.open(path).commit([ReplaceExperiment(7, a_row(7))])


def test_numbers_typed_by_hand_load_as_numbers(path: Path) -> None:
    """`1e-3` and `5e-06` are numbers everywhere."""
    path.write_bytes(lines("experiments:", "- iteration: 1", "  a: 1e-3", "  b: 5e-06", "best: {c: 1E5}"))
    log = LogFile.open(path)
    assert log.entry(1) == {"iteration": 1, "a": 0.001, "b": 5e-06}
    assert log.section("best") == {"c": 100000.0}


def test_a_large_log_is_copied_by_the_system_and_stays_whole(path: Path) -> None:
    """Past the size from which the unchanged beginning is copied file to file, commits still add up."""
    rows = log_rows(0)
    rows["experiments"] = [a_row(number, note="x" * 2000) for number in range(1, 101)]
    log = LogFile.create(path, rows)
    for number in range(101, 106):
        log.commit([AppendExperiment(a_row(number)), SetSection("run_state", {"tick": number})])
    assert len(agreed(path)["experiments"]) == 105
    assert read_document(path) == whole(log)
