"""The decision on one candidate: every row of its table, by hand and by property."""

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.candidate import boundary_of, decide_candidate
from headway.core.sequential.history import Repeats, run_history
from headway.core.sequential.noise import Noise
from headway.core.sequential.pairs import Aim, futility_line, pair_test
from headway.core.sequential.rules import Bounds, Futility, Objective, Rules
from headway.core.sequential.scale import Threshold
from headway.core.sequential.sight import Taken
from headway.core.spec_parts import Effort
from tests.core.sequential.sessions import (
    BASE,
    a_history,
    a_noisy_history,
    a_state,
    decided,
    measured_to_the_end,
    some_rules,
)

NOISE = 0.01
"""Pair deviation of `a_noisy_history`."""


def pairs_of(*deviations: float, level: float = 10.0) -> tuple[list[float], list[float]]:
    """Give pairs whose gains are these many deviations."""
    return [level] * len(deviations), [level * math.exp(-NOISE * gain) for gain in deviations]


def test_the_futility_line_at_theta_one_point_two() -> None:
    """-0.40, 0.14, 0.46, 0.70, 0.89, 1.06 for one to six pairs."""
    assert [round(futility_line(n, 1.2), 2) for n in range(1, 7)] == [-0.4, 0.14, 0.46, 0.7, 0.89, 1.06]


def test_the_boundary_divides_by_looks_and_objectives() -> None:
    """3.89 for one objective at standard, more for two."""
    assert boundary_of(some_rules(), a_state()) == pytest.approx(3.89, abs=0.01)
    two = some_rules(Effort.STANDARD, Objective("time", -1), Objective("size", -1))
    assert boundary_of(two, a_state()) == pytest.approx(4.06, abs=0.01)
    assert boundary_of(some_rules(), a_state(share=0.5)) == boundary_of(two, a_state())


@pytest.mark.parametrize(
    ("gains", "decision", "following"),
    [
        ((6.0, 6.0, 6.0), "keep", "none"),
        ((6.0, 6.0), "inconclusive", "confirm"),
        ((1.0,), "inconclusive", "add_sample"),
        ((-0.5,), "inconclusive", "none"),
        ((-5.0,), "revert", "none"),
        ((1.0, -1.0), "inconclusive", "none"),
        ((0.0, 0.0), "inconclusive", "none"),
    ],
)
def test_each_row_of_the_table(gains: tuple[float, ...], decision: str, following: str) -> None:
    """Improved, confirm, one more pair, futile, regressed, futile, and ties at two pairs."""
    found = decided(*pairs_of(*gains))
    assert (found.decided, found.next_measurement) == (decision, following)


def test_a_tie_is_an_observation() -> None:
    """One tie is undecided: 0 is above the line of one pair."""
    assert decided(*pairs_of(0.0)).next_measurement == "add_sample"


def test_the_statistic_by_hand() -> None:
    """Gains of 1 and 2 deviations: t = 3 / sqrt(2), with the correction for 0.6 x 60 degrees of freedom."""
    t, freedom = 3 / math.sqrt(2), 36.0
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    assert decided(*pairs_of(1.0, 2.0)).tests["time"].z == pytest.approx(z)


def test_one_outlier_counts_as_three_units() -> None:
    """A pair that gains a hundred deviations is worth 3 x 1.4826."""
    assert decided(*pairs_of(100.0)).tests["time"].z == decided(*pairs_of(3 * 1.4826)).tests["time"].z


def test_a_boundary_reached_too_early_only_asks_for_confirmation() -> None:
    """Beyond it at once, and improved from the least pairs on."""
    noise = Noise(NOISE, NOISE, 36.0, 60)
    tests = [pair_test([0.03] * n, noise, Aim(), 2.0, some_rules().bounds) for n in (1, 2, 3)]
    assert [(test.is_improved, test.awaits_confirmation) for test in tests] == [
        (False, True),
        (False, True),
        (True, False),
    ]


def test_the_most_pairs_end_it() -> None:
    """Undecided after the last is inconclusive."""
    rules = some_rules(bounds=Bounds(10, 3, 4, 0.1, 0.25))
    assert decided(*pairs_of(1.0, 1.0, 1.0), rules=rules).next_measurement == "add_sample"
    found = decided(*pairs_of(1.0, 1.0, 1.0, 1.0), rules=rules)
    assert (found.decided, found.next_measurement) == ("inconclusive", "none")


