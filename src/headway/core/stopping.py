"""When to stop, and why: every stop has a reason, what it means, and how to go on.

Source: DESIGN section 7 (Stopping), promise 6; CONTRACTS section 3 (Status).
"""

from datetime import datetime

from headway.core.backlog import deferred, is_runnable
from headway.core.events import RunStopped
from headway.core.final_checking import reserved_seconds
from headway.core.log_view import Log
from headway.core.records import Outcome, Totals
from headway.core.spec import Direction, Spec
from headway.core.world import World

BY_HAND = ("interrupt", "stop", "max_ticks")
"""Reasons that end a process and not the run: it goes on where it stopped."""

RAISE_CAP = "raise the cap in the spec and run `headway run SPEC` again: the gate is presented with what changed"


def reason_to_stop(log: Log, world: World, now: float) -> RunStopped | None:
    """Say whether the loop is over at this tick's boundary; the first reason that holds is given.

    Args:
        log: the log.
        world: the spec, and what was asked for.
        now: wall clock, seconds since the epoch.
    Returns: the reason with its continuation, or None to go on.
    """
    if world.stop is not None:
        return _stopped(log, world, world.stop.reason, world.stop.detail, "`headway resume` goes on where it stopped")
    for check in (_target, _iterations, _hours, _wall_hours, _cost, _failures, _plateau, _runnable):
        found = check(log, world, now)
        if found is not None:
            reason, detail, mend = found
            return _stopped(log, world, reason, detail, mend)
    return None


Found = tuple[str, str, str] | None


def _stopped(log: Log, world: World, reason: str, detail: str, mend: str) -> RunStopped:
    status = "waiting" if reason in BY_HAND else "final"
    if status == "final" and _deferred_items(log, world):
        status = "waiting"
        mend = "deferred hypotheses wait: `headway wrap-up --approve-dep NAME`, or `headway wrap-up --done`"
    return RunStopped(reason=reason, detail=detail, continue_with=mend, status=status)


def _deferred_items(log: Log, world: World) -> bool:
    return bool(deferred(log.backlog or (), approved_dependencies(log, world.spec)))


def approved_dependencies(log: Log, spec: Spec) -> frozenset[str]:
    """Give the names of dependencies that the spec or a wrap-up approved."""
    extension = log.run_state.headway if log.run_state else None
    return frozenset(spec.dependencies.approved) | frozenset((extension.approved_deps or ()) if extension else ())


def totals_of(log: Log) -> Totals:
    """Give the run's totals; before the first dispatch they are empty."""
    extension = log.run_state.headway if log.run_state else None
    return (extension.totals if extension else None) or Totals()


def target_met(log: Log, spec: Spec) -> bool:
    """Say whether the current best reaches the primary's target."""
    primary = spec.metric.primary
    value = primary_of(log, spec)
    if primary.target is None or value is None:
        return False
    return value >= primary.target if primary.direction is Direction.MAXIMIZE else value <= primary.target


def primary_of(log: Log, spec: Spec) -> float | None:
    """Give the current best's primary value, or None where it is unknown."""
    metrics = log.best.model_dump(mode="json", exclude_unset=True).get("metrics") or {}
    value = metrics.get(spec.metric.primary.name)
    value = value.get("aggregate") if isinstance(value, dict) else value
    return float(value) if isinstance(value, int | float) else None


def _target(log: Log, world: World, now: float) -> Found:
    if not world.spec.stopping.target_reached or not target_met(log, world.spec):
        return None
    primary = world.spec.metric.primary
    detail = f"{primary.name} is {primary_of(log, world.spec):g}, the target {primary.target:g}"
    return "target", detail, "set a further target in the spec and run it again"


def _iterations(log: Log, world: World, now: float) -> Found:
    limit = world.spec.stopping.max_iterations
    outcomes = totals_of(log).counts or {}
    used = sum(n for outcome, n in outcomes.items() if outcome != Outcome.DEFERRED_NEEDS_APPROVAL)
    if limit is None or used < limit:
        return None
    return "max_iterations", f"{used} experiments of {limit}", RAISE_CAP


def _hours(log: Log, world: World, now: float) -> Found:
    limit, reserved = world.spec.stopping.max_hours, reserved_seconds(log, world.spec)
    if limit is None or log.active_seconds < limit * 3600 - reserved:
        return None
    return "max_hours", f"{log.active_seconds / 3600:.2f} active hours of {limit:g}{_held_back(reserved)}", RAISE_CAP


def _held_back(seconds: float) -> str:
    return f", {seconds:.3g} s of them held back for the final check" if seconds else ""


def _wall_hours(log: Log, world: World, now: float) -> Found:
    limit, started = world.spec.stopping.max_wall_hours, log.run_state.phase3_started_at if log.run_state else None
    if limit is None or started is None:
        return None
    hours = (now - datetime.fromisoformat(started).timestamp()) / 3600
    reserved = reserved_seconds(log, world.spec)
    if hours < limit - reserved / 3600:
        return None
    return "max_wall_hours", f"{hours:.2f} hours by the wall clock of {limit:g}{_held_back(reserved)}", RAISE_CAP


def _cost(log: Log, world: World, now: float) -> Found:
    if world.budget_left is None:
        return None
    if world.cost_unknown:
        return (
            "cost_unknown",
            f"a cap of {world.spec.stopping.max_total_cost_usd} USD is set and the cost of {world.cost_unknown} "
            "is unknown",
            "let the agent report `usd` in its result file, or take the cap out of the spec",
        )
    if world.budget_left > 0:
        return None
    return "max_cost", f"the cap of {world.spec.stopping.max_total_cost_usd} USD is spent", RAISE_CAP


def _failures(log: Log, world: World, now: float) -> Found:
    limit, row = world.spec.stopping.max_consecutive_failures, totals_of(log).failures_in_a_row or 0
    if limit is None or row < limit:
        return None
    return (
        "consecutive_failures",
        f"{row} experiments in a row ended as error or timeout",
        "look at `headway show N` for the last ones, mend the cause, then `headway wrap-up --continue`",
    )


def _plateau(log: Log, world: World, now: float) -> Found:
    limit = world.spec.stopping.plateau_iterations
    since = totals_of(log).measured_since_keep or 0
    if not isinstance(limit, int) or since < limit:
        return None
    return "plateau", f"{since} measured experiments since the last keep", RAISE_CAP


def _runnable(log: Log, world: World, now: float) -> Found:
    approved = approved_dependencies(log, world.spec)
    if any(is_runnable(item, approved) for item in log.backlog or ()):
        return None
    return (
        "nothing_runnable",
        "no hypothesis in the backlog may run",
        "add hypotheses to the spec and run `headway run SPEC` again",
    )


MENDS = {
    "agent_unavailable": "mend the agent's program or login, then `headway resume`; its command: `headway run SPEC`",
    "reference_broken": "the kept code fails its own measurement: find out why, mend it, then `headway resume`",
}


def blocked_by(reason: str, detail: str) -> RunStopped:
    """Build the stop of a run that something outside the loop blocks."""
    return RunStopped(reason=reason, detail=detail, continue_with=MENDS[reason], status="blocked")
