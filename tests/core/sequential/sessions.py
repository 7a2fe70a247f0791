"""Builders: histories with a known noise, rules, and candidates measured until their end."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from headway.core.sequential.candidate import Decision, decide_candidate
from headway.core.sequential.history import Repeats, RunHistory, run_history
from headway.core.sequential.rules import BOUNDS, Objective, Rules, RunState, spending_of
from headway.core.sequential.sight import Taken
from headway.core.spec_parts import Effort, ErrorControl

TIME: Final = Objective("time", -1)
"""Less is better."""
BASE: Final = "base"


def a_history(*calibration: float, name: str = "time", code: str = BASE) -> RunHistory:
    """Give a history of one block of repeats."""
    return run_history([Repeats(code, {name: calibration})])


def a_noisy_history(level: float = 10.0, step: float = 0.01, count: int = 61, name: str = "time") -> RunHistory:
    """Give a history whose successive log differences are all `step` in size: s0 is 1.4826 steps, s is one step."""
    values = [level * math.exp(step if at % 2 else 0.0) for at in range(count)]
    return a_history(*values, name=name)


def some_rules(effort: Effort = Effort.STANDARD, *objectives: Objective, **changes: Any) -> Rules:
    """Give an effort's rules, 100 candidates planned, for one time or the objectives given."""
    control = ErrorControl.NONE if effort is Effort.QUICK else ErrorControl.RUN
    rules = Rules(objectives or (TIME,), BOUNDS[effort], spending_of(effort, control, None))
    return replace(rules, **changes)


def a_state(k: int = 1, **changes: Any) -> RunState:
    """Give the state of a run of 100 planned candidates whose best is the untouched code."""
    return replace(RunState(k, BASE, planned=100), **changes)


def decided(
    reference: Sequence[float],
    candidate: Sequence[float],
    history: RunHistory | None = None,
    rules: Rules | None = None,
    state: RunState | None = None,
) -> Decision:
    """Decide on one time's samples."""
    session = {"time": Taken(tuple(reference), tuple(candidate))}
    return decide_candidate(session, history or a_noisy_history(), rules or some_rules(), state or a_state())


def measured_to_the_end(
    measure: Callable[[str, int], float], history: RunHistory, rules: Rules, state: RunState | None = None
) -> tuple[str, Decision]:
    """Measure one candidate until nothing is asked for; give the order (B candidate, A reference) and the end."""
    a: list[float] = []
    b = [measure("B", 0)]
    order = "B"
    while True:
        decision = decided(a, b, history, rules, state)
        if decision.next_measurement == "none":
            return order, decision
        sides = "A" if not a else ("AB" if len(a) % 2 else "BA")
        for side in sides:
            (a if side == "A" else b).append(measure(side, len(a if side == "A" else b)))
        order += sides
