"""How much chance of a false keep each candidate of a run may spend.

Source: DECISIONS 2.6; Ramdas, Yang, Wainwright and Jordan (2017), Online control of the false discovery rate with
decaying memory, for LORD++.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headway.core.spec_parts import ErrorControl

HORIZON: Final = 5000
"""Candidates since a keep after which `fdr` has nothing left to spend."""
FIRST_SHARE: Final = 0.5
"""Share of alpha that `fdr` may spend before the first keep."""
LARGEST_PLAN: Final = 100
"""Planned candidates up to which a run is controlled as a whole."""


@dataclass(frozen=True)
class Spending:
    """What a run may spend: `alpha` for the whole run (`run`), as share of keeps (`fdr`), or per candidate (`none`)."""

    control: ErrorControl
    alpha: float


def default_control(planned: int | None) -> ErrorControl:
    """Give the control that fits a plan: `run` up to 100 candidates, `fdr` for more or where nothing is planned."""
    return ErrorControl.RUN if planned is not None and planned <= LARGEST_PLAN else ErrorControl.FDR


def alpha_of(spending: Spending, k: int, planned: int | None, keeps: Sequence[int] = ()) -> float:
    """Give the chance of a false keep that one candidate may have.

    Args:
        spending: the control and its alpha.
        k: number of the candidate in the run, from 1.
        planned: how many candidates the run was approved for; `run` without a plan counts as 100.
        keeps: the numbers of the candidates kept so far, rising.
    Returns: the chance. Summed over all k it is at most 2 alpha under `run` (alpha within the plan).
    """
    if spending.control is ErrorControl.NONE:
        return spending.alpha
    if spending.control is ErrorControl.FDR:
        return _lord(spending.alpha, k, keeps)
    plan = planned or LARGEST_PLAN
    return spending.alpha / plan if k <= plan else spending.alpha * plan / (k * k)


def _lord(alpha: float, k: int, keeps: Sequence[int]) -> float:
    start = FIRST_SHARE * alpha
    earned = [_gamma(k - kept) for kept in keeps]  # nothing for one that is not older
    first = (alpha - start) * earned[0] if earned else 0.0
    return start * _gamma(k) + first + alpha * sum(earned[1:])


def _gamma(age: int) -> float:
    return _gammas()[age - 1] if 1 <= age <= HORIZON else 0.0


@lru_cache(maxsize=1)
def _gammas() -> tuple[float, ...]:
    weights = [math.log(max(j, 2)) / (j * math.exp(math.sqrt(math.log(j)))) for j in range(1, HORIZON + 1)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)
