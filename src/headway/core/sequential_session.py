"""Drives one candidate's session under the method `sequential`: from samples to readings, from a decision to an answer.

Candidate first; whether the reference is measured, and how many pairs, the rule says after every sample. Nothing is
kept between two calls: the same samples give the same step, so a crash between two samples costs none.
Source: DECISIONS 2; CONTRACTS section 5 (invalid samples, samples in pairs).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core import gates
from headway.core.compare import regressions
from headway.core.decide import closed_answer
from headway.core.decide_payload import read_payload
from headway.core.output import Sample, required_metrics
from headway.core.sequential.answer import answer_with
from headway.core.sequential.candidate import Decision
from headway.core.sequential.order import Reading, readings_of
from headway.core.sequential.order import Side as ReadingSide
from headway.core.sequential.scale import as_share, working
from headway.core.sequential.step import Step as SequentialStep
from headway.core.sequential.step import next_step as sequential_next
from headway.core.session_payload import decided, last_valid, payload_of
from headway.core.session_words import (
    OUTCOMES,
    Ended,
    ReferenceBroken,
    RunPart,
    Session,
    Step,
    Take,
    TakenSample,
    TimedOut,
)

MOVED_AT: Final = 4.0
"""A fresh value of the reference that lies this many deviations from its stored level says that the machine moved."""


def sequential_step(session: Session) -> Step:
    """Say what to measure next, or how the session ended; as `session.next_step`."""
    assert session.run is not None, "the method sequential needs its part of the run"
    failing = _failing_reference(session)
    if failing:
        return ReferenceBroken(failing)
    for sample in session.candidate:
        if isinstance(sample, Sample) and gates.check(session.spec.metric.degenerate_gates, sample.gates).failed:
            return decided(session, sample)
    names = required_metrics(session.spec)
    readings = in_order(names, session.candidate, session.reference_samples)
    step = sequential_next(readings, session.run.history, session.run.rules, session.run.state, session.elapsed_seconds)
    if step.outcome == "broken":
        return ReferenceBroken(step.reason)
    if step.outcome == "":
        assert step.side is not None and step.kind != "none", "a session that goes on says what to measure"
        return Take(step.side, step.kind, step.pair)
    if step.outcome in ("error", "timeout"):
        return Ended("timeout" if step.outcome == "timeout" else "error", closed_answer("error", step.reason))
    return Ended(OUTCOMES[step.outcome], _answer(session, step))


def in_order(
    names: Sequence[str], candidate: Sequence[TakenSample], reference: Sequence[TakenSample]
) -> tuple[Reading, ...]:
    """Put the samples of both sides into the order in which they were taken, which the rule of pairs gives.

    Args:
        names: the required objectives.
        candidate, reference: each side's samples, oldest first.
    """
    left: dict[ReadingSide, list[TakenSample]] = {"candidate": list(candidate), "reference": list(reference)}
    taken: list[Reading] = []
    while left["candidate"] or left["reference"]:
        side = readings_of(names, taken).following
        if not left[side]:
            break
        taken.append(_reading(side, left[side].pop(0)))
    return tuple(taken)


@dataclass(frozen=True)
class WholePairs:
    """A session's whole pairs, each as (place in the candidate's list, place in the reference's), and their order."""

    pairs: tuple[tuple[int, int], ...]
    order: tuple[ReadingSide, ...]


def whole_pairs(names: Sequence[str], candidate: Sequence[TakenSample], reference: Sequence[TakenSample]) -> WholePairs:
    """Say which samples belong together; arguments as of `in_order`. A half that failed takes its pair with it."""
    at: dict[ReadingSide, int] = {"candidate": -1, "reference": -1}
    pairs: list[tuple[int, int]] = []
    order: list[ReadingSide] = []
    open_pair: list[ReadingSide] = []
    for reading in in_order(names, candidate, reference):
        at[reading.side] += 1
        if reading.values is None or any(name not in reading.values for name in names):
            open_pair = []
            continue
        open_pair.append(reading.side)
        if len(open_pair) == 2:
            pairs.append((at["candidate"], at["reference"]))
            order += open_pair
            open_pair = []
    return WholePairs(tuple(pairs), tuple(order))


