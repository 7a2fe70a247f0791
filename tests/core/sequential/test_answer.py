"""`decide` under the sequential method: the payload in, the family's fields out."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.core.decide import decide
from headway.errors import PayloadWrong
from tests.builders import merged

NOISY = [10.0, 10.1] * 15
EXACT = [10.0, 10.0, 10.0]


def a_payload(
    reference: list[Any], candidate: list[Any], calibration: list[float] | None = None, /, **changes: Any
) -> dict[str, Any]:
    """Give a payload of one time on a ladder, after a calibration, with changes laid over it."""
    payload: dict[str, Any] = {
        "spec": {
            "metric": {"primary": {"name": "t", "direction": "minimize"}},
            "measurement": {"stability": {"mode": "ladder", "comparison": {"method": "sequential"}}},
        },
        "baseline": {"metrics": {"t": {"samples": reference}} if reference else {}},
        "candidate": {"metrics": {"t": {"samples": candidate}}},
        "run": {
            "k": 1,
            "keeps": [],
            "planned": 100,
            "history": [["base", NOISY if calibration is None else calibration]],
        },
    }
    return merged(payload, changes)


def said(payload: dict[str, Any]) -> tuple[str, str]:
    answer = decide(payload)
    return answer["decision"], answer["next_measurement"]


def comparing(**comparison: Any) -> dict[str, Any]:
    return {"measurement": {"stability": {"comparison": comparison}}}


def test_the_answer_has_the_fields_of_the_other_methods() -> None:
    """In their order, as JSON."""
    answer = decide(a_payload([10.0] * 3, [9.0] * 3))
    family = decide(
        {
            "spec": {"metric": {"primary": {"name": "t"}}},
            "baseline": {"metrics": {"t": 1}},
            "candidate": {"metrics": {"t": 2}},
        }
    )
    assert list(answer) == list(family)
    assert list(answer["comparisons"]["t"]) == list(family["comparisons"]["t"])
    assert json.loads(json.dumps(answer)) == answer


def test_a_keep() -> None:
    """Eligible, ranked by the lower bound of its gain, the reason with its figures."""
    answer = decide(a_payload([10.0] * 3, [9.0] * 3))
    assert (answer["decision"], answer["eligible"], answer["next_measurement"]) == ("keep", True, "none")
    assert answer["improved_objectives"] == ["t"]
    assert answer["comparisons"]["t"] == {"verdict": "improved", "delta": 1, "relative": 0.1, "violated": False}
    assert 0.07 < answer["rank_score"] < 0.1
    assert "after 3 pairs" in answer["reason"]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ([], [9.9], ("inconclusive", "exploratory")),
        ([], [10.06], ("inconclusive", "none")),
        ([], [12.0], ("revert", "none")),
        ([10.0], [9.9], ("inconclusive", "add_sample")),
        ([10.0] * 2, [9.0] * 2, ("inconclusive", "confirm")),
        ([10.0] * 2, [9.0] * 3, ("inconclusive", "confirm")),
        ([10.0], [11.0], ("revert", "none")),
    ],
)
def test_each_next_measurement(reference: list[float], candidate: list[float], expected: tuple[str, str]) -> None:
    """Unequal lengths count their whole pairs."""
    assert said(a_payload(reference, candidate)) == expected


def test_the_smoke_check_comes_before_anything() -> None:
    """Then a failed one is degenerate."""
    smoke = {"measurement": {"stability": {"ladder": {"smoke_command": "true"}}}}
    assert said(a_payload([10.0] * 3, [9.0] * 3, spec=smoke)) == ("inconclusive", "smoke")
    assert said(a_payload([10.0] * 3, [9.0] * 3, spec=smoke, candidate={"smoke_passed": True})) == ("keep", "none")
    failed = a_payload([10.0] * 3, [9.0] * 3, spec=smoke, candidate={"smoke_passed": False})
    assert said(failed) == ("degenerate", "none")


def test_a_failed_gate_is_degenerate_whatever_was_measured() -> None:
    """As under the other methods."""
    gated = {"metric": {"degenerate_gates": [{"name": "ok", "check": "== 1"}]}}
    assert said(a_payload([10.0] * 3, [9.0] * 3, spec=gated, candidate={"gates": {"ok": 0}})) == ("degenerate", "none")


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ([], [], ("error", "none")),
        ([], [None], ("inconclusive", "exploratory")),
        ([], [None, None], ("error", "none")),
        ([], [None, 10.06], ("inconclusive", "none")),
        ([None, 10.0, 10.0, 10.0], [None, 9.0, 9.0, 9.0], ("keep", "none")),
        ([10.0, 10.0, 10.0], [9.0, None, 9.0], ("inconclusive", "confirm")),
        ([10.0, None], [9.0, 9.0], ("error", "none")),
    ],
)
def test_failed_measurements(reference: list[Any], candidate: list[Any], expected: tuple[str, str]) -> None:
    """A failed pair is dropped on both sides, two failures are an error, a failing reference is one at once."""
    assert said(a_payload(reference, candidate)) == expected


def test_exact_metrics() -> None:
    """One sample decides, a better one is confirmed once."""
    assert said(a_payload([], [11.0], EXACT)) == ("revert", "none")
    assert said(a_payload([], [9.0], EXACT)) == ("inconclusive", "confirm")
    assert said(a_payload([10.0, 10.0], [9.0, 9.0], EXACT)) == ("keep", "none")


def test_a_declared_determinism_keeps_on_one_sample() -> None:
    """And ranks by its gain."""
    stable = {"measurement": {"stability": {"mode": "stable"}}}
    answer = decide(a_payload([], [8.0], [10.0], spec=stable))
    assert (answer["decision"], answer["improved_objectives"]) == ("keep", ["t"])
    assert answer["rank_score"] == pytest.approx(0.2)


def test_the_boundary_moves_with_the_run() -> None:
    """The same pairs that are kept in a plan of 100 are not beyond it."""
    pairs = ([10.0] * 3, [9.72] * 3)
    assert said(a_payload(*pairs)) == ("keep", "none")
    assert said(a_payload(*pairs, run={"k": 2000})) == ("inconclusive", "add_sample")


def test_sessions_say_who_they_measured_and_when() -> None:
    """A kept candidate is the new level; without a number of the session every third one refreshes it."""
    kept = {"code": "new", "samples": {"t": [5.0, 8.0, 8.1]}, "k": 4, "role": "kept"}
    run = {"k": 5, "keeps": [4], "incumbent": "new", "history": [{"code": "base", "samples": {"t": NOISY}}, kept]}
    assert said(a_payload([], [9.0], run=run)) == ("revert", "none")
    assert said(a_payload([], [9.0], run={**run, "k": 9})) == ("inconclusive", "exploratory")
    assert said(a_payload([], [10.06], run={"k": 2})) == ("inconclusive", "none")
    assert said(a_payload([], [10.06], run={"k": 3})) == ("inconclusive", "exploratory")


def test_simpler_is_kept_where_it_is_accepted() -> None:
    """The reason says so."""
    simpler = comparing(accept_simpler={"metric": "headway.lines_net", "margin": 0.05})
    smaller = {"diagnostics": {"headway.lines_net": -12}}
    answer = decide(a_payload([10.0] * 3, [10.0] * 3, spec=simpler, candidate=smaller))
    assert answer["decision"] == "keep"
    assert "simpler" in answer["reason"]
    assert said(a_payload([10.0] * 3, [10.0] * 3, spec=simpler)) == ("inconclusive", "none")


def test_the_holdout_is_asked_for_and_may_withhold() -> None:
    """As many pairs as the selection had, then its verdict."""
    held = {"measurement": {"holdout": {"command": "score"}}}
    pairs = ([10.0] * 3, [9.0] * 3)
    assert said(a_payload(*pairs, spec=held)) == ("promising", "holdout")

    def answered(reference: list[float], candidate: list[float], **more: Any) -> dict[str, Any]:
        sides = {
            "baseline": {"metrics": {"t": {"samples": reference}}},
            "candidate": {"metrics": {"t": {"samples": candidate}}, **more},
        }
        return decide(a_payload(*pairs, spec=held, holdout=sides))

    assert answered([5.0, 5.1], [4.5, 4.6])["decision"] == "promising"
    confirmed = answered([5.0, 5.1, 5.0], [4.5, 4.6, 4.5])
    assert (confirmed["decision"], confirmed["holdout"]["agrees"]) == ("keep", True)
    vetoed = answered([5.0, 5.01, 5.0], [5.5, 5.51, 5.5])
    assert (vetoed["decision"], vetoed["eligible"], vetoed["holdout"]["agrees"]) == ("revert", False, False)
    assert said(a_payload([], [10.06], spec=held)) == ("inconclusive", "none")


def test_a_holdout_gate_that_fails_withholds() -> None:
    """Whatever the held-out values say."""
    spec = {
        "measurement": {"holdout": {"command": "score"}},
        "metric": {"degenerate_gates": [{"name": "ok", "check": "== 1"}]},
    }
    sides = {"baseline": {"metrics": {}}, "candidate": {"metrics": {}, "gates": {"ok": 0}}}
    answer = decide(a_payload([10.0] * 3, [9.0] * 3, spec=spec, candidate={"gates": {"ok": 1}}, holdout=sides))
    assert (answer["decision"], answer["holdout"]["violated_objectives"]) == ("revert", ["ok"])


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"spec": comparing(effort="lean")}, "effort"),
        ({"spec": comparing(effort="much")}, "effort"),
        ({"spec": comparing(alpha=2)}, "alpha"),
        ({"spec": comparing(error_control="all")}, "error_control"),
        ({"spec": comparing(min_effect=3)}, "min_effect"),
        ({"spec": comparing(accept_simpler={"metric": "loc", "margin": 0.1})}, "accept_simpler"),
        ({"run": {"keeps": 3}}, "keeps"),
        ({"run": {"history": "x"}}, "history"),
        ({"run": {"history": ["x"]}}, "history[0]"),
        ({"run": {"history": [["base", [1.0, "x"]]]}}, "history[0]"),
        ({"run": {"history": [{"code": "a", "samples": {"t": [1.0]}, "role": "boss"}]}}, "role"),
        ({"run": {"effort": "lean"}}, "run.effort"),
    ],
)
def test_a_wrong_payload_is_refused_with_its_place(changes: dict[str, Any], where: str) -> None:
    """Never a guess."""
    with pytest.raises(PayloadWrong) as caught:
        decide(a_payload([10.0], [9.0], **changes))
    assert where in caught.value.where
    assert caught.value.mend


def test_cases_that_break_are_named_and_decide_nothing() -> None:
    """As under the other methods."""
    sides = {"baseline": {"cases": {"a": 1, "b": 1}}, "candidate": {"cases": {"a": 1, "b": 0}}}
    answer = decide(a_payload([10.0] * 3, [9.0] * 3, **sides))
    assert (answer["decision"], answer["regressions"]) == ("keep", ["b"])


def test_the_example_of_the_page_is_decided() -> None:
    """`docs/decisions.md` shows a payload that works as it stands."""
    page = (Path(__file__).parents[3] / "docs" / "decisions.md").read_text()
    example = page.split("```json\n")[1].split("```")[0]
    assert said(json.loads(example)) == ("inconclusive", "add_sample")
