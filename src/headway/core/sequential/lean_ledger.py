"""What `lean` remembers of one objective: its noise, the stored values of tip and confirmed, and how well they predict.

Source: DECISIONS 5 (noise, level, steps 2 to 4).
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

from headway.core.sequential.noise import WINDOW, Noise, differences, noise_of, smallest_step
from headway.core.sequential.pairs import Aim
from headway.core.sequential.rules import Objective
from headway.core.sequential.scale import Yardstick, working
from headway.core.sequential.sight import aim_of
from headway.core.statistics import MAD_TO_SD, mean, median

Kept = Literal["confirmed", "tip"]
LEVEL: Final = 8
"""Newest stored values that make a level."""
LEVEL_CLIP: Final = 2.1
"""Stored values further from their median than this many units count as this far."""
NEWEST_ERRORS: Final = 12
LEAST_ERRORS: Final = 3
DRIFTS_ABOVE: Final = 2.0
"""Prediction errors this many times larger than the noise mean that the machine drifts."""


class Ledger:
    """One objective's memory. Values come in raw; what is told stands on the working scale."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.is_log = True
        self.stored: dict[Kept, list[float]] = {"confirmed": [], "tip": []}
        self._lists: list[list[float]] = []
        self._errors: list[float] = []
        self._quantum = 0.0
        self._magnitude: float | None = None
        self._noise: Noise | None = None
        self._is_stale = True

    def note(self, value: float) -> None:
        """Take notice of any value: one that is not above 0 changes the scale, for good."""
        if self.is_log and value <= 0:
            self.is_log, self._errors, self._is_stale = False, [], True

    def calibrated(self, values: Sequence[float]) -> None:
        """Start from repeated measurements of the untouched code."""
        self.repeated(values)
        self.stored = {"confirmed": list(values), "tip": list(values)}
        self._magnitude = abs(median(values))

    def repeated(self, values: Sequence[float]) -> list[float]:
        """Learn from repeated measurements of unchanged code; the list may grow, see `grown`."""
        kept = list(values)
        self._lists.append(kept)
        self._is_stale = True
        return kept

    def grown(self) -> None:
        """Take notice that a list given to `repeated` has grown."""
        self._is_stale = True

    def fresh(self, which: Kept, value: float) -> None:
        """Store a fresh value of tip or confirmed, after comparing it with what was expected of it."""
        self.predicted(which, value)
        self.stored[which].append(value)

    def predicted(self, which: Kept, value: float) -> None:
        """Compare a fresh value with the level that is stored."""
        if len(self.stored[which]) >= 2:
            level, n = self.level(which)
            error = (self.on_scale(value) - level) / math.sqrt(1 + 1 / n)
            self._errors = [*self._errors, error][-NEWEST_ERRORS:]

    def on_scale(self, value: float) -> float:
        """Give a raw value on the working scale."""
        return math.log(value) if self.is_log else float(value)

    @property
    def noise(self) -> Noise | None:
        """What the repeats say."""
        if self._is_stale:
            found = [differences(working(values, self.is_log)) for values in self._lists]
            self._lists = self._lists[-WINDOW:]
            newest = [x for each in found for x in each]
            step = smallest_step(newest)
            self._quantum = min(step, self._quantum or step) if step else self._quantum
            self._noise = noise_of(newest, self._quantum)
            self._is_stale = False
        return self._noise

    @property
    def is_exact(self) -> bool:
        """Whether at least two repeats are known and none ever differed."""
        noise = self.noise
        return noise is not None and noise.count >= 2 and self._quantum == 0.0

    @property
    def repeats(self) -> int:
        """How many repeats the noise is learnt from."""
        noise = self.noise
        return 0 if noise is None else noise.count

    @property
    def spread(self) -> float:
        """The standard deviation of one measurement within a session."""
        noise = self.noise
        return 0.0 if noise is None else noise.of_one

    @property
    def spread_across(self) -> float:
        """The standard deviation of one measurement across sessions."""
        if len(self._errors) < LEAST_ERRORS:
            return self.spread
        return max(self.spread, MAD_TO_SD * median([abs(error) for error in self._errors]))

    @property
    def drifts(self) -> bool:
        """Whether the machine drifts so much that stored values are of little use."""
        return self.spread > 0.0 and self.spread_across > DRIFTS_ABOVE * self.spread

    @property
    def aim(self) -> Aim:
        """What a group is held to."""
        latest = self.stored["confirmed"][-1:]
        level = float(latest[0]) if latest else None
        return aim_of(self.objective, Yardstick(self.objective.sign, self.is_log, level, self._magnitude))

    def level(self, which: Kept) -> tuple[float, int]:
        """Give the clipped mean of the newest stored values, and how many they are (at least one must be)."""
        values = [self.on_scale(value) for value in self.stored[which][-LEVEL:]]
        middle = median(values)
        reach = LEVEL_CLIP * (0.0 if self.noise is None else self.noise.unit)
        return mean([min(middle + reach, max(middle - reach, value)) for value in values]), len(values)

    def gain_over(self, which: Kept, values: Sequence[float]) -> tuple[float, int]:
        """Give the gain of the mean of raw values over a level, and the number of stored values behind it."""
        level, n = self.level(which)
        return self.objective.sign * (mean([self.on_scale(value) for value in values]) - level), n

    def gains(self, reference: Sequence[float], candidate: Sequence[float]) -> tuple[float, ...]:
        """Give the gains of raw pairs, as long as both sides last."""
        sign = self.objective.sign
        return tuple(sign * (self.on_scale(b) - self.on_scale(a)) for a, b in zip(reference, candidate, strict=False))


def plain_z(gain: float, error: float) -> float:
    """Give a statistic without correction for few repeats; infinite where there is no noise but a gain."""
    if error > 0:
        return gain / error
    return math.copysign(math.inf, gain) if gain else 0.0