def _reading(side: ReadingSide, sample: TakenSample) -> Reading:
    if isinstance(sample, Sample):
        return Reading(side, dict(sample.metrics))
    return Reading(side, None, sample.reason, isinstance(sample, TimedOut))


def _failing_reference(session: Session) -> str:
    for at, sample in enumerate(session.reference_samples, start=1):
        if isinstance(sample, Sample):
            failed = gates.check(session.spec.metric.degenerate_gates, sample.gates).failed
            if failed:
                return f"sample {at} of the reference fails the gate {', '.join(failed)}"
    return ""


def _answer(session: Session, step: SequentialStep) -> dict[str, Any]:
    """Give the answer of `decide`, with the gain, the evidence and, where it moved, the reference's drift beside it."""
    run, decision = session.run, step.decision
    assert run is not None and decision is not None, "a session ends on a decision"
    shown = payload_of(session, last_valid(session))
    request = read_payload({"spec": shown["spec"]})
    answer = answer_with(request, step.outcome, "none", step.reason, decision)
    reason = answer.pop("reason")
    before, after = (_cases(side) for side in (session.reference_samples, session.candidate))
    if before is not None and after is not None:
        answer["regressions"] = regressions(before, after)
    gain = _gain(decision)
    if gain is not None:
        answer["gain"] = gain
    moved = _moved(session, run)
    if moved:
        answer["moved"] = moved
    return {**answer, "evidence": _evidence(decision, run), "reason": reason}


def _cases(side: Sequence[TakenSample]) -> Mapping[str, Any] | None:
    """Give the cases of a side's newest valid sample."""
    valid = [sample for sample in side if isinstance(sample, Sample)]
    return valid[-1].cases if valid else None


def _gain(decision: Decision) -> dict[str, float | None] | None:
    """Give the primary's shrunken gain and its interval as shares; None without a whole pair."""
    primary = decision.sights[0]
    found = decision.gains().get(primary.objective.name)
    if found is None:
        return None
    estimate, low, high = (as_share(v, primary.yardstick) for v in (found.estimate, found.low, found.high))
    return None if estimate is None else {"estimate": estimate, "low": low, "high": high}


def _evidence(decision: Decision, run: RunPart) -> str:
    """Say on what a decision rests: pairs, noise, statistic against boundary, and what is missing."""
    primary = decision.sights[0]
    name = primary.objective.name
    words = [f"k={run.state.k}", f"pairs={primary.taken.pairs}"]
    noise = primary.noise
    if noise is None:
        words.append("noise not known yet")
    else:
        words.append(f"noise of a pair {noise.deviation:.3g}{_unit(primary.yardstick.is_log)}")
    test, look = decision.tests.get(name), decision.looks.get(name)
    if test is not None:
        words.append(f"z={test.z:.2f} against {test.boundary:.2f}")
    elif look is not None:
        words.append("one look at the candidate, no pair")
    return ", ".join(words)


def _unit(is_log: bool) -> str:
    return " (share)" if is_log else ""


def _moved(session: Session, run: RunPart) -> str:
    """Say that the reference measures differently now than when its level was stored; empty where it does not."""
    name = session.spec.metric.primary.name
    first = next((s for s in session.reference_samples if isinstance(s, Sample)), None)
    history = run.history.of(name)
    level = history.level_of(run.state.incumbent)
    if first is None or len(level) < 2 or history.spread_of_one <= 0:
        return ""
    value = first.metrics[name]
    if history.is_log and value <= 0:
        return ""
    middle = sum(level) / len(level)
    reach = MOVED_AT * history.spread_of_one * (1 + 1 / len(level)) ** 0.5
    if abs(working((value,), history.is_log)[0] - middle) <= reach:
        return ""
    return f"{name} of the reference is {value:.6g} now, far from its stored level: the machine changed pace"
