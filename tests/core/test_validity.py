"""The judge of the validity gate: what each probe's values amount to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.probes import (
    FIXED_SHARE,
    Came,
    Probed,
    ProbeKind,
    fixed_seconds,
    forged_values_taken,
    is_clear,
    samples_a_probe,
)
from headway.core.records import Calibration, HarnessValidation, Probe, to_row
from headway.core.self_test import FalseKeeps
from headway.core.spec import Spec
from headway.core.validity import (
    MOVES,
    REJECTS_TRIVIAL,
    RUNS_CODE,
    SEPARATES,
    Measured,
    Waivers,
    judge_harness,
    misnamed_waivers,
    unwaived,
)
from headway.core.validity_words import forgeable_words, gate_words, probe_rows
from tests.builders import a_spec

BASELINE = (10.0, 10.2, 9.9)
FEWER, MORE = a_spec(), a_spec(metric={"primary": {"direction": "maximize"}})


def an_exemplar(kind: str, *values: float, came: str = "value", number: int = 1) -> Probed:
    return Probed(
        name=f"{kind}-{number}", kind=ProbeKind(kind), commit="c" * 40, came=Came(came), values=values, reason="why"
    )


def a_round(came: str = "failed", ran: tuple[str, ...] = (), value: float | None = None, number: int = 1) -> Probed:
    return Probed(
        name=f"forged-{number}",
        kind=ProbeKind.FORGED,
        commit="d" * 40,
        came=Came(came),
        values=() if value is None else (value,),
        files=("solve.py", "late.py"),
        ran=ran,
        claimed=2.5,
    )


def judged(*probed: Probed, spec: Spec = FEWER, waivers: Waivers | None = None, **more: Any) -> HarnessValidation:
    measured = Measured(baseline=more.pop("baseline", BASELINE), exemplars=probed, **more)
    return judge_harness(spec, measured, (), waivers or Waivers(), "2026-11-30T17:46:05Z")


def probe(validation: HarnessValidation, name: str) -> Probe:
    (found,) = [p for p in validation.probes or () if p.name == name]
    return found


# Exemplars


@pytest.mark.parametrize(
    ("spec", "good", "bad", "verdict"),
    [
        (FEWER, 5.0, 20.0, True),
        (FEWER, 20.0, 5.0, False),
        (FEWER, 7.0, 7.0, False),
        (MORE, 20.0, 5.0, True),
        (MORE, 5.0, 20.0, False),
    ],
)
def test_known_good_must_lie_above_known_bad_in_the_metrics_direction(
    spec: Spec, good: float, bad: float, verdict: bool
) -> None:
    """The same score is not above."""
    found = judged(an_exemplar("known_good", good), an_exemplar("known_bad", bad), spec=spec)
    assert found.separates_known_good_from_bad is verdict
    assert (SEPARATES in (found.headway.failed if found.headway else ())) is not verdict


@given(st.lists(st.floats(1, 100), min_size=1, max_size=4), st.lists(st.floats(1, 100), min_size=1, max_size=4))
def test_every_good_one_is_held_against_every_bad_one(good: list[float], bad: list[float]) -> None:
    """One pair that is the wrong way round is enough."""
    probed = [an_exemplar("known_good", v, number=n) for n, v in enumerate(good)]
    probed += [an_exemplar("known_bad", v, number=n) for n, v in enumerate(bad)]
    assert judged(*probed).separates_known_good_from_bad is (max(good) < min(bad))


def test_samples_of_one_exemplar_count_by_their_aggregate() -> None:
    """One stray sample does not turn it."""
    found = judged(an_exemplar("known_good", 5.0, 5.1, 30.0), an_exemplar("known_bad", 20.0, 21.0, 20.5))
    assert found.separates_known_good_from_bad is True


@pytest.mark.parametrize("came", ["rejected", "failed"])
def test_a_bad_one_without_a_value_is_below_and_a_good_one_without_is_not_above(came: str) -> None:
    """Turned down by a gate, or not measurable at all: no keep can come of it."""
    assert judged(an_exemplar("known_bad", came=came)).separates_known_good_from_bad is True
    wrong = judged(an_exemplar("known_good", came=came), an_exemplar("known_bad", 20.0))
    assert wrong.separates_known_good_from_bad is False
    assert "known_good-1 has no value: why" in probe(wrong, SEPARATES).observed["wrong"]


def test_without_a_known_good_one_the_untouched_code_stands_in() -> None:
    """Bad and trivial ones must lie below what is there already."""
    found = judged(an_exemplar("known_bad", 9.0), an_exemplar("trivial", 0.0))
    assert (found.separates_known_good_from_bad, found.rejects_trivial_shortcut) == (False, False)
    assert probe(found, SEPARATES).inputs["better"] == [{"name": "untouched code"}]


def test_a_trivial_one_at_the_score_of_known_good_is_rewarded() -> None:
    """At or above is too much; below it is refused."""
    good = an_exemplar("known_good", 5.0)
    assert judged(good, an_exemplar("trivial", 5.0)).rejects_trivial_shortcut is False
    assert judged(good, an_exemplar("trivial", 5.1)).rejects_trivial_shortcut is True


def test_what_was_not_named_or_not_measured_is_null() -> None:
    """Never passed."""
    found = judged()
    assert (found.separates_known_good_from_bad, found.rejects_trivial_shortcut) == (None, None)
    late = judged(an_exemplar("known_bad", came="skipped"))
    assert late.separates_known_good_from_bad is None
    assert probe(late, MOVES).passed is None
    assert unwaived(late) == ()


def test_one_that_was_not_measured_hides_no_failure() -> None:
    """Open only where nothing else is wrong."""
    found = judged(an_exemplar("known_bad", came="skipped"), an_exemplar("known_bad", 5.0, number=2))
    assert found.separates_known_good_from_bad is False


@pytest.mark.parametrize(
    ("values", "moves"),
    [
        ((10.0,), False),
        ((10.3,), False),  # apart, and nearer than the untouched code differs from itself
        ((11.0, 11.2), True),
        ((8.0,), True),
        ((10.1, 30.0), False),  # they overlap
    ],
)
def test_a_known_bad_edit_must_move_the_metric_by_more_than_noise(values: tuple[float, ...], moves: bool) -> None:
    """BR-71: a harness that reads another checkout gives the untouched code's values."""
    assert probe(judged(an_exemplar("known_bad", *values)), MOVES).passed is moves


