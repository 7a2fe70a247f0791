"""The decision rule of the family: cases with worked-out answers, properties, and payloads that are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.decide import decide
from headway.core.decide_payload import SEQUENTIAL
from headway.core.loose_numbers import finite_number, json_number, positive_integer, shown_number, to_number
from headway.core.spec import Aggregation, ComparisonMethod
from headway.core.statistics import AGGREGATES
from headway.core.verdicts import METHODS
from headway.errors import RequestWrong

CASES = [json.loads(line) for line in (Path(__file__).parent / "decide_cases.jsonl").read_bytes().splitlines()]
VALUES = st.floats(min_value=-1e6, max_value=1e6)
DIRECTIONS = st.sampled_from(["minimize", "maximize"])


def a_payload(
    reference: Any = 8, candidate: Any = 4, gates: dict[str, Any] | None = None, **stability: Any
) -> dict[str, Any]:
    """Give a payload in which less is better and the candidate is better."""
    metric: dict[str, Any] = {"primary": {"name": "t", "direction": "minimize"}}
    if gates is not None:
        metric["degenerate_gates"] = [{"name": "ok", "check": "== 1"}]
    return {
        "spec": {"metric": metric, "measurement": {"stability": stability}},
        "baseline": {"metrics": {"t": reference}},
        "candidate": {"metrics": {"t": candidate}, "gates": gates or {}},
    }


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_rule_gives_its_worked_out_answer(case: dict[str, Any]) -> None:
    """The whole answer, its key order included, as a caller reads it."""
    answer = json.loads(json.dumps(decide(case["payload"])))
    assert answer == case["expected"]
    assert list(answer) == list(case["expected"])


@given(VALUES, VALUES, st.floats(0, 1e3), DIRECTIONS)
def test_swapped_sides_swap_improved_and_regressed(
    reference: float, candidate: float, threshold: float, direction: str
) -> None:
    """Under `absolute`, without gates: what is better one way is worse the other way."""
    mirrored = {"improved": "regressed", "regressed": "improved", "inconclusive": "inconclusive"}
    there = a_payload(reference, candidate, noise_threshold=threshold)
    back = a_payload(candidate, reference, noise_threshold=threshold)
    for payload in (there, back):
        payload["spec"]["metric"]["primary"]["direction"] = direction
    first, second = (decide(payload)["comparisons"]["t"] for payload in (there, back))
    assert second["verdict"] == mirrored[first["verdict"]]
    assert second["delta"] == -first["delta"]


@given(
    st.one_of(st.floats().filter(lambda value: value != 1), st.none(), st.text().filter(lambda t: to_number(t) != 1)),
    st.sampled_from(sorted(METHODS)),
    st.sampled_from(["stable", "repeat", "ladder"]),
    st.lists(VALUES, min_size=1, max_size=6),
)
def test_a_failing_gate_is_never_kept(value: Any, method: str, mode: str, samples: list[float]) -> None:
    """Whatever the metrics say, by whichever method."""
    payload = a_payload({"samples": [9e6]}, {"samples": samples}, {"ok": value}, mode=mode)
    payload["spec"]["measurement"]["stability"]["comparison"] = {"method": method}
    answer = decide(payload)
    assert answer["decision"] == "degenerate"
    assert not answer["eligible"]


@given(VALUES, st.sampled_from(sorted(METHODS)))
def test_a_candidate_that_equals_the_reference_is_never_kept(value: float, method: str) -> None:
    """Byte-identical copies gain nothing (the start-up self-check rests on it)."""
    same = {"samples": [value, value]}
    assert decide(a_payload(same, same, comparison={"method": method}))["decision"] == "inconclusive"


@given(st.lists(VALUES, min_size=1, max_size=6), st.lists(VALUES, min_size=1, max_size=6))
def test_paired_keeps_only_what_every_pair_agrees_on(reference: list[float], candidate: list[float]) -> None:
    """One pair without a gain is enough to withhold the keep."""
    answer = decide(a_payload({"samples": reference}, {"samples": candidate}, comparison={"method": "paired"}))
    pairs = zip(reference, candidate, strict=False)
    if answer["decision"] == "keep":
        assert all(after < before for before, after in pairs)


@given(st.lists(VALUES, min_size=1, max_size=9), st.integers(1, 4), st.integers(1, 6))
def test_a_ladder_that_asks_on_and_on_comes_to_an_end(samples: list[float], pairs: int, repeats: int) -> None:
    """With as many samples as it may want, it wants no more."""
    ladder = {"exploratory_pairs": pairs, "confirmation_repeats": repeats}
    enough = (samples * 10)[: max(pairs + 1, repeats)]
    answer = decide(a_payload({"samples": [1.0]}, {"samples": enough}, mode="ladder", ladder=ladder))
    assert answer["next_measurement"] == "none"
    assert answer["decision"] != "promising"


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3), st.lists, max_leaves=3))
def test_an_answer_is_always_strict_json(value: Any) -> None:
    """No NaN and no infinity leave the engine, whatever came in."""
    json.dumps(decide(a_payload(value, {"samples": [1e308, 1.7e308]}, aggregation="mean")), allow_nan=False)


def _without(payload: dict[str, Any], *path: str) -> dict[str, Any]:
    holder = payload
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return payload


def _with(value: Any, *path: str) -> dict[str, Any]:
    payload = holder = a_payload(comparison={})
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return payload


STABILITY = ("spec", "measurement", "stability")


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        (None, "null"),
        ([], "a list"),
        ("{}", "a text"),
        ({}, "no primary"),
        ({"spec": 5}, "spec must be an object"),
        (_without(a_payload(), "spec", "metric", "primary", "name"), "no primary"),
        (_with("", "spec", "metric", "primary", "name"), "no primary"),
        (_with("smaller", "spec", "metric", "primary", "direction"), "'smaller'"),
        (_with({}, "spec", "metric", "primary", "direction"), "{}"),
        (_with("soft", "spec", "metric", "primary", "type"), "'soft'"),
        (_with(["u"], "spec", "metric", "objectives"), "a text"),
        (_with([{"direction": "minimize"}], "spec", "metric", "objectives"), "no name"),
        (_with({}, "spec", "metric", "objectives"), "must be a list"),
        (_with([{"name": "u", "max_regression": 0.1}], "spec", "metric", "objectives"), "0.1"),
        (_with([{"check": "== 1"}], "spec", "metric", "degenerate_gates"), "no name"),
        (_with([{"name": "ok"}], "spec", "metric", "degenerate_gates"), "no check"),
        (_with({"method": "best"}, *STABILITY, "comparison"), "'best'"),
        (_with({"method": ["paired"]}, *STABILITY, "comparison"), "paired"),
        (_with("mode", *STABILITY, "mode"), "'mode'"),
        (_with([1], *STABILITY, "mode"), "[1]"),
        (_with("mode", *STABILITY, "aggregation"), "'mode'"),
        (_with(5, "baseline"), "a number"),
        (_with([], "candidate", "metrics"), "a list"),
        (_with([], "candidate", "gates"), "a list"),
        (_with([], "holdout"), "a list"),
    ],
)
def test_a_wrong_payload_is_refused_with_place_and_mend(payload: Any, named: str) -> None:
    """Never a traceback, never an answer that rests on a guess."""
    with pytest.raises(RequestWrong) as caught:
        decide(payload)
    assert named in caught.value.what
    assert caught.value.where
    assert caught.value.mend
    assert caught.value.exit_code == 1


def test_an_unknown_method_is_refused_by_name() -> None:
    """And the ones there are are named."""
    with pytest.raises(RequestWrong) as caught:
        decide(a_payload(comparison={"method": "bayes"}))
    assert "'bayes'" in caught.value.what
    assert all(method in caught.value.mend for method in ComparisonMethod)


def test_the_rule_has_every_method_and_aggregation_of_the_spec() -> None:
    """The words of the spec and the functions that carry them out agree; `sequential` has a package of its own."""
    assert {*METHODS, SEQUENTIAL} == set(ComparisonMethod)
    assert set(AGGREGATES) == set(Aggregation)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0),
        (" 1e3\n", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0x10", 16.0),
        ("0b11", 3.0),
        ("+2", 2.0),
        ("  ", 0.0),
        ("", None),
        (None, None),
        ("1_000", None),
        ("nan", None),
        ("Infinity", None),
        ("-0x10", None),
        ("１", None),
        (10**400, None),
        ([], None),
        ({}, None),
    ],
)
def test_values_are_read_as_the_rule_reads_them(value: Any, number: float | None) -> None:
    """Texts of numbers are numbers; Python's own extensions are not."""
    assert finite_number(value) == number


def test_counts_that_are_none_fall_back() -> None:
    """Zero, negative, broken and fractional counts are not rounded."""
    assert [positive_integer(value, 7) for value in (0, -1, 1.5, "many", None, True, "3", 4.0)] == [
        *[7] * 5,
        1,
        3,
        4,
    ]


def test_answers_hold_plain_numbers() -> None:
    """Whole values without a fraction, no negative zero, nothing that is no number."""
    assert [repr(json_number(value)) for value in (-30.0, -0.0, 0.5, 1e21)] == ["-30", "0", "0.5", "1e+21"]
    assert json_number(float("nan")) is None
    assert json_number(float("-inf")) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.2540345, "0.254034"),
        (3.0, "3"),
        (123456.7, "123457"),
        (5845102.0, "5845102"),
        (-1.5e6, "-1500000"),
        (2e15, "2e+15"),
    ],
)
def test_large_numbers_are_shown_whole(value: float, shown: str) -> None:
    """A count of instructions is read, not decoded."""
    assert shown_number(value) == shown
