"""Aggregates, changes and spread of samples."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.statistics import (
    AGGREGATES,
    aggregate,
    mean,
    median,
    pair_changes,
    relative_change,
    signed_change,
    spread,
)

SAMPLES = st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=12)


def test_the_median_of_an_even_number_lies_between_the_middle_two() -> None:
    """Order of measurement does not matter to it."""
    assert median([9.0, 1.0, 7.0, 3.0]) == 5.0
    assert median([9.0, 1.0, 7.0]) == 7.0


def test_a_mean_sums_from_left_to_right() -> None:
    """The family's rule adds in plain double precision: a compensated sum would give 0.2 here."""
    assert mean([1e16, 1.0, -1e16, 1.0, -1.0]) == 0.0


@pytest.mark.parametrize("how", sorted(AGGREGATES))
def test_no_aggregate_is_made_of_nothing(how: str) -> None:
    """An empty list has no value, rather than 0 or NaN."""
    with pytest.raises(ValueError):
        aggregate([], how)


@given(SAMPLES)
def test_every_aggregate_lies_within_the_samples(samples: list[float]) -> None:
    """Up to rounding of the mean."""
    room = 1e-9 * max(1.0, *(abs(value) for value in samples))
    for how in AGGREGATES:
        assert min(samples) - room <= aggregate(samples, how) <= max(samples) + room


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_change_turns_round_with_its_sides_and_with_the_direction(reference: float, candidate: float) -> None:
    """Better one way is worse the other way, by exactly as much."""
    change = signed_change(reference, candidate, 1)
    assert signed_change(candidate, reference, 1) == -change
    assert signed_change(reference, candidate, -1) == -change


def test_a_relative_change_is_a_share_of_the_magnitude() -> None:
    """A negative reference counts by its size, and a zero one gives no share."""
    assert relative_change(2.0, -4.0) == 0.5
    assert relative_change(2.0, 0.0) == 0.0


def test_the_last_reference_sample_pairs_with_all_that_follow() -> None:
    """The family's rule, where the candidate has more samples."""
    assert pair_changes([16.0, 8.0], [8.0, 4.0, 2.0], -1) == (8.0, 4.0, 6.0)


def test_equal_samples_have_no_spread() -> None:
    """A deterministic metric is recognised by it."""
    quiet = spread([3.0, 3.0, 3.0])
    assert (quiet.deviation, quiet.reach, quiet.relative_deviation) == (0.0, 0.0, 0.0)


def test_one_outlier_moves_the_reach_and_not_the_deviation() -> None:
    """The deviation is a median: one bad run does not make a baseline noisy."""
    noisy = spread([10.0, 11.0, 9.0, 10.0, 90.0])
    assert noisy.deviation == pytest.approx(1.4826)
    assert noisy.relative_deviation == pytest.approx(0.14826)
    assert noisy.reach == 81.0
    assert noisy.relative_reach == 8.1


def test_a_spread_around_zero_has_no_relative_size() -> None:
    """There is nothing to relate it to."""
    around = spread([-1.0, 0.0, 1.0])
    assert around.relative_deviation is None
    assert around.relative_reach is None
    assert math.isclose(around.deviation, 1.4826)
