"""Values that careless YAML turns into others mean the same to three loaders, one of YAML 1.1 and two of 1.2."""

import math
from typing import Any

import pytest

from headway.errors import RequestWrong
from headway.store.emit import emit_entry, emit_mapping
from headway.store.read import Unsure, read_entry, read_mapping
from tests.store.loaders import LOADERS, disagreements, hard_values, refused_values

NOT_FINITE = [math.inf, -math.inf, math.nan]
MEASURED = [
    lambda value: {"metrics": {"p95": value}},
    lambda value: {"metrics": {"p95": {"samples": [1.0, value]}}},
    lambda value: {"gates": {"passed": value}},
    lambda value: {"headway": {"gain": {"low": value}}},
    lambda value: {"comparisons": [{"objectives": {"p95": {"delta": value}}}]},
]


@pytest.mark.parametrize("value", hard_values(), ids=lambda value: ascii(value)[:40])
def test_a_hard_value_means_the_same_to_every_loader(value: Any) -> None:
    """As value, key and item, nested and not, in an entry and in a section."""
    assert disagreements(value) == []


@pytest.mark.parametrize(("value", "words"), refused_values(), ids=lambda value: ascii(value)[:40])
def test_what_no_file_can_hold_for_every_loader_is_refused(value: Any, words: str) -> None:
    """As value and as key, by the place where it stands."""
    for row in ({"own": [{"deep": value}]}, {"own": [{value: 1}]}):
        with pytest.raises(RequestWrong, match=words) as caught:
            emit_mapping(row)
        assert caught.value.where.startswith("own.[0]")


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("measured", MEASURED)
def test_a_measurement_that_is_not_finite_is_refused(measured: Any, value: float) -> None:
    """No decision may rest on it, however deep it stands below what is measured."""
    with pytest.raises(RequestWrong, match="not a finite number"):
        emit_entry({"iteration": 1, **measured(value)})


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_number_of_a_persons_own_that_is_not_finite_is_kept(value: float) -> None:
    """Their keys hold what they hold, and all loaders read it alike; headway's own reader too."""
    row = {"iteration": 1, "own": {"limit": value, "list": [value, 1]}, "diagnostics": {"ratio": value}}
    for name, load in LOADERS.items():
        assert repr(load(emit_mapping(row))) == repr(row), name
    assert repr(read_mapping(emit_mapping(row))) == repr(read_entry(emit_entry(row))) == repr(row)


@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_key_that_is_no_finite_number_is_refused(value: float) -> None:
    """Two such keys could not be told apart."""
    with pytest.raises(RequestWrong, match="not a finite number"):
        emit_mapping({"own": {value: 1}})


@pytest.mark.parametrize("text", [".Inf", "-.INF", "+.inf", ".NaN", ".NAN"])
def test_another_spelling_of_a_number_that_is_not_finite_is_left_to_a_parser(text: str) -> None:
    """The reader without a parser knows headway's own spelling alone."""
    with pytest.raises(Unsure):
        read_mapping(f"own: {text}\n")
