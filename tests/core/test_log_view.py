"""What the loop sees of the log, and that it sees after a commit what a fresh read would give."""

from typing import Any

import pytest

from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.core.log_view import MEMORY, coalesced, edited, log_of, reference_of
from headway.core.records import Outcome
from tests.core.heart import BASE, a_log, a_row, an_item, sections


def test_a_log_that_was_never_given_hypotheses_has_none_and_not_an_empty_list() -> None:
    """Absent means unknown: an absent backlog asks for a proposal, an empty one is used up."""
    assert a_log(backlog=None).backlog is None
    assert a_log(backlog=()).backlog == ()


def test_absent_clocks_are_zero_and_absent_waits_are_none() -> None:
    """The seed's one exception from unknown."""
    log = a_log(run_state={"status": "running"})
    assert (log.active_seconds, log.ticks, log.waits) == (0.0, 0, ())
    assert (a_log().active_seconds, a_log().ticks, a_log().waits) == (0.0, 0, ())


def test_what_was_dispatched_stands_in_order_of_numbers_and_apart_from_other_waits() -> None:
    """A wait for a person is no experiment."""
    waits = [
        {"item": "exp 4", "headway": {"iteration": 4, "hypothesis": {"description": "b"}}},
        {"item": "a person"},
        {"item": "exp 3", "headway": {"iteration": 3, "hypothesis": {"description": "a"}}},
    ]
    log = a_log(run_state={"status": "waiting", "pending_waits": waits})
    assert [w.item for w in log.dispatched] == ["exp 3", "exp 4"]
    assert len(log.waits) == 3


def test_the_entries_of_a_batch_stand_in_order_of_numbers() -> None:
    """Whatever their order in the file."""
    log = a_log(a_row(2, batch=1), a_row(1, batch=1), a_row(3, batch=2))
    assert [e.iteration for e in log.of_batch(1)] == [1, 2]


def test_the_reference_is_the_best_ones_commit_else_the_base() -> None:
    """A best that names an entry without a commit falls back to where the run began."""
    kept = a_row(1, "kept", commit="c1")
    assert reference_of(a_log(), BASE) == BASE
    assert reference_of(a_log(kept, best={"iteration": 1}), BASE) == "c1"
    assert reference_of(a_log(a_row(1), best={"iteration": 1}), BASE) == BASE


@pytest.mark.parametrize(
    "edit",
    [
        AppendExperiment(a_row(2, "kept", commit="c2")),
        ReplaceExperiment(1, a_row(1, "inconclusive")),
        SetSection("best", {"iteration": 1}),
        SetSection("run_state", {"status": "running", "tick": 3}),
        SetSection("hypothesis_backlog", [an_item().model_dump(mode="json", exclude_unset=True)]),
        SetSection("hypothesis_backlog", None),
        SetSection("approval", None),
    ],
)
def test_a_view_after_an_edit_is_what_a_fresh_read_gives(edit: Edit) -> None:
    """No part of the view is left as it was before the commit."""
    parts, rows = sections(), [a_row(1)]
    match edit:
        case AppendExperiment(row):
            rows.append(dict(row))
        case ReplaceExperiment(_, row):
            rows[0] = dict(row)
        case SetSection(name, value):
            parts[name] = value
    fresh = log_of({n: v for n, v in parts.items() if v is not None}, rows, len(rows))
    assert edited(a_log(a_row(1)), [edit]) == fresh


def test_a_long_run_forgets_old_entries_but_never_the_best_or_an_open_one() -> None:
    """Memory stays bounded; what choosing needs stays."""
    log = a_log(a_row(1, "kept", commit="c1"), a_row(2, "measured"), best={"iteration": 1})
    for n in range(3, 4 * MEMORY):
        log = edited(log, [AppendExperiment(a_row(n))])
    assert len(log.recent) <= 2 * MEMORY
    assert {1, 2, 4 * MEMORY - 1} <= set(log.recent)
    assert log.count == 4 * MEMORY - 1
    assert log.recent[2].outcome is Outcome.MEASURED


def test_coalesced_edits_keep_the_last_word_on_each_place() -> None:
    """One edit a place, in the order in which the places were first spoken of."""
    edits: list[Any] = [
        SetSection("best", {"iteration": 0}),
        AppendExperiment(a_row(1, "measured")),
        SetSection("best", {"iteration": 1}),
        ReplaceExperiment(1, a_row(1, "kept")),
        ReplaceExperiment(2, a_row(2, "measured")),
        ReplaceExperiment(2, a_row(2, "reverted")),
    ]
    assert coalesced(edits) == (
        SetSection("best", {"iteration": 1}),
        AppendExperiment(a_row(1, "kept")),
        ReplaceExperiment(2, a_row(2, "reverted")),
    )
