"""The order of one session, its failed measurements, and the one function that the loop asks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.order import Reading, Side, readings_of
from headway.core.sequential.step import Step, next_step
from tests.core.sequential.sessions import a_history, a_noisy_history, a_state, some_rules

FAILED = Reading("candidate", None, "no value")


def a_reading(side: Side, value: float = 1.0) -> Reading:
    return Reading(side, {"time": value})


def readings(letters: str, *values: float) -> list[Reading]:
    """Give readings by letter: A, B, b for a failed candidate."""
    numbers = iter(values or [1.0] * len(letters))
    return [FAILED if x == "b" else a_reading("reference" if x == "A" else "candidate", next(numbers)) for x in letters]


def stepped(found: list[Reading]) -> Step:
    return next_step(found, a_noisy_history(level=1.0), some_rules(), a_state())


@pytest.mark.parametrize(
    ("so_far", "following"),
    [("", "B"), ("B", "A"), ("BA", "A"), ("BAA", "B"), ("BAAB", "B"), ("BAABB", "A"), ("b", "B"), ("BAAb", "A")],
)
def test_the_order_alternates_and_a_failed_pair_is_measured_once_more(so_far: str, following: str) -> None:
    """B A, A B, B A; what failed takes its pair with it."""
    found = readings_of(["time"], readings(so_far))
    assert found.following == {"A": "reference", "B": "candidate"}[following]
    assert not found.ended


def test_pairs_are_those_that_were_measured_together() -> None:
    """The reference value beside a failed candidate is dropped with it: nothing moves up in a list."""
    found = readings_of(["time"], readings("BAAbABBA", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0))
    assert found.taken["time"].reference == (2.0, 4.0, 7.0)
    assert found.taken["time"].candidate == (1.0, 5.0, 6.0)


def test_a_candidate_that_fails_twice_is_an_error() -> None:
    """Anywhere in its session."""
    found = readings_of(["time"], readings("bBAAb"))
    assert (found.ended, found.reason) == ("error", "no value")


def test_a_timeout_is_final_at_once() -> None:
    """It is not measured again."""
    assert stepped([Reading("candidate", None, timed_out=True)]).outcome == "timeout"


@pytest.mark.parametrize("broken", [None, {"time": math.nan}, {"other": 1.0}])
def test_a_failing_reference_stops_the_run(broken: dict[str, float] | None) -> None:
    """It is the kept state itself that cannot be measured."""
    step = stepped([a_reading("candidate"), Reading("reference", broken)])
    assert (step.outcome, step.side) == ("broken", None)
    assert "current best" in step.reason


def test_a_reading_that_nobody_asked_for_is_a_bug() -> None:
    """Never put into a pair where it does not belong."""
    with pytest.raises(ValueError, match="not asked for"):
        readings_of(["time"], readings("BB"))


def test_a_session_says_what_each_measurement_is_for() -> None:
    """The first look, then pairs, then confirmation, then the end."""
    gains = (0.97, 0.9, 0.9)
    letters = ""
    values: list[float] = []
    kinds: list[str] = []
    while True:
        step = stepped(readings(letters, *values) if letters else [])
        if step.side is None:
            break
        kinds.append(step.kind)
        letters += "B" if step.side == "candidate" else "A"
        values.append(gains[letters.count("B") - 1] if step.side == "candidate" else 1.0)
    assert letters == "BAABBA"
    assert kinds == ["exploratory"] * 2 + ["add_sample"] * 2 + ["confirm"] * 2
    assert (step.outcome, step.decision is not None and step.decision.is_keep) == ("keep", True)


@given(st.lists(st.floats(0.97, 1.03), min_size=80, max_size=80), st.integers(0, 80))
def test_a_session_read_from_disk_goes_on_as_if_nothing_had_happened(values: list[float], cut: int) -> None:
    """Killed after any sample: the same readings give the same next step."""
    taken: list[Reading] = []
    steps: list[Step] = []
    while (step := stepped(taken)).side is not None and len(taken) < 80:
        steps.append(step)
        taken.append(a_reading(step.side, values[len(taken)]))
    again = taken[:cut]
    assert stepped(list(again)) == ([*steps, step])[len(again)]


def test_exact_metrics_cost_one_measurement_a_reject() -> None:
    """B alone."""
    step = next_step([a_reading("candidate", 5.0)], a_history(5.0, 5.0, 5.0), some_rules(), a_state())
    assert (step.outcome, step.reason) == ("inconclusive", "identical to the current best")
