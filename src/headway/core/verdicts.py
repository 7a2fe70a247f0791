"""Says of one objective whether a candidate is better, worse or neither, under the family's methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from headway.core.statistics import pair_changes, relative_change, signed_change

IMPROVED: Final = "improved"
REGRESSED: Final = "regressed"
INCONCLUSIVE: Final = "inconclusive"


@dataclass(frozen=True)
class RegressionBound:
    """How far an objective may get worse; a share of the reference's magnitude, or in the metric's unit."""

    is_relative: bool
    value: float

    def in_unit(self, reference: float) -> float:
        """Give the bound in the metric's unit, for this reference value."""
        return self.value * abs(reference) if self.is_relative else self.value


@dataclass(frozen=True)
class ObjectiveRule:
    """A required objective: `sign` is +1 when more is better, -1 when less is."""

    name: str
    sign: int
    is_judged: bool
    target: float | None
    max_regression: RegressionBound | None


@dataclass(frozen=True)
class Thresholds:
    """What a change must pass to count, per method; `minimum_improvement` is for judged objectives."""

    method: str
    noise: float
    relative: float
    minimum_improvement: float | None

    def absolute_for(self, objective: ObjectiveRule) -> float:
        """Give the threshold in the metric's unit that applies to this objective."""
        if objective.is_judged and self.minimum_improvement is not None:
            return self.minimum_improvement
        return self.noise


@dataclass(frozen=True)
class Measured:
    """The working value of a metric on one side, and the samples that it was made of (none: it was given)."""

    value: float
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class ObjectiveChange:
    """What a candidate does to one objective: `change` and `relative` are positive when better."""

    verdict: str
    change: float
    relative: float
    is_violated: bool


@dataclass(frozen=True)
class _Pairing:
    """One objective on both sides, with the thresholds that it is held to."""

    objective: ObjectiveRule
    reference: Measured
    candidate: Measured
    thresholds: Thresholds

    @property
    def change(self) -> float:
        return signed_change(self.reference.value, self.candidate.value, self.objective.sign)

    @property
    def relative(self) -> float:
        return relative_change(self.change, self.reference.value)

    @property
    def absolute_threshold(self) -> float:
        return self.thresholds.absolute_for(self.objective)


def compare_objective(
    objective: ObjectiveRule, reference: Measured, candidate: Measured, thresholds: Thresholds
) -> ObjectiveChange:
    """Compare a candidate with the reference on one objective.

    Args:
        objective: says which way is better and how far it may get worse.
        reference: the kept state's value and samples.
        candidate: the candidate's, in the same unit.
        thresholds: the method and its thresholds.
    Returns: the change and its verdict. `max_regression`, where set, takes the threshold's place as violation bound:
        within it even a `regressed` objective is not violated.
    Raises: KeyError, for a method that is not in `METHODS`.
    Source: the rule of this spec family (`cases/decide.jsonl` in the shared design).
    """
    pairing = _Pairing(objective, reference, candidate, thresholds)
    verdict = _held_to_minimum(pairing, METHODS[thresholds.method](pairing))
    if objective.max_regression is None or verdict == IMPROVED:
        return ObjectiveChange(verdict, pairing.change, pairing.relative, verdict == REGRESSED)
    is_violated = -pairing.change > objective.max_regression.in_unit(reference.value)
    return ObjectiveChange(REGRESSED if is_violated else verdict, pairing.change, pairing.relative, is_violated)


def beyond(change: float, threshold: float) -> str:
    """Give the verdict on a change: strictly beyond the threshold on either side, or inconclusive.

    Args:
        change: positive is better.
        threshold: in the same unit, at least 0.
    Returns: `improved`, `regressed` or `inconclusive`.
    """
    if change > threshold:
        return IMPROVED
    return REGRESSED if change < -threshold else INCONCLUSIVE


def _held_to_minimum(pairing: _Pairing, verdict: str) -> str:
    """A judged objective improves only by more than the minimum, whatever the method says."""
    least = pairing.thresholds.minimum_improvement
    if pairing.objective.is_judged and least is not None and verdict == IMPROVED and pairing.change <= least:
        return INCONCLUSIVE
    return verdict


def _absolute(pairing: _Pairing) -> str:
    return beyond(pairing.change, pairing.absolute_threshold)


def _relative(pairing: _Pairing) -> str:
    if pairing.reference.value == 0:
        return INCONCLUSIVE
    return beyond(pairing.relative, pairing.thresholds.relative)


def _paired(pairing: _Pairing) -> str:
    """Every pair must agree: the smallest difference for an improvement, the largest for a regression."""
    threshold = pairing.thresholds.relative * abs(pairing.reference.value)
    if pairing.reference.value == 0:
        return INCONCLUSIVE
    if not pairing.reference.samples or not pairing.candidate.samples:
        return _unpaired(pairing, threshold)
    changes = pair_changes(pairing.reference.samples, pairing.candidate.samples, pairing.objective.sign)
    if beyond(min(changes), threshold) == IMPROVED:
        return IMPROVED
    return REGRESSED if beyond(max(changes), threshold) == REGRESSED else INCONCLUSIVE


def _unpaired(pairing: _Pairing, threshold: float) -> str:
    """Without pairs a hard objective can be seen to regress, never to improve; a judged one has its own threshold."""
    if pairing.objective.is_judged:
        return beyond(pairing.change, pairing.absolute_threshold)
    return REGRESSED if beyond(pairing.change, threshold) == REGRESSED else INCONCLUSIVE


METHODS: Final[Mapping[str, Callable[[_Pairing], str]]] = MappingProxyType(
    {"absolute": _absolute, "relative": _relative, "paired": _paired}
)
"""Comparison method in the spec -> the verdict on one objective, before `max_regression`."""
