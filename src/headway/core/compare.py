"""Compares a candidate with the reference on all required objectives, and case by case."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headway.core.decide_payload import DecisionRequest
from headway.core.loose_numbers import finite_number, json_number
from headway.core.statistics import aggregate
from headway.core.verdicts import IMPROVED, INCONCLUSIVE, Measured, ObjectiveChange, ObjectiveRule, compare_objective

PASSED_CASE: Final = (True, "1", "true", "pass")
Side = Mapping[str, Any]


@dataclass(frozen=True)
class Compared:
    """All required objectives compared; `missing` has those that lack a value on either side."""

    changes: Mapping[str, ObjectiveChange]
    improved: tuple[str, ...]
    violated: tuple[str, ...]
    missing: tuple[str, ...]
    reference: Mapping[str, Measured]
    candidate: Mapping[str, Measured]

    @property
    def is_eligible(self) -> bool:
        return bool(self.improved) and not self.violated

    @property
    def is_contending(self) -> bool:
        return any(change.verdict == INCONCLUSIVE for change in self.changes.values())


def compare_required(request: DecisionRequest, baseline: Side, candidate: Side) -> Compared:
    """Compare two sides on every required objective.

    Args:
        request: objectives, thresholds and aggregation.
        baseline: the reference's `{metrics, judge, gates, diagnostics}`.
        candidate: the candidate's.
    Returns: the changes of the objectives that have a value on both sides, and the names of those that lack one.
    """
    reference: dict[str, Measured] = {}
    measured: dict[str, Measured] = {}
    changes: dict[str, ObjectiveChange] = {}
    missing: list[str] = []
    for objective in request.objectives:
        pair = [_measured(side, objective, request.aggregation) for side in (baseline, candidate)]
        if pair[0] is None or pair[1] is None:
            missing.append(objective.name)
            continue
        reference[objective.name], measured[objective.name] = pair[0], pair[1]
        changes[objective.name] = compare_objective(objective, pair[0], pair[1], request.thresholds)
    improved = tuple(name for name, change in changes.items() if change.verdict == IMPROVED)
    violated = tuple(name for name, change in changes.items() if change.is_violated)
    return Compared(changes, improved, violated, tuple(missing), reference, measured)


def _measured(side: Side, objective: ObjectiveRule, aggregation: str) -> Measured | None:
    """Look a metric up where its type says, then elsewhere; the first place that has its name counts."""
    places = ("metrics", "judge", "diagnostics", "gates")
    if objective.is_judged:
        places = ("judge", "metrics", "diagnostics", "gates")
    found = (side.get(place) or {} for place in places)
    holder = next((values for values in found if objective.name in values), None)
    return None if holder is None else working_value(holder[objective.name], aggregation)


def working_value(raw: Any, aggregation: str) -> Measured | None:
    """Read a metric as it stands in a snapshot.

    Args:
        raw: a number, or `{aggregate, samples}`; samples override the aggregate.
        aggregation: how samples become one value.
    Returns: its value; `None` where there is none, or where a single sample is no finite number.
    """
    if not isinstance(raw, Mapping):
        value = finite_number(raw)
        return None if value is None else Measured(value)
    given = raw.get("samples")
    samples = [finite_number(sample) for sample in given] if isinstance(given, list | tuple) else []
    finite = tuple(sample for sample in samples if sample is not None)
    if len(finite) < len(samples):
        return None
    if finite:
        return Measured(aggregate(finite, aggregation), finite)
    value = finite_number(raw.get("aggregate"))
    return None if value is None else Measured(value)


def comparison_rows(changes: Mapping[str, ObjectiveChange]) -> dict[str, Any]:
    """Give changes as they stand in an answer: `verdict, delta, relative, violated` by objective."""
    return {
        name: {
            "verdict": change.verdict,
            "delta": json_number(change.change),
            "relative": json_number(change.relative),
            "violated": change.is_violated,
        }
        for name, change in changes.items()
    }


def regressions(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Name the cases that the reference passes and the candidate fails. Reported, never decided on.

    Args:
        before: case id -> pass or score, of the reference; true, 1, "1", "true" and "pass" are passes.
        after: the same of the candidate; an id that is missing here is no regression.
    Returns: the ids in order.
    """
    return sorted(case for case in before if case in after and _is_pass(before[case]) and not _is_pass(after[case]))


def _is_pass(value: Any) -> bool:
    return value in PASSED_CASE
