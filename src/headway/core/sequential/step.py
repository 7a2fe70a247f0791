"""What a session of the sequential method does next: the one function that the loop asks.

Source: DECISIONS 2; CONTRACTS section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headway.core.sequential.candidate import Decision, decide_candidate
from headway.core.sequential.history import RunHistory
from headway.core.sequential.order import Reading, Readings, Side, readings_of
from headway.core.sequential.rules import Rules, RunState


@dataclass(frozen=True)
class Step:
    """The next measurement, or the end of the session.

    `side` and `kind` say what to measure; `outcome` is empty while there is something to measure, and `broken` where
    the current best itself cannot be measured. `decision` holds all figures, once there is a value to decide on.
    `pair` numbers the pair that the next measurement belongs to, failed ones counted.
    """

    side: Side | None
    kind: Literal["none", "exploratory", "add_sample", "confirm"]
    outcome: Literal["", "keep", "revert", "inconclusive", "censored", "error", "timeout", "broken"]
    reason: str
    decision: Decision | None = None
    pair: int = 1


def next_step(
    readings: Sequence[Reading],
    history: RunHistory,
    rules: Rules,
    state: RunState,
    elapsed_seconds: float | None = None,
) -> Step:
    """Say what to measure next of a candidate, or how its session ended.

    Args:
        readings: all measurements of the session so far, failed ones among them, in the order they were taken.
        history: of the run without this session: `log_history.history_of`.
        rules: `settings.rules_for`.
        state: where the run stands.
        elapsed_seconds: what the candidate's samples took, for `futility.after_elapsed_seconds`.
    Returns: the step. The same readings always give the same step, so that a crash between samples costs none.
    Raises: ValueError, for a reading that was not asked for.
    """
    found = readings_of([objective.name for objective in rules.objectives], readings)
    if found.broken:
        return Step(None, "none", "broken", found.broken)
    if found.ended:
        return Step(None, "none", found.ended, found.reason)
    if not any(taken.candidate for taken in found.taken.values()):
        return Step("candidate", "exploratory", "", "the candidate is measured first", pair=found.number)
    decision = decide_candidate(found.taken, history, rules, state, elapsed_seconds)
    if found.is_between and decision.next_measurement == "none":
        return Step(None, "none", decision.decided, decision.reason, decision)
    return Step(found.following, _kind(found, decision), "", decision.reason, decision, found.number)


def _kind(found: Readings, decision: Decision) -> Literal["exploratory", "add_sample", "confirm"]:
    """What a measurement is for; the second half of a pair is for what the first was."""
    return "add_sample" if decision.next_measurement == "none" else decision.next_measurement
