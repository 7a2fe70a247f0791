"""Shares of small counts: how sure one can be of a rate, and how odd a count is.

Sources: Wilson (1927), Probable inference; Fisher's exact test (hypergeometric tail), Agresti, Categorical Data
Analysis, section 3.5.
"""

import math
from typing import Final

Z95: Final = 1.959964


def wilson(hits: int, tries: int) -> tuple[float, float] | None:
    """Give the 95% interval of a rate.

    Args:
        hits: how often it happened, 0 to `tries`.
        tries: how often it could have, >= 0.
    Returns: the bounds, within 0 and 1; None without tries.
    """
    if tries <= 0:
        return None
    share, z2 = hits / tries, Z95 * Z95
    middle = (share + z2 / (2 * tries)) / (1 + z2 / tries)
    half = Z95 / (1 + z2 / tries) * math.sqrt(share * (1 - share) / tries + z2 / (4 * tries * tries))
    return (0.0 if hits == 0 else max(0.0, middle - half)), (1.0 if hits == tries else min(1.0, middle + half))


def chance_of_so_many(hits: int, tries: int, all_hits: int, all_tries: int) -> float:
    """Give the chance that a part drawn blindly from the whole holds at least so many hits.

    Args:
        hits: in the part.
        tries: size of the part, at most `all_tries`.
        all_hits: in the whole.
        all_tries: size of the whole.
    Returns: the upper tail of the hypergeometric distribution, 0 to 1.
    """
    most = min(tries, all_hits)
    total = _log_choose(all_tries, tries)
    tail = (
        math.exp(_log_choose(all_hits, k) + _log_choose(all_tries - all_hits, tries - k) - total)
        for k in range(hits, most + 1)
        if tries - k <= all_tries - all_hits
    )
    return min(1.0, sum(tail))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
