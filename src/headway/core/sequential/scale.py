"""The working scale of a metric: logarithms while all its samples are above 0, else the metric's own unit.

On either scale a gain is positive when better, and gains of successive steps add up.
Source: DECISIONS 2.2.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """A size of change: a share of the reference's magnitude, or in the metric's unit; at least 0."""

    is_relative: bool
    value: float


@dataclass(frozen=True)
class Yardstick:
    """What thresholds of a metric are turned into gains with.

    `sign` is +1 when more is better and -1 when less is; `level` is a value of the current best, `magnitude` the
    absolute median of the calibration samples (None where there are none), both in the metric's unit.
    """

    sign: int
    is_log: bool
    level: float | None
    magnitude: float | None


def fits_logarithms(values: Iterable[float]) -> bool:
    """Say whether all values are above 0, so that the metric may be compared by ratios."""
    return all(value > 0 for value in values)


def working(values: Sequence[float], is_log: bool) -> tuple[float, ...]:
    """Give values on the working scale. Raises: ValueError, for a logarithm of a value that is not above 0."""
    return tuple(map(math.log, values)) if is_log else tuple(map(float, values))


def pair_gains(reference: Sequence[float], candidate: Sequence[float], sign: int, is_log: bool) -> tuple[float, ...]:
    """Give the gain of each pair, as long as both sides last.

    Args:
        reference: raw samples of the current best, by pair.
        candidate: raw samples of the candidate.
        sign: +1 when more is better, -1 when less is.
        is_log: whether the scale is logarithmic: then ln(b/a), else b - a, times the sign.
    Returns: one gain per whole pair.
    """
    if is_log:
        return tuple(sign * math.log(b / a) for a, b in zip(reference, candidate, strict=False))
    return tuple(sign * (b - a) for a, b in zip(reference, candidate, strict=False))


def as_gain(threshold: Threshold, yardstick: Yardstick) -> float:
    """Give the gain on the working scale that reaches a threshold.

    Args:
        threshold: what has to be gained.
        yardstick: scale and level of the metric.
    Returns: the gain, at least 0; infinite where no value is that much better (less by 100%).
    """
    if not yardstick.is_log:
        return _in_unit(threshold, yardstick)
    share = _share(threshold, yardstick)
    if yardstick.sign > 0:
        return math.log1p(share)
    return -math.log1p(-share) if share < 1 else math.inf


def as_loss(threshold: Threshold, yardstick: Yardstick) -> float:
    """Give the loss on the working scale, as a number that is not negative, that uses up a threshold.

    Args:
        threshold: how much worse the metric may get.
        yardstick: scale and level of the metric.
    Returns: the loss; infinite where no value is that much worse.
    """
    if not yardstick.is_log:
        return _in_unit(threshold, yardstick)
    share = _share(threshold, yardstick)
    if yardstick.sign < 0:
        return math.log1p(share)
    return -math.log1p(-share) if share < 1 else math.inf


def as_share(gain: float, yardstick: Yardstick) -> float | None:
    """Give a gain on the working scale as a share of the reference's magnitude.

    Args:
        gain: positive is better.
        yardstick: scale and level of the metric.
    Returns: the share: 0.05 for 5% less time or 5% more throughput; None on the difference scale without a level
        other than 0.
    """
    if yardstick.is_log:
        return yardstick.sign * math.expm1(min(yardstick.sign * gain, 700.0))
    return gain / abs(yardstick.level) if yardstick.level else None


def _share(threshold: Threshold, yardstick: Yardstick) -> float:
    if threshold.is_relative or threshold.value == 0:
        return threshold.value
    level = yardstick.level or yardstick.magnitude
    return threshold.value / abs(level) if level else math.inf


def _in_unit(threshold: Threshold, yardstick: Yardstick) -> float:
    if not threshold.is_relative or threshold.value == 0:
        return threshold.value
    magnitude = abs(yardstick.level or 0.0) if yardstick.magnitude is None else yardstick.magnitude
    return threshold.value * magnitude
