"""From the spec to rules; the effort's choice; what is told after calibration."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.auto import Watched, choose, expected_gains, first_choice, turn_over_measurement
from headway.core.sequential.rules import BOUNDS, Futility
from headway.core.sequential.scale import Threshold
from headway.core.sequential.settings import Settings, Simpler, lean_share, rules_for, settings_of
from headway.core.sequential.told import Told, calibration_problems, told_before
from headway.core.spec_parts import Effort, ErrorControl, StabilityMode
from tests.builders import a_spec, merged
from tests.core.sequential.sessions import BASE, a_history, a_noisy_history


def settings(comparison: dict[str, Any] | None = None, metric: dict[str, Any] | None = None, **more: Any) -> Settings:
    """Give the settings of a sequential spec on a ladder, with changes to its stability."""
    stability = {"mode": "ladder", **more, "comparison": {"method": "sequential", **(comparison or {})}}
    named = merged({"primary": {"name": "time"}}, metric or {})
    return settings_of(a_spec(measurement={"stability": stability}, metric=named))


def test_only_what_was_written_counts() -> None:
    """Defaults of the older methods are no thresholds."""
    found = settings()
    assert [objective.min_effect for objective in found.objectives] == [None]
    assert (found.control, found.alpha, found.max_pairs, found.futility) == (None, None, None, None)
    assert (found.effort, found.calibration, found.mode) == (Effort.AUTO, 8, StabilityMode.LADDER)
    rules = rules_for(found, Effort.STANDARD, 100)
    assert (rules.bounds, rules.spending.alpha) == (BOUNDS[Effort.STANDARD], 0.05)


@pytest.mark.parametrize(
    ("comparison", "stability", "threshold"),
    [
        ({"min_effect": {"type": "relative", "value": 0.01}}, {}, Threshold(True, 0.01)),
        ({"min_effect": {"type": "absolute", "value": 2}}, {}, Threshold(False, 2.0)),
        ({"noise_threshold": 0.5}, {}, Threshold(False, 0.5)),
        ({"relative_threshold": 0.05}, {}, Threshold(True, 0.05)),
        ({}, {"noise_threshold": 0.3}, Threshold(False, 0.3)),
    ],
)
def test_thresholds_of_the_family_become_the_smallest_gain(
    comparison: dict[str, Any], stability: dict[str, Any], threshold: Threshold
) -> None:
    """Absolute or relative, as they were."""
    assert settings(comparison, **stability).objectives[0].min_effect == threshold


def test_a_judged_objective_has_its_own_minimum_only_where_it_was_written() -> None:
    """The default of 0.3 is the family's; none is asked for here."""
    judged = {"primary": {"type": "judge"}, "judge": {"rubric": "r", "scoring": {"primary": "q"}}}
    assert settings(metric=judged).objectives[0].min_effect is None
    written = merged(judged, {"judge": {"minimum_improvement": 0.2}})
    assert settings(metric=written).objectives[0].min_effect == Threshold(False, 0.2)


def test_the_ladders_numbers_bound_the_pairs() -> None:
    """`confirmation_repeats` above the family's three, `exploratory_pairs`, `futility`."""
    assert settings(ladder={"confirmation_repeats": 3}).max_pairs is None
    found = settings(ladder={"confirmation_repeats": 12, "exploratory_pairs": 2, "futility": {}})
    rules = rules_for(found, Effort.STANDARD, 100)
    assert (rules.bounds.max_pairs, rules.bounds.futile_from, rules.futility) == (12, 2, Futility(1.2))
    assert settings({"max_pairs": 5}, ladder={"confirmation_repeats": 12}).max_pairs == 5
    few = rules_for(settings({"max_pairs": 2}), Effort.STANDARD, 100).bounds
    assert (few.min_pairs, few.max_pairs) == (2, 2)


def test_repeat_is_a_fixed_number_of_pairs() -> None:
    """One look; the calibration is as long at least."""
    found = settings(mode="repeat", repeat_count=12)
    bounds = rules_for(found, Effort.STANDARD, 100).bounds
    assert (bounds.min_pairs, bounds.max_pairs, bounds.looks, bounds.screen, bounds.is_fixed) == (12, 12, 1, None, True)
    assert found.calibration == 12


