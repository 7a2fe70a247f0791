"""What is told after the calibration: noise, the smallest gain that is mostly kept, and what an experiment takes."""

import json
from typing import Any

import pytest

from headway.core.forecast import forecast_from, forecast_of, forecast_words, problems_of
from headway.core.records import Baseline
from headway.core.spec import Spec
from tests.core.heart import BASE, a_log, a_run_spec, sequential

NOISY = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0, 10.1, 9.9]


def a_baseline(*seconds: float) -> Baseline:
    return Baseline.model_validate({"metrics": {"seconds": {"aggregate": seconds[0], "samples": list(seconds)}}})


def a_spec(effort: str = "standard", primary: dict[str, Any] | None = None, **comparison: Any) -> Spec:
    metric = {"metric": {"primary": primary}} if primary else {}
    return a_run_spec(**sequential(effort=effort, **comparison), **metric, stopping={"max_iterations": 100})


def told(spec: Spec, *seconds: float, taken: float = 2.0) -> list[str]:
    found = forecast_from(spec, a_baseline(*seconds), BASE, taken)
    assert found is not None
    json.dumps(found.to_json())
    return forecast_words(found)


def test_noise_smallest_gain_and_cost_are_told_by_the_effort_in_force() -> None:
    """What thorough would bring stands beside it; the plan is what the error budget is divided by."""
    lines = told(a_spec(), *NOISY)
    assert lines[0].startswith("noise of seconds: 0.9")
    assert "gains under 1.92%" in lines[0]
    assert "effort thorough would bring that to 1.52%" in lines[0]
    assert lines[1] == "an experiment takes about 4.6 measurements, 9.2 s; 100 candidates are planned for"
    assert lines[2] == "effort standard: as the spec says"
    assert len(lines) == 3


def test_thorough_promises_nothing_beyond_itself() -> None:
    """It is what it would be brought to."""
    assert "would bring" not in told(a_spec("thorough"), *NOISY)[0]


def test_auto_shows_the_simulated_night_whose_turn_to_measurement_is_nearest() -> None:
    """Turns of two minutes: 2 s a measurement is 60 to one, 120 s one to one."""
    (night,) = (line for line in told(a_spec("auto"), *NOISY) if line.startswith("simulated"))
    assert "(turn over measurement 60): 135 log-% with lean, 144 with standard, 145 with thorough" in night
    (long_one,) = (line for line in told(a_spec("auto"), *NOISY, taken=120.0) if line.startswith("simulated"))
    assert "(turn over measurement 1): 53 log-% with lean" in long_one


def test_repeats_that_are_equal_need_no_noise_and_no_night() -> None:
    """One sample a candidate, and whatever is better by more than the smallest effect is kept."""
    lines = told(a_spec("auto", min_effect={"type": "relative", "value": 0.02}), 10.0, 10.0, 10.0)
    assert lines[0] == "seconds repeats exactly: whatever is better by more than 2% is kept, once it repeats"
    assert lines[1].startswith("an experiment takes about 1.7 measurements")
    assert not any(line.startswith("simulated") for line in lines)
    assert told(a_spec(), 10.0, 10.0, 10.0)[0].endswith("whatever is better is kept, once it repeats")


def test_one_measurement_tells_nothing_of_noise_and_says_so() -> None:
    """Not zero: unknown."""
    assert told(a_spec(), 10.0)[0] == "noise of seconds: not known yet, there were too few measurements"


def test_a_target_that_lies_nearer_than_what_is_mostly_kept_is_warned_of() -> None:
    """A run would chase what it cannot see."""
    near = {"type": "hard", "name": "seconds", "direction": "minimize", "target": 9.95}
    far = {**near, "target": 5.0}
    (warning,) = (line for line in told(a_spec(primary=near), *NOISY) if line.startswith("warning: "))
    assert "the target of seconds is" in warning
    assert "will mostly not be kept" in warning
    assert not any(line.startswith("warning: ") for line in told(a_spec(primary=far), *NOISY))


@pytest.mark.parametrize(
    ("comparison", "seconds", "said"),
    [
        ({"min_effect": {"type": "relative", "value": 0.1}}, (0.0, 0.0, 0.0), "has the median 0"),
        ({"min_effect": {"type": "absolute", "value": 20.0}}, (10.0, 10.0, 10.0), "nothing can gain that much"),
        ({"min_effect": {"type": "absolute", "value": 0.1}}, (0.0, 0.0, 0.0), ""),
        ({"min_effect": {"type": "relative", "value": 0.1}}, (10.0, 10.0, 10.0), ""),
        ({}, (0.0, 0.0, 0.0), ""),
    ],
)
def test_thresholds_that_mean_nothing_for_what_was_measured_are_problems_of_the_spec(
    comparison: dict[str, Any], seconds: tuple[float, ...], said: str
) -> None:
    """Each with its place and its mend."""
    found = problems_of(a_spec(**comparison), a_baseline(*seconds), BASE)
    assert [said in str(problem) for problem in found] == ([True] if said else [])
    assert all(problem.path.endswith("comparison.min_effect") and problem.mend for problem in found)


def test_a_log_foretells_what_its_calibration_did() -> None:
    """Plan and effort are those on record; the older methods foretell nothing."""
    parts: dict[str, Any] = {
        "baseline": {
            "metrics": {"seconds": {"aggregate": 10.0, "samples": NOISY}},
            "headway": {"commit": BASE, "median_seconds": 2.0},
        },
        "approval": {
            "approved_at": "2026-11-30T15:00:00Z",
            "spec_sha256": "0" * 64,
            "caps": {},
            "headway": {"planned": 40},
        },
    }
    found = forecast_of(a_log(**parts), a_spec())
    assert found is not None
    assert (found.planned, found.effort, found.seconds) == (40, "standard", 2.0)
    assert found.told.objectives[0].noise == pytest.approx(0.00977, rel=0.01)
    assert forecast_of(a_log(**parts), a_run_spec()) is None
    assert forecast_from(a_run_spec(), a_baseline(10.0), BASE, 1.0) is None
    assert problems_of(a_run_spec(), a_baseline(0.0), BASE) == ()
