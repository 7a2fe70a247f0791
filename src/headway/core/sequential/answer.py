"""The answer of `decide` under the sequential method: the same fields as under the others.

Source: CONTRACTS section 10; DECISIONS 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headway.core import gates
from headway.core.compare import Side
from headway.core.decide_payload import DecisionRequest
from headway.core.loose_numbers import finite_number, json_number, to_number
from headway.core.sequential.candidate import Decision, decide_candidate
from headway.core.sequential.holdout import holdout_pairs, judge_holdout
from headway.core.sequential.order import MOST_FAILURES
from headway.core.sequential.payload import RunPart, paired_samples, read_run
from headway.core.sequential.rules import Rules
from headway.core.sequential.settings import Settings, rules_for, settings_from
from headway.core.sequential.sight import Sight, Taken
from headway.core.sequential.simpler import is_simpler
from headway.core.spec_parts import Effort
from headway.core.statistics import aggregate, relative_change, signed_change
from headway.errors import PayloadWrong

PLACES: Final = ("metrics", "judge", "diagnostics", "gates")


def sequential_answer(request: DecisionRequest) -> dict[str, Any]:
    """Decide on a payload by the sequential method, its smoke check and gates having passed.

    Args:
        request: the payload. Samples of both sides stand in the order of measurement, a failed one as null.
    Returns: the answer, with the keys of the other methods' in their order.
    Raises: PayloadWrong, where the run or a setting cannot be read.
    """
    if request.ladder is not None and request.ladder.smoke and request.candidate.get("smoke_passed") is None:
        return answer_with(request, "inconclusive", "smoke", "the smoke check comes before any measurement")
    run = read_run(request)
    settings = settings_from(request)
    if settings.effort is Effort.LEAN and run.effort is None:
        raise PayloadWrong(
            "effort lean decides over groups of candidates, and a payload holds one",
            "spec.measurement.stability.comparison.effort",
            "use quick, standard or thorough",
        )
    sides = {
        o.name: tuple(_samples(side, o.name) for side in (request.baseline, request.candidate))
        for o in settings.objectives
    }
    trouble = _trouble(sides)
    if trouble:
        return answer_with(request, "error", "none", trouble)
    session = {name: paired_samples(reference, candidate) for name, (reference, candidate) in sides.items()}
    missing = [name for name, taken in session.items() if not taken.candidate]
    if missing and all(sides[name][1] for name in missing):
        return answer_with(request, "inconclusive", "exploratory", "the measurement failed once, and is repeated once")
    if missing:
        return answer_with(request, "error", "none", f"missing required metric: {', '.join(missing)}")
    rules = _rules(request, settings, run)
    elapsed = request.candidate.get("elapsed_seconds")
    decision = decide_candidate(session, run.history, rules, run.state, None if elapsed is None else to_number(elapsed))
    answer = answer_with(request, decision.decided, decision.next_measurement, decision.reason, decision)
    if decision.is_keep and (request.holdout_configured or request.holdout is not None):
        return _with_holdout(request, answer, decision, rules, run)
    return answer


def _rules(request: DecisionRequest, settings: Settings, run: RunPart) -> Rules:
    simpler = settings.simpler
    smaller = simpler is not None and is_simpler(simpler.metric, *map(_sizes, (request.baseline, request.candidate)))
    return rules_for(settings, run.effort or settings.effort, run.state.planned, is_simpler=smaller)


def _sizes(side: Side) -> Mapping[str, Any]:
    return {**(side.get("metrics") or {}), **(side.get("diagnostics") or {})}


def _samples(side: Side, name: str) -> Sequence[Any] | None:
    """Give a metric's samples as they stand, failed ones as None; a lone number is one sample; None without any."""
    holder = next((side[place] for place in PLACES if name in (side.get(place) or {})), None)
    if holder is None:
        return None
    raw = holder[name]
    if isinstance(raw, Mapping):
        given = raw.get("samples")
        return list(given) if isinstance(given, list | tuple) else [raw.get("aggregate")]
    return [raw]


def _trouble(sides: Mapping[str, tuple[Sequence[Any] | None, ...]]) -> str:
    """Say what ends it: a reference value that is missing beside a whole one, or two failures of the candidate."""
    for name, (reference, candidate) in sides.items():
        values = [finite_number(value) for value in candidate or ()]
        for at, value in enumerate(reference or ()):
            if finite_number(value) is None and (at >= len(values) or values[at] is not None):
                return f"the current best cannot be measured: no finite value for {name}"
        if values.count(None) >= MOST_FAILURES:
            return f"missing required metric: {name}"
    return ""