def test_stable_declares_that_repeats_are_equal() -> None:
    """As its name says, and as an absent mode means."""
    assert rules_for(settings(mode="stable"), Effort.STANDARD, 100).is_declared_stable
    assert not rules_for(settings(), Effort.STANDARD, 100).is_declared_stable


def test_screen_alpha_and_control_are_read() -> None:
    """Each reaches the rules."""
    rules = rules_for(settings({"screen": "off", "alpha": 0.1, "error_control": "fdr"}), Effort.THOROUGH, 100)
    assert (rules.bounds.screen, rules.spending.control, rules.spending.alpha) == (None, ErrorControl.FDR, 0.1)
    assert rules_for(settings(), Effort.STANDARD, 101).spending.control is ErrorControl.FDR
    assert rules_for(settings(), Effort.QUICK, 100).spending.control is ErrorControl.NONE
    assert rules_for(settings(), Effort.AUTO, 100).bounds == BOUNDS[Effort.STANDARD]


def test_a_margin_only_for_what_is_simpler() -> None:
    """`accept_simpler`."""
    found = settings({"accept_simpler": {"metric": "headway.lines_net", "margin": 0.01}})
    assert found.simpler == Simpler("headway.lines_net", 0.01)
    assert rules_for(found, Effort.STANDARD, 100).margin is None
    assert rules_for(found, Effort.STANDARD, 100, is_simpler=True).margin == 0.01


def test_lean_has_no_rules_for_one_candidate() -> None:
    """It proves groups."""
    with pytest.raises(ValueError, match="groups"):
        rules_for(settings({"effort": "lean"}), Effort.LEAN, 100)


def test_lean_spends_the_alpha_that_was_written() -> None:
    """As parts of its 5%, and of the share that is in force."""
    assert lean_share(settings({"effort": "lean"})) == 1.0
    assert lean_share(settings({"effort": "lean", "alpha": 0.01}), 0.5) == pytest.approx(0.1)


def test_a_dear_calibration_is_short() -> None:
    """Three samples where one takes over a minute, and under `lean`."""
    assert [settings().calibration_samples(seconds) for seconds in (60.0, 61.0)] == [8, 3]
    assert settings({"effort": "lean"}).calibration_samples(1.0) == 3
    assert settings({"calibration": 5}).calibration_samples(1.0) == 5


# effort: auto


def watched(turn: float, measurement: float) -> Watched:
    return Watched(turn_seconds=(turn,) * 5, measurement_seconds=(measurement,) * 9)


@pytest.mark.parametrize(
    ("turn", "effort"),
    [(9.9, Effort.LEAN), (10.0, Effort.STANDARD), (40.0, Effort.STANDARD), (41.0, Effort.THOROUGH)],
)
def test_the_effort_follows_from_turn_over_measurement(turn: float, effort: Effort) -> None:
    """Once five candidates were watched."""
    found = choose(first_choice([1.0]), watched(turn, 1.0), 5)
    assert (found.effort, found.is_final) == (effort, True)


def test_before_that_the_measurement_alone_decides() -> None:
    """Lean from thirty seconds on; either part of the run may spend half of the error budget."""
    assert first_choice([29.0]).effort is Effort.STANDARD
    assert first_choice([30.0]).effort is Effort.LEAN
    assert first_choice([30.0], lean_is_open=False).effort is Effort.STANDARD
    assert choose(first_choice([1.0]), watched(100, 1), 4) == first_choice([1.0])
    assert first_choice([1.0]).share == 0.5


@given(st.floats(0.1, 1e4), st.floats(0.1, 1e3), st.booleans())
def test_the_parts_never_spend_more_than_the_whole(turn: float, measurement: float, waits: bool) -> None:
    """An effort that stays has all; one that takes over has what the first left; nothing while groups wait."""
    first = first_choice([measurement])
    found = choose(first, watched(turn, measurement), 5, is_on_probation=waits)
    assert found.share + (0.0 if found.effort is first.effort else first.share) <= 1.0
    assert not (waits and found.is_final)


