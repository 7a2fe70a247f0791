"""What stands behind a run's keeps: effort, what chance may have kept, the machine, and the final check."""

import json
from typing import Any

import pytest

from headway.core.claims import chance_of, claims_of, conditions_of, environment_of
from headway.core.figures import AS_STORED, run_figures
from headway.core.log_view import Log
from headway.core.report import status_of
from tests.core.heart import BASE, a_log, a_row, a_run_spec, sequential

SPEC = a_run_spec(**sequential(effort="standard", error_control="run"))
AUTO = a_run_spec(**sequential(error_control="run"))
NOISY = [10.0, 10.1, 9.9, 10.05]
CHECK: dict[str, Any] = {
    "number": 1, "commit": "c1", "base": BASE, "machines": 1, "samples": [], "verdict": "better", "pairs": 4,
    "gain": {"estimate": 0.2, "low": 0.15, "high": 0.25},
}  # fmt: skip


def log_of(k: int = 10, planned: int = 100, samples: list[float] = NOISY, check: Any = None, **more: Any) -> Log:
    """Give the log of a run that kept its third session."""
    headway: dict[str, Any] = {"totals": {"k": k, "keeps": [3], "counts": {"kept": 1}}, **more}
    best: dict[str, Any] = {"iteration": 1, "metrics": {"seconds": 9.0}}
    if check is not None:
        best["headway"] = {"final_check": check}
    gain = {"estimate": 0.05, "low": 0.02, "high": 0.08}
    row = a_row(1, "kept", commit="c1", headway={"k": 3, "candidate": "c1", "effort": "standard", "gain": gain})
    return a_log(
        row,
        baseline={
            "metrics": {"seconds": {"aggregate": 10.0, "samples": samples}},
            "headway": {"commit": BASE, "median_seconds": 1.0, "environment": {"cpu": "a"}},
        },
        best=best,
        approval={
            "approved_at": "2026-11-30T15:00:00Z",
            "spec_sha256": "0",
            "caps": {},
            "headway": {"planned": planned},
        },
        run_state={"status": "running", "headway": headway},
    )


def test_within_the_plan_chance_keeps_at_most_its_share_of_a_twentieth() -> None:
    """Every session adds 5% over the plan; behind the plan the chances fall."""
    assert chance_of(log_of(), SPEC, 1) == pytest.approx(0.05 / 100)
    found = claims_of(log_of(k=10), SPEC)
    assert found is not None
    assert found.by_chance == pytest.approx(10 * 0.05 / 100)
    assert (found.sessions, found.planned) == (10, 100)
    assert chance_of(log_of(), SPEC, 200) == pytest.approx(0.05 * 100 / 200**2)


def test_quick_says_that_chance_keeps_something() -> None:
    """2% a session."""
    quick = claims_of(log_of(k=60), a_run_spec(**sequential(effort="quick")))
    assert quick is not None
    assert quick.by_chance == pytest.approx(1.2)


def test_repeats_that_are_equal_leave_nothing_to_chance() -> None:
    """Nor does a metric that is declared stable."""
    stable = a_run_spec(measurement={"stability": {"mode": "stable", "comparison": {"method": "sequential"}}})
    for claims in (claims_of(log_of(samples=[10.0] * 8), SPEC), claims_of(log_of(), stable)):
        assert claims is not None
        assert claims.by_chance == 0.0


def test_auto_spends_half_until_its_choice_is_on_record() -> None:
    """Each session is charged what was in force at its time."""
    before = log_of(k=4)
    assert chance_of(before, AUTO, 2) == pytest.approx(0.5 * 0.05 / 100)
    after = log_of(effort={"effort": "thorough", "share": 0.5, "reason": "turns are dear", "since_k": 6})
    assert chance_of(after, AUTO, 6) == pytest.approx(0.5 * 0.05 / 100)
    assert chance_of(after, AUTO, 7) == pytest.approx(0.5 * 0.04 / 100)
    found = claims_of(after, AUTO)
    assert found is not None
    assert (found.effort, found.effort_reason, found.effort_is_final) == ("thorough", "turns are dear", True)


def test_a_session_was_measured_on_the_machine_that_was_in_force_then() -> None:
    """The baseline's, until the run moved."""
    log = log_of(environment=[{"cpu": "a", "since_k": 0}, {"cpu": "b", "since_k": 5}])
    assert environment_of(log, 5) == {"cpu": "a", "since_k": 0}
    assert environment_of(log, 6) == {"cpu": "b", "since_k": 5}
    assert environment_of(log) == {"cpu": "b", "since_k": 5}
    assert environment_of(log_of()) == {"cpu": "a"}
    assert environment_of(a_log()) is None


def test_a_session_shows_its_number_effort_chance_and_machine() -> None:
    """Without a number there is nothing to show, nor under the older methods."""
    found = conditions_of(log_of(), SPEC, 3)
    assert found is not None
    assert (found.k, found.effort, found.environment) == (3, "standard", {"cpu": "a"})
    assert found.chance == pytest.approx(0.0005)
    assert conditions_of(log_of(), SPEC, None) is None
    assert conditions_of(log_of(), a_run_spec(), 3) is None


# The total gain


def test_the_final_check_is_the_total_gain_where_there_is_one() -> None:
    """With its interval, and with what it rests on."""
    figures = run_figures(log_of(check=CHECK), SPEC)
    assert figures.gain == 0.2
    assert figures.gain_range is not None
    assert (figures.gain_range.low, figures.gain_range.high) == (0.15, 0.25)
    assert figures.gain_basis == "final check: best and untouched code in 4 fresh pairs, 95% interval"


@pytest.mark.parametrize(
    ("change", "basis"),
    [
        ({"verdict": "not_proven"}, "95% interval, not proven"),
        ({"verdict": "worse"}, "95% interval, and it is worse"),
        ({"verdict": "failed", "gain": None, "reason": "it broke"}, "the final check gave no number: it broke"),
        ({"commit": "c0"}, "`headway wrap-up --final-check`"),
        ({"verdict": None}, "`headway wrap-up --final-check`"),
    ],
)
def test_what_the_total_gain_is_worth_is_said(change: dict[str, Any], basis: str) -> None:
    """A check of another best, or one under way, is none."""
    row = {name: value for name, value in {**CHECK, **change}.items() if value is not None}
    assert basis in run_figures(log_of(check=row), SPEC).gain_basis


def test_the_older_methods_say_nothing_of_chance() -> None:
    """Their total stays what it was: as stored."""
    figures = run_figures(log_of(), a_run_spec())
    assert (figures.claims, figures.gain_basis) == (None, AS_STORED)
    assert figures.gain == pytest.approx(0.1)


def test_all_of_it_is_plain_data_in_status() -> None:
    """For whoever reads `--json`."""
    shown = status_of(log_of(check=CHECK), SPEC, None, False, "/state").to_json()
    document = json.loads(json.dumps(shown))
    assert document["figures"]["claims"]["final_check"]["gain"] == {"estimate": 0.2, "low": 0.15, "high": 0.25}
    assert document["figures"]["keeps"][0]["gain"] == {"estimate": 0.05, "low": 0.02, "high": 0.08}
    assert document["forecast"]["told"]["effort"] == "standard"
    assert document["forecast"]["experiment_seconds"] == pytest.approx(4.6)
