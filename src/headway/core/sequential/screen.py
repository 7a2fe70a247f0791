"""Looks at a candidate's first value alone, against what is stored of the current best.

It can only end a candidate, so that it cannot make a false keep; a fresh measurement of the current best comes after.
Source: DECISIONS 2.4 and 2.7.
"""

import math
from dataclasses import dataclass

from headway.core.sequential.pairs import PairTest, exact_test
from headway.core.sequential.rules import CLEARLY_WORSE
from headway.core.sequential.sight import Sight
from headway.core.statistics import median


@dataclass(frozen=True, slots=True)
class FirstLook:
    """One objective's first value.

    `gain` is that over the stored level, on the working scale; `z` its statistic (None: the noise is unknown, or the
    objective is exact); `exact` judges an exact objective; `passes` says that it may be a gain.
    """

    gain: float
    z: float | None
    passes: bool
    exact: PairTest | None = None

    @property
    def is_clearly_worse(self) -> bool:
        return self.z is not None and self.z < CLEARLY_WORSE

    @property
    def is_worse_without_doubt(self) -> bool:
        """Whether one value was enough to tell that it is worse."""
        return self.is_clearly_worse or (self.exact is not None and self.exact.is_violated)


def first_look(sight: Sight, line: float | None, repeats_needed: int) -> FirstLook | None:
    """Judge a candidate by its first value on one objective.

    Args:
        sight: with at least one value of the candidate.
        line: standard deviations below which it is taken for no gain; None counts as 0 here.
        repeats_needed: pairs that an exact objective needs before a keep.
    Returns: the look; None where nothing is stored of the current best.
    """
    if not sight.stored:
        return None
    first = sight.taken.candidate[0]
    value = math.log(first) if sight.history.is_log else float(first)
    sign = sight.objective.sign
    if sight.is_exact:
        exact = exact_test((sign * (value - sight.stored[-1]),), sight.aim, repeats_needed)
        return FirstLook(sign * (value - sight.stored[-1]), None, exact.is_improved or exact.awaits_confirmation, exact)
    gain = sign * (value - median(sight.stored))
    if sight.noise is None or sight.noise.is_zero:
        return FirstLook(gain, None, True)
    z = (gain - min(0.0, sight.aim.gain)) / (sight.history.spread_of_one * math.sqrt(1 + 1 / len(sight.stored)))
    return FirstLook(gain, z, z >= (0.0 if line is None else line))
