"""The log's records: read leniently, written exactly."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from headway.core import records
from headway.core.records import (
    EXTENSION,
    BacklogItem,
    Comparison,
    Entry,
    EntryHeadway,
    HarnessValidation,
    JudgeCache,
    JudgeCaps,
    Outcome,
    Row,
    RunState,
    Snapshot,
    StoppingCaps,
    Usage,
    to_row,
)
from tests.strategies import rows_of

RECORDS = sorted(
    (
        found
        for found in vars(records).values()
        if isinstance(found, type) and issubclass(found, Row) and found is not Row
    ),
    key=lambda record: record.__name__,
)


def an_entry(**fields: Any) -> Entry:
    """Give an experiment with the required fields filled in."""
    facts = {"iteration": 1, "batch": 1, "hypothesis": "cache it", "category": "algorithm", "outcome": "measured"}
    return Entry.model_validate({**facts, **fields})


def assert_in_order(record: type[Row], row: dict[str, Any]) -> None:
    """Check one level: known fields in the model's order, unknown keys behind them, `headway` last."""
    known = [name for name in record.model_fields if name in row and name != EXTENSION]
    keys = list(row)
    assert keys[: len(known)] == known
    assert EXTENSION not in keys or keys[-1] == EXTENSION


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_row_reads_back_as_it_was_written(record: type[Row], data: st.DataObject) -> None:
    """Reading a row and writing it again loses nothing, adds nothing, and keeps the seed's order."""
    row = data.draw(rows_of(record))
    read = record.model_validate(row)
    written = to_row(read)
    assert written == row
    assert record.model_validate(written) == read
    if record is not JudgeCache:
        assert_in_order(record, written)


def test_unknown_keys_stand_behind_known_ones_and_headway_is_last_at_every_depth() -> None:
    """Whoever reads the file finds the seed's fields first, strangers next, and ours at the end."""
    pairing = {"note": 1, "headway": {"odd": 2, "k": 3}, "candidate_revision": "b", "reference_revision": "a"}
    entry = an_entry(headway={"later": True, "k": 4}, evidence="seen", comparisons=[{**pairing, "kind": "integrated"}])
    row = to_row(entry)
    assert list(row)[-2:] == ["evidence", "headway"]
    assert list(row["headway"]) == ["k", "later"]
    assert list(row["comparisons"][0]) == ["kind", "reference_revision", "candidate_revision", "note", "headway"]
    assert list(row["comparisons"][0]["headway"]) == ["k", "odd"]


def test_the_judge_cache_has_its_header_first() -> None:
    """The header says whose results follow, so it stands before them."""
    cache = JudgeCache.model_validate({"abc#1": {"reason": "plain", "clarity": 4}, "headway": {"run_id": "r"}})
    assert list(to_row(cache)) == ["headway", "abc#1"]
    assert to_row(cache)["abc#1"] == {"reason": "plain", "clarity": 4}


def test_there_are_thirteen_outcomes_and_two_of_them_are_not_final() -> None:
    """The loop branches on these words; only `measured` and `promising` still wait for a decision."""
    assert len(Outcome) == 13
    assert {outcome for outcome in Outcome if not outcome.is_final} == {Outcome.MEASURED, Outcome.PROMISING}
    assert {outcome for outcome in Outcome if outcome.is_keep} == {Outcome.KEPT, Outcome.RUNNER_UP_KEPT}
    assert {outcome for outcome in Outcome if outcome.is_failure} == {Outcome.ERROR, Outcome.TIMEOUT}


def test_what_was_not_set_is_not_written() -> None:
    """Absent means unknown, so nothing is written that nobody said."""
    assert to_row(an_entry()) == {
        "iteration": 1,
        "batch": 1,
        "hypothesis": "cache it",
        "category": "algorithm",
        "outcome": "measured",
    }
    assert to_row(RunState(status=records.RunStatus.RUNNING)) == {"status": "running"}


def test_null_is_written_only_where_it_means_something() -> None:
    """A probe that was not run is null; a commit that is not there is absent."""
    assert to_row(HarnessValidation(separates_known_good_from_bad=None, waiver=None)) == {
        "separates_known_good_from_bad": None
    }
    assert to_row(JudgeCaps(max_total_cost_usd=None)) == {"max_total_cost_usd": None}
    assert to_row(StoppingCaps(max_wall_hours=None, max_hours=None)) == {"max_wall_hours": None}
    assert to_row(an_entry(commit=None, learnings="x")) == to_row(an_entry(learnings="x"))