def test_a_deterministic_metric_moves_by_any_difference() -> None:
    """Without noise the last digit counts."""
    found = judged(an_exemplar("known_bad", 10.000001), baseline=(10.0, 10.0, 10.0))
    assert probe(found, MOVES).passed is True


@pytest.mark.parametrize(("values", "clear"), [((10.9,), True), ((10.7,), False), ((9.2,), True), ((9.2, 10.0), False)])
def test_a_probe_far_beyond_the_untouched_codes_range_needs_no_more_samples(
    values: tuple[float, ...], clear: bool
) -> None:
    """Beyond it by twice its width, on either side; all of the probe's samples."""
    assert is_clear(values, BASELINE) is clear


# Forgery


@pytest.mark.parametrize(
    ("rounds", "forgeable"),
    [
        ((), None),
        ((a_round(),), None),
        ((a_round("value", (), 10.0),), None),
        ((a_round("failed", ("solve.py",)),), False),
        ((a_round("value", ("solve.py",), 10.0),), False),
        ((a_round("value", ("solve.py",), 2.5),), True),
        ((a_round("value", (), 2.5),), True),
        ((a_round("failed", ("solve.py",)), a_round("value", ("late.py",), 2.5, 2)), True),
        ((a_round("rejected", ("solve.py",), 2.5),), False),
        ((a_round("skipped"),), None),
    ],
)
def test_a_harness_is_forgeable_when_a_claim_is_believed_and_not_known_when_no_forgery_ran(
    rounds: tuple[Probed, ...], forgeable: bool | None
) -> None:
    """It is told and stops nothing."""
    found = judged(rounds=rounds)
    assert forged_values_taken(rounds) is forgeable
    assert found.headway is not None and found.headway.forgeable is forgeable
    assert probe(found, "forgeable").passed is (None if forgeable is None else not forgeable)
    assert unwaived(found) == ()


@pytest.mark.parametrize(
    ("one", "passed"),
    [
        (a_round("value", (), 10.0), False),
        (a_round("value", ("solve.py",), 10.0), True),
        (a_round("value", (), 40.0), True),
        (a_round("failed"), True),
    ],
)
def test_replaced_code_that_nobody_ran_and_that_changed_nothing_is_told(one: Probed, passed: bool) -> None:
    """BR-71 without exemplars: a warning."""
    found = judged(rounds=(one,))
    assert probe(found, RUNS_CODE).passed is passed
    assert any("none of it ran" in line for line in gate_words(found)) is not passed


# False keeps, calibration, waivers


