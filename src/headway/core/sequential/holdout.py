"""Whether measurements on held-out cases contradict a keep. They never select.

Source: DECISIONS 2.9 (holdout).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headway.core.sequential.candidate import Decision
from headway.core.sequential.gain import VARIANCE_OF_A_MEDIAN
from headway.core.sequential.history import RunHistory
from headway.core.sequential.normal import t_of_z
from headway.core.sequential.pairs import exact_test, pair_test
from headway.core.sequential.rules import REGRESSED_AT, Rules, RunState
from headway.core.sequential.sight import Sight, Taken, sight_of
from headway.core.statistics import median

LEAST_PAIRS: Final = 3
MOST_PAIRS: Final = 8
ONE_SIDED_95: Final = 1.645
LEAST_SHARE: Final = 0.25
"""Share of the selection gain that the held-out cases must allow for."""


@dataclass(frozen=True)
class HoldoutVerdict:
    """What the held-out pairs say: whether they contradict the keep, of which objectives, and why in one line."""

    contradicts: bool
    objectives: tuple[str, ...] = ()
    reason: str = "the held-out cases do not contradict the gain"


def holdout_pairs(selection: Decision) -> int:
    """Give how many held-out pairs a keep takes: as many as its own session had, within 3 to 8; exact: 1."""
    if all(sight.is_exact for sight in selection.sights):
        return 1
    return min(max(selection.sights[0].taken.pairs, LEAST_PAIRS), MOST_PAIRS)


def judge_holdout(
    session: Mapping[str, Taken], history: RunHistory, selection: Decision, rules: Rules, state: RunState
) -> HoldoutVerdict:
    """Say whether held-out pairs contradict a keep.

    Args:
        session: each required objective's raw held-out values, `holdout_pairs` of them.
        history: of the held-out measurements of the run alone; their noise is their own.
        selection: the keep.
        rules: that it was decided by.
        state: likewise.
    Returns: the verdict. A failed gate is the caller's to see: it contradicts by itself.
    """
    gains = selection.gains()
    for objective in rules.objectives:
        sight = sight_of(objective, session[objective.name], history, rules, state)
        claimed = gains[objective.name].estimate if objective.name in selection.improved and gains else None
        trouble = _trouble(sight, claimed, rules)
        if trouble:
            return HoldoutVerdict(True, (objective.name,), f"holdout contradicts {objective.name}: {trouble}")
    return HoldoutVerdict(False)


def _trouble(sight: Sight, claimed: float | None, rules: Rules) -> str:
    gains = sight.gains
    is_exact = sight.is_exact or sight.noise is None or sight.noise.is_zero
    if is_exact or sight.noise is None:
        test, upper = exact_test((median(gains),), sight.aim, 0), median(gains)
    else:
        test = pair_test(gains, sight.noise, sight.aim, math.inf, rules.bounds)
        error = math.sqrt(VARIANCE_OF_A_MEDIAN / len(gains)) * sight.noise.deviation
        upper = median(gains) + t_of_z(ONE_SIDED_95, sight.noise.freedom) * error
    if test.is_violated or (sight.aim.loss is None and test.is_regressed):
        return "it is worse there" if is_exact else f"it is worse there (z at most {REGRESSED_AT})"
    if claimed is not None and claimed > 0 and upper < LEAST_SHARE * claimed:
        return "less than a quarter of its gain is left there"
    return ""
