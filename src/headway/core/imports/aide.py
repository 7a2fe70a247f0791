"""AIDE's `journal.json`: a tree of solutions, each with its metric and whether it is buggy.

The file may be a JSON text that holds JSON. AIDE records no verdict: a solution that runs is `measured`, a buggy one
an error.

Source: journals in public repositories (nodes with plan, code, metric, is_buggy, execution_info).
"""

from collections.abc import Mapping
from typing import Any

from headway.core.imports.found import HIGHER, LOWER, Direction, Found, Reading, Segment, Skipped
from headway.core.imports.keepable import number_of
from headway.core.imports.lines import json_from, time_of
from headway.core.log_words import Outcome

FORMAT = "aide"
_MAPPED = frozenset({"plan", "code", "analysis", "metric", "ctime", "parent", "children", "execution_info", "term_out"})


def is_journal(document: Any) -> bool:
    """Say whether a parsed JSON document is a journal of AIDE."""
    return isinstance(document, dict) and isinstance(document.get("nodes"), list)


def read_aide(document: Any) -> Reading:
    """Read a journal.

    Args:
        document: the parsed file: the journal, or the text of it.
    Returns: its nodes as runs, in their order.
    """
    if isinstance(document, str):
        try:
            document = json_from(document)
        except ValueError:
            document = None
    if not is_journal(document):
        return Reading(FORMAT, skipped=(Skipped(1, "no journal of AIDE: it has no list `nodes`"),))
    runs: list[Found] = []
    skipped: list[Skipped] = []
    for index, node in enumerate(document["nodes"]):
        if isinstance(node, dict):
            runs.append(_run(node))
        else:
            skipped.append(Skipped(1, f"node {index + 1} is no object"))
    segment = Segment(metric="metric", direction=_direction(document["nodes"]))
    notes = ("the nodes' code and output are not taken over",) if runs else ()
    return Reading(FORMAT, tuple(runs), (segment,) if runs else (), tuple(skipped), notes)


def _metric(node: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give a node's value and whether more of it is better."""
    metric = node.get("metric")
    return (metric.get("value"), metric.get("maximize")) if isinstance(metric, dict) else (metric, None)


def _direction(nodes: list[Any]) -> Direction | None:
    said = {_metric(node)[1] for node in nodes if isinstance(node, dict)} & {True, False}
    if len(said) != 1:
        return None
    return HIGHER if said == {True} else LOWER


def _run(node: Mapping[str, Any]) -> Found:
    recorded, _ = _metric(node)
    value = number_of(recorded)
    is_buggy = node.get("is_buggy") is True
    ran = node.get("execution_info")
    ran = ran if isinstance(ran, dict) else {}
    parent = node.get("parent")
    rest = {key: inner for key, inner in node.items() if key not in _MAPPED and inner is not None}
    if parent is not None:
        rest["parent"] = parent.get("id") if isinstance(parent, dict) else parent
    seconds = number_of(ran.get("exec_time", node.get("exec_time")))
    return Found(
        line=1,
        segment=0,
        outcome=Outcome.ERROR if is_buggy else Outcome.MEASURED,
        status="buggy" if is_buggy else None,
        description=node["plan"] if isinstance(node.get("plan"), str) else "",
        metric=None if is_buggy else value,
        diagnostics={"exec_time": seconds} if seconds is not None else {},
        at=time_of(node.get("ctime")),
        raw_metric=recorded if is_buggy else None,
        learnings=node["analysis"] if isinstance(node.get("analysis"), str) else "",
        category=node["stage_name"] if isinstance(node.get("stage_name"), str) else "",
        error=_error(ran.get("exc_type", node.get("exc_type"))),
        rest=rest,
    )


def _error(kind: Any) -> str:
    return f"recorded as buggy: {kind}" if isinstance(kind, str) and kind else ""
