"""Lets a held-out pair of measurements confirm a keep."""

from collections.abc import Sequence
from typing import Any

from headway.core import gates
from headway.core.compare import Compared, Side, compare_required, comparison_rows
from headway.core.decide_payload import DecisionRequest


def consult_holdout(request: DecisionRequest, answer: dict[str, Any]) -> dict[str, Any]:
    """Ask for the holdout pair, or let it confirm or withhold a keep. It never selects.

    Args:
        request: the payload; its `holdout` pair, when given, is held to the same gates, objectives and thresholds.
        answer: the answer of the selection comparison, a keep that asks for nothing else.
    Returns: that answer as `promising` with `next_measurement: holdout` where the pair is missing; else with the
        holdout's own result under `holdout`, and the keep withheld unless the holdout is an eligible gain itself.
    Source: DECISIONS 2.9.
    """
    if request.holdout is None:
        return {
            **answer,
            "decision": "promising",
            "next_measurement": "holdout",
            "reason": "selection comparison would keep; held-out confirmation still missing",
        }
    verdict = _confirm(request, request.holdout["baseline"], request.holdout["candidate"])
    if verdict["agrees"]:
        return {**answer, "holdout": verdict}
    return {
        **answer,
        "decision": verdict["decision"],
        "eligible": False,
        "holdout": verdict,
        "reason": verdict["reason"],
    }


def _confirm(request: DecisionRequest, baseline: Side, candidate: Side) -> dict[str, Any]:
    failed = gates.check(request.gates, candidate.get("gates") or {}).failed
    if failed:
        return _holdout_row("degenerate", f"holdout degenerate gate failed: {', '.join(failed)}", violated=failed)
    compared = compare_required(request, baseline, candidate)
    if compared.missing:
        return _holdout_row("error", f"holdout missing required metric: {', '.join(compared.missing)}", compared)
    if compared.violated:
        return _holdout_row("revert", f"holdout regressed {', '.join(compared.violated)}", compared)
    if not compared.improved:
        return _holdout_row("inconclusive", "holdout did not confirm the selection gain", compared)
    return _holdout_row("keep", None, compared)


def _holdout_row(
    decision: str, reason: str | None, compared: Compared | None = None, violated: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "comparisons": comparison_rows(compared.changes) if compared else {},
        "improved_objectives": list(compared.improved) if compared else [],
        "violated_objectives": list(compared.violated if compared else violated),
        "agrees": decision == "keep",
        "decision": decision,
        "reason": reason,
    }
