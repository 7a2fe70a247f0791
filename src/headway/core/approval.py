"""The approval gate: which caps a person said yes to, and whether that yes still holds.

Source: seed 004 (`approval`); CONTRACTS section 3.
"""

from typing import Any

from headway.core.records import Approval
from headway.core.spec import MetricType, Spec


def caps_of(spec: Spec) -> dict[str, Any]:
    """Give the three groups of caps of a spec: stopping, the judge's cost, concurrency."""
    stopping = spec.stopping.model_dump(mode="json")
    if stopping["plateau_iterations"] is None:
        stopping["plateau_iterations"] = "none"
    caps: dict[str, Any] = {"stopping": stopping}
    if spec.metric.judge is not None and spec.metric.primary.type is MetricType.JUDGE:
        caps["metric"] = {"judge": {"max_total_cost_usd": spec.metric.judge.max_total_cost_usd}}
    caps["execution"] = {"max_concurrent": spec.execution.max_concurrent}
    return caps


def planned_candidates(spec: Spec, measurement_seconds: float | None, measurements: float) -> int | None:
    """Give how many candidates an approved budget admits: what error control over the run divides by.

    Args:
        spec: the spec whose caps are approved.
        measurement_seconds: median time of one measurement; None where it is not known.
        measurements: how many one candidate takes on average.
    Returns: the smaller of `max_iterations` and what fits into `max_hours`; None where neither bounds it.
    Source: DECISIONS 2.6.
    """
    bounds = []
    if spec.stopping.max_iterations is not None:
        bounds.append(spec.stopping.max_iterations)
    if spec.stopping.max_hours is not None and measurement_seconds:
        bounds.append(int(spec.stopping.max_hours * 3600 / (measurement_seconds * measurements)))
    return max(1, min(bounds)) if bounds else None


def objections(approval: Approval | None, spec: Spec, spec_sha256: str) -> tuple[str, ...]:
    """Say why the gate must be presented; empty when the approval holds.

    Args:
        approval: what the log holds, or None.
        spec: the frozen spec.
        spec_sha256: SHA-256 of the frozen spec's bytes, hex.
    """
    if approval is None:
        return ("nobody has approved this run yet",)
    found: list[str] = []
    if approval.spec_sha256 != spec_sha256:
        found.append("the frozen spec's bytes are not those that were approved")
    approved = approval.model_dump(mode="json", exclude_unset=True).get("caps") or {}
    found.extend(_differences("", approved, caps_of(spec)))
    return tuple(found)


def _differences(path: str, approved: Any, wanted: Any) -> list[str]:
    if isinstance(approved, dict) and isinstance(wanted, dict):
        names = sorted({*approved, *wanted})
        return [line for n in names for line in _differences(f"{path}.{n}".strip("."), approved.get(n), wanted.get(n))]
    return [] if approved == wanted else [f"{path}: approved {approved!r}, now {wanted!r}"]