def answer_with(
    request: DecisionRequest, decided: str, following: str, reason: str, decision: Decision | None = None
) -> dict[str, Any]:
    sights = decision.sights if decision else ()
    changes = {sight.objective.name: _change(request, sight) for sight in sights}
    primary = changes.get(request.objectives[0].name)
    return {
        "decision": decided,
        "eligible": decided == "keep",
        "next_measurement": following,
        "target_reached": decision is not None and _target_reached(request, sights),
        "improved_objectives": list(_improved(decision)),
        "violated_objectives": list(decision.violated if decision else ()),
        "comparisons": {s.objective.name: _row(s, changes[s.objective.name], decision) for s in sights},
        "primary_delta": None if primary is None else json_number(primary[0]),
        "rank_score": json_number(_rank_score(decision)),
        "reason": reason,
    }


def _improved(decision: Decision | None) -> tuple[str, ...]:
    if decision is None:
        return ()
    if decision.is_keep and not decision.tests:  # declared stable: the first value decided
        return tuple(name for name, look in decision.looks.items() if look.passes)
    return decision.improved


def _change(request: DecisionRequest, sight: Sight) -> tuple[float, float] | None:
    """The change of the aggregated values in the metric's unit, and as a share; None without a reference value."""
    taken, sign = sight.taken, sight.objective.sign
    level = aggregate(taken.reference, request.aggregation) if taken.reference else sight.yardstick.level
    if level is None:
        return None
    change = signed_change(level, aggregate(taken.candidate, request.aggregation), sign)
    return change, relative_change(change, level)


def _row(sight: Sight, change: tuple[float, float] | None, decision: Decision | None) -> dict[str, Any]:
    name = sight.objective.name
    verdict = "inconclusive"
    if decision is not None and decision.next_measurement == "none":
        if name in _improved(decision):
            verdict = "improved"
        elif name in decision.violated or (name in decision.tests and decision.tests[name].is_regressed):
            verdict = "regressed"
    return {
        "verdict": verdict,
        "delta": None if change is None else json_number(change[0]),
        "relative": None if change is None else json_number(change[1]),
        "violated": decision is not None and name in decision.violated,
    }


def _target_reached(request: DecisionRequest, sights: Sequence[Sight]) -> bool:
    met = [
        signed_change(s.objective.target, aggregate(s.taken.candidate, request.aggregation), s.objective.sign) >= 0
        for s in sights
        if s.objective.target is not None
    ]
    return bool(met) and all(met)


def _rank_score(decision: Decision | None) -> float:
    """The lower bound of the shrunken gain, as a share: the primary's, or the best of those that improved."""
    if decision is None or not decision.is_keep:
        return 0.0
    lows = {name: share.low for name, share in decision.shares().items() if name in _improved(decision)}
    primary = decision.sights[0].objective.name
    return lows[primary] if primary in lows else max(lows.values(), default=0.0)


def _with_holdout(
    request: DecisionRequest, answer: dict[str, Any], decision: Decision, rules: Rules, run: RunPart
) -> dict[str, Any]:
    """Ask for held-out pairs until there are enough, then let them withhold the keep or not."""
    asked = {
        **answer,
        "decision": "promising",
        "next_measurement": "holdout",
        "reason": "selection comparison would keep; held-out confirmation still missing",
    }
    if request.holdout is None:
        return asked
    baseline, candidate = request.holdout["baseline"], request.holdout["candidate"]
    failed = gates.check(request.gates, candidate.get("gates") or {}).failed
    if failed:
        return _withheld(answer, f"holdout degenerate gate failed: {', '.join(failed)}", failed)
    session: dict[str, Taken] = {}
    for objective in rules.objectives:
        session[objective.name] = paired_samples(
            _samples(baseline, objective.name), _samples(candidate, objective.name)
        )
    if any(taken.pairs < holdout_pairs(decision) for taken in session.values()):
        return asked
    verdict = judge_holdout(session, run.holdout_history, decision, rules, run.state)
    if verdict.contradicts:
        return _withheld(answer, verdict.reason, verdict.objectives)
    return {**answer, "holdout": _holdout_row("keep", None)}


def _withheld(answer: dict[str, Any], reason: str, violated: Sequence[str]) -> dict[str, Any]:
    row = _holdout_row("revert", reason, violated)
    return {**answer, "decision": "revert", "eligible": False, "holdout": row, "reason": reason}


def _holdout_row(decided: str, reason: str | None, violated: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "comparisons": {},
        "improved_objectives": [],
        "violated_objectives": list(violated),
        "agrees": decided == "keep",
        "decision": decided,
        "reason": reason,
    }
