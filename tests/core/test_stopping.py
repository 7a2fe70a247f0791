"""When a run is over: every stop has a reason, a status and a way to go on."""

from datetime import datetime
from typing import Any

import pytest

from headway.core.events import RunStopped
from headway.core.log_view import Log
from headway.core.records import BacklogItem
from headway.core.spec import Spec
from headway.core.stopping import MENDS, blocked_by, primary_of, reason_to_stop, target_met
from headway.core.world import StopAsked
from tests.core.heart import a_log, a_run_spec, a_waiting_item, a_world, an_item

STARTED = "2026-11-30T15:00:00Z"
NOON = datetime.fromisoformat(STARTED).timestamp()


def a_running_log(backlog: tuple[BacklogItem, ...] = (an_item(),), best: float = 10.0, **state: Any) -> Log:
    """Give the log of a run that goes on, with the run's state laid over it."""
    run_state = {"status": "running", "tick": 1, "phase3_started_at": STARTED, **state}
    return a_log(backlog=backlog, run_state=run_state, best={"iteration": 0, "metrics": {"seconds": best}})


def totals(**counted: Any) -> dict[str, Any]:
    """Give the run's state with totals."""
    return {"headway": {"totals": counted}}


def stop_of(log: Log, spec: Spec, now: float = NOON, **world: Any) -> RunStopped | None:
    """Ask for the reason to stop."""
    return reason_to_stop(log, a_world(spec=spec, **world), now)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], float, dict[str, Any]]] = {
    "target": ({"metric": {"primary": {"target": 9.5}}}, {"best": 9.5}, 0, {}),
    "max_iterations": ({"stopping": {"max_iterations": 3}}, totals(counts={"kept": 1, "error": 2}), 0, {}),
    "max_hours": ({"stopping": {"max_hours": 2}}, {"active_seconds": 7200}, 0, {}),
    "max_wall_hours": ({"stopping": {"max_wall_hours": 2}}, {}, 7200, {}),
    "cost_unknown": ({"stopping": {"max_total_cost_usd": 5}}, {}, 0, {"budget_left": 5.0, "cost_unknown": "agents"}),
    "max_cost": ({"stopping": {"max_total_cost_usd": 5}}, {}, 0, {"budget_left": 0.0}),
    "consecutive_failures": ({"stopping": {"max_consecutive_failures": 2}}, totals(failures_in_a_row=2), 0, {}),
    "plateau": ({"stopping": {"plateau_iterations": 4}}, totals(measured_since_keep=4), 0, {}),
    "nothing_runnable": ({}, {"backlog": ()}, 0, {}),
}
"""Reason -> what the spec says, what the log says, seconds since the start, what the world says."""


@pytest.mark.parametrize("reason", sorted(CASES))
def test_every_limit_stops_the_run_for_good_and_says_how_to_go_on(reason: str) -> None:
    """At the limit, not before it: the run is final, with the reason, the figures and a mend."""
    spec, state, later, world = CASES[reason]
    stop = stop_of(a_running_log(**state), a_run_spec(**spec), NOON + later, **world)
    assert stop is not None
    assert (stop.reason, stop.status) == (reason, "final")
    assert stop.detail and stop.continue_with


