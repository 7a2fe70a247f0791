"""One candidate's measuring session, driven step by step without any measuring."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.decide import decide
from headway.core.output import InvalidSample, Sample
from headway.core.session import next_step
from headway.core.session_payload import decision_spec, snapshot
from headway.core.session_words import Ended, ReferenceBroken, Session, Take, TakenSample, TimedOut
from headway.core.spec import Spec
from tests.builders import a_spec

STORED = {"metrics": {"seconds": {"aggregate": 8.0, "samples": [8.0, 8.0]}}, "gates": {"sorted": 1}}
Measure = Callable[[str, int], TakenSample]


def a_sample(seconds: float = 4.0, ok: Any = 1, **more: Any) -> Sample:
    return Sample(gates={"sorted": ok}, metrics={"seconds": seconds}, **more)


def a_stable_spec(mode: str = "stable", **stability: Any) -> Spec:
    return a_spec(measurement={"stability": {"mode": mode, **stability}})


def a_session(
    spec: Spec,
    *candidate: TakenSample,
    references: tuple[TakenSample, ...] = (),
    smoke: bool | None = None,
    elapsed: float | None = None,
) -> Session:
    return Session(spec, STORED, smoke, candidate, references, elapsed)


def played(spec: Spec, measure: Measure, smoke: bool = True) -> tuple[str, Ended | ReferenceBroken]:
    """Drive a session to its end; give the order of measurement (B candidate, A reference, S smoke) and the end."""
    order = ""
    candidate: list[TakenSample] = []
    references: list[TakenSample] = []
    smoke_passed: bool | None = None
    while True:
        session = Session(spec, STORED, smoke_passed, tuple(candidate), tuple(references))
        step = next_step(session)
        if not isinstance(step, Take):
            return order, step
        if step.kind == "smoke":
            order, smoke_passed = order + "S", smoke
        elif step.side == "candidate":
            candidate.append(measure("B", len(candidate)))
            order += "B"
        else:
            references.append(measure("A", len(references)))
            order += "A"
        assert len(order) < 100


def always(seconds: float, reference: float = 8.0) -> Measure:
    return lambda side, _: a_sample(seconds if side == "B" else reference)


def ended(session: Session) -> Ended:
    step = next_step(session)
    assert isinstance(step, Ended), step
    return step


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        (a_stable_spec(), "B"),
        (a_stable_spec("repeat", repeat_count=3), "BBB"),
        (a_stable_spec("ladder"), "BBBBB"),
        (a_stable_spec("ladder", ladder={"exploratory_pairs": 0, "confirmation_repeats": 2}), "BB"),
        (a_stable_spec("ladder", ladder={"exploratory_pairs": 3, "confirmation_repeats": 3}), "BBB"),
        (a_stable_spec("ladder", ladder={"smoke_command": "true", "confirmation_repeats": 2}), "SBB"),
        (a_stable_spec("repeat", repeat_count=2, ladder={"smoke_command": "true"}), "BB"),
    ],
)
def test_a_good_candidate_is_measured_as_often_as_its_mode_says(spec: Spec, order: str) -> None:
    """Once, `repeat_count` times, or until the ladder has its confirmation; the smoke check is the ladder's alone."""
    measured, end = played(spec, always(4.0))
    assert measured == order
    assert isinstance(end, Ended)
    assert end.outcome == "keep-eligible"


def test_pairs_are_interleaved_so_that_a_drift_cancels() -> None:
    """B A A B B A A B: candidate first, and the order turns round from pair to pair."""
    spec = a_stable_spec("repeat", repeat_count=4, comparison={"method": "paired"})
    order, end = played(spec, always(4.0))
    assert order == "BAABBAAB"
    assert isinstance(end, Ended)
    assert end.outcome == "keep-eligible"


def test_a_paired_session_compares_with_its_own_reference_samples() -> None:
    """The stored value is no evidence: here it would make the candidate look better, and the fresh one does not."""
    spec = a_stable_spec("repeat", repeat_count=2, comparison={"method": "paired"})
    _, end = played(spec, always(4.0, reference=4.0))
    assert isinstance(end, Ended)
    assert end.outcome == "inconclusive"
    assert end.payload["baseline"]["metrics"]["seconds"]["samples"] == [4.0, 4.0]


