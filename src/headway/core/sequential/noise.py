"""How much repeated measurements of unchanged code differ.

Source: DECISIONS 2.3.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from headway.core.statistics import MAD_TO_SD

WINDOW: Final = 64
"""Newest differences that count."""
CLIP: Final = 3.0
"""Differences beyond this many `unit`s count as this many."""
FREEDOM_PER_DIFFERENCE: Final = 0.6
"""Successive differences overlap: each is worth this many degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The spread of the difference of two measurements of the same code, on the working scale.

    `unit` is the robust scale that clips outliers (s0), `deviation` the standard deviation of a pair under "no
    change" (s), `freedom` its degrees of freedom (nu), `count` how many differences it was learnt from. All are 0
    (the count aside) where no repeat ever differed.
    """

    unit: float
    deviation: float
    freedom: float
    count: int

    @property
    def is_zero(self) -> bool:
        return self.deviation == 0.0

    @property
    def of_one(self) -> float:
        """The standard deviation of one measurement."""
        return self.deviation / math.sqrt(2.0)

    @property
    def limit(self) -> float:
        """Where a pair's gain is clipped."""
        return CLIP * self.unit


def differences(values: Sequence[float]) -> tuple[float, ...]:
    """Give the successive differences of values on the working scale, in order."""
    return tuple(later - earlier for earlier, later in pairwise(values))


def smallest_step(differing: Iterable[float]) -> float:
    """Give the smallest absolute difference that is not 0; 0 where there is none."""
    return min((abs(x) for x in differing if x != 0.0), default=0.0)


def noise_of(found: Sequence[float], quantum: float = 0.0) -> Noise | None:
    """Learn the noise from differences of unchanged code.

    Args:
        found: successive differences, oldest first; the newest 64 count.
        quantum: the smallest difference other than 0 seen so far in the run (0: none), which stands in where all
            differences are 0 although a repeat did differ once.
    Returns: the noise; None without a difference.
    """
    newest = found[-WINDOW:]
    count = len(newest)
    if count == 0:
        return None
    ranked = sorted([abs(x) for x in newest])
    half = count // 2
    middle = ranked[half] if count % 2 else 0.5 * (ranked[half - 1] + ranked[half])
    freedom = FREEDOM_PER_DIFFERENCE * count
    if middle > 0.0:
        unit = MAD_TO_SD * middle
        return Noise(unit, _clipped_rms(ranked, CLIP * unit), freedom, count)
    unit = ranked[bisect_right(ranked, 0.0)] if ranked[-1] > 0.0 else quantum
    if unit == 0.0:
        return Noise(0.0, 0.0, freedom, count)
    return Noise(unit, max(unit, _clipped_rms(ranked, CLIP * unit)), freedom, count)


def _clipped_rms(ranked: Sequence[float], limit: float) -> float:
    """Root mean square of values that are at least 0, in rising order, each counted as at most the limit."""
    inside = bisect_right(ranked, limit)
    total = sum([x * x for x in ranked[:inside]]) + (len(ranked) - inside) * limit * limit
    return math.sqrt(total / len(ranked))
