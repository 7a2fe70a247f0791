"""Drives one candidate's measuring session: which sample comes next, or what the samples taken amount to.

Pure: the caller measures what `next_step` asks for, adds it, and asks again. The methods are `absolute` and `relative`
(the candidate alone, against the stored reference) and `paired` (fresh samples of both sides in the order B A A B B A
A B ..., B being the candidate, so that a drift of the machine cancels out; pair i is the i-th sample of either side).
Source: DECISIONS sections 1 and 2.1; CONTRACTS section 5.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from headway.core import gates
from headway.core.compare import working_value
from headway.core.decide import closed_answer, decide
from headway.core.output import InvalidSample, Sample, required_metrics
from headway.core.spec import ComparisonMethod, Spec, StabilityMode
from headway.core.statistics import aggregate
from headway.core.verdicts import METHODS
from headway.errors import MethodMissing

Side = Literal["candidate", "reference"]
Kind = Literal["smoke", "exploratory", "add_sample", "confirm", "sample"]
SessionOutcome = Literal[
    "keep-eligible", "needs-holdout", "reverted", "inconclusive", "censored", "degenerate", "error", "timeout"
]
LADDER_KINDS: Final[Mapping[str, Kind]] = {
    "exploratory": "exploratory",
    "add_sample": "add_sample",
    "confirm": "confirm",
}
OUTCOMES: Final[Mapping[str, SessionOutcome]] = {
    "keep": "keep-eligible",
    "promising": "needs-holdout",  # the ladder's own requests never end a session
    "revert": "reverted",
    "inconclusive": "inconclusive",
    "censored": "censored",
    "degenerate": "degenerate",
    "error": "error",
}


@dataclass(frozen=True)
class TimedOut:
    """A measurement that exceeded its limit."""

    reason: str = "the measurement exceeded its time limit"


TakenSample = Sample | InvalidSample | TimedOut


@dataclass(frozen=True)
class Session:
    """What has been measured of one candidate so far.

    `reference` is the stored snapshot of the kept state (`{"metrics": {...}, "gates": {...}, ...}`, `None` where there
    is none); `smoke_passed` is `None` while the smoke check has not run; both sample lists stand in the order of
    measurement; `elapsed_seconds` is what the candidate's samples took, for `futility.after_elapsed_seconds`.
    """

    spec: Spec
    reference: Mapping[str, Any] | None
    smoke_passed: bool | None
    candidate: tuple[TakenSample, ...]
    reference_samples: tuple[TakenSample, ...] = ()
    elapsed_seconds: float | None = None


@dataclass(frozen=True)
class Take:
    """Measure this side once more; `kind` is the ladder's word for it (`sample` where there is no ladder)."""

    side: Side
    kind: Kind = "sample"


@dataclass(frozen=True)
class Ended:
    """The session is over: what it leads to, the decision that says so, and the payload it was decided on."""

    outcome: SessionOutcome
    answer: Mapping[str, Any]
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceBroken:
    """The kept state itself cannot be measured or fails a gate: the run cannot go on."""

    reason: str


Step = Take | Ended | ReferenceBroken


def next_step(session: Session) -> Step:
    """Say what to measure next, or how the session ended.

    Args:
        session: the samples so far; those that this function asked for, in that order.
    Returns: a sample to take; the end; or that the reference is broken.
    Raises: MethodMissing, for a comparison method that is not in `METHODS`.
    """
    method = session.spec.measurement.stability.comparison.method
    if method not in METHODS:
        raise MethodMissing(method, tuple(METHODS))
    broken = _reference_trouble(session)
    if broken:
        return ReferenceBroken(broken)
    return _ended_early(session) or _next_take(session) or _decided(_whole_pairs(session))


def decision_spec(spec: Spec) -> dict[str, Any]:
    """Give the part of the spec that `decide` reads.

    Args:
        spec: the spec.
    Returns: plain JSON values, nested as in the YAML: metric, stability and holdout.
    """
    judge = spec.metric.judge
    metric = spec.metric.model_dump(mode="json", exclude_none=True, exclude={"judge", "diagnostics"})
    if judge is not None:
        metric["judge"] = {"minimum_improvement": judge.minimum_improvement}
    measurement = spec.measurement.model_dump(mode="json", exclude_none=True, include={"stability", "holdout"})
    return {"metric": metric, "measurement": measurement}