UNDER: dict[str, tuple[dict[str, Any], dict[str, Any], float, dict[str, Any]]] = {
    "target": ({"metric": {"primary": {"target": 9.5}}}, {"best": 9.51}, 0, {}),
    "target that is not to stop it": (
        {"metric": {"primary": {"target": 9.5}}, "stopping": {"target_reached": False}}, {"best": 9.0}, 0, {},
    ),
    "max_iterations": ({"stopping": {"max_iterations": 3}}, totals(counts={"kept": 2}), 0, {}),
    "deferred ones do not count": (
        {"stopping": {"max_iterations": 3}}, totals(counts={"kept": 2, "deferred_needs_approval": 9}), 0, {},
    ),
    "max_hours": ({"stopping": {"max_hours": 2}}, {"active_seconds": 7199.9}, 0, {}),
    "max_wall_hours": ({"stopping": {"max_wall_hours": 2}}, {}, 7199, {}),
    "no wall clock before the first dispatch": (
        {"stopping": {"max_wall_hours": 2}}, {"phase3_started_at": None}, 99_999, {},
    ),
    "money left": ({"stopping": {"max_total_cost_usd": 5}}, {}, 0, {"budget_left": 0.01}),
    "unknown cost without a cap": ({}, {}, 0, {"cost_unknown": "agents"}),
    "failures": ({"stopping": {"max_consecutive_failures": 2}}, totals(failures_in_a_row=1), 0, {}),
    "plateau": ({"stopping": {"plateau_iterations": 4}}, totals(measured_since_keep=3), 0, {}),
    "no plateau": ({"stopping": {"plateau_iterations": "none"}}, totals(measured_since_keep=9999), 0, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(UNDER))
def test_below_its_limit_the_run_goes_on(case: str) -> None:
    """The last step before each limit is no reason to stop."""
    spec, state, later, world = UNDER[case]
    assert stop_of(a_running_log(**state), a_run_spec(**spec), NOON + later, **world) is None


@pytest.mark.parametrize("reason", ["stop", "interrupt", "max_ticks"])
def test_a_stop_by_hand_leaves_the_run_waiting(reason: str) -> None:
    """What was asked for goes before every other reason, and the run can be taken up where it stopped."""
    log = a_running_log(**totals(counts={"kept": 100}))
    stop = stop_of(log, a_run_spec(), stop=StopAsked(reason, "by hand"))
    assert stop is not None
    assert (stop.reason, stop.detail, stop.status) == (reason, "by hand", "waiting")
    assert "resume" in stop.continue_with


@pytest.mark.parametrize("reason", sorted(CASES))
def test_a_stop_with_a_hypothesis_that_waits_for_approval_waits_for_a_person(reason: str) -> None:
    """Deferred hypotheses are shown at wrap-up before the run is closed, whatever stopped it."""
    spec, state, later, world = CASES[reason]
    log = a_running_log(**{**state, "backlog": (*state.get("backlog", (an_item(),)), a_waiting_item())})
    stop = stop_of(log, a_run_spec(**spec), NOON + later, **world)
    assert stop is not None
    assert (stop.reason, stop.status) == (reason, "waiting")
    assert "wrap-up" in stop.continue_with


def test_a_hypothesis_whose_dependency_was_approved_waits_for_nobody() -> None:
    """Once it is approved and was tried, its entry of being deferred does not hold the run open."""
    entry = {"iteration": 1, "batch": 1, "hypothesis": "use numpy", "category": "a"}
    log = a_log({**entry, "outcome": "deferred_needs_approval", "deferred_reason": "numpy"})
    stop = stop_of(log, a_run_spec())
    assert stop is not None
    assert (stop.reason, stop.status) == ("nothing_runnable", "final")


def test_a_dependency_approved_at_wrap_up_makes_its_hypothesis_runnable() -> None:
    """`approved_deps` in the log counts like the spec's own list."""
    waiting = (a_waiting_item(dependency="numpy"),)
    assert stop_of(a_running_log(waiting, headway={"approved_deps": ["numpy"]}), a_run_spec()) is None
    assert stop_of(a_running_log(waiting), a_run_spec(dependencies={"approved": ["numpy"]})) is None


@pytest.mark.parametrize(("direction", "value", "met"), [
    ("minimize", 9.5, True), ("minimize", 9.6, False), ("maximize", 9.5, True), ("maximize", 9.4, False),
])  # fmt: skip
def test_a_target_is_met_from_its_own_side(direction: str, value: float, met: bool) -> None:
    """Reached exactly is reached; the direction says which side is better."""
    spec = a_run_spec(metric={"primary": {"direction": direction, "target": 9.5}})
    assert target_met(a_running_log(best=value), spec) is met


def test_an_unknown_best_value_meets_no_target() -> None:
    """Absent is unknown, never zero."""
    log = a_log(best={"iteration": 0})
    assert primary_of(log, a_run_spec()) is None
    assert not target_met(log, a_run_spec(metric={"primary": {"target": 100.0}}))


def test_the_primary_is_read_from_a_number_and_from_a_snapshot() -> None:
    """Both shapes that the log may hold."""
    assert primary_of(a_running_log(best=3.0), a_run_spec()) == 3.0
    assert primary_of(a_log(), a_run_spec()) == 10.0


@pytest.mark.parametrize("reason", sorted(MENDS))
def test_a_block_from_outside_says_how_to_mend_it(reason: str) -> None:
    """Blocked runs name what to do and how to take them up."""
    stop = blocked_by(reason, "why")
    assert (stop.status, stop.reason, stop.detail) == ("blocked", reason, "why")
    assert "headway resume" in stop.continue_with