def test_exploratory_pairs_hold_futility_back() -> None:
    """`ladder.exploratory_pairs: 3`."""
    rules = some_rules(bounds=Bounds(10, 3, 32, 1.2, 0.25, futile_from=3))
    assert decided(*pairs_of(-0.5, -0.5), rules=rules).next_measurement == "add_sample"
    assert decided(*pairs_of(-0.5, -0.5, -0.5), rules=rules).next_measurement == "none"


@pytest.mark.parametrize(
    ("value", "decision", "following"),
    [(9.9, "inconclusive", "exploratory"), (10.06, "inconclusive", "none"), (10.6, "revert", "none")],
)
def test_the_screen(value: float, decision: str, following: str) -> None:
    """A first sample that may be a gain goes on, one that shows none ends it, one clearly worse is worse."""
    found = decided([], [value])
    assert (found.decided, found.next_measurement) == (decision, following)


def test_the_screens_statistic_by_hand() -> None:
    """The gain over the median of four stored values, in deviations of one measurement times sqrt(1 + 1/4)."""
    look = decided([], [9.9]).looks["time"]
    level = 10 * math.exp(NOISE / 2)
    assert look.z == pytest.approx(math.log(level / 9.9) / (NOISE / math.sqrt(2) * math.sqrt(1.25)))


def test_no_screen_without_a_fresh_level() -> None:
    """Nothing stored, or three candidates without a measurement of the best: it is measured."""
    assert decided([], [99.0], state=a_state(incumbent="unknown")).next_measurement == "exploratory"
    assert decided([], [99.0], state=a_state(3)).next_measurement == "exploratory"
    assert decided([], [99.0], rules=some_rules(bounds=Bounds(10, 3, 32, 1.2, None))).next_measurement == "exploratory"


@given(st.lists(st.floats(-4, 4), min_size=2, max_size=2))
def test_the_order_of_two_pairs_does_not_matter(gains: list[float]) -> None:
    """Up to two pairs; from three on the own repeats are noise, whose differences are successive."""
    one, other = decided(*pairs_of(*gains)), decided(*pairs_of(*reversed(gains)))
    assert one.tests["time"].z == pytest.approx(other.tests["time"].z, abs=1e-9)


def played(
    values: list[float], factor: float = 1.0, sign: int = -1, turn: Callable[[float], float] = float
) -> tuple[str, str]:
    """Measure a candidate whose values come from a list; give the order and the decision."""
    rules = some_rules(Effort.STANDARD, Objective("time", sign))
    history = a_history(*(turn(factor * x) for x in (10.0, 10.1, 10.0, 10.12, 10.03)))
    order, end = measured_to_the_end(
        lambda side, at: turn(factor * values[(2 * at + (side == "A")) % len(values)]), history, rules
    )
    return order, end.decided


SAMPLES = st.lists(st.floats(9.5, 10.5), min_size=70, max_size=70)


