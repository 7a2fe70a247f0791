"""One candidate's session in pairs, with measurements that fail in it."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from headway.core.output import InvalidSample, Sample
from headway.core.sequential.rules import Objective
from headway.core.sequential_session import in_order, sequential_step, whole_pairs
from headway.core.session_words import Ended, ReferenceBroken, RunPart, Session, Step, Take, TakenSample, TimedOut
from headway.core.spec_parts import Effort
from tests.builders import a_spec
from tests.core.sequential.sessions import a_noisy_history, a_state, some_rules

SPEC: Final = a_spec(measurement={"stability": {"mode": "ladder", "comparison": {"method": "sequential"}}})
PART: Final = RunPart(
    a_noisy_history(name="seconds"), some_rules(Effort.STANDARD, Objective("seconds", -1)), a_state(1)
)
"""The best takes 10 s, and its pairs differ by 1%."""
NAMES: Final = ("seconds",)
BAD: Final = InvalidSample("it printed no JSON")


def a_value(seconds: float, ok: int = 1) -> Sample:
    return Sample({"sorted": ok}, {"seconds": seconds}, {})


def stepped(candidate: Sequence[TakenSample], reference: Sequence[TakenSample] = ()) -> Step:
    return sequential_step(Session(SPEC, None, None, tuple(candidate), tuple(reference), run=PART))


def played(measure: Callable[[str, int], TakenSample]) -> tuple[str, list[int], Ended | ReferenceBroken]:
    """Drive a session to its end; give the order (B candidate, A reference), each sample's pair, and the end."""
    sides: dict[str, list[TakenSample]] = {"B": [], "A": []}
    order, pairs = "", list[int]()
    while True:
        step = stepped(sides["B"], sides["A"])
        if not isinstance(step, Take):
            return order, pairs, step
        letter = "B" if step.side == "candidate" else "A"
        order, pairs = order + letter, [*pairs, step.pair]
        sides[letter].append(measure(letter, len(sides[letter])))


def better(letter: str, number: int) -> TakenSample:
    return a_value(9.0 if letter == "B" else 10.0)


def failing(at: int, kind: TakenSample = BAD) -> Callable[[str, int], TakenSample]:
    """The candidate's measurement number `at`, from 0, fails."""
    return lambda letter, number: kind if (letter, number) == ("B", at) else better(letter, number)


def test_a_better_candidate_is_kept_after_three_pairs_in_alternating_order() -> None:
    """B | A | A B | B A; both halves of a pair have one number, for their seed."""
    order, pairs, end = played(better)
    assert (order, pairs) == ("BAABBA", [1, 1, 2, 2, 3, 3])
    assert isinstance(end, Ended)
    assert end.outcome == "keep-eligible"
    assert end.answer["gain"]["estimate"] == pytest.approx(0.1, rel=0.01)
    assert end.answer["evidence"].startswith("k=1, pairs=3, noise of a pair 0.00968 (share), z=6.08")


@pytest.mark.parametrize(
    ("at", "order", "pairs"),
    [
        (0, "BBAABBA", [1, 2, 2, 3, 3, 4, 4]),
        (1, "BAABABBA", [1, 1, 2, 2, 3, 3, 4, 4]),
        (2, "BAABBBA", [1, 1, 2, 2, 3, 4, 4]),
    ],
)
def test_a_half_that_fails_takes_its_pair_with_it_and_the_pair_is_measured_once_more(
    at: int, order: str, pairs: list[int]
) -> None:
    """By the same side first, under a new seed for both halves."""
    found_order, found_pairs, end = played(failing(at))
    assert (found_order, found_pairs) == (order, pairs)
    assert isinstance(end, Ended)
    assert end.outcome == "keep-eligible"


def test_two_failures_of_the_candidate_are_an_error_and_one_timeout_is_final() -> None:
    """Whatever was measured before."""
    _, _, twice = played(lambda letter, number: BAD if (letter, number > 0) == ("B", True) else better(letter, number))
    _, _, late = played(failing(1, TimedOut("too long")))
    assert isinstance(twice, Ended)
    assert isinstance(late, Ended)
    assert (twice.outcome, twice.answer["reason"]) == ("error", BAD.reason)
    assert (late.outcome, late.answer["reason"]) == ("timeout", "too long")


def test_a_reference_that_fails_or_breaks_a_gate_stops_the_run() -> None:
    """No verdict on the candidate follows from it."""
    assert isinstance(stepped([a_value(9.0)], [BAD]), ReferenceBroken)
    broken = stepped([a_value(9.0)], [a_value(10.0, ok=0)])
    assert broken == ReferenceBroken("sample 1 of the reference fails the gate sorted")


def test_a_candidate_whose_gate_fails_in_any_sample_is_degenerate() -> None:
    """Also behind pairs that would keep it."""
    end = stepped([a_value(9.0), a_value(9.0), a_value(9.0, ok=0)], [a_value(10.0)] * 2)
    assert isinstance(end, Ended)
    assert end.outcome == "degenerate"


def test_one_look_can_end_a_candidate_and_claims_no_interval() -> None:
    """A lone first sample is measured against what is stored; the estimate of the loss has no bounds."""
    order, _, end = played(lambda letter, number: a_value(10.1))
    assert isinstance(end, Ended)
    assert (order, end.outcome) == ("B", "inconclusive")
    assert "one look at the candidate, no pair" in end.answer["evidence"]
    assert "gain" not in end.answer


def test_samples_are_put_in_order_by_the_rule_not_by_their_lists() -> None:
    """A failed half moves the later ones of its side, and what belongs together stays together."""
    candidate: list[TakenSample] = [a_value(1.0), BAD, a_value(2.0), a_value(3.0)]
    reference = [a_value(11.0), a_value(12.0), a_value(13.0), a_value(14.0)]
    sides = "".join("B" if r.side == "candidate" else "A" for r in in_order(NAMES, candidate, reference))
    found = whole_pairs(NAMES, candidate, reference)
    assert sides == "BAABABBA"
    assert found.pairs == ((0, 0), (2, 2), (3, 3))
    assert "".join("B" if side == "candidate" else "A" for side in found.order) == "BAABBA"


def test_an_open_pair_is_no_pair() -> None:
    """Neither a lone first sample, nor the half that was measured last."""
    assert whole_pairs(NAMES, [a_value(1.0)], []).pairs == ()
    assert whole_pairs(NAMES, [a_value(1.0)], [a_value(2.0), a_value(3.0)]).pairs == ((0, 0),)


def test_a_reference_far_from_its_stored_level_is_told_as_drift() -> None:
    """The pairs decide as ever; the notice says that the machine changed pace."""
    _, _, end = played(lambda letter, number: a_value(4.5 if letter == "B" else 5.0))
    assert isinstance(end, Ended)
    assert end.outcome == "keep-eligible"
    assert end.answer["moved"].startswith("seconds of the reference is 5 now")
    assert "moved" not in played(better)[2].answer  # type: ignore[union-attr]
