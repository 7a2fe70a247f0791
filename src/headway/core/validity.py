"""Judges the metric validity gate: whether the harness tells good code from bad, and what it can be talked into.

Three probes stop a run when they fail, unless a person waives them: known-good above known-bad exemplars, trivial
output not rewarded, a known-bad edit that moves the metric. The others are told: whether the harness can be forged,
whether it runs the mutable code at all, and how many no-ops the decision keeps.

Where a spec names no known-good exemplar, the untouched code stands in for one.
Source: CONTRACTS sections 5 and 9; DESIGN section 6; seed 004 (`harness_validation`).
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core.loose_numbers import shown_number
from headway.core.probes import Came, Probed, ProbeKind, executed, forged_values_taken, lies_apart
from headway.core.records import Calibration, HarnessValidation, Probe, ValidationHeadway
from headway.core.self_test import FalseKeeps
from headway.core.spec import MetricType, Spec

SEPARATES: Final = "separates_known_good_from_bad"
REJECTS_TRIVIAL: Final = "rejects_trivial_shortcut"
MOVES: Final = "known_bad_moves_metric"
FORGEABLE: Final = "forgeable"
RUNS_CODE: Final = "runs_mutable_code"
FALSE_KEEPS: Final = "false_keeps"
BASELINE_REPEATS: Final = "baseline_repeats"
SPREAD: Final = "spread_below_threshold"
STOPPING: Final = (SEPARATES, REJECTS_TRIVIAL, MOVES)
"""Probes without which no agent is paid."""
PROBES: Final = (*STOPPING, FORGEABLE, RUNS_CODE, FALSE_KEEPS, BASELINE_REPEATS, SPREAD)
UNTOUCHED: Final = "untouched code"


@dataclass(frozen=True)
class Waivers:
    """What a person waives.

    Attributes:
        validity: names of probes, or a person's own name for all that failed.
        calibration: who waives the judge's calibration and when, verbatim; None: nobody does.
    """

    validity: tuple[str, ...] = ()
    calibration: str | None = None

    def of(self, probe: str) -> str | None:
        """Give the words that waive a probe; None where none do."""
        if probe in self.validity:
            return probe
        return next((name for name in self.validity if name not in PROBES), None)


def misnamed_waivers(names: Iterable[str]) -> str:
    """Say which name is most likely a slip for a probe's; empty where there is none.

    Args:
        names: what was given with `--waive-validity`.
    """
    for name in names:
        near = difflib.get_close_matches(name, PROBES, 1, 0.75)
        if name not in PROBES and (near or "_" in name):
            return f"there is no probe `{name}`" + (f"; did you mean `{near[0]}`?" if near else "")
    return ""


@dataclass(frozen=True)
class Measured:
    """All that the gate measured.

    Attributes:
        baseline: values of the primary of the untouched code, in order.
        exemplars: every exemplar with what it came to.
        rounds: the forgeries that were tried, in order.
        forgery_note: why none was tried, or why the search ended early; empty where neither is so.
        false_keeps: None where they are not known.
    """

    baseline: tuple[float, ...]
    exemplars: tuple[Probed, ...] = ()
    rounds: tuple[Probed, ...] = ()
    forgery_note: str = ""
    false_keeps: FalseKeeps | None = None


def judge_harness(
    spec: Spec, measured: Measured, others: Sequence[Probe], waivers: Waivers, at: str
) -> HarnessValidation:
    """Judge what the gate measured.

    Args:
        spec: gives direction, aggregation, and whether anything is judged.
        measured: the gate's own probes.
        others: probes about the baseline, which stand in front.
        waivers: what a person waives.
        at: time of the judgement.
    Returns: the record; a boolean is null where its probe could not be run.
    """
    probes = (*_exemplar_probes(spec, measured), *_forgery_probes(measured), *_false_keep_probes(measured))
    verdicts = {probe.name: probe.passed for probe in probes}
    failed = tuple(name for name in STOPPING if verdicts.get(name) is False)
    told: dict[str, Any] = {"waiver": waivers.calibration} if waivers.calibration is not None else {}
    return HarnessValidation(
        timestamp=at,
        separates_known_good_from_bad=verdicts.get(SEPARATES),
        rejects_trivial_shortcut=verdicts.get(REJECTS_TRIVIAL),
        judge_agreement=None,
        calibration=_calibration(spec, waivers),
        holdout_configured=bool(spec.measurement.holdout and spec.measurement.holdout.command),
        probes=(*others, *(_waived(probe, waivers) for probe in probes)),
        headway=ValidationHeadway(
            forgeable=forged_values_taken(measured.rounds),
            forged_by=tuple(path for one in measured.rounds if one.is_taken for path in one.ran),
            failed=failed,
        ),
        **told,
    )


def _waived(probe: Probe, waivers: Waivers) -> Probe:
    waiver = waivers.of(probe.name) if probe.passed is False else None
    named = waiver == probe.name or probe.name in STOPPING
    return probe.model_copy(update={"waiver": waiver}) if waiver is not None and named else probe


def _calibration(spec: Spec, waivers: Waivers) -> Calibration:
    if waivers.calibration is not None:
        return Calibration.WAIVED
    is_judged = any(one.type is MetricType.JUDGE for one in spec.all_objectives)
    return Calibration.NOT_RUN if is_judged else Calibration.NOT_APPLICABLE


def unwaived(validation: HarnessValidation) -> tuple[Probe, ...]:
    """Give the failed probes that stop the run."""
    return tuple(p for p in validation.probes or () if p.name in STOPPING and p.passed is False and p.waiver is None)


# Exemplars


def _exemplar_probes(spec: Spec, measured: Measured) -> Iterable[Probe]:
    how, sign = spec.measurement.stability.aggregation, spec.metric.primary.direction.sign
    by_kind = {kind: [one for one in measured.exemplars if one.kind is kind] for kind in ProbeKind}
    good, bad, trivial = (by_kind[k] for k in (ProbeKind.KNOWN_GOOD, ProbeKind.KNOWN_BAD, ProbeKind.TRIVIAL))
    stand_in = Probed(name=UNTOUCHED, kind=ProbeKind.KNOWN_GOOD, commit="", came=Came.VALUE, values=measured.baseline)
    for name, against in ((SEPARATES, bad), (REJECTS_TRIVIAL, trivial)):
        if against:
            yield _above(name, good or [stand_in], against, how, sign)
    if bad:
        yield _moves(measured.baseline, bad, how)


def _above(name: str, good: Sequence[Probed], bad: Sequence[Probed], how: str, sign: int) -> Probe:
    """Compare every good one with every bad one; one that was not measured leaves it open, unless another fails."""
    wrong = [words for one in good for other in bad if (words := _not_above(one, other, how, sign))]
    is_open = any(one.came is Came.SKIPPED for one in (*good, *bad))
    return Probe(
        name=name,
        inputs={"better": [_input(one) for one in good], "worse": [_input(one) for one in bad]},
        observed={**{one.name: _observed(one) for one in (*good, *bad)}, **({"wrong": wrong} if wrong else {})},
        passed=False if wrong else None if is_open else True,
    )


def _not_above(good: Probed, bad: Probed, how: str, sign: int) -> str:
    """Say why a good one is not above a bad one; empty where it is, or where one of them was not measured."""
    if Came.SKIPPED in (good.came, bad.came):
        return ""
    better, worse = good.value(how), bad.value(how)
    if better is None:
        return f"{good.name} has no value: {good.reason}"
    if worse is None or sign * (better - worse) > 0:
        return ""
    return f"{bad.name} scores {shown_number(worse)}, and {good.name} only {shown_number(better)}"


def _moves(baseline: Sequence[float], bad: Sequence[Probed], how: str) -> Probe:
    """Say whether every known-bad edit gives another value than the untouched code, beyond what that differs by."""
    still = [
        f"{one.name} measures as the untouched code does ({', '.join(map(shown_number, one.values))}): "
        "the harness reads another checkout, or the edit changes nothing that it measures"
        for one in bad
        if one.came is Came.VALUE and not lies_apart(one.values, baseline)
    ]
    is_open = any(one.came is Came.SKIPPED for one in bad)
    return Probe(
        name=MOVES,
        inputs=[_input(one) for one in bad],
        observed={
            UNTOUCHED: {"values": list(baseline)},
            **{one.name: _observed(one) for one in bad},
            **({"wrong": still} if still else {}),
        },
        passed=False if still else None if is_open else True,
    )


def _input(one: Probed) -> dict[str, Any]:
    told = {"name": one.name, "source": one.source, "commit": one.commit, "note": one.note}
    return {key: value for key, value in told.items() if value} | (
        {"left_out": list(one.left_out)} if one.left_out else {}
    )


def _observed(one: Probed) -> dict[str, Any]:
    return {"came": one.came.value, "values": list(one.values)} | ({"reason": one.reason} if one.reason else {})


# Forgery


def _forgery_probes(measured: Measured) -> Iterable[Probe]:
    rounds = measured.rounds
    inputs = [{"files": list(one.files), "claimed": one.claimed, "commit": one.commit} for one in rounds]
    seen = {one.name: {**_observed(one), "ran": list(one.ran)} for one in rounds}
    note = {"note": measured.forgery_note} if measured.forgery_note else {}
    taken = forged_values_taken(rounds)
    yield Probe(
        name=FORGEABLE,
        inputs=inputs,
        observed={"forgeable": taken, **seen, **note},
        passed=None if taken is None else not taken,
    )
    first = rounds[0] if rounds else None
    if first is not None and first.came is not Came.SKIPPED:
        same = first.came is Came.VALUE and not lies_apart(first.values, measured.baseline)
        yield Probe(
            name=RUNS_CODE,
            inputs={"files": list(first.files), "edit": "prints a value and exits as soon as it is loaded"},
            observed={"ran": list(executed(rounds)), "values": list(first.values)},
            passed=bool(executed(rounds)) or not same,
        )


def _false_keep_probes(measured: Measured) -> Iterable[Probe]:
    found = measured.false_keeps
    if found is not None:
        yield Probe(
            name=FALSE_KEEPS,
            inputs={"no_ops": found.no_ops, "samples": found.samples, "method": "resampling of the calibration"},
            observed={"kept": found.kept, "share": round(found.share, 6), "estimated": found.estimated}
            | ({"note": found.why_fewer} if found.why_fewer else {}),
            passed=found.is_tolerable,
        )
