"""What surrounds a keep: its claimed gain, the holdout, the final check, simpler candidates."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.candidate import Decision
from headway.core.sequential.final_check import final_check
from headway.core.sequential.gain import shrunken_gain
from headway.core.sequential.history import run_history
from headway.core.sequential.holdout import HoldoutVerdict, holdout_pairs, judge_holdout
from headway.core.sequential.noise import Noise
from headway.core.sequential.rules import Objective
from headway.core.sequential.scale import Threshold
from headway.core.sequential.sight import Taken
from headway.core.sequential.simpler import is_built_in, is_simpler
from headway.core.spec_parts import Effort
from tests.core.sequential.sessions import TIME, a_history, a_noisy_history, a_state, decided, some_rules

UNIT = Noise(unit=1.0, deviation=1.0, freedom=30.0, count=50)


def test_a_claim_by_hand() -> None:
    """Median 2 of four pairs, v = 1.57 / 4: 2 (1 - 0.3925 / 4), and 1.96 standard errors to either side."""
    found = shrunken_gain([1.0, 2.0, 2.0, 9.0], UNIT)
    assert found.estimate == pytest.approx(2 * (1 - 0.3925 / 4))
    assert found.high - found.estimate == pytest.approx(1.96 * math.sqrt(0.3925))
    assert found.low == pytest.approx(2 * found.estimate - found.high)


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9))
def test_a_claim_lies_between_nothing_and_the_median(gains: list[float]) -> None:
    """Never more than was seen, never of another sign; and the mirror image claims the mirror image."""
    middle = sorted(gains)[len(gains) // 2] if len(gains) % 2 else None
    found = shrunken_gain(gains, UNIT)
    if middle is not None:
        assert found.estimate * middle >= 0
        assert abs(found.estimate) <= abs(middle)
    assert shrunken_gain([-gain for gain in gains], UNIT).estimate == pytest.approx(-found.estimate)


def test_without_noise_the_claim_is_the_gain() -> None:
    """Deterministic keeps are not shrunken."""
    found = shrunken_gain([0.25, 0.25], None)
    assert (found.estimate, found.low, found.high) == (0.25, 0.25, 0.25)


def a_keep(pairs: int = 3, share: float = 0.9) -> Decision:
    found = decided([10.0] * pairs, [10.0 * share] * pairs)
    assert found.is_keep
    return found


def test_a_claim_as_a_share() -> None:
    """10% less time; without a level other than zero there is none."""
    share = a_keep().shares()["time"]
    assert share.estimate == pytest.approx(0.1, abs=0.001)
    assert share.low < share.estimate < share.high
    exact = decided([], [4.0], a_history(5.0, 5.0, 5.0), some_rules(is_declared_stable=True))
    assert exact.shares()["time"].low == pytest.approx(0.2)
    assert decided([0.0] * 3, [-9.0] * 3, a_history(*[0.0, 0.1] * 9)).shares().keys() <= {"time"}
    assert decided([], [-9.0], a_history(0.0, 0.0, 0.0)).shares() == {}


def held_out(reference: list[float], candidate: list[float], *, max_regression: float | None = None) -> HoldoutVerdict:
    rules = some_rules()
    if max_regression is not None:
        rules = some_rules(Effort.STANDARD, Objective("time", -1, max_regression=Threshold(True, max_regression)))
    session = {"time": Taken(tuple(reference), tuple(candidate))}
    return judge_holdout(session, run_history([]), a_keep(), rules, a_state())


def test_a_holdout_takes_as_many_pairs_as_the_session_had() -> None:
    """Within three to eight; one where everything repeats exactly."""
    assert holdout_pairs(a_keep(3)) == 3
    assert holdout_pairs(decided([10.0] * 20, [9.9] * 20)) == 8
    assert holdout_pairs(decided([10.0] * 2, [9.0] * 2, a_history(10.0, 10.0, 10.0))) == 1


def test_a_holdout_that_gains_too_does_not_contradict() -> None:
    """Nor one that gains half of it."""
    assert not held_out([10.0, 10.1, 10.0], [9.0, 9.1, 9.05]).contradicts
    assert not held_out([10.0, 10.1, 10.0], [9.5, 9.6, 9.5]).contradicts


def test_a_holdout_that_is_worse_contradicts() -> None:
    """The gain was learnt by heart."""
    verdict = held_out([10.0, 10.01, 10.0, 10.01], [10.5, 10.51, 10.5, 10.51])
    assert verdict.contradicts
    assert "time" in verdict.reason


def test_a_holdout_with_next_to_nothing_left_contradicts() -> None:
    """The upper bound is below a quarter of what the selection claims; noise that allows for it does not."""
    assert held_out([10.0, 10.01, 10.0, 10.01], [9.99, 9.98, 9.99, 9.98]).contradicts
    assert not held_out([10.0, 11.0, 10.0, 11.0], [9.9, 10.9, 9.9, 10.9]).contradicts


def test_a_bound_on_regressions_holds_on_the_holdout_too() -> None:
    """A loss within it is no violation, but the gain must still be there."""
    verdict = held_out([10.0, 10.01, 10.0, 10.01], [10.5, 10.51, 10.5, 10.51], max_regression=0.5)
    assert verdict.contradicts
    assert "quarter" in verdict.reason


def test_the_final_check_stops_at_its_boundary() -> None:
    """Two pairs where they suffice, ten where they never do."""
    history, rules, state = a_noisy_history(), some_rules(), a_state()
    assert final_check(Taken((10.0,), (9.0,)), history, TIME, rules, state).wants_more
    found = final_check(Taken((10.0, 10.0), (9.0, 9.0)), history, TIME, rules, state)
    assert (found.wants_more, found.is_proven, found.is_worse) == (False, True, False)
    assert found.gain is not None
    assert found.gain.estimate == pytest.approx(math.log(10 / 9), rel=0.01)
    same = final_check(Taken((10.0,) * 9, (10.0,) * 9), history, TIME, rules, state)
    assert same.wants_more
    assert final_check(Taken((10.0,) * 10, (10.0,) * 10), history, TIME, rules, state).wants_more is False
    assert final_check(Taken((10.0,) * 2, (11.0,) * 2), history, TIME, rules, state).is_worse


def test_the_final_check_of_an_exact_metric() -> None:
    """Two identical pairs."""
    found = final_check(Taken((5.0, 5.0), (4.0, 4.0)), a_history(5.0, 5.0, 5.0), TIME, some_rules(), a_state())
    assert (found.wants_more, found.is_proven) == (False, True)


def test_the_final_check_is_rarely_wrong() -> None:
    """Of two hundred runs that gained nothing at most one in ten is called proven."""
    chance, proven = Random(3), 0
    history = a_history(*(10 * math.exp(0.01 * chance.gauss(0, 1)) for _ in range(40)))
    for _ in range(200):
        a: list[float] = []
        b: list[float] = []
        found = final_check(Taken(), history, TIME, some_rules(), a_state())
        while found.wants_more:
            a.append(10 * math.exp(0.01 * chance.gauss(0, 1)))
            b.append(10 * math.exp(0.01 * chance.gauss(0, 1)))
            found = final_check(Taken(tuple(a), tuple(b)), history, TIME, some_rules(), a_state())
        proven += found.is_proven
    assert proven <= 20


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("headway.lines_net", True),
        ("headway.bytes(src/a.py)", True),
        ("headway.tokens(docs/a b.md)", True),
        ("headway.bytes()", False),
        ("headway.lines", False),
        ("lines_net", False),
    ],
)
def test_the_built_in_sizes(name: str, known: bool) -> None:
    """And nothing else."""
    assert is_built_in(name) == known


def test_simpler_is_smaller_and_never_a_guess() -> None:
    """A patch that takes away more lines than it adds, or fewer bytes than before; unknown sizes are not simpler."""
    assert is_simpler("headway.lines_net", {}, {"headway.lines_net": -1})
    assert not is_simpler("headway.lines_net", {}, {"headway.lines_net": 0})
    assert is_simpler("headway.bytes(a)", {"headway.bytes(a)": 10}, {"headway.bytes(a)": 9})
    assert not is_simpler("headway.bytes(a)", {}, {"headway.bytes(a)": 9})
    assert not is_simpler("headway.bytes(a)", {"headway.bytes(a)": 10}, {})
