"""From a session's samples to the payload of `decide`.

Source: CONTRACTS section 5; DECISIONS 1.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from headway.core.decide import decide
from headway.core.output import Sample
from headway.core.session_words import OUTCOMES, Ended, Session, TakenSample
from headway.core.spec import ComparisonMethod, Spec
from headway.core.statistics import aggregate


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


def aggregation_of(session: Session) -> str:
    """Give the name of how samples become one value."""
    return session.spec.measurement.stability.aggregation


def is_paired(session: Session) -> bool:
    """Say whether the method is `paired`."""
    return session.spec.measurement.stability.comparison.method is ComparisonMethod.PAIRED


def decided(session: Session, failed: Sample | None = None) -> Ended:
    """Decide on the samples so far; `failed` is the one whose gates fail, where one does."""
    payload = payload_of(session, failed or last_valid(session))
    answer = decide(payload)
    return Ended(OUTCOMES[answer["decision"]], answer, payload)


def payload_of(session: Session, shown: Sample | None) -> dict[str, Any]:
    """The payload of `decide`; gates, diagnostics and cases are those of one sample, the failing or the last one."""
    candidate: dict[str, Any] = {
        "gates": dict(shown.gates) if shown else {},
        "metrics": snapshot(session.candidate, aggregation_of(session)),
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
    if not is_paired(session):
        return dict(session.reference or {})
    shown = _last_valid_of(session.reference_samples)
    baseline: dict[str, Any] = {
        "gates": dict(shown.gates) if shown else {},
        "metrics": snapshot(session.reference_samples, aggregation_of(session)),
        "diagnostics": dict(shown.diagnostics) if shown else {},
    }
    if shown is not None and shown.cases is not None:
        baseline["cases"] = dict(shown.cases)
    return baseline


def last_valid(session: Session) -> Sample | None:
    """Give the candidate's newest valid sample."""
    return _last_valid_of(session.candidate)


def _last_valid_of(samples: Sequence[TakenSample]) -> Sample | None:
    valid = [sample for sample in samples if isinstance(sample, Sample)]
    return valid[-1] if valid else None
