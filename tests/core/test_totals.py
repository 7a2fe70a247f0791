"""Totals: what is counted, and that counting step by step is counting whole."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.records import Entry, Outcome, TotalCost, Totals, to_row
from headway.core.totals import needs_recount, recount, totals_after
from headway.errors import TotalsNeedRecount

COUNTED = ("counts", "k", "keeps", "measured_since_keep", "failures_in_a_row")


def an_entry(iteration: int, outcome: str = "reverted", *, batch: int | None = None, **fields: Any) -> Entry:
    """Give a measured experiment whose number is its batch and its session's number too."""
    facts = {"iteration": iteration, "batch": batch or iteration, "hypothesis": "h", "category": "c"}
    return Entry.model_validate({**facts, "outcome": outcome, "sample_count": 1, "headway": {"k": iteration}, **fields})


def a_combined(iteration: int, outcome: str, k: int, *, batch: int) -> Entry:
    """Give a runner-up with its standalone and its integrated session."""
    pairing = {"kind": "integrated", "reference_revision": "a", "candidate_revision": "b", "headway": {"k": k}}
    return an_entry(iteration, outcome, batch=batch, comparisons=[pairing])


def by_hand(entries: list[Entry]) -> dict[str, Any]:
    """Count as the docstring of `core/totals.py` says, from the rows, in the plainest way."""
    rows = [to_row(entry) for entry in entries]
    ours = [row.get("headway", {}) for row in rows]
    integrated = [[c for c in row.get("comparisons", []) if c["kind"] == "integrated"] for row in rows]
    k, keeps, keep_batches = 0, [], []
    for row, own, sessions in zip(rows, ours, integrated, strict=True):
        undecided = row["outcome"] in ("deferred_needs_approval", "error", "timeout", "degenerate")
        if row.get("sample_count", 0) and "repeat_of" not in own and not undecided and row.get("gates_passed", True):
            k += 1
        k += len(sessions)
        if row["outcome"] in ("kept", "runner_up_kept"):
            keep_batches.append(row["batch"])
            last = own if row["outcome"] == "kept" else (sessions[-1].get("headway", {}) if sessions else {})
            keeps += [last["k"]] if "k" in last else []
    since = [
        row
        for row, own in zip(rows, ours, strict=True)
        if row.get("sample_count", 0)
        and "repeat_of" not in own
        and row["outcome"] != "deferred_needs_approval"
        and all(row["batch"] > batch for batch in keep_batches)
    ]
    row_of_failures = 0
    for row in sorted(rows, key=lambda row: -row["iteration"]):
        if row["outcome"] in ("error", "timeout"):
            row_of_failures += 1
        elif row["outcome"] not in ("measured", "promising", "deferred_needs_approval"):
            break
    return {
        "counts": {outcome: n for outcome in Outcome if (n := sum(row["outcome"] == outcome for row in rows))},
        "k": k,
        "keeps": tuple(sorted(keeps)),
        "measured_since_keep": len(since),
        "failures_in_a_row": row_of_failures,
    }


def counted(totals: Totals) -> dict[str, Any]:
    """Give what is counted, without what is handed on."""
    return {name: getattr(totals, name) for name in COUNTED}


SESSIONS = st.lists(st.none() | st.integers(min_value=1, max_value=9), max_size=2)
FATES = st.fixed_dictionaries(
    {"outcome": st.sampled_from(list(Outcome)), "sample_count": st.integers(min_value=0, max_value=2)},
    optional={
        "gates_passed": st.booleans(),
        "headway": st.fixed_dictionaries(
            {}, optional={"k": st.integers(min_value=1, max_value=9), "repeat_of": st.just(1)}
        ),
        "comparisons": SESSIONS.map(
            lambda ks: [
                {
                    "kind": "integrated" if k else "standalone",
                    "reference_revision": "a",
                    "candidate_revision": "b",
                    **({"headway": {"k": k}} if k and k > 2 else {}),
                }
                for k in ks
            ]
        ),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(min_value=1, max_value=6), FATES), max_size=14),
    st.lists(st.integers(min_value=-1, max_value=3), min_size=6, max_size=6),
)
def test_counting_step_by_step_is_counting_whole(changes: list[tuple[int, Any]], batches: list[int]) -> None:
    """After any sequence of changes, folded where they can be, the totals are those of a count by hand."""
    totals, entries = recount([]), dict[int, Entry]()
    for iteration, fate in changes:
        before = entries.get(iteration)
        facts = {"iteration": iteration, "batch": batches[iteration - 1], "hypothesis": "h", "category": "c"}
        after = Entry.model_validate({**facts, **fate})
        entries[iteration] = after
        if needs_recount(totals, before, after):
            with pytest.raises(TotalsNeedRecount):
                totals_after(totals, before, after)
            totals = recount(entries.values())
        else:
            totals = totals_after(totals, before, after)
        assert counted(totals) == by_hand(list(entries.values()))
        assert totals == recount(entries.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(FATES, min_size=1, max_size=4), max_size=5))