def test_money_goes_before_time_where_both_are_known() -> None:
    """A dear agent with a cheap measurement is thorough, however long that takes."""
    both = Watched((10.0,), (10.0,), turn_usd=(1.0,), measurement_usd=(0.01,))
    assert turn_over_measurement(both) == pytest.approx(100)
    assert turn_over_measurement(Watched((10.0,), (5.0,), turn_usd=(1.0,))) == 2.0
    assert turn_over_measurement(Watched()) is None


def test_the_row_that_fits() -> None:
    """The nearest by ratio."""
    assert expected_gains(4.0).lean == 110
    assert expected_gains(500.0).ratio == 60.0
    assert expected_gains(0.0).ratio == 0.2


# told after calibration


def told(**changes: Any) -> Told:
    return told_before(settings(**changes), a_noisy_history(), Effort.STANDARD, 100, BASE)


def test_noise_and_the_smallest_gain_are_told() -> None:
    """1% of a pair: 0.7% of a measurement; 1.4 and 1.1 of it are found reliably."""
    (time,) = told().objectives
    assert time.is_share
    assert time.noise == pytest.approx(0.00707, rel=0.01)
    assert time.smallest == pytest.approx(0.0139, rel=0.01)
    assert time.thorough == pytest.approx(0.01094, rel=0.01)
    assert told().warnings == ()


def test_a_target_nearer_than_the_smallest_gain_is_warned_of() -> None:
    """It would mostly not be kept when it is reached; a far one is fine, a reached one too."""

    def warned(target: float) -> bool:
        return bool(told(metric={"primary": {"target": target}}).warnings)

    assert [warned(target) for target in (9.95, 9.0, 11.0)] == [True, False, False]


def test_a_smallest_gain_worth_keeping_comes_on_top() -> None:
    """What is asked for has to be exceeded by that much."""
    (time,) = told(comparison={"min_effect": {"type": "relative", "value": 0.05}}).objectives
    assert time.smallest is not None
    assert 0.06 < time.smallest < 0.065


def test_fixed_pairs_say_what_they_can_find() -> None:
    """One look's boundary, and nine in ten, over the root of the pairs."""
    (time,) = told(mode="repeat", repeat_count=16).objectives
    assert time.smallest == pytest.approx((3.29 + 1.28) / 4 * 0.01, rel=0.02)
    assert told(mode="repeat", repeat_count=16).measurements == 32


def test_an_exact_metric_finds_everything() -> None:
    """No noise."""
    found = told_before(settings(), a_history(5.0, 5.0, 5.0), Effort.STANDARD, 100, BASE)
    assert (found.objectives[0].noise, found.objectives[0].smallest) == (0.0, 0.0)
    assert found.measurements < 2


def test_a_declared_determinism_that_does_not_hold_is_warned_of() -> None:
    """The calibration differs."""
    found = told_before(settings(mode="stable"), a_noisy_history(), Effort.STANDARD, 100, BASE)
    assert "repeat exactly" in found.warnings[0]


def test_on_the_difference_scale_figures_are_in_the_metrics_unit() -> None:
    """A level of zero has no shares."""
    history = a_history(*[0.0, 1.0] * 10)
    (time,) = told_before(settings(), history, Effort.STANDARD, 100, BASE).objectives
    assert not time.is_share
    assert time.noise == pytest.approx(0.707, rel=0.01)


def test_a_relative_threshold_of_a_metric_that_is_zero_is_a_mistake() -> None:
    """There is nothing that it could be a share of."""
    relative = settings({"min_effect": {"type": "relative", "value": 0.01}})
    (problem,) = calibration_problems(relative, a_history(0.0, 0.0, 1.0))
    assert "median 0" in problem.what
    assert "absolute" in problem.mend
    absolute = settings({"min_effect": {"type": "absolute", "value": 0.01}})
    assert calibration_problems(absolute, a_history(0.0, 0.0, 1.0)) == ()
    assert calibration_problems(relative, a_noisy_history()) == ()


def test_a_gain_that_nothing_can_reach_is_a_mistake() -> None:
    """A time of 10 cannot fall by 20."""
    found = settings({"min_effect": {"type": "absolute", "value": 20}})
    (problem,) = calibration_problems(found, a_noisy_history())
    assert "nothing can gain that much" in problem.what
