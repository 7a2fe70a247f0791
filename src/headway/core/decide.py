"""The decision on a payload: keep, revert, or what to measure next.

One pure function over a payload; the same JSON in and out as the rule that this spec family came with.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from headway.core import gates
from headway.core.compare import Compared, Side, compare_required, comparison_rows, regressions
from headway.core.decide_payload import DecisionRequest, Futility, Ladder, read_payload
from headway.core.holdout import consult_holdout
from headway.core.loose_numbers import json_number, positive_integer, to_number
from headway.core.sequential.answer import sequential_answer
from headway.core.statistics import signed_change
from headway.core.verdicts import IMPROVED, Measured, ObjectiveChange, ObjectiveRule


def decide(payload: Any) -> dict[str, Any]:
    """Decide on a candidate against the reference it was measured with.

    Args:
        payload: `{spec, baseline, candidate, holdout?}`; each side `{metrics, judge, gates, diagnostics, cases}`, and
            the candidate also `smoke_passed`, `sample_count`, `elapsed_seconds`. A metric is a number or
            `{aggregate, samples}`. Missing sides count as empty. `sequential` also reads `run`
            (`sequential/payload.py`).
    Returns: `decision, eligible, next_measurement, target_reached, improved_objectives, violated_objectives,
        comparisons, primary_delta, rank_score, reason`; `regressions` too where both sides carry `cases`, `holdout`
        where a holdout is configured or given.
    Raises: PayloadWrong, where the payload names no primary, or a method, direction, aggregation or check that this
        version does not have.
    Source: DECISIONS 1 and 2.9; `cases/decide.jsonl` in the shared design.
    """
    request = read_payload(payload)
    answer = _ended_early(request) or _answered(request)
    reason = answer.pop("reason")
    if _has_cases(request.baseline) and _has_cases(request.candidate):
        answer["regressions"] = regressions(request.baseline["cases"], request.candidate["cases"])
    if request.holdout_configured or request.holdout is not None:
        answer.setdefault("holdout", None)
    return {**answer, "reason": reason}


def _answered(request: DecisionRequest) -> dict[str, Any]:
    if request.is_sequential:
        return sequential_answer(request)
    answer = _on_selection(request)
    if _would_keep(answer) and (request.holdout_configured or request.holdout is not None):
        return consult_holdout(request, answer)
    return answer


def _ended_early(request: DecisionRequest) -> dict[str, Any] | None:
    """A failed smoke check or gate ends the candidate, whatever it measured."""
    if request.candidate.get("smoke_passed") is False:
        return closed_answer("degenerate", "smoke test failed")
    failed = gates.check(request.gates, request.candidate.get("gates") or {}).failed
    if failed:
        return closed_answer("degenerate", f"degenerate gate failed: {_listed(failed)}", violated=failed)
    return None


def _on_selection(request: DecisionRequest) -> dict[str, Any]:
    """Values, futility, then the comparison itself: the first that ends the candidate answers."""
    compared = compare_required(request, request.baseline, request.candidate)
    if compared.missing:
        return closed_answer("error", f"missing required metric: {_listed(compared.missing)}", compared.changes)
    if _is_censored(request, compared):
        return _censored(request, compared)
    return _compared_answer(request, compared)


def closed_answer(
    decision: str, reason: str, changes: Mapping[str, ObjectiveChange] | None = None, violated: Sequence[str] = ()
) -> dict[str, Any]:
    """Give an answer that rests on no comparison, its keys in the order that the family's rule prints them.

    Args:
        decision: `degenerate`, `error` or `censored`.
        reason: one line for the log.
        changes: objectives that were compared all the same.
        violated: names of failed gates or violated objectives.
    Returns: the answer: not eligible, nothing to measure next, rank 0.
    """
    return {
        "eligible": False,
        "next_measurement": "none",
        "target_reached": False,
        "improved_objectives": [],
        "violated_objectives": list(violated),
        "comparisons": comparison_rows(changes or {}),
        "primary_delta": None,
        "rank_score": 0,
        "decision": decision,
        "reason": reason,
    }


def _censored(request: DecisionRequest, compared: Compared) -> dict[str, Any]:
    reason = "noncompetitive under the predeclared futility bound"
    return {
        **closed_answer("censored", reason, compared.changes, compared.violated),
        "improved_objectives": list(compared.improved),
        "primary_delta": json_number(compared.changes[request.objectives[0].name].change),
    }


def _compared_answer(request: DecisionRequest, compared: Compared) -> dict[str, Any]:
    decision = _decision(compared)
    next_measurement = _next_measurement(request, compared, decision)
    primary = compared.changes[request.objectives[0].name]
    return {
        "decision": "promising" if decision == "keep" and next_measurement in ("exploratory", "confirm") else decision,
        "eligible": compared.is_eligible,
        "next_measurement": next_measurement,
        "target_reached": _target_reached(request.objectives, compared.candidate),
        "improved_objectives": list(compared.improved),
        "violated_objectives": list(compared.violated),
        "comparisons": comparison_rows(compared.changes),
        "primary_delta": json_number(primary.change),
        "rank_score": json_number(_rank_score(primary, compared)),
        "reason": _reason(compared, decision),
    }


def _decision(compared: Compared) -> str:
    if compared.is_eligible:
        return "keep"
    return "inconclusive" if compared.is_contending and not compared.violated else "revert"


def _reason(compared: Compared, decision: str) -> str:
    if decision == "keep":
        return f"improved {_listed(compared.improved)} without violating other required objectives"
    if decision == "inconclusive":
        return "delta inside the comparison threshold"
    return f"violated {_listed(compared.violated)}" if compared.violated else "no required objective improved"


def _next_measurement(request: DecisionRequest, compared: Compared, decision: str) -> str:
    """What the ladder asks for: the smoke check before anything, then samples while a verdict may still change."""
    ladder = request.ladder
    if ladder is None:
        return "none"
    if ladder.smoke and request.candidate.get("smoke_passed") is None:
        return "smoke"
    count = _sample_count(request, compared)
    if decision == "revert" or count >= _wanted_samples(ladder, decision):
        return "none"
    if count < ladder.exploratory_pairs:
        return "exploratory"
    return "confirm" if decision == "keep" else "add_sample"


def _wanted_samples(ladder: Ladder, decision: str) -> int:
    """A would-be keep is confirmed in full; an undecided candidate gets one sample past the exploratory ones."""
    if decision == "keep":
        return ladder.confirmation_repeats
    return min(ladder.exploratory_pairs + 1, ladder.confirmation_repeats)


def _sample_count(request: DecisionRequest, compared: Compared) -> int:
    """The count of the objective with the fewest samples; `sample_count` stands in where a metric has none."""
    given = positive_integer(request.candidate.get("sample_count"), 1)
    return min(len(compared.candidate[objective.name].samples) or given for objective in request.objectives)


def _is_censored(request: DecisionRequest, compared: Compared) -> bool:
    """Whether futility drops the candidate: only one that is neither eligible nor undecided on any objective."""
    ladder = request.ladder
    if ladder is None or ladder.futility is None or compared.is_eligible or compared.is_contending:
        return False
    primary = request.objectives[0]
    reference, candidate = (side[primary.name].value for side in (compared.reference, compared.candidate))
    if _is_late(request, ladder.futility) and signed_change(reference, candidate, primary.sign) <= 0:
        return True
    is_early = _sample_count(request, compared) <= ladder.futility.most_samples
    return is_early and _is_far_worse(reference, candidate, primary.sign, ladder.futility.factor)


def _is_late(request: DecisionRequest, futility: Futility) -> bool:
    elapsed = request.candidate.get("elapsed_seconds")
    return elapsed is not None and to_number(elapsed) >= futility.after_seconds


def _is_far_worse(reference: float, candidate: float, sign: int, factor: float) -> bool:
    """Whether the candidate reaches `factor` times worse; says nothing of references that are not above 0."""
    if factor <= 1 or reference <= 0:
        return False
    bound = reference / factor if sign > 0 else reference * factor
    return signed_change(bound, candidate, sign) <= 0


def _target_reached(objectives: Sequence[ObjectiveRule], candidate: Mapping[str, Measured]) -> bool:
    """Whether there are targets among the required objectives and the candidate's values meet all of them."""
    met = [
        signed_change(objective.target, candidate[objective.name].value, objective.sign) >= 0
        for objective in objectives
        if objective.target is not None
    ]
    return bool(met) and all(met)


def _rank_score(primary: ObjectiveChange, compared: Compared) -> float:
    """The primary's relative gain if it improved or nothing did, else the strongest of those that improved."""
    if primary.verdict == IMPROVED or not compared.improved:
        return primary.relative
    return max(compared.changes[name].relative for name in compared.improved)


def _would_keep(answer: Mapping[str, Any]) -> bool:
    return bool(answer["decision"] == "keep" and answer["next_measurement"] == "none")


def _has_cases(side: Side) -> bool:
    return isinstance(side.get("cases"), Mapping)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