def test_a_changed_copy_writes_what_was_changed() -> None:
    """The loop changes an entry by copying it; what it sets is written, what it did not stays absent."""
    changed = an_entry().model_copy(update={"outcome": Outcome.KEPT, "headway": EntryHeadway(k=3)})
    assert to_row(changed)["outcome"] == "kept"
    assert to_row(changed)["headway"] == {"k": 3}
    assert "commit" not in to_row(changed)


def test_numbers_keep_their_kind() -> None:
    """A whole number stays whole and a fraction stays one, so that a row's bytes do not drift."""
    entry = an_entry(metrics={"size": 3, "time": {"aggregate": 2.0, "samples": [2, 2.5]}})
    row = to_row(entry)
    assert [type(row["metrics"]["size"]), type(row["metrics"]["time"]["aggregate"])] == [int, float]
    assert [type(sample) for sample in row["metrics"]["time"]["samples"]] == [int, float]
    assert isinstance((entry.metrics or {})["time"], Snapshot)


def test_rows_hold_nothing_but_plain_values() -> None:
    """Enums and tuples do not reach the emitter."""
    entry = an_entry(next_measurement="none", changes=[{"file": "a.py"}])
    row = to_row(entry)
    assert type(row["outcome"]) is str and type(row["next_measurement"]) is str
    assert type(row["changes"]) is list and type(row["changes"][0]) is dict


def test_a_record_cannot_be_changed() -> None:
    """A record is a value: what was read is not altered behind its reader's back."""
    with pytest.raises(ValidationError, match="frozen"):
        an_entry().outcome = Outcome.KEPT  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iteration", 0),
        ("iteration", True),
        ("iteration", "1"),
        ("outcome", "rejected"),
        ("sample_count", -1),
        ("metrics", {"time": float("nan")}),
        ("metrics", {"time": {"aggregate": 1.0, "samples": [float("inf")]}}),
        ("metrics", {"time": True}),
        ("gates_passed", "yes"),
        ("hypothesis", None),
    ],
)
def test_what_is_not_what_the_seed_says_is_refused(field: str, value: Any) -> None:
    """A number that is none, a word that is not in the list, a text for a number: never a value."""
    with pytest.raises(ValidationError):
        an_entry(**{field: value})


def test_a_metric_of_an_older_log_may_be_text() -> None:
    """Older logs write `pending` where nothing was measured; it is read as what it is."""
    assert (an_entry(metrics={"acceptance": "pending"}).metrics or {})["acceptance"] == "pending"


def test_an_unknown_spend_says_so() -> None:
    """Unknown is a word, never zero."""
    assert to_row(Usage(tokens=12, usd="unknown")) == {"tokens": 12, "usd": "unknown"}
    assert Usage().usd is None


def test_pairings_are_told_apart_by_revisions_workload_kind_and_machine() -> None:
    """Two records of one pairing have one identity, whatever was measured."""
    pairing = {"kind": "standalone", "reference_revision": "a", "candidate_revision": "b", "workload": "selection 1"}
    one = Comparison.model_validate({**pairing, "correctness": "gates"})
    assert one.identity == Comparison.model_validate(pairing).identity
    for field, other in (("kind", "holdout"), ("workload", "holdout 1"), ("machine", "m"), ("candidate_revision", "c")):
        assert one.identity != Comparison.model_validate({**pairing, field: other}).identity


def test_a_wait_holds_the_whole_hypothesis() -> None:
    """What left the backlog is in the wait, so that a crash between the two loses nothing."""
    item = {"description": "cache it", "priority": "high", "headway": {"id": "h1", "source": "user"}}
    wait = {"item": "exp 3 author 1", "headway": {"hypothesis": item, "iteration": 3, "batch": 1}}
    state = RunState.model_validate({"status": "running", "pending_waits": [wait]})
    held = state.pending_waits[0].headway
    assert held is not None and held.hypothesis == BacklogItem.model_validate(item)
    assert to_row(state)["pending_waits"] == [wait]
