"""Typed records of any log: absent is unknown, and what does not fit is named, never read as something else."""

import copy
from typing import Any

import pytest
from hypothesis import given

from headway.core.log_reading import ReadExperiment, ReadLog, log_from, shown_row
from headway.core.log_words import Outcome
from headway.core.record_reading import record_from
from headway.core.records import Entry, to_row
from headway.core.rows import Row
from tests.core.test_log_check import a_log
from tests.strategies import PLAIN


def test_a_sound_log_is_read_whole() -> None:
    """Every section and entry, equal to what its record's model reads."""
    log = a_log()
    read = log_from(log)
    assert read.unread == ()
    assert (read.spec, read.run_id, len(read.experiments)) == ("faster", "20261130_174600", 4)
    assert [to_row(row) for row in read.experiments] == [
        to_row(Entry.model_validate(row)) for row in log["experiments"]
    ]
    assert read.best is not None
    assert read.best.iteration == 2
    found = read.experiment(2)
    assert found is not None
    assert found.outcome is Outcome.RUNNER_UP_KEPT
    assert read.experiment(9) is None


def test_a_reader_knows_every_field_of_an_entry() -> None:
    """A field added to the log is not forgotten here."""
    assert list(ReadExperiment.model_fields) == list(Entry.model_fields)


def test_absent_is_unknown() -> None:
    """An empty document is a log of which nothing is known; an absent backlog is not an empty one."""
    assert log_from({}) == ReadLog(rest={})
    assert log_from({"hypothesis_backlog": []}).hypothesis_backlog == ()
    assert log_from({"experiments": [{}]}).experiments == (ReadExperiment(),)


@pytest.mark.parametrize(
    ("change", "unread"),
    [
        ({"outcome": "rejected"}, "experiments[0].outcome"),
        ({"iteration": "1"}, "experiments[0].iteration"),
        ({"metrics": {"time": float("nan"), "size": 3}}, "experiments[0].metrics.time"),
        ({"metrics": {"time": [1], "size": 3}}, "experiments[0].metrics.time"),
        ({"changes": ["src/a.py", {"file": "b"}]}, "experiments[0].changes[0]"),
        ({"gates_passed": "yes"}, "experiments[0].gates_passed"),
        ({"headway": {"usage": {"usd": -1}}}, "experiments[0].headway.usage.usd"),
    ],
)
def test_a_value_that_does_not_fit_is_left_out_and_named(change: dict[str, Any], unread: str) -> None:
    """The rest of its entry stays readable."""
    log = a_log()
    log["experiments"][0] |= change
    before = copy.deepcopy(log)
    read = log_from(log)
    assert read.unread == (unread,)
    assert read.experiments[0].hypothesis == "cache it"
    assert repr(log) == repr(before)


def test_a_record_that_lacks_what_makes_it_one_goes_as_a_whole() -> None:
    """A pairing without its revisions compares nothing."""
    log = a_log()
    del log["experiments"][0]["comparisons"][0]["candidate_revision"]
    read = log_from(log)
    assert read.experiments[0].comparisons == ()
    assert read.unread == ("experiments[0].comparisons[0]",)


def test_sections_that_the_schema_does_not_know_are_handed_over() -> None:
    """As parsed."""
    assert log_from({"notes": [1]}).rest == {"notes": [1]}


@given(PLAIN)
def test_any_values_are_read_without_falling_over(value: Any) -> None:
    """Whatever stands in a file that is YAML."""
    for document in ({"experiments": [value], "best": value, "spec": value}, {"experiments": value}):
        read = log_from(document)
        assert all(isinstance(row, Row) for row in read.experiments)
    row, unread = shown_row({"metrics": value, "hypothesis": "x"})
    assert row["hypothesis"] == "x"
    assert isinstance(unread, tuple)


def test_a_record_is_typed_and_an_unknown_kind_is_kept() -> None:
    """A later version's facts do not stop a reader."""
    known = record_from({"kind": "batch_ended", "at": "x", "seq": 3, "iteration": 0, "data": {"batch": 2}})
    assert known.event is not None
    assert (known.event.kind, known.seq) == ("batch_ended", 3)
    unknown = record_from({"kind": "from_the_future", "data": {"x": 1}, "seq": "3", "superseded": True})
    assert (unknown.event, unknown.data, unknown.seq, unknown.is_superseded) == (None, {"x": 1}, None, True)
    for row in ({"kind": "batch_ended", "data": {"batch": "no"}}, {"kind": "batch_ended", "data": 7}):
        assert record_from(row).event is None
