"""The rows that every face shows: a run's figures, and where it stands with the next command to type.

`status_of` is what an agent reads after its memory was compacted, so it names one exact command and says why.
All is drawn from the log; only whether a process is alive is told from outside.

Source: DESIGN section 10; CONTRACTS section 3 (Status).
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from headway.core.approval import caps_of
from headway.core.backlog import deferred
from headway.core.claims import GainRange
from headway.core.figures import RunFigures, gain_of, run_figures
from headway.core.forecast import Forecast, forecast_of
from headway.core.log_view import Log
from headway.core.records import Outcome, RunStatus
from headway.core.spec import Spec
from headway.core.stopping import BY_HAND, approved_dependencies, totals_of

RECENT = 5
NOTICES = 5


class State(StrEnum):
    """Where a run stands; `interrupted` is derived: the log says running, and no process is."""

    NOT_STARTED = "not_started"  # CP-1 was not reached: there is no log yet
    AT_GATE = "at_gate"
    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    FINAL = "final"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class NextAction:
    """The one command to type next, and why."""

    command: str
    why: str


@dataclass(frozen=True)
class OpenExperiment:
    """An experiment that is dispatched and not decided."""

    iteration: int
    hypothesis: str
    stage: str


@dataclass(frozen=True)
class Waiting:
    """A hypothesis that waits for a person to approve its dependencies."""

    description: str
    required_deps: tuple[str, ...]


@dataclass(frozen=True)
class Budget:
    """One limit of the run: what is used of it (None: unknown), and the cap (None: no such limit)."""

    name: str
    used: float | None
    cap: float | None


@dataclass(frozen=True)
class Row:
    """One experiment in a line; `primary_delta` is in the metric's unit, positive is better."""

    iteration: int
    outcome: str
    hypothesis: str
    primary_delta: str | None
    gain: GainRange | None


@dataclass(frozen=True)
class Status:
    """Where a run stands.

    Args:
        phase: what is under way: dispatched experiments, in order of their numbers.
        backlog: hypotheses that wait, deferred ones among them; None before CP-2.
        caps: what an approval says yes to, nested like the spec.
        figures: None before CP-1.
        recent: the newest experiments, oldest first.
        forecast: under `sequential`: what the calibration says can be found, and what that takes.
    """

    spec: str
    run_id: str | None
    state: State
    next_action: NextAction
    phase: tuple[OpenExperiment, ...]
    backlog: int | None
    deferred: tuple[Waiting, ...]
    dropped: int
    budget: tuple[Budget, ...]
    caps: Mapping[str, Any]
    recent: tuple[Row, ...]
    notices: tuple[str, ...]
    state_root: str
    branch: str
    figures: RunFigures | None
    forecast: Forecast | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the status as plain data."""
        forecast = None if self.forecast is None else self.forecast.to_json()
        return {**asdict(replace(self, forecast=None)), "forecast": forecast}


def status_of(
    log: Log | None, spec: Spec, gate_objections: tuple[str, ...] | None, is_live: bool, state_root: str
) -> Status:
    """Say where a run stands and what to do next.

    Args:
        log: the log; None before CP-1.
        spec: the frozen spec.
        gate_objections: why the approval gate must be presented; None or empty when it need not.
        is_live: a process owns the run now.
        state_root: absolute path of the state root, as it stands in the commands.
    """
    objections = gate_objections or ()
    state = _state(log, objections, is_live)
    extension = log.run_state.headway if log and log.run_state else None
    return Status(
        spec=spec.name,
        run_id=log.run_id if log else None,
        state=state,
        next_action=_next_action(state, log, spec, objections, state_root),
        phase=under_way(log),
        backlog=None if log is None or log.backlog is None else len(log.backlog),
        deferred=_deferred(log, spec),
        dropped=len(extension.dropped) if extension else 0,
        budget=_budget(log, spec),
        caps=caps_of(spec),
        recent=_recent(log, spec),
        notices=tuple(f"{n.at} {n.text}" for n in extension.notices[-NOTICES:]) if extension else (),
        state_root=state_root,
        branch=f"optimize/{spec.name}",
        figures=run_figures(log, spec) if log else None,
        forecast=forecast_of(log, spec) if log else None,
    )


def _state(log: Log | None, objections: tuple[str, ...], is_live: bool) -> State:
    if is_live:
        return State.RUNNING
    if log is None:
        return State.NOT_STARTED
    status = log.run_state.status if log.run_state else None
    if status is RunStatus.FINAL:
        return State.FINAL
    if objections:
        return State.AT_GATE
    if status is RunStatus.RUNNING:
        return State.INTERRUPTED
    return State.BLOCKED if status is RunStatus.BLOCKED else State.WAITING


def _next_action(state: State, log: Log | None, spec: Spec, objections: tuple[str, ...], state_root: str) -> NextAction:
    where = _where(spec, state_root)
    match state:
        case State.NOT_STARTED:
            return NextAction(f"headway resume{where}", "the baseline was not measured to the end")
        case State.RUNNING:
            why = "the run goes on by itself; look again later, or end it at a safe point with `headway stop`"
            return NextAction(f"headway status{where}", why)
        case State.AT_GATE:
            frozen = shlex.quote(f"{state_root}/spec.yaml")
            root = "" if _is_usual(spec, state_root) else where
            why = f"{'; '.join(objections)}; after that `headway resume{where}` starts the experiments"
            return NextAction(f"headway approve {frozen} --as NAME{root}", why)
        case State.INTERRUPTED:
            why = "the process that ran it is gone; what was measured is on disk and is not measured again"
            return NextAction(f"headway resume{where}", why)
        case State.BLOCKED:
            return NextAction(f"headway resume{where}", f"{_stop_words(log)}; first: {_mend_words(log)}")
        case State.WAITING:
            return _after_waiting(log, spec, where)
        case State.FINAL:
            return _after_final(log, spec)


def _after_waiting(log: Log | None, spec: Spec, where: str) -> NextAction:
    stop = log.run_state.headway.stop if log and log.run_state and log.run_state.headway else None
    if stop is not None and stop.reason not in BY_HAND:
        named = sorted({name for item in _deferred(log, spec) for name in item.required_deps})
        deps = f" They need: {', '.join(named)}." if named else ""
        why = (
            f"{_stop_words(log)}. A person chooses: approve the dependencies of deferred hypotheses, go on, or close "
            f"the run; this command shows the choice and changes nothing.{deps}"
        )
        return NextAction(f"headway wrap-up{where}", why)
    if stop is not None:
        return NextAction(f"headway resume{where}", f"{_stop_words(log)}; it goes on where it stopped")
    return NextAction(f"headway resume{where}", "it is approved and nothing stands in its way")


def _after_final(log: Log | None, spec: Spec) -> NextAction:
    over = f"the run is over ({_stop_words(log)})"
    anew = "`headway run SPEC --fresh` begins anew, `headway wrap-up --continue` reopens this one"
    base = log.baseline.headway.commit if log and log.baseline.headway else None
    if log is not None and log.best.iteration and base:
        return NextAction(
            f"git diff {base[:12]}..optimize/{spec.name}", f"{over}; this shows all that was kept; {anew}"
        )
    return NextAction("headway run SPEC", f"{over} and kept nothing; other hypotheses need a changed spec; {anew}")


def _stop_words(log: Log | None) -> str:
    """Give a stop's reason and detail as one clause, without a full stop."""
    stop = log.run_state.headway.stop if log and log.run_state and log.run_state.headway else None
    if stop is None:
        return "no reason recorded"
    return f"{stop.reason}: {stop.detail}" if stop.detail else stop.reason


