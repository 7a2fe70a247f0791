"""How the chance of a false keep is shared out over a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.error_control import HORIZON, Spending, alpha_of, default_control
from headway.core.sequential.rules import spending_of
from headway.core.spec_parts import Effort, ErrorControl

RUN = Spending(ErrorControl.RUN, 0.05)
FDR = Spending(ErrorControl.FDR, 0.05)


def test_a_planned_run_shares_evenly_and_an_overrun_by_the_square() -> None:
    """0.05 / 100 each; the 200th of a plan of 100 gets 0.05 x 100 / 200^2."""
    assert alpha_of(RUN, 1, 100) == alpha_of(RUN, 100, 100) == pytest.approx(0.0005)
    assert alpha_of(RUN, 200, 100) == pytest.approx(0.000125)


@given(st.integers(1, 100))
def test_an_overrun_run_spends_at_most_twice(planned: int) -> None:
    """However long it goes on."""
    assert sum(alpha_of(RUN, k, planned) for k in range(1, 20 * planned)) < 0.10


def test_thorough_pays_for_its_looks_and_quick_spends_by_candidate() -> None:
    """0.04 for the run; 0.02 for each candidate."""
    assert spending_of(Effort.THOROUGH, ErrorControl.RUN, None).alpha == pytest.approx(0.04)
    assert spending_of(Effort.THOROUGH, ErrorControl.FDR, None).alpha == 0.05
    assert alpha_of(spending_of(Effort.QUICK, ErrorControl.NONE, None), 77, None) == 0.02
    assert spending_of(Effort.QUICK, ErrorControl.NONE, 0.01).alpha == 0.01


def test_fdr_without_keeps_spends_half_in_all() -> None:
    """Until the horizon, and nothing after it."""
    assert sum(alpha_of(FDR, k, None) for k in range(1, HORIZON + 1)) == pytest.approx(0.025)
    assert alpha_of(FDR, HORIZON + 1, None) == 0.0


def test_fdr_earns_with_keeps() -> None:
    """The first keep adds 0.025 times the first weight to the next candidate, later keeps 0.05 times."""
    first = alpha_of(FDR, 1, None) / 0.025
    alone, after, later = (alpha_of(FDR, 11, None, keeps) for keeps in ((), (10,), (5, 10)))
    assert after - alone == pytest.approx(0.025 * first)
    assert later - alone > 0.05 * first


@given(st.lists(st.integers(1, 50), unique=True), st.integers(1, 60))
def test_a_keep_of_the_future_earns_nothing(keeps: list[int], k: int) -> None:
    """Only what was kept before counts."""
    before = tuple(sorted(each for each in keeps if each < k))
    assert alpha_of(FDR, k, None, tuple(sorted(keeps))) == alpha_of(FDR, k, None, before)


def test_the_plan_chooses_the_control() -> None:
    """Up to 100 planned candidates the run as a whole."""
    assert default_control(100) is ErrorControl.RUN
    assert default_control(101) is default_control(None) is ErrorControl.FDR
