"""What a kept candidate is said to have gained.

Source: DECISIONS 2.9 (reported per-step gain); James and Stein (1961), in the positive-part form, for the shrinkage.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.core.sequential.noise import Noise
from headway.core.statistics import median

VARIANCE_OF_A_MEDIAN: Final = 1.57
"""Times that of a mean, for normal noise (pi / 2)."""
TWO_SIDED_95: Final = 1.96


@dataclass(frozen=True, slots=True)
class GainEstimate:
    """A gain on the working scale, shrunken towards 0, and its 95% interval."""

    estimate: float
    low: float
    high: float


def shrunken_gain(gains: Sequence[float], noise: Noise | None) -> GainEstimate:
    """Estimate the gain of a candidate that was selected for its gain.

    Args:
        gains: of all its pairs, on the working scale, at least one.
        noise: of a pair; None or zero noise leaves the median as it is.
    Returns: the median of the pairs, drawn towards 0 the more the noise could have made it.
    Raises: ValueError, without a gain.
    """
    middle = median(gains)
    deviation = 0.0 if noise is None else noise.deviation
    variance = VARIANCE_OF_A_MEDIAN * deviation * deviation / len(gains)
    estimate = shrunken(middle, variance)
    reach = TWO_SIDED_95 * math.sqrt(variance)
    return GainEstimate(estimate, estimate - reach, estimate + reach)


def shrunken(value: float, variance: float) -> float:
    """Draw a value towards 0 by the share of its square that noise explains."""
    square = value * value
    if variance == 0.0:
        return value
    return 0.0 if square <= variance else value * (1.0 - variance / square)
