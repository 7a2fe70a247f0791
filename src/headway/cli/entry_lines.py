"""What else a log says of one experiment: why it was worth a try, its worst cases, a judge, where it came from."""

from collections.abc import Mapping
from typing import Any

from headway.cli.screen import one_line, values

_OPPORTUNITY = ("workload", "baseline", "evidence", "expected_benefit", "confidence", "cost_and_risk")
_SHOWN = 5
_LONGEST = 400


def further_lines(row: Mapping[str, Any]) -> list[str]:
    """Give what an entry holds beside its result, as text.

    Args:
        row: the entry, without holdout values; only what fits the schema.
    """
    ours = row.get("headway") or {}
    return [
        *_opportunity(row.get("opportunity") or {}),
        *_listed("worst cases", [_case(case) for case in row.get("worst_cases") or ()]),
        *_judge(row.get("judge") or {}),
        *_told("next measurement", row.get("next_measurement")),
        *_told("shield", _plain(ours.get("shield"))),
        *_told("decided by hand", _plain(ours.get("override"))),
        *_imported(ours.get("imported") or {}),
    ]


def unread_lines(unread: tuple[str, ...]) -> list[str]:
    """Give the places of an entry that could not be shown, for they are not what the schema says."""
    return _listed(
        "not shown, for it is not what its field says", [place.lstrip(".") or "all of it" for place in unread]
    )


def _told(label: str, value: Any) -> list[str]:
    return [f"{label}: {value}"] if value else []


def _listed(label: str, lines: list[str]) -> list[str]:
    more = [f"  ... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [f"{label}:", *(f"  {line}" for line in lines[:_SHOWN]), *more] if lines else []


def _plain(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return ", ".join(f"{key} {one_line(str(inner), _LONGEST)}" for key, inner in value.items())


def _opportunity(found: Mapping[str, Any]) -> list[str]:
    told = [f"{name.replace('_', ' ')}: {found[name]}" for name in _OPPORTUNITY if found.get(name)]
    return ["why it was worth a try:", *(f"  {line}" for line in told)] if told else []


def _case(case: Mapping[str, Any]) -> str:
    words = (case.get("case_id"), case.get("score"), case.get("reason"))
    return "  ".join(str(word) for word in words if word is not None)


def _judge(judge: Mapping[str, Any]) -> list[str]:
    scores = {name: value for name, value in judge.items() if name not in ("items", "judge_cost_usd")}
    items = judge.get("items") or ()
    feedback = [f"{item.get('item_id', 'an item')}: {item.get('feedback')}" for item in items if item.get("feedback")]
    return [*_told("judge", values(scores) if scores else None), *_listed("judge's feedback", feedback)]


def _imported(found: Mapping[str, Any]) -> list[str]:
    if not found:
        return []
    known = {name: value for name, value in found.items() if name != "rest" and value is not None}
    rest = found.get("rest")
    kept = [f"{key}: {one_line(str(value), _LONGEST)}" for key, value in (rest or {}).items()]
    return [f"as the other tool recorded it: {_plain(known)}", *(f"  {line}" for line in kept)]