@given(SAMPLES, st.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_of_a_metric_does_not_matter(values: list[float], factor: float) -> None:
    """Milliseconds or seconds: the same order of measurement, the same decision."""
    assert played(values, factor) == played(values)


@given(SAMPLES)
def test_a_rate_is_decided_like_the_time_it_stands_for(values: list[float]) -> None:
    """More of 1 / x is as good as less of x."""
    assert played(values, sign=1, turn=lambda x: 1 / x) == played(values)


@given(SAMPLES)
def test_the_same_values_give_the_same_session(values: list[float]) -> None:
    """A crash between two samples costs none and changes nothing: decisions are functions of values."""
    assert played(values) == played(values)


@given(SAMPLES, st.sampled_from([Effort.QUICK, Effort.STANDARD, Effort.THOROUGH]))
def test_nothing_noisy_is_kept_on_fewer_than_the_least_pairs(values: list[float], effort: Effort) -> None:
    """Nor is anything measured beyond the most."""
    rules = some_rules(effort)
    history = a_history(10.0, 10.1, 10.0, 10.12, 10.03)
    order, end = measured_to_the_end(lambda side, at: values[(2 * at + (side == "A")) % 70], history, rules)
    pairs = min(order.count("A"), order.count("B"))
    assert not end.is_keep or pairs >= rules.bounds.min_pairs
    assert pairs <= rules.bounds.max_pairs
    assert order[:6] == "BAABBA"[: len(order)]


@given(SAMPLES)
def test_no_noise_is_known_before_three_pairs_exist(values: list[float]) -> None:
    """A run without any repeat asks for samples until its own repeats say how noisy it is."""
    order, end = measured_to_the_end(lambda side, at: values[2 * at + (side == "A")], run_history([]), some_rules())
    assert order[:6] == "BAABBA"
    assert len(order) >= 6
    assert end.next_measurement == "none"


def test_a_first_value_of_zero_switches_to_differences() -> None:
    """Gains are then in the metric's unit."""
    history = a_history(1.0, 1.1, 1.0, 1.1)
    found = decided([1.0], [0.0], history)
    assert not found.sights[0].history.is_log
    assert found.sights[0].gains == (1.0,)


@pytest.mark.parametrize("level", [-5.0, 0.0])
def test_baselines_that_are_not_above_zero_need_no_special_case(level: float) -> None:
    """Negative and zero levels are compared by differences."""
    history = a_history(*[level, level + 0.1] * 20)
    order, end = measured_to_the_end(lambda side, at: level - (side == "B") + 0.01 * at, history, some_rules())
    assert end.is_keep
    assert order == "BAABBA"


# deterministic metrics


EXACT = a_history(5.0, 5.0, 5.0)


@pytest.mark.parametrize(
    ("value", "decision", "following"),
    [(6.0, "revert", "none"), (5.0, "inconclusive", "none"), (4.0, "inconclusive", "confirm")],
)
def test_one_sample_of_an_exact_metric_decides(value: float, decision: str, following: str) -> None:
    """Worse, identical, or better and to be repeated once."""
    found = decided([], [value], EXACT)
    assert (found.decided, found.next_measurement) == (decision, following)


def test_an_exact_keep_costs_four() -> None:
    """B, A, A, B, all repeats identical."""
    order, end = measured_to_the_end(lambda side, at: 4.0 if side == "B" else 5.0, EXACT, some_rules())
    assert (order, end.is_keep) == ("BAAB", True)
    assert end.gains()["time"].estimate == pytest.approx(math.log(5 / 4))


def test_a_repeat_that_differs_ends_the_shortcut() -> None:
    """For good: the candidate goes on as a noisy one, and so does the run."""
    found = decided([5.0, 5.0], [4.0, 4.5], EXACT)
    assert not found.sights[0].is_exact
    assert found.tests["time"].z > 0
    assert found.sights[0].noise is not None
    assert found.sights[0].noise.deviation == pytest.approx(math.log(4.5 / 4))
    after = EXACT.plus(Repeats("c1", {"time": (4.0, 4.5)}, 1, is_reference=False))
    assert decided([], [4.0], after).next_measurement == "exploratory"


def test_declared_determinism_takes_one_sample() -> None:
    """`mode: stable`: no confirmation, even where the calibration was a single sample."""
    rules = some_rules(is_declared_stable=True)
    assert [decided([], [value], a_history(5.0), rules).decided for value in (4.0, 5.0, 6.0)] == [
        "keep",
        "inconclusive",
        "revert",
    ]


def test_an_exact_gain_below_the_smallest_worth_keeping() -> None:
    """10% asked for: 5% is no gain, and no regression."""
    rules = some_rules(Effort.STANDARD, Objective("time", -1, Threshold(True, 0.10)))
    found = decided([], [4.75], EXACT, rules)
    assert (found.decided, found.next_measurement) == ("inconclusive", "none")
    assert decided([], [4.4], EXACT, rules).next_measurement == "confirm"


# thresholds


def test_a_smallest_gain_moves_the_test_and_not_the_regression() -> None:
    """Gains of 6 deviations with 6 asked for are futile; losses are judged against zero."""
    rules = some_rules(Effort.STANDARD, Objective("time", -1, Threshold(False, 10 * (1 - math.exp(-6 * NOISE)))))
    found = decided(*pairs_of(6.0, 6.0), rules=rules)
    assert (found.decided, found.next_measurement) == ("inconclusive", "none")
    assert not found.tests["time"].is_regressed
    assert not decided(*pairs_of(1.0, 1.0), rules=rules).tests["time"].is_regressed
    assert decided(*pairs_of(-5.0), rules=rules).decided == "revert"


def test_fixed_pairs_are_looked_at_once() -> None:
    """`mode: repeat`: neither a screen nor futility nor an early keep, and one look's boundary."""
    bounds = Bounds(looks=1, min_pairs=4, max_pairs=4, theta=1.2, screen=None, is_fixed=True)
    rules = some_rules(bounds=bounds)
    assert boundary_of(rules, a_state()) == pytest.approx(3.29, abs=0.01)
    assert decided([], [99.0], rules=rules).next_measurement == "add_sample"
    assert decided(*pairs_of(-9.0, -9.0, -9.0), rules=rules).next_measurement == "add_sample"
    assert decided(*pairs_of(9.0, 9.0, 9.0, 9.0), rules=rules).is_keep


@pytest.mark.parametrize(("value", "factor", "censored"), [(12.5, 1.2, True), (11.0, 1.2, False), (99.0, 1.0, False)])
def test_censored_takes_both_the_factor_and_the_noise(value: float, factor: float, censored: bool) -> None:
    """Far worse, and more than chance makes it."""
    found = decided([], [value], rules=some_rules(futility=Futility(factor)))
    assert (found.decided == "censored") == censored


def test_a_noisy_first_sample_is_not_censored_by_the_factor_alone() -> None:
    """At 20% noise a no-op is 20% worse often enough."""
    assert decided([], [15.0], a_noisy_history(step=0.3), some_rules(futility=Futility(1.2))).decided == "inconclusive"


def test_late_and_not_better_is_censored() -> None:
    """`futility.after_elapsed_seconds`."""
    rules = some_rules(futility=Futility(1.0, after_seconds=5.0))
    session = {"time": Taken((10.0,), (10.001,))}
    assert decide_candidate(session, a_noisy_history(), rules, a_state(), 5.0).decided == "censored"
    assert decide_candidate(session, a_noisy_history(), rules, a_state(), 4.0).decided == "inconclusive"
    alone = {"time": Taken((), (10.06,))}
    assert decide_candidate(alone, a_noisy_history(), rules, a_state(), 5.0).decided == "censored"
    hopeful = {"time": Taken((), (9.9,))}
    assert decide_candidate(hopeful, a_noisy_history(), rules, a_state(), 5.0).decided == "inconclusive"
    better = {"time": Taken((10.0,), (9.9,))}
    assert decide_candidate(better, a_noisy_history(), rules, a_state(), 5.0).decided == "inconclusive"


def test_a_simpler_candidate_only_must_not_be_worse() -> None:
    """Equal pairs prove that it loses less than the margin; a larger loss does not."""
    rules = some_rules(margin=0.05)
    found = decided(*pairs_of(0.0, 0.0, 0.0), rules=rules)
    assert found.is_keep
    assert "simpler" in found.reason
    assert not decided(*pairs_of(-5.0, -5.0, -5.0), rules=rules).is_keep
    order, end = measured_to_the_end(lambda side, at: 5.0, EXACT, rules)
    assert (order, end.is_keep) == ("BAAB", True)


# several objectives


SIZE = Objective("size", -1)


def test_another_objective_that_may_be_better_is_not_censored_away() -> None:
    """Futility watches the primary, and drops only what shows nothing anywhere."""
    history = a_noisy_history().plus(Repeats(BASE, {"size": tuple(10.0 + at % 2 / 10 for at in range(61))}))
    rules = some_rules(Effort.STANDARD, Objective("time", -1), SIZE, futility=Futility(1.2))

    def found(size: float) -> str:
        session = {"time": Taken((), (15.0,)), "size": Taken((), (size,))}
        return decide_candidate(session, history, rules, a_state()).decided

    assert (found(10.2), found(5.0)) == ("censored", "inconclusive")


def judged(time: tuple[float, ...], size: tuple[float, ...], *objectives: Objective) -> str:
    """Decide on two objectives whose pairs gain these many deviations; give the decision and what is next."""
    rules = some_rules(Effort.STANDARD, *(objectives or (Objective("time", -1), SIZE)))
    history = run_history(
        Repeats(BASE, {n: tuple(10.0 * math.exp(NOISE * (at % 2)) for at in range(61)) for n in ("time", "size")})
        for _ in range(1)
    )
    session = {}
    for name, gains in (("time", time), ("size", size)):
        a, b = pairs_of(*gains)
        session[name] = Taken(tuple(a), tuple(b))
    found = decide_candidate(session, history, rules, a_state())
    return f"{found.decided} {found.next_measurement}"


def test_one_better_and_none_worse_is_kept() -> None:
    """Without a bound an objective is safe until it is significantly worse."""
    assert judged((6.0,) * 3, (0.0,) * 3) == "keep none"
    assert judged((6.0,) * 3, (-0.5,) * 3) == "keep none"
    assert judged((6.0,) * 3, (-2.0,) * 3) == "revert none"


def test_a_bound_must_be_proven_before_a_keep() -> None:
    """`max_regression`: within it is not safe until the pairs say so, beyond it is violated."""
    bounded = Objective("size", -1, max_regression=Threshold(True, 0.015))
    objectives = (Objective("time", -1), bounded)
    assert judged((6.0,) * 3, (0.0,) * 3, *objectives) == "keep none"
    assert judged((6.0,) * 3, (-1.0,) * 3, *objectives) == "inconclusive add_sample"
    assert judged((6.0,) * 3, (-4.0,) * 3, *objectives) == "revert none"


def test_a_bound_that_stays_unproven_ends_inconclusive() -> None:
    """At the most pairs."""
    bounded = Objective("size", -1, max_regression=Threshold(True, 0.01))
    assert judged((6.0,) * 32, (-1.0,) * 32, Objective("time", -1), bounded) == "inconclusive none"


def test_futile_only_when_all_are() -> None:
    """One that may still improve keeps the candidate alive."""
    assert judged((-0.5,), (1.0,)) == "inconclusive add_sample"
    assert judged((-0.5,), (-0.5,)) == "inconclusive none"


def test_an_exact_objective_beside_a_noisy_one() -> None:
    """A size that repeats exactly: worse ends it at once, better is kept once the noisy one is not worse."""
    history = run_history(
        [Repeats(BASE, {"time": tuple(10.0 * math.exp(NOISE * (at % 2)) for at in range(61)), "size": (7.0,) * 61})]
    )
    rules = some_rules(Effort.STANDARD, Objective("time", -1), SIZE)

    def found(time: list[float], size: list[float], base: int) -> str:
        session = {"time": Taken((10.0,) * base, tuple(time)), "size": Taken((7.0,) * base, tuple(size))}
        decision = decide_candidate(session, history, rules, a_state())
        return f"{decision.decided} {decision.next_measurement}"

    assert found([9.5], [8.0], 0) == "revert none"
    assert found([10.05], [7.0], 0) == "inconclusive none"
    assert found([10.05], [6.0], 0) == "inconclusive exploratory"
    assert found([10.0, 10.01], [6.0, 6.0], 2) == "inconclusive add_sample"
    assert found([10.0, 10.01, 10.0], [6.0, 6.0, 6.0], 3) == "keep none"


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=5), st.lists(st.floats(-8, 8), min_size=1, max_size=5))
def test_the_order_of_objectives_does_not_matter(time: list[float], size: list[float]) -> None:
    """Which one is the primary is for reports."""
    n = min(len(time), len(size))
    one, two = tuple(time[:n]), tuple(size[:n])
    assert judged(one, two) == judged(two, one, Objective("time", -1), SIZE)


@pytest.mark.parametrize("deviation", [0.005, 0.03])
def test_few_no_ops_are_kept(deviation: float) -> None:
    """A short look at the error rate; `make bench-decisions` is the long one."""
    chance, kept = Random(7), 0
    for run in range(6):
        history = a_history(*(10 * math.exp(deviation * chance.gauss(0, 1)) for _ in range(8)))
        for k in range(1, 101):
            noise = [10 * math.exp(deviation * chance.gauss(0, 1)) for _ in range(70)]
            state = a_state(k)
            _, end = measured_to_the_end(taking(noise), history, RULES, state)
            taken = end.sights[0].taken
            if taken.reference:
                history = history.plus(Repeats(BASE, {"time": taken.reference}, k))
            kept += end.is_keep
        assert kept <= run + 1
    assert kept <= 1


RULES: Rules = some_rules()


def taking(values: list[float]) -> Callable[[str, int], float]:
    """Measure from a list, the two sides in turn."""
    return lambda side, at: values[2 * at + (side == "A")]