def test_a_paired_ladder_decides_on_whole_pairs_only() -> None:
    """Each look at the data has as many samples of either side."""
    spec = a_stable_spec("ladder", comparison={"method": "paired"}, ladder={"confirmation_repeats": 3})
    order, end = played(spec, always(4.0))
    assert order == "BAABBA"
    assert isinstance(end, Ended)
    assert len(end.payload["candidate"]["metrics"]["seconds"]["samples"]) == 3


def test_the_ladder_says_what_a_sample_is_for() -> None:
    """The log records it as `next_measurement`."""
    spec = a_stable_spec("ladder", ladder={"exploratory_pairs": 1, "confirmation_repeats": 3})
    assert next_step(a_session(spec)) == Take("candidate", "exploratory")
    assert next_step(a_session(spec, a_sample(4))) == Take("candidate", "confirm")
    assert next_step(a_session(spec, a_sample(8))) == Take("candidate", "add_sample")
    assert next_step(a_session(a_stable_spec())) == Take("candidate", "sample")


@pytest.mark.parametrize(
    ("seconds", "outcome", "samples"), [(4.0, "keep-eligible", 5), (8.0, "inconclusive", 2), (9.0, "reverted", 1)]
)
def test_each_decision_leads_to_its_outcome_with_no_more_samples_than_it_needs(
    seconds: float, outcome: str, samples: int
) -> None:
    """A clear loser on the ladder costs one measurement."""
    order, end = played(a_stable_spec("ladder"), always(seconds))
    assert isinstance(end, Ended)
    assert (end.outcome, len(order)) == (outcome, samples)


def test_a_hopeless_candidate_is_censored() -> None:
    """When the spec has declared the bound beforehand."""
    order, end = played(a_stable_spec("ladder", ladder={"futility": {"worse_factor": 1.5}}), always(12.0))
    assert isinstance(end, Ended)
    assert (end.outcome, order) == ("censored", "B")


def test_the_time_that_the_samples_took_counts_for_the_futility_bound() -> None:
    """The caller knows it and passes it on."""
    spec = a_stable_spec("ladder", ladder={"futility": {"worse_factor": 9, "after_elapsed_seconds": 60}})
    assert ended(a_session(spec, a_sample(9), elapsed=61)).outcome == "censored"
    assert ended(a_session(spec, a_sample(9), elapsed=59)).outcome == "reverted"


def test_a_failed_smoke_check_ends_it_before_any_sample() -> None:
    """Degenerate, by the engine's own word."""
    order, end = played(a_stable_spec("ladder", ladder={"smoke_command": "false"}), always(4.0), smoke=False)
    assert isinstance(end, Ended)
    assert (order, end.outcome, end.answer["reason"]) == ("S", "degenerate", "smoke test failed")


@pytest.mark.parametrize("method", ["absolute", "relative", "paired"])
def test_one_failing_gate_ends_it_at_once(method: str) -> None:
    """Whichever sample it is: good ones before it do not outweigh it."""
    spec = a_stable_spec("repeat", repeat_count=5, comparison={"method": method})
    order, end = played(spec, lambda side, at: a_sample(4.0 if side == "B" else 8.0, ok=int(side == "A" or at != 1)))
    assert isinstance(end, Ended)
    assert order.count("B") == 2
    assert (end.outcome, end.answer["violated_objectives"]) == ("degenerate", ["sorted"])


@pytest.mark.parametrize(
    ("bad", "outcome"), [(InvalidSample("score is NaN"), "error"), (TimedOut("took 9 s of 3"), "timeout")]
)
def test_an_invalid_sample_or_a_timeout_is_final_at_once(bad: InvalidSample | TimedOut, outcome: str) -> None:
    """With the reason, an answer in the engine's shape and a payload without the bad sample."""
    end = ended(a_session(a_stable_spec("repeat", repeat_count=5), a_sample(4), bad))
    assert end.outcome == outcome
    assert end.answer["decision"] == "error"
    assert end.answer["reason"] == bad.reason
    assert set(end.answer) == set(ended(a_session(a_stable_spec(), a_sample(4))).answer)
    assert end.payload["candidate"]["metrics"]["seconds"]["samples"] == [4]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (InvalidSample("no JSON"), "sample 1 of the reference failed: no JSON"),
        (TimedOut("took 9 s of 3"), "sample 1 of the reference failed: took 9 s of 3"),
        (a_sample(8, ok=0), "sample 1 of the reference fails the gate sorted"),
    ],
)
def test_a_reference_that_fails_breaks_the_run_and_not_the_candidate(bad: TakenSample, told: str) -> None:
    """Even where the candidate's own sample is bad too."""
    spec = a_stable_spec(comparison={"method": "paired"})
    for candidate in (a_sample(4), InvalidSample("also bad")):
        assert next_step(a_session(spec, candidate, references=(bad,))) == ReferenceBroken(told)


