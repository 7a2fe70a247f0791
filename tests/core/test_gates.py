"""Degenerate gates: reading checks and holding values to them."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core import gates
from headway.core.gates import parse_check
from headway.errors import GateCheckWrong


@dataclass(frozen=True)
class AGate:
    check: str
    name: str = "ok"


@pytest.mark.parametrize(
    ("check", "holds", "fails"),
    [
        (">= 0.9", 0.9, 0.89),
        ("<= 1", 1, 1.01),
        ("== 1", 1, 0.99),
        ("!= 0", -1, 0),
        ("> 0", 1e-9, 0),
        ("<3", 2.99, 3),
        ("  >=  -1e-3  ", -0.001, -0.002),
    ],
)
def test_each_operator_holds_on_its_side_only(check: str, holds: float, fails: float) -> None:
    """With and without spaces, with signs and exponents."""
    assert parse_check(check).passes(holds)
    assert not parse_check(check).passes(fails)


@pytest.mark.parametrize("value", [None, "", "x", "12ms", float("nan"), float("inf"), [], {}, [1]])
@pytest.mark.parametrize("check", ["!= 5", "> -1e308", "< 1e308"])
def test_what_is_no_finite_number_fails_every_check(check: str, value: Any) -> None:
    """Even a check that almost anything would pass."""
    assert not gates.check([AGate(check)], {"ok": value}).passed


def test_booleans_count_as_one_and_zero() -> None:
    """A harness may print `true` for a gate."""
    assert gates.check([AGate("== 1")], {"ok": True}).passed
    assert gates.check([AGate("== 0")], {"ok": False}).passed


def test_a_missing_value_fails_its_gate_and_is_named() -> None:
    """Silence is no proof."""
    result = gates.check([AGate("!= 5", "a"), AGate("== 1", "b")], {"b": 1})
    assert not result.passed
    assert result.failed == ("a",)
    assert dict(result.by_name) == {"a": False, "b": True}


@pytest.mark.parametrize("order", [1, -1])
def test_two_checks_on_one_value_must_both_hold(order: int) -> None:
    """A lower and an upper bound: the second must not cover the failure of the first."""
    bounds = [AGate(">= 0.5"), AGate("<= 2")][::order]
    assert gates.check(bounds, {"ok": 1}).passed
    result = gates.check(bounds, {"ok": 3})
    assert result.failed == ("ok",)
    assert not result.by_name["ok"]


def test_no_gates_are_passed() -> None:
    """Payloads of other tools may have none."""
    assert gates.check([], {}).passed


@pytest.mark.parametrize("text", ["", "1", "=> 1", "= 1", ">= ", ">= x", ">= nan", ">= 1e999", "== true", "1 < 2"])
def test_a_check_that_cannot_be_evaluated_is_an_error(text: str) -> None:
    """It is never passed, nor failed, for want of a rule; the message names the gate and shows the text."""
    with pytest.raises(GateCheckWrong) as caught:
        gates.check([AGate(text)], {"ok": 1})
    assert repr(text) in caught.value.what
    assert "ok" in caught.value.where
    assert caught.value.exit_code == 1


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_of_three_ways_to_compare_exactly_one_holds(value: float, bound: float) -> None:
    """Less, equal, more; and their counterparts are their opposites."""
    below, same, above = (parse_check(f"{symbol} {bound!r}").passes(value) for symbol in ("<", "==", ">"))
    assert below + same + above == 1
    assert parse_check(f">= {bound!r}").passes(value) is not below
    assert parse_check(f"<= {bound!r}").passes(value) is not above
    assert parse_check(f"!= {bound!r}").passes(value) is not same