def _mend_words(log: Log | None) -> str:
    """Give what a stop says must be done before the run can go on."""
    stop = log.run_state.headway.stop if log and log.run_state and log.run_state.headway else None
    return stop.continue_with if stop and stop.continue_with else "mend that"


def _is_usual(spec: Spec, state_root: str) -> bool:
    return re.search(rf"/\.headway/{re.escape(spec.name)}/?$", state_root) is not None


def _where(spec: Spec, state_root: str) -> str:
    """Give the option that names this run and no other, to be used inside the repository."""
    return f" --name {spec.name}" if _is_usual(spec, state_root) else f" --state-root {shlex.quote(state_root)}"


def under_way(log: Log | None) -> tuple[OpenExperiment, ...]:
    """Give the experiments that are dispatched and not decided, as far as the log alone tells of them."""
    if log is None:
        return ()
    found = {
        wait.headway.iteration: OpenExperiment(
            wait.headway.iteration,
            wait.headway.hypothesis.description if wait.headway.hypothesis else "",
            f"dispatched, no measurement in the log yet ({wait.item})",
        )
        for wait in log.dispatched
        if wait.headway and wait.headway.iteration is not None
    }
    for iteration, entry in log.recent.items():
        if not entry.outcome.is_final:
            found[iteration] = OpenExperiment(iteration, entry.hypothesis, f"{entry.outcome}, not decided yet")
    return tuple(found[iteration] for iteration in sorted(found))


def _deferred(log: Log | None, spec: Spec) -> tuple[Waiting, ...]:
    if log is None:
        return ()
    items = deferred(log.backlog or (), approved_dependencies(log, spec))
    return tuple(Waiting(item.description, tuple(item.required_deps)) for item in items)


def _budget(log: Log | None, spec: Spec) -> tuple[Budget, ...]:
    if log is None:
        return ()
    totals, stopping, figures = totals_of(log), spec.stopping, run_figures(log, spec)
    used = sum(n for outcome, n in totals.counts.items() if outcome is not Outcome.DEFERRED_NEEDS_APPROVAL)
    return (
        Budget("experiments", used, stopping.max_iterations),
        Budget("active hours", round(log.active_seconds / 3600, 4), stopping.max_hours),
        Budget("cost in USD", figures.cost_usd, stopping.max_total_cost_usd),
        Budget("measured since the last keep", totals.measured_since_keep, stopping.plateau_iterations),
        Budget("failures in a row", totals.failures_in_a_row, stopping.max_consecutive_failures),
    )


def _recent(log: Log | None, spec: Spec) -> tuple[Row, ...]:
    if log is None:
        return ()
    newest = [entry for _, entry in sorted(log.recent.items())][-RECENT:]
    return tuple(Row(e.iteration, str(e.outcome), e.hypothesis, e.primary_delta, gain_of(e, spec)) for e in newest)


__all__ = [
    "Budget",
    "GainRange",
    "NextAction",
    "OpenExperiment",
    "Row",
    "RunFigures",
    "State",
    "Status",
    "Waiting",
    "run_figures",
    "status_of",
    "under_way",
]
