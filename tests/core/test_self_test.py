"""The A/A estimate: what resampling counts is what the configured decision keeps."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from headway.core.decide import decide
from headway.core.self_test import NO_OPS, FalseKeeps, estimate_false_keeps
from headway.core.session_payload import decision_spec
from headway.core.spec import Spec
from tests.builders import a_spec


def stability(mode: str, method: str, **more: Any) -> dict[str, Any]:
    comparison = {"method": method, "relative_threshold": more.pop("relative", 0.05)}
    return {"measurement": {"stability": {"mode": mode, "comparison": comparison, **more}}}


def estimated(
    spec: Spec, values: Sequence[float], seed: int = 1, no_ops: int = NO_OPS, most: int = 10**9
) -> FalseKeeps:
    pick = random.Random(seed).randrange
    rows = [{"seconds": v} for v in values]
    found = estimate_false_keeps(spec, rows, {"sorted": 1}, pick, no_ops, most)
    assert found is not None
    return found


METHODS = [
    ("stable", "absolute"),
    ("stable", "relative"),
    ("repeat", "absolute"),
    ("repeat", "relative"),
    ("repeat", "paired"),
    ("ladder", "absolute"),
    ("ladder", "relative"),
    ("ladder", "paired"),
]


@pytest.mark.parametrize(("mode", "method"), [*METHODS, ("ladder", "sequential"), ("repeat", "sequential")])
def test_a_deterministic_harness_keeps_no_no_op(mode: str, method: str) -> None:
    """Equal samples need one decision, which stands for all."""
    found = estimated(a_spec(**stability(mode, method)), [2.0, 2.0, 2.0])
    assert (found.no_ops, found.kept, found.is_tolerable) == (NO_OPS, 0, True)


@pytest.mark.parametrize(("mode", "method"), METHODS)
def test_noise_below_the_threshold_keeps_nothing_and_noise_above_it_keeps_some(mode: str, method: str) -> None:
    """Every method and mode is driven to a decision."""
    quiet = a_spec(**stability(mode, method, noise_threshold=0.5, relative=0.5))
    loud = a_spec(**stability(mode, method, noise_threshold=0, relative=0))
    values = [1.0, 1.1, 1.2, 1.3]
    assert estimated(quiet, values, no_ops=500).kept == 0
    assert estimated(loud, values, no_ops=500).kept > 0


@pytest.mark.parametrize("mode", ["ladder", "repeat"])
def test_the_sequential_method_is_told_the_calibration_and_keeps_next_to_nothing(mode: str) -> None:
    """Its whole session runs through `decide`: one sample, then pairs, at a noise of 3%."""
    chance = random.Random(5)
    found = estimated(a_spec(**stability(mode, "sequential")), [chance.gauss(1, 0.03) for _ in range(8)], no_ops=2000)
    assert found.kept <= 2
    assert (found.no_ops, found.why_fewer) == (2000, "")


def test_the_sequential_methods_screen_knows_the_calibration() -> None:
    """Most no-ops then end at their first sample: a thousand of them need fewer decisions than there are of them."""
    chance = random.Random(5)
    values = [chance.gauss(1, 0.03) for _ in range(8)]
    assert estimated(a_spec(**stability("ladder", "sequential")), values, no_ops=1000, most=1000).why_fewer == ""


def test_the_effort_lean_decides_no_candidate_alone() -> None:
    """What `decide` cannot answer is not known, and not zero."""
    spec = a_spec(
        measurement={"stability": {"mode": "ladder", "comparison": {"method": "sequential", "effort": "lean"}}}
    )
    assert estimate_false_keeps(spec, [{"seconds": 1.0}, {"seconds": 1.1}], {}, lambda _: 0) is None


def test_the_share_is_that_of_all_draws_counted_one_by_one() -> None:
    """Stable, absolute: a candidate's one draw against the median of three; counted out, it is the same share."""
    spec = a_spec(**stability("stable", "absolute", noise_threshold=0))
    values = [1.0, 2.0, 3.0]
    kept = 0
    for a in values:
        for b in values:
            for c in values:
                for one in values:
                    payload = {
                        "spec": decision_spec(spec),
                        "baseline": {"metrics": {"seconds": {"samples": [a, b, c]}}},
                        "candidate": {"metrics": {"seconds": {"samples": [one]}}, "gates": {"sorted": 1}},
                    }
                    kept += decide(payload)["decision"] == "keep"
    assert estimated(spec, values).share == pytest.approx(kept / 81, abs=0.015)


def test_the_same_chance_gives_the_same_count() -> None:
    """A resumed gate writes what it wrote."""
    spec = a_spec(**stability("repeat", "paired", relative=0.01))
    assert estimated(spec, [1.0, 1.1, 1.2], 7, 300) == estimated(spec, [1.0, 1.1, 1.2], 7, 300)


def test_a_dear_method_is_content_with_fewer_no_ops_and_says_why() -> None:
    """The number of decisions is bounded, not the time: core knows no clock."""
    spec = a_spec(**stability("ladder", "paired", relative=0))
    found = estimated(spec, [1.0 + 0.013 * n for n in range(9)], most=200)
    assert 1 < found.no_ops < 201
    assert "200 decisions" in found.why_fewer


def test_one_sample_says_nothing() -> None:
    """Noise needs two."""
    assert estimate_false_keeps(a_spec(), [{"seconds": 1.0}], {}, lambda _: 0) is None


def test_the_words_say_how_it_is_known() -> None:
    """Estimated and measured are never taken for each other."""
    assert "estimated from 3 measurements" in FalseKeeps(1000, 71, True, 3).words()
    assert "7.1" in FalseKeeps(1000, 71, True, 3).words()
    assert "measured" in FalseKeeps(20, 1, False, 60).words()
