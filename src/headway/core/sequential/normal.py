"""The normal distribution, and how far a t statistic is from it."""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

MANY_DEGREES: Final = 500.0
"""From here on a t statistic is taken for normal."""

_NORMAL = NormalDist()


@lru_cache(maxsize=4096)
def z_above(chance: float) -> float:
    """Give the value that a standard normal exceeds with this chance.

    Args:
        chance: at most 0.5; 0 or less gives infinity, which nothing exceeds.
    Returns: the value, at least 0.
    """
    return -_NORMAL.inv_cdf(min(chance, 0.5)) if chance > 0 else math.inf


def z_of_t(t: float, freedom: float) -> float:
    """Give the normal value that is as rare as a t statistic.

    Args:
        t: the statistic.
        freedom: its degrees of freedom, above 0, not necessarily whole.
    Returns: the normal value, with the sign of `t` and never further from 0.
    Source: Wallace (1959), Bounds on normal approximations to Student's distribution; DECISIONS 2.5.
    """
    if freedom > MANY_DEGREES or not math.isfinite(t):
        return t
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return z if t > 0 else -z


def t_of_z(z: float, freedom: float) -> float:
    """Give the t statistic that is as rare as a normal value: the inverse of `z_of_t`.

    Args:
        z: the normal value.
        freedom: degrees of freedom, above 0.
    Returns: the statistic, with the sign of `z`.
    """
    if freedom > MANY_DEGREES:
        return z
    scaled = z * (8 * freedom + 3) / (8 * freedom + 1)
    t = math.sqrt(freedom * math.expm1(min(scaled * scaled / freedom, 700.0)))
    return t if z > 0 else -t
