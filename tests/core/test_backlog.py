"""The backlog: which hypotheses may run, in which order, and which is which."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.backlog import choose_batch, deferred, dep_status, hypothesis_id, is_runnable, without
from headway.core.records import BacklogItem, DepStatus
from tests.core.heart import a_waiting_item, an_item


def names(items: Sequence[BacklogItem]) -> list[str]:
    """Give the descriptions."""
    return [item.description for item in items]


def test_a_hypothesis_without_dependencies_needs_no_approval() -> None:
    """No dependency, nothing to approve."""
    assert dep_status([], set()) is DepStatus.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("approved", "status"), [({"numpy", "scipy"}, DepStatus.APPROVED), ({"numpy"}, DepStatus.NEEDS_APPROVAL)]
)
def test_all_dependencies_must_be_approved(approved: set[str], status: DepStatus) -> None:
    """One that is missing holds the hypothesis back."""
    assert dep_status(["numpy", "scipy"], approved) is status


def test_a_hypothesis_that_needs_approval_may_run_once_all_its_dependencies_are_approved() -> None:
    """What wrap-up approves makes the item runnable, whatever its stored status says."""
    item = a_waiting_item(dependency="numpy")
    assert not is_runnable(item, set())
    assert is_runnable(item, {"numpy"})


def test_a_hypothesis_that_needs_approval_of_nobody_knows_what_never_runs() -> None:
    """Without a named dependency there is nothing that an approval could name."""
    assert not is_runnable(an_item(dep_status="needs_approval"), {"numpy"})


def test_a_written_hypothesis_without_a_status_is_judged_by_its_dependencies() -> None:
    """A person's own line in the log needs no status."""
    item = BacklogItem(description="by hand", required_deps=("numpy",))
    assert not is_runnable(item, set())
    assert is_runnable(item, {"numpy"})


def test_a_batch_takes_other_categories_before_a_second_of_one() -> None:
    """Diverse first: a lower priority of a fresh category goes before a higher one of a category that is in."""
    backlog = [
        an_item("a1", category="a", priority="high"),
        an_item("a2", category="a", priority="high"),
        an_item("b1", category="b", priority="low"),
    ]
    assert names(choose_batch(backlog, 2, set())) == ["a1", "b1"]
    assert names(choose_batch(backlog, 3, set())) == ["a1", "b1", "a2"]


def test_within_what_is_fresh_the_higher_priority_goes_first_then_the_older() -> None:
    """Priority, then place in the backlog."""
    backlog = [an_item("1", category="a", priority="low"), an_item("2", category="b"), an_item("3", category="c")]
    assert names(choose_batch(backlog, 3, set())) == ["2", "3", "1"]


def test_a_hypothesis_without_a_priority_is_of_medium_priority() -> None:
    """An absent priority is neither first nor last."""
    backlog = [
        an_item("low", category="a", priority="low"),
        BacklogItem(description="none", category="b"),
        an_item("high", category="c", priority="high"),
    ]
    assert names(choose_batch(backlog, 3, set())) == ["high", "none", "low"]


def test_what_comes_back_goes_first() -> None:
    """An eligible leftover is tried before anything new, whatever its priority."""
    leftover = an_item("leftover", priority="low", category="a", headway={"retry_of": 3})
    assert names(choose_batch([an_item("new", priority="high", category="b"), leftover], 1, set())) == ["leftover"]


def test_what_needs_approval_is_never_chosen() -> None:
    """However much room there is."""
    assert names(choose_batch([a_waiting_item("waits"), an_item("runs")], 5, set())) == ["runs"]
    assert names(deferred([a_waiting_item("waits"), an_item("runs")], set())) == ["waits"]


ITEMS = st.builds(
    lambda n, category, priority, waits: (a_waiting_item if waits else an_item)(
        f"way {n}", category=category, priority=priority
    ),
    st.integers(0, 99),
    st.sampled_from("abc"),
    st.sampled_from(["high", "medium", "low"]),
    st.booleans(),
)


@given(st.lists(ITEMS, max_size=8), st.integers(1, 5))
def test_a_batch_is_as_large_as_it_can_be_and_as_diverse(backlog: list[BacklogItem], room: int) -> None:
    """It fills the room with runnable items, and no category twice while another one waits."""
    chosen = choose_batch(backlog, room, set())
    runnable = [item for item in backlog if is_runnable(item, set())]
    assert len(chosen) == min(room, len(runnable))
    categories = {item.category for item in runnable}
    assert len({item.category for item in chosen}) == min(len(chosen), len(categories))


def test_an_id_does_not_depend_on_case_or_spaces() -> None:
    """The same text is the same hypothesis; another payload is another."""
    assert hypothesis_id("Inline  the loop\n") == hypothesis_id("inline the LOOP")
    assert hypothesis_id("inline the loop") != hypothesis_id("inline the loop", "abc")
    assert hypothesis_id("a lone surrogate \udcff").startswith("h-")


def test_taking_an_item_out_takes_out_that_one_alone() -> None:
    """By id where both have one, else by content; a leftover and its first try are two."""
    first, leftover = an_item("x"), an_item("x", headway={"retry_of": 2})
    assert without((leftover, first), first) == (leftover,)
    assert without((first, leftover), leftover) == (first,)
    bare = BacklogItem(description="x", category="algorithm")
    assert without((bare, an_item("y")), bare) == (an_item("y"),)
    assert without((first,), an_item("never there")) == (first,)
