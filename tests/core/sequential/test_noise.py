"""Scale, noise and the normal distribution: formulas by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.noise import differences, noise_of
from headway.core.sequential.normal import t_of_z, z_above, z_of_t
from headway.core.sequential.scale import Threshold, Yardstick, as_gain, as_loss, as_share, pair_gains

STEPS = st.lists(st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-9), min_size=1, max_size=80)


def test_the_boundary_of_the_thousandth_percent() -> None:
    """0.0005 over ten looks: 3.89."""
    assert z_above(0.0005 / 10) == pytest.approx(3.8906, abs=1e-4)
    assert z_above(0.0) == math.inf
    assert z_above(0.9) == 0.0


def test_a_t_statistic_as_rare_as_the_normal_one() -> None:
    """Student's t with 10 degrees exceeds 2.764 in 1% of cases, a normal 2.326."""
    assert z_of_t(2.764, 10) == pytest.approx(2.326, abs=0.01)
    assert z_of_t(-2.764, 10) == pytest.approx(-2.326, abs=0.01)
    assert z_of_t(2.764, 1000) == 2.764


@given(st.floats(-8, 8), st.floats(1, 600))
def test_both_directions_agree(z: float, freedom: float) -> None:
    """`t_of_z` undoes `z_of_t`."""
    assert z_of_t(t_of_z(z, freedom), freedom) == pytest.approx(z, abs=1e-6)


def test_noise_by_hand() -> None:
    """Differences 1, -2, 3: the median is 2, s0 2.9652, nothing is clipped, s = sqrt(14 / 3), nu = 1.8."""
    noise = noise_of([1.0, -2.0, 3.0])
    assert noise is not None
    assert noise.unit == pytest.approx(2.9652)
    assert noise.deviation == pytest.approx(math.sqrt(14 / 3))
    assert noise.freedom == pytest.approx(1.8)


def test_an_outlier_counts_as_three_units() -> None:
    """Of 1, 1, 1, 100 the last counts 3 x 1.4826."""
    noise = noise_of([1.0, -1.0, 1.0, 100.0])
    assert noise is not None
    assert noise.deviation == pytest.approx(math.sqrt((3 + (3 * 1.4826) ** 2) / 4))


def test_mostly_ties_count_in_quanta() -> None:
    """A metric that mostly repeats has the smallest step as its unit, and no less as its deviation."""
    noise = noise_of([0.0, 0.0, 0.0, 2.0, -1.0, 0.0])
    assert noise is not None
    assert (noise.unit, noise.deviation) == (1.0, 1.0)


def test_a_quiet_window_remembers_that_a_repeat_differed() -> None:
    """Sixty-four equal repeats do not make a metric exact again."""
    noise = noise_of([0.5] + [0.0] * 64, quantum=0.5)
    assert noise is not None
    assert (noise.unit, noise.deviation, noise.count) == (0.5, 0.5, 64)


def test_no_repeat_no_noise_and_equal_repeats_none() -> None:
    """Nothing is known without a difference; zero is known from equal ones."""
    assert noise_of([]) is None
    equal = noise_of([0.0, 0.0])
    assert equal is not None
    assert equal.is_zero


@given(STEPS)
def test_noise_is_the_same_in_any_order_and_with_any_sign(steps: list[float]) -> None:
    """Within the window."""
    newest = steps[-64:]
    one, other = noise_of(newest), noise_of(sorted((-x for x in newest), key=abs))
    assert one is not None
    assert other is not None
    assert other.deviation == pytest.approx(one.deviation, rel=1e-9)
    assert other.unit == one.unit


@given(STEPS, st.floats(0.001, 1000))
def test_noise_scales_with_its_differences(steps: list[float], factor: float) -> None:
    """Twice the differences, twice the noise."""
    one, other = noise_of(steps), noise_of([factor * x for x in steps])
    assert one is not None
    assert other is not None
    assert other.deviation == pytest.approx(factor * one.deviation, rel=1e-9)


def test_differences_are_successive() -> None:
    """Three values, two differences."""
    assert differences([1.0, 4.0, 2.0]) == (3.0, -2.0)


def test_gains_are_positive_when_better() -> None:
    """ln(a / b) where less is better, ln(b / a) where more is; a - b and b - a on the difference scale."""
    assert pair_gains([2.0], [1.0], -1, True) == pytest.approx((math.log(2),))
    assert pair_gains([2.0], [1.0], 1, True) == pytest.approx((-math.log(2),))
    assert pair_gains([2.0, 9.0], [-1.0], -1, False) == (3.0,)
    assert pair_gains([2.0], [-1.0], 1, False) == (-3.0,)


@pytest.mark.parametrize(
    ("sign", "gain", "loss"), [(-1, -math.log(0.9), math.log(1.1)), (1, math.log(1.1), -math.log(0.9))]
)
def test_a_relative_threshold_on_the_log_scale(sign: int, gain: float, loss: float) -> None:
    """10%: the gain of a time falls to 0.9, its loss rises to 1.1; a rate the other way round."""
    yardstick = Yardstick(sign, True, 10.0, 10.0)
    assert as_gain(Threshold(True, 0.1), yardstick) == pytest.approx(gain)
    assert as_loss(Threshold(True, 0.1), yardstick) == pytest.approx(loss)
    assert as_gain(Threshold(False, 1.0), yardstick) == pytest.approx(gain)


def test_thresholds_on_the_difference_scale() -> None:
    """An absolute one is itself; a relative one is a share of the calibration's median."""
    yardstick = Yardstick(-1, False, -3.0, 4.0)
    assert as_gain(Threshold(False, 0.5), yardstick) == 0.5
    assert as_loss(Threshold(True, 0.5), yardstick) == 2.0


def test_no_time_can_fall_by_all_of_itself() -> None:
    """A gain of 100% of a time is out of reach, and a rate cannot lose more than all."""
    assert as_gain(Threshold(True, 1.0), Yardstick(-1, True, 1.0, 1.0)) == math.inf
    assert as_loss(Threshold(True, 1.0), Yardstick(1, True, 1.0, 1.0)) == math.inf


@given(st.floats(-0.5, 0.5), st.sampled_from([1, -1]))
def test_a_share_says_what_a_gain_does_to_the_value(gain: float, sign: int) -> None:
    """The value after a gain is the level times 1 plus the signed share."""
    share = as_share(gain, Yardstick(sign, True, 5.0, 5.0))
    assert share is not None
    assert 5.0 * (1 + sign * share) == pytest.approx(5.0 * math.exp(sign * gain))
