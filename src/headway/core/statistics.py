"""Aggregates, changes and spread of samples.

Sums run from left to right in plain double precision: the family's decision rule does, and a compensated sum would
differ from it in the last bit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MAD_TO_SD: Final = 1.4826
"""Makes the median absolute deviation estimate the standard deviation of Gaussian noise.

Source: Rousseeuw and Croux (1993), Alternatives to the Median Absolute Deviation.
"""


def mean(values: Sequence[float]) -> float:
    """Give the arithmetic mean.

    Args:
        values: samples, at least one, in the order of measurement.
    Returns: their sum from left to right, divided by their number.
    Raises: ValueError, without samples.
    """
    _at_least_one(values)
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def median(values: Sequence[float]) -> float:
    """Give the middle value, or the mean of the two middle values.

    Args:
        values: samples, at least one, in any order.
    Returns: the median.
    Raises: ValueError, without samples.
    """
    _at_least_one(values)
    ranked = sorted(values)
    middle = len(ranked) // 2
    return ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2


AGGREGATES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = MappingProxyType(
    {"median": median, "mean": mean, "min": min, "max": max}
)
"""Name in the spec (`stability.aggregation`) -> function over at least one sample."""


def aggregate(values: Sequence[float], how: str) -> float:
    """Make one value of many samples.

    Args:
        values: samples, at least one.
        how: a name in `AGGREGATES`.
    Returns: the aggregate.
    Raises: KeyError, for a name that is none; ValueError, without samples.
    """
    return AGGREGATES[how](values)


def signed_change(reference: float, candidate: float, sign: int) -> float:
    """Give the change from the reference to the candidate, positive when better.

    Args:
        reference: value of the kept state.
        candidate: value of the candidate, in the same unit.
        sign: +1 when more is better, -1 when less is.
    Returns: the change, in that unit.
    """
    return candidate - reference if sign > 0 else reference - candidate


def relative_change(change: float, reference: float) -> float:
    """Give a change as a share of the reference's magnitude.

    Args:
        change: from `signed_change`.
        reference: value of the kept state.
    Returns: the share; 0 where the reference is 0, which has no magnitude to relate to.
    """
    magnitude = abs(reference)
    return change / magnitude if magnitude > 0 else 0.0


def pair_changes(reference: Sequence[float], candidate: Sequence[float], sign: int) -> tuple[float, ...]:
    """Give the change of each pair of samples by position.

    Args:
        reference: samples of the kept state, at least one; the last one is used again where they run out.
        candidate: samples of the candidate.
        sign: +1 when more is better, -1 when less is.
    Returns: one signed change per candidate sample.
    Source: the family's `paired` rule, reproduced as it stands.
    """
    last = len(reference) - 1
    return tuple(signed_change(reference[min(index, last)], value, sign) for index, value in enumerate(candidate))


@dataclass(frozen=True)
class Spread:
    """How far repeated measurements of one state lie apart.

    `deviation` is the scaled median absolute deviation and `reach` the largest minus the smallest sample, both in the
    unit of the metric; the relative ones are shares of the median's magnitude, `None` where the median is 0.
    """

    median: float
    deviation: float
    reach: float
    relative_deviation: float | None
    relative_reach: float | None


def spread(values: Sequence[float]) -> Spread:
    """Tell the variance of repeated measurements of unchanged code.

    Args:
        values: samples, at least one, finite.
    Returns: the spread; all 0 for one sample or equal ones.
    Raises: ValueError, without samples.
    """
    centre = median(values)
    deviation = MAD_TO_SD * median([abs(value - centre) for value in values])
    reach = max(values) - min(values)
    magnitude = abs(centre)
    if magnitude == 0 or not math.isfinite(magnitude):
        return Spread(centre, deviation, reach, None, None)
    return Spread(centre, deviation, reach, deviation / magnitude, reach / magnitude)


def _at_least_one(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("an aggregate needs at least one sample")
