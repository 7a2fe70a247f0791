"""Drives one candidate's measuring session: which sample comes next, or what the samples taken amount to.

Pure: the caller measures what `next_step` asks for, adds it, and asks again. The methods are `absolute` and `relative`
(the candidate alone, against the stored reference) and `paired` (fresh samples of both sides in the order B A A B B A
A B ..., B being the candidate, so that a drift of the machine cancels out; pair i is the i-th sample of either side);
`sequential` stands in `sequential_session`.
Source: DECISIONS sections 1 and 2.1; CONTRACTS section 5.
"""

from dataclasses import replace

from headway.core import gates
from headway.core.compare import working_value
from headway.core.decide import closed_answer
from headway.core.output import Sample, required_metrics
from headway.core.sequential_session import sequential_step
from headway.core.session_payload import aggregation_of, decided, is_paired, last_valid, payload_of
from headway.core.session_words import (
    LADDER_KINDS,
    Ended,
    Kind,
    ReferenceBroken,
    Session,
    SessionOutcome,
    Side,
    Step,
    Take,
    TimedOut,
)
from headway.core.spec import ComparisonMethod, StabilityMode
from headway.core.verdicts import METHODS
from headway.errors import MethodMissing


def next_step(session: Session) -> Step:
    """Say what to measure next, or how the session ended.

    Args:
        session: the samples so far; those that this function asked for, in that order.
    Returns: a sample to take; the end; or that the reference is broken.
    Raises: MethodMissing, for a comparison method that is not in `METHODS`.
    """
    method = session.spec.measurement.stability.comparison.method
    if method is ComparisonMethod.SEQUENTIAL:
        return sequential_step(session)
    if method not in METHODS:
        raise MethodMissing(method, (*METHODS, ComparisonMethod.SEQUENTIAL))
    broken = _reference_trouble(session)
    if broken:
        return ReferenceBroken(broken)
    return _ended_early(session) or _next_take(session) or decided(_whole_pairs(session))


def _reference_trouble(session: Session) -> str:
    for at, sample in enumerate(session.reference_samples, start=1):
        if not isinstance(sample, Sample):
            return f"sample {at} of the reference failed: {sample.reason}"
        failed = gates.check(session.spec.metric.degenerate_gates, sample.gates).failed
        if failed:
            return f"sample {at} of the reference fails the gate {', '.join(failed)}"
    if is_paired(session):
        return ""
    stored = (session.reference or {}).get("metrics") or {}
    required = required_metrics(session.spec)
    missing = [name for name in required if working_value(stored.get(name), aggregation_of(session)) is None]
    return f"the stored reference has no value for {', '.join(missing)}" if missing else ""


def _ended_early(session: Session) -> Ended | None:
    """A failed smoke check, gate or measurement ends the candidate at once."""
    if session.smoke_passed is False:
        return decided(session)
    for sample in session.candidate:
        if isinstance(sample, Sample):
            if gates.check(session.spec.metric.degenerate_gates, sample.gates).failed:
                return decided(session, sample)
        else:
            outcome: SessionOutcome = "timeout" if isinstance(sample, TimedOut) else "error"
            return Ended(outcome, closed_answer("error", sample.reason), payload_of(session, last_valid(session)))
    return None


def _next_take(session: Session) -> Take | None:
    stability = session.spec.measurement.stability
    smoke = stability.mode is StabilityMode.LADDER and stability.ladder.smoke_command
    if smoke and session.smoke_passed is None:
        return Take("candidate", "smoke")
    kind = _wanted(_whole_pairs(session))
    return None if kind is None else Take(_open_side(session), kind)


def _wanted(session: Session) -> Kind | None:
    """What another sample would be for, or `None` where the samples suffice."""
    stability = session.spec.measurement.stability
    taken = len(session.candidate)
    if stability.mode is not StabilityMode.LADDER:
        return "sample" if taken < (stability.repeat_count if stability.mode is StabilityMode.REPEAT else 1) else None
    if taken < max(1, stability.ladder.exploratory_pairs):
        return "exploratory"
    return LADDER_KINDS.get(decided(session).answer["next_measurement"])


def _whole_pairs(session: Session) -> Session:
    """The session without the sample whose pair is still open."""
    if not is_paired(session):
        return session
    pairs = min(len(session.candidate), len(session.reference_samples))
    return replace(session, candidate=session.candidate[:pairs], reference_samples=session.reference_samples[:pairs])


def _open_side(session: Session) -> Side:
    """The side whose sample comes next: the one that lacks its half of a pair, else the one that opens the next."""
    if not is_paired(session):
        return "candidate"
    ahead = len(session.candidate) - len(session.reference_samples)
    if ahead:
        return "reference" if ahead > 0 else "candidate"
    return "candidate" if len(session.candidate) % 2 == 0 else "reference"