@pytest.mark.parametrize("stored", [None, {}, {"metrics": {"seconds": None}}, {"metrics": {"seconds": "n/a"}}])
def test_a_stored_reference_without_a_value_breaks_the_run_before_anything_is_measured(stored: Any) -> None:
    """It would make an error of every candidate."""
    step = next_step(Session(a_stable_spec(), stored, None, ()))
    assert step == ReferenceBroken("the stored reference has no value for seconds")


def test_a_paired_session_needs_no_stored_reference() -> None:
    """It measures its own."""
    step = next_step(Session(a_stable_spec(comparison={"method": "paired"}), None, None, ()))
    assert step == Take("candidate", "sample")


@given(st.lists(st.floats(1, 1e3), min_size=1, max_size=5), st.sampled_from(["absolute", "relative"]))
def test_the_payload_of_an_end_gives_its_answer_again(samples: list[float], method: str) -> None:
    """`headway decide` on it is the proof of the decision."""
    spec = a_stable_spec("repeat", repeat_count=len(samples), comparison={"method": method})
    end = ended(a_session(spec, *(a_sample(value) for value in samples)))
    assert decide(end.payload) == end.answer


@given(st.lists(st.floats(1, 1e3), min_size=12, max_size=12), st.sampled_from(["stable", "repeat", "ladder"]))
def test_a_paired_session_never_lets_one_side_run_ahead(values: list[float], mode: str) -> None:
    """At most by the open half of a pair."""
    spec = a_stable_spec(mode, comparison={"method": "paired"})
    order, end = played(spec, lambda side, at: a_sample(values[2 * at + (side == "A")]))
    assert isinstance(end, Ended)
    assert order == "BAABBAABBAAB"[: len(order)]
    assert order.count("A") == order.count("B")


def test_what_the_engine_reads_of_a_spec_is_all_of_it() -> None:
    """Every field that bears on the decision reaches it, as plain JSON."""
    spec = a_spec(
        metric={
            "primary": {"target": 2},
            "objectives": [
                {"name": "ram", "direction": "minimize", "max_regression": {"type": "relative", "value": 0.25}}
            ],
        },
        measurement={
            "stability": {
                "mode": "ladder",
                "aggregation": "min",
                "noise_threshold": 0.5,
                "comparison": {"method": "relative", "relative_threshold": 0.125},
                "ladder": {"smoke_command": "true", "exploratory_pairs": 2, "futility": {"after_elapsed_seconds": 9}},
            }
        },
    )
    read = decision_spec(spec)
    assert read["metric"]["primary"] == {"type": "hard", "name": "seconds", "direction": "minimize", "target": 2.0}
    assert read["metric"]["objectives"][0]["max_regression"] == {"type": "relative", "value": 0.25}
    assert read["metric"]["degenerate_gates"] == [{"name": "sorted", "check": "== 1"}]
    stability = read["measurement"]["stability"]
    assert (stability["mode"], stability["aggregation"], stability["noise_threshold"]) == ("ladder", "min", 0.5)
    assert stability["comparison"]["method"] == "relative"
    assert stability["comparison"]["relative_threshold"] == 0.125
    assert stability["ladder"] == {
        "smoke_command": "true",
        "exploratory_pairs": 2,
        "futility": {"worse_factor": 1.2, "after_elapsed_seconds": 9.0},
    }


def test_lost_cases_are_reported_where_both_sides_have_cases() -> None:
    """From the last sample; they decide nothing."""
    session = Session(
        a_stable_spec(),
        {**STORED, "cases": {"a": True, "b": True}},
        None,
        (a_sample(4, cases={"a": True, "b": False}),),
    )
    end = ended(session)
    assert end.outcome == "keep-eligible"
    assert end.answer["regressions"] == ["b"]


def test_a_snapshot_holds_the_valid_samples_in_order() -> None:
    """With their aggregate; a metric that one of them lacks would misalign pairs and is left out."""
    first = Sample(gates={}, metrics={"a": 1.0, "b": 5.0})
    second = Sample(gates={}, metrics={"a": 3.0})
    assert snapshot([first, InvalidSample("x"), TimedOut(), second], "mean") == {
        "a": {"aggregate": 2.0, "samples": [1.0, 3.0]}
    }
    assert snapshot([], "median") == {}
