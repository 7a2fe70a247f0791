"""The final check: the last best against the untouched code, in fresh pairs. The only number to print as total gain.

Source: DECISIONS 2.9 (final_check).
"""

from dataclasses import dataclass
from typing import Final

from headway.core.sequential.gain import GainEstimate, shrunken_gain
from headway.core.sequential.history import RunHistory
from headway.core.sequential.normal import z_above
from headway.core.sequential.pairs import exact_test, pair_test
from headway.core.sequential.rules import ALPHA, Bounds, Objective, Rules, RunState
from headway.core.sequential.scale import Yardstick, as_share
from headway.core.sequential.sight import Taken, sight_of

LEAST_PAIRS: Final = 2
MOST_PAIRS: Final = 10
BOUNDS: Final = Bounds(
    looks=MOST_PAIRS - LEAST_PAIRS + 1, min_pairs=LEAST_PAIRS, max_pairs=MOST_PAIRS, theta=1.2, screen=None
)


@dataclass(frozen=True)
class FinalCheck:
    """What the pairs say: whether more are wanted, whether the gain is proven or its opposite, and the estimate.

    `share` is the gain as a share of the untouched code's magnitude; None where that has none to relate to.
    """

    wants_more: bool
    is_proven: bool = False
    is_worse: bool = False
    gain: GainEstimate | None = None
    share: GainEstimate | None = None


def final_check(taken: Taken, history: RunHistory, objective: Objective, rules: Rules, state: RunState) -> FinalCheck:
    """Judge the total gain of a run on one objective.

    Args:
        taken: raw values by pair: `reference` is the untouched code, `candidate` the last best.
        history: of the run.
        objective: which; its thresholds are not asked for.
        rules: of the run, for a declared determinism.
        state: of the run.
    Returns: the check: two to ten pairs, fewer where the boundary is reached.
    """
    if taken.pairs < LEAST_PAIRS:
        return FinalCheck(wants_more=True)
    plain = Objective(objective.name, objective.sign)
    sight = sight_of(plain, taken, history, rules, state)
    gain = shrunken_gain(sight.gains, sight.noise)
    share = _share(gain, sight.yardstick)
    if sight.is_exact:
        test = exact_test(sight.gains, sight.aim, LEAST_PAIRS)
        return FinalCheck(False, test.is_improved, test.is_regressed, gain, share)
    if sight.noise is None or sight.noise.is_zero:
        return FinalCheck(taken.pairs < MOST_PAIRS, gain=gain, share=share)
    test = pair_test(sight.gains, sight.noise, sight.aim, z_above(ALPHA / BOUNDS.looks), BOUNDS)
    ended = test.is_improved or test.is_regressed or taken.pairs >= MOST_PAIRS
    return FinalCheck(not ended, test.is_improved, test.is_regressed, gain, share)


def _share(gain: GainEstimate, yardstick: Yardstick) -> GainEstimate | None:
    estimate, low, high = (as_share(each, yardstick) for each in (gain.estimate, gain.low, gain.high))
    return None if estimate is None or low is None or high is None else GainEstimate(estimate, low, high)
