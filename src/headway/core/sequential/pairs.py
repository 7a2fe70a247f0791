"""What the pairs of one session say about one objective.

Source: DECISIONS 2.5, 2.7 and 2.8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.sequential.noise import Noise
from headway.core.sequential.normal import z_of_t
from headway.core.sequential.rules import REGRESSED_AT, SAFE_AT, SLACK, VIOLATED_AT, Bounds


@dataclass(frozen=True, slots=True)
class Aim:
    """What one objective is held to, on the working scale: the gain to prove, and the loss allowed (None: no bound)."""

    gain: float = 0.0
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class PairTest:
    """One objective after n whole pairs.

    `z` is the statistic against the gain to prove and `boundary` what it must reach; `is_exact` says that no repeat
    differed, so that nothing was tested.
    """

    pairs: int
    z: float
    boundary: float
    is_improved: bool
    is_regressed: bool
    is_violated: bool
    is_safe: bool
    is_futile: bool
    awaits_confirmation: bool
    is_exact: bool = False


def pair_test(
    gains: Sequence[float], noise: Noise, aim: Aim, boundary: float, bounds: Bounds, *, is_alone: bool = True
) -> PairTest:
    """Test the gains of one objective's pairs.

    Args:
        gains: on the working scale, at least one.
        noise: with a deviation above 0.
        aim: what is to be proven.
        boundary: from `boundary_of`.
        bounds: of the effort.
        is_alone: whether it is the only required objective: then worse is `REGRESSED_AT`, else `VIOLATED_AT`.
    Returns: the test.
    """
    n = len(gains)
    root = math.sqrt(n)
    scale = noise.deviation * root
    z = z_of_t(_clipped_sum(gains, aim.gain, noise.limit) / scale, noise.freedom)
    against = min(0.0, aim.gain)
    worse = z if aim.gain == against else z_of_t(_clipped_sum(gains, against, noise.limit) / scale, noise.freedom)
    is_improved = n >= bounds.min_pairs and z >= boundary
    is_safe, is_violated = _held(gains, noise, aim, worse, is_alone)
    return PairTest(
        pairs=n,
        z=z,
        boundary=boundary,
        is_improved=is_improved,
        is_regressed=worse <= REGRESSED_AT,
        is_violated=is_violated and not is_improved,
        is_safe=is_safe or is_improved,
        is_futile=n >= bounds.futile_from and z < futility_line(n, bounds.theta),
        awaits_confirmation=z >= boundary and n < bounds.min_pairs,
    )


def exact_test(gains: Sequence[float], aim: Aim, repeats_needed: int) -> PairTest:
    """Judge an objective no repeat of which ever differed.

    Args:
        gains: of the pairs, all equal; or of the first sample against the stored value.
        aim: what is to be shown. A gain that only equals a margin (`aim.gain` below 0) is within it.
        repeats_needed: pairs that must exist before a keep; 0 where the user declares that repeats are equal.
    Returns: the test; `z` is infinite where the gain is not 0.
    """
    gain = gains[-1]
    reaches = gain > aim.gain or (aim.gain < 0 and gain >= aim.gain)
    enough = len(gains) >= repeats_needed
    loss = aim.loss if aim.loss is not None else max(0.0, -aim.gain)
    return PairTest(
        pairs=len(gains),
        z=math.copysign(math.inf, gain) if gain else 0.0,
        boundary=0.0,
        is_improved=reaches and enough,
        is_regressed=gain < min(0.0, aim.gain),
        is_violated=gain < -loss,
        is_safe=gain >= -loss,
        is_futile=not reaches,
        awaits_confirmation=reaches and not enough,
        is_exact=True,
    )


def futility_line(n: int, theta: float) -> float:
    """Give the statistic below which a candidate is given up after n pairs; theta is the effort's."""
    return (theta * n / 2 - SLACK / theta) / math.sqrt(n)


def _held(gains: Sequence[float], noise: Noise, aim: Aim, worse: float, is_alone: bool) -> tuple[bool, bool]:
    """Whether the objective is proven to stay within its bound, and whether it is proven to break it."""
    if aim.loss is None:
        is_violated = worse <= (REGRESSED_AT if is_alone else VIOLATED_AT)
        return not is_violated, is_violated
    if math.isinf(aim.loss):
        return True, False
    q = _clipped_sum(gains, -aim.loss, noise.limit) / (noise.deviation * math.sqrt(len(gains)))
    return q >= SAFE_AT, q <= VIOLATED_AT


def _clipped_sum(gains: Sequence[float], centre: float, limit: float) -> float:
    total = 0.0
    for gain in gains:
        over = gain - centre
        total += limit if over > limit else -limit if over < -limit else over
    return total