def snapshot(samples: Iterable[TakenSample], aggregation: str) -> dict[str, dict[str, Any]]:
    """Put the samples of one side together, metric by metric.

    Args:
        samples: in the order of measurement; invalid ones are left out.
        aggregation: how samples become one value, a name in `statistics.AGGREGATES`.
    Returns: `{name: {"aggregate": ..., "samples": [...]}}` for each metric that every valid sample has.
    """
    valid = [sample for sample in samples if isinstance(sample, Sample)]
    names = [name for name in (valid[0].metrics if valid else ()) if all(name in sample.metrics for sample in valid)]
    columns = {name: [sample.metrics[name] for sample in valid] for name in names}
    return {name: {"aggregate": aggregate(values, aggregation), "samples": values} for name, values in columns.items()}


def _reference_trouble(session: Session) -> str:
    for at, sample in enumerate(session.reference_samples, start=1):
        if not isinstance(sample, Sample):
            return f"sample {at} of the reference failed: {sample.reason}"
        failed = gates.check(session.spec.metric.degenerate_gates, sample.gates).failed
        if failed:
            return f"sample {at} of the reference fails the gate {', '.join(failed)}"
    if _is_paired(session):
        return ""
    stored = (session.reference or {}).get("metrics") or {}
    required = required_metrics(session.spec)
    missing = [name for name in required if working_value(stored.get(name), _aggregation(session)) is None]
    return f"the stored reference has no value for {', '.join(missing)}" if missing else ""


def _ended_early(session: Session) -> Ended | None:
    """A failed smoke check, gate or measurement ends the candidate at once."""
    if session.smoke_passed is False:
        return _decided(session)
    for sample in session.candidate:
        if isinstance(sample, Sample):
            if gates.check(session.spec.metric.degenerate_gates, sample.gates).failed:
                return _decided(session, sample)
        else:
            outcome: SessionOutcome = "timeout" if isinstance(sample, TimedOut) else "error"
            return Ended(outcome, closed_answer("error", sample.reason), _payload(session, _last_valid(session)))
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
    return LADDER_KINDS.get(_decided(session).answer["next_measurement"])


def _whole_pairs(session: Session) -> Session:
    """The session without the sample whose pair is still open."""
    if not _is_paired(session):
        return session
    pairs = min(len(session.candidate), len(session.reference_samples))
    return replace(session, candidate=session.candidate[:pairs], reference_samples=session.reference_samples[:pairs])


def _open_side(session: Session) -> Side:
    """The side whose sample comes next: the one that lacks its half of a pair, else the one that opens the next."""
    if not _is_paired(session):
        return "candidate"
    ahead = len(session.candidate) - len(session.reference_samples)
    if ahead:
        return "reference" if ahead > 0 else "candidate"
    return "candidate" if len(session.candidate) % 2 == 0 else "reference"


def _aggregation(session: Session) -> str:
    return session.spec.measurement.stability.aggregation


def _is_paired(session: Session) -> bool:
    return session.spec.measurement.stability.comparison.method is ComparisonMethod.PAIRED


def _decided(session: Session, failed: Sample | None = None) -> Ended:
    payload = _payload(session, failed or _last_valid(session))
    answer = decide(payload)
    return Ended(OUTCOMES[answer["decision"]], answer, payload)


def _payload(session: Session, shown: Sample | None) -> dict[str, Any]:
    """The payload of `decide`; gates, diagnostics and cases are those of one sample, the failing or the last one."""
    candidate: dict[str, Any] = {
        "gates": dict(shown.gates) if shown else {},
        "metrics": snapshot(session.candidate, _aggregation(session)),
        "diagnostics": dict(shown.diagnostics) if shown else {},
        "sample_count": sum(isinstance(sample, Sample) for sample in session.candidate),
    }
    if shown is not None and shown.cases is not None:
        candidate["cases"] = dict(shown.cases)
    if session.smoke_passed is not None:
        candidate["smoke_passed"] = session.smoke_passed
    if session.elapsed_seconds is not None:
        candidate["elapsed_seconds"] = session.elapsed_seconds
    return {"spec": decision_spec(session.spec), "baseline": _baseline(session), "candidate": candidate}


def _baseline(session: Session) -> dict[str, Any]:
    if not _is_paired(session):
        return dict(session.reference or {})
    shown = _last_valid_of(session.reference_samples)
    baseline: dict[str, Any] = {
        "gates": dict(shown.gates) if shown else {},
        "metrics": snapshot(session.reference_samples, _aggregation(session)),
        "diagnostics": dict(shown.diagnostics) if shown else {},
    }
    if shown is not None and shown.cases is not None:
        baseline["cases"] = dict(shown.cases)
    return baseline


def _last_valid(session: Session) -> Sample | None:
    return _last_valid_of(session.candidate)


def _last_valid_of(samples: Sequence[TakenSample]) -> Sample | None:
    valid = [sample for sample in samples if isinstance(sample, Sample)]
    return valid[-1] if valid else None