def test_a_run_never_needs_to_count_again(batches: list[list[Any]]) -> None:
    """Measured, then decided, batch by batch: the loop's own changes can always be folded."""
    totals, entries, iteration = recount([]), dict[int, Entry](), 0
    for batch, fates in enumerate(batches, start=1):
        first = iteration + 1
        for _ in fates:
            iteration += 1
            fresh = an_entry(iteration, "measured", batch=batch)
            assert not needs_recount(totals, None, fresh)
            totals, entries[iteration] = totals_after(totals, None, fresh), fresh
        for number, fate in enumerate(fates, start=first):
            facts = {"iteration": number, "batch": batch, "hypothesis": "h", "category": "c"}
            decided = Entry.model_validate({**facts, **fate})
            assert not needs_recount(totals, entries[number], decided)
            totals, entries[number] = totals_after(totals, entries[number], decided), decided
    assert counted(totals) == by_hand(list(entries.values()))


def test_sessions_are_counted_once_each_and_those_without_a_decision_never() -> None:
    """Crashes, failed gates, repeats and deferred ones take no number; an integrated session takes one more."""
    entries = [
        an_entry(1, "kept", batch=1),
        a_combined(2, "runner_up_reverted", 3, batch=1),
        an_entry(3, "error"),
        an_entry(4, "degenerate"),
        an_entry(5, "timeout"),
        an_entry(6, "inconclusive", headway={"repeat_of": 1}),
        an_entry(7, "deferred_needs_approval"),
        an_entry(8, "error", sample_count=0),
        an_entry(9, "measured", gates_passed=False),
        an_entry(10, "promising"),
    ]
    assert recount(entries).k == 4


def test_keeps_are_the_numbers_of_the_sessions_that_led_to_them() -> None:
    """A winner's standalone session, a runner-up's integrated one."""
    entries = [an_entry(1, "reverted"), an_entry(2, "kept", batch=2), a_combined(3, "runner_up_kept", 4, batch=2)]
    assert recount(entries).keeps == (2, 4)
    assert recount([an_entry(1, "kept", headway={})]).keeps == ()


def test_a_keep_sets_the_plateau_to_zero_and_its_batch_mates_do_not_count() -> None:
    """The plateau counts measured tries of later batches, failed gates and crashes of the harness among them."""
    entries = [
        an_entry(1),
        an_entry(2, "kept", batch=2),
        an_entry(3, batch=2),
        an_entry(4, "degenerate"),
        an_entry(5, "error"),
        an_entry(6, "error", sample_count=0),
        an_entry(7, "inconclusive", headway={"repeat_of": 4}),
        an_entry(8, "deferred_needs_approval"),
    ]
    assert recount(entries).measured_since_keep == 2


def test_failures_in_a_row_end_with_any_other_final_outcome() -> None:
    """What is not decided yet, or set aside, neither ends the row nor lengthens it."""
    failing = [an_entry(2, "error"), an_entry(3, "measured"), an_entry(4, "timeout"), an_entry(5, "promising")]
    assert recount([an_entry(1), *failing]).failures_in_a_row == 2
    assert recount([*failing, an_entry(6, "degenerate")]).failures_in_a_row == 0


def test_the_row_is_by_number_whatever_ends_first() -> None:
    """An author's failure is written at once, its batch mates are decided later: the order is that of the numbers."""
    totals = recount([])
    waiting = an_entry(1, "measured", batch=1)
    totals = totals_after(totals, None, waiting)
    totals = totals_after(totals, None, an_entry(2, "error", batch=1, sample_count=0))
    totals = totals_after(totals, waiting, an_entry(1, "reverted", batch=1))
    assert totals.failures_in_a_row == 1


def test_cost_and_scale_are_handed_on() -> None:
    """They are not counted from entries, and counting does not lose them."""
    given_before = Totals(cost=TotalCost(agents_usd=None, unknown=("agents",)), scale={"time": "log"})
    totals = totals_after(recount([an_entry(1)], given_before), None, an_entry(2))
    row = to_row(totals)
    assert (row["cost"], row["scale"]) == ({"agents_usd": None, "unknown": ["agents"]}, {"time": "log"})
    assert row["counts"] == {"reverted": 2}
    assert "cost" not in to_row(recount([an_entry(1)]))


def test_a_withdrawn_keep_is_counted_again_not_guessed() -> None:
    """What the totals do not remember is not made up."""
    kept = an_entry(1, "kept")
    totals = totals_after(recount([]), None, kept)
    with pytest.raises(TotalsNeedRecount) as caught:
        totals_after(totals, kept, an_entry(1, "reverted"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_entry_that_changes_its_batch_is_counted_again() -> None:
    """Batches order the plateau: moving an entry between them is no change that can be folded."""
    before = an_entry(2, batch=2)
    totals = recount([an_entry(1, "kept"), before])
    assert needs_recount(totals, before, an_entry(2, batch=1))