def test_many_false_keeps_are_told_and_stop_nothing() -> None:
    """Above one in twenty."""
    many, few = FalseKeeps(1000, 71, True, 5), FalseKeeps(1000, 50, True, 5)
    assert "7.1" in " ".join(gate_words(judged(false_keeps=many)))
    assert gate_words(judged(false_keeps=few)) == ()
    assert unwaived(judged(false_keeps=many)) == ()


def test_calibration_is_for_judges() -> None:
    """Nothing judged: not applicable; judged: not run; waived: the words as they were given."""
    judge = {"rubric": "r", "scoring": {"primary": "q"}}
    spec = a_spec(metric={"primary": {"type": "judge"}, "judge": judge})
    assert judged().calibration is Calibration.NOT_APPLICABLE
    assert judged(spec=spec).calibration is Calibration.NOT_RUN
    found = judged(waivers=Waivers((), "Ada, today"))
    assert (found.calibration, found.waiver) == (Calibration.WAIVED, "Ada, today")
    assert "waiver" not in to_row(judged())


def test_a_waiver_by_a_probes_name_is_for_that_probe_alone() -> None:
    """The other failure still stops the run."""
    probed = (an_exemplar("known_bad", 5.0), an_exemplar("trivial", 5.0))
    assert [p.name for p in unwaived(judged(*probed))] == [SEPARATES, REJECTS_TRIVIAL]
    found = judged(*probed, waivers=Waivers((SEPARATES,)))
    assert [p.name for p in unwaived(found)] == [REJECTS_TRIVIAL]
    assert probe(found, SEPARATES).waiver == SEPARATES


def test_a_waiver_by_a_person_is_for_all_that_failed_and_for_nothing_that_passed() -> None:
    """The name stands in each probe that it waives."""
    found = judged(an_exemplar("known_bad", 5.0), an_exemplar("trivial", 50.0), waivers=Waivers(("Ada",)))
    assert unwaived(found) == ()
    assert [p.name for p in found.probes or () if p.waiver == "Ada"] == [SEPARATES]
    assert found.separates_known_good_from_bad is False


@pytest.mark.parametrize("name", ["seperates_known_good_from_bad", "rejects_trivial", "known_bad_moves_metrics", "a_b"])
def test_what_looks_like_a_probes_name_and_is_none_is_a_slip(name: str) -> None:
    """It would waive everything otherwise."""
    assert name in misnamed_waivers([name])


def test_names_of_probes_and_of_persons_are_none() -> None:
    """Both are what they are."""
    assert misnamed_waivers([SEPARATES, "Ada", "Ada Lovelace", "ops@example.org", "forgeable"]) == ""


# Words, costs


def test_every_result_has_a_line() -> None:
    """`check` shows the gate whole, and what was not run."""
    found = judged(an_exemplar("known_bad", 5.0), rounds=(a_round("failed", ("solve.py",)),))
    rows = dict(probe_rows(found))
    assert "known_bad-1 scores 5, and untouched code only 10" in rows[SEPARATES]
    assert rows[REJECTS_TRIVIAL] == "not run: `exemplars.trivial` names none"
    assert rows["forgeable"].startswith("not forged")
    assert dict(probe_rows(judged()))[SEPARATES] == "not run: `exemplars.known_bad` names none"
    assert "it was not tried" in forgeable_words(None)


def test_what_the_gate_writes_reads_back() -> None:
    """The record in the file is the record in the log."""
    found = judged(
        an_exemplar("known_bad", 5.0), rounds=(a_round(),), false_keeps=FalseKeeps(10, 1, True, 3), forgery_note="n"
    )
    assert HarnessValidation.model_validate(to_row(found)) == found


def test_fixed_costs_are_a_share_of_the_runs_time() -> None:
    """Of the shorter of its two limits."""
    assert fixed_seconds(a_spec(stopping={"max_hours": 2})) == pytest.approx(7200 * FIXED_SHARE)
    assert fixed_seconds(a_spec(stopping={"max_hours": 2, "max_wall_hours": 1})) == pytest.approx(3600 * FIXED_SHARE)


@pytest.mark.parametrize(
    ("mode", "seconds", "left", "times"),
    [("stable", 1.0, 1000.0, 1), ("repeat", 1.0, 1000.0, 3), ("repeat", 61.0, 1e6, 1), ("repeat", 1.0, 11.0, 1)],
)
def test_an_exemplar_is_measured_once_where_time_is_short(mode: str, seconds: float, left: float, times: int) -> None:
    """Three times where the spec repeats, once where it does not, where it is slow, and where time is short."""
    spec = a_spec(measurement={"stability": {"mode": mode}})
    assert samples_a_probe(spec, seconds, 2, left) == times
