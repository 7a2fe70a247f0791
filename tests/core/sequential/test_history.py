"""What a run knows of its noise follows from raw values alone."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.history import Repeats, RunHistory, run_history
from tests.core.sequential.sessions import BASE, a_history

VALUES = st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=1, max_size=5)


def lists_of(values: list[list[float]]) -> list[Repeats]:
    return [
        Repeats(BASE if at % 2 == 0 else f"c{at}", {"time": tuple(each)}, at // 2, is_reference=at % 2 == 0)
        for at, each in enumerate(values)
    ]


@given(st.lists(VALUES, min_size=1, max_size=8), st.integers(0, 8))
def test_grown_list_by_list_or_built_at_once(values: list[list[float]], cut: int) -> None:
    """A resumed run knows what the run knew before it died."""
    lists = lists_of(values)
    history = run_history(lists[:cut])
    for repeats in lists[cut:]:
        history = history.plus(repeats)
    assert history == run_history(lists)


@given(st.lists(VALUES, min_size=1, max_size=8))
def test_one_value_that_is_not_above_zero_changes_the_scale_of_all(values: list[list[float]]) -> None:
    """Wherever it stands, and for good: the differences are then those of the raw values."""
    known = run_history(lists_of(values)).of("time")
    assert known.is_log == all(value > 0 for each in values for value in each)
    if not known.is_log:
        raw = [later - earlier for each in values for earlier, later in pairwise(each)]
        assert list(known.differences) == raw[-64:]


def test_differences_never_cross_two_lists() -> None:
    """Only repeats of unchanged code differ by noise alone."""
    history = run_history([Repeats(BASE, {"time": (1.0, 2.0)}), Repeats("c1", {"time": (9.0, 9.0)}, 1)])
    assert history.of("time").differences == pytest.approx((math.log(2), 0.0))


def test_the_level_is_of_the_newest_four_of_that_code() -> None:
    """Values of other codes do not count."""
    history = a_history(1.0, 2.0, 3.0, 4.0, 5.0).plus(Repeats("c1", {"time": (9.0,)}, 1, is_reference=False))
    assert history.of("time").level_of(BASE) == pytest.approx(tuple(map(math.log, (2.0, 3.0, 4.0, 5.0))))
    assert history.of("time").level_of("c2") == ()


def test_a_kept_candidate_stands_without_its_selected_first_value() -> None:
    """Neither its level nor the noise rests on it."""
    history = a_history(8.0, 8.0).plus(Repeats("c1", {"time": (1.0, 4.0, 4.0)}, 1, is_reference=False, was_kept=True))
    known = history.of("time")
    assert known.level_of("c1") == pytest.approx((math.log(4.0), math.log(4.0)))
    assert known.differences == (0.0, 0.0)


def test_the_first_value_of_a_kept_candidate_still_counts_for_the_scale() -> None:
    """It was seen."""
    history = a_history(8.0, 8.0).plus(Repeats("c1", {"time": (-1.0, 4.0)}, 1, is_reference=False, was_kept=True))
    assert not history.of("time").is_log


def test_prediction_errors_compare_a_sessions_first_value_with_the_four_before() -> None:
    """Divided by the deviation of such a difference in units of one measurement."""
    history = a_history(1.0, 1.0, 1.0, 1.0).plus(Repeats(BASE, {"time": (math.e, math.e)}, 1))
    assert history.of("time").errors == pytest.approx((1 / math.sqrt(1.25),))


def test_drift_across_sessions_widens_the_spread_of_one() -> None:
    """Four errors suffice; within a session nothing differed."""
    history = a_history(1.0, 1.01, 1.0)
    for k, value in enumerate((1.5, 1.0, 1.5, 1.0), start=1):
        history = history.plus(Repeats(BASE, {"time": (value,)}, k))
    known = history.of("time")
    assert known.noise is not None
    assert known.spread_of_one > 10 * known.noise.of_one


def test_exact_until_a_repeat_differs_and_never_again() -> None:
    """Seventy equal repeats later it still counts as noisy, by the smallest step."""
    history = a_history(5.0, 5.0, 5.0)
    assert history.of("time").is_exact
    history = history.plus(Repeats(BASE, {"time": (5.0, 6.0)}, 1)).plus(Repeats(BASE, {"time": (5.0,) * 80}, 2))
    known = history.of("time")
    assert not known.is_exact
    assert known.noise is not None
    assert known.noise.deviation == pytest.approx(math.log(6 / 5))


def test_two_calibration_samples_prove_nothing_exact() -> None:
    """It takes at least two repeats."""
    assert not a_history(5.0, 5.0).of("time").is_exact


def test_freshness_counts_sessions_that_measured_the_best() -> None:
    """After three candidates without one the level is stale."""
    history = RunHistory().plus(Repeats(BASE, {"time": (1.0,)}))
    assert [history.is_fresh(k) for k in (1, 2, 3)] == [True, True, False]
    history = history.plus(Repeats("c3", {"time": (1.0,)}, 3, is_reference=False))
    assert not history.is_fresh(4)
    assert history.plus(Repeats(BASE, {"time": (1.0,)}, 3)).is_fresh(4)
