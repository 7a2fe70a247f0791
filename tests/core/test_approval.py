"""The approval gate: what was approved, and whether that yes still holds."""

from typing import Any

import pytest

from headway.core.approval import caps_of, objections
from headway.core.records import Approval, Caps, to_row
from headway.core.spec import Spec
from tests.core.heart import a_run_spec

SHA = "a" * 64


def an_approval(spec: Spec, sha256: str = SHA) -> Approval:
    """Give the approval of a spec as the log gives it back."""
    given = Approval(approved_at="2026-11-30T15:00:00Z", spec_sha256=sha256, caps=Caps.model_validate(caps_of(spec)))
    return Approval.model_validate(to_row(given))


def test_without_an_approval_the_gate_stands() -> None:
    """Nobody's yes is no yes."""
    assert objections(None, a_run_spec(), SHA) == ("nobody has approved this run yet",)


@pytest.mark.parametrize(
    "spec",
    [
        a_run_spec(),
        a_run_spec(stopping={"plateau_iterations": "none", "max_wall_hours": 2, "max_total_cost_usd": 3.5}),
    ],
)
def test_an_approval_of_this_very_spec_holds(spec: Spec) -> None:
    """What was written into the log and read back raises no objection."""
    assert objections(an_approval(spec), spec, SHA) == ()


def test_other_bytes_of_the_spec_are_an_objection() -> None:
    """The yes was given for the bytes that were shown."""
    assert objections(an_approval(a_run_spec()), a_run_spec(), "b" * 64) == (
        "the frozen spec's bytes are not those that were approved",
    )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"stopping": {"max_iterations": 7}}, "stopping.max_iterations: approved 100, now 7"),
        ({"stopping": {"max_total_cost_usd": 9}}, "stopping.max_total_cost_usd: approved None, now 9"),
        ({"stopping": {"plateau_iterations": "none"}}, "stopping.plateau_iterations: approved 60, now 'none'"),
        ({"execution": {"max_concurrent": 4}}, "execution.max_concurrent: approved 2, now 4"),
    ],
)
def test_every_cap_that_differs_is_named(changes: dict[str, Any], named: str) -> None:
    """A cap that is looser, tighter or new presents the gate again, and says which."""
    assert [line.replace("9.0", "9") for line in objections(an_approval(a_run_spec()), a_run_spec(**changes), SHA)] == [
        named
    ]


def test_the_caps_are_the_seeds_three_groups() -> None:
    """Stopping whole, concurrency, and the judge's cost only where a judge scores."""
    assert set(caps_of(a_run_spec())) == {"stopping", "execution"}
    judged = a_run_spec(
        metric={
            "primary": {"type": "judge", "name": "clarity", "direction": "maximize"},
            "judge": {"rubric": "is it clear?", "scoring": {"primary": "clarity"}, "max_total_cost_usd": 2.0},
        }
    )
    assert caps_of(judged)["metric"] == {"judge": {"max_total_cost_usd": 2.0}}
