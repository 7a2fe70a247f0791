"""A record of `events.jsonl` or `run.jsonl` as it is read: typed, and never refused for what it does not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from headway.core.events import Event, from_record


@dataclass(frozen=True)
class ReadRecord:
    """One record.

    Args:
        event: the typed fact; None for a kind that this version does not know, or whose data does not fit.
        data: the fact's own keys, as written; `docs/record.md` lists them by kind.
        is_superseded: the log says otherwise, and wins.
    """

    kind: str | None = None
    at: str | None = None
    run_id: str | None = None
    execution_id: str | None = None
    iteration: int | None = None
    seq: int | None = None
    event_id: str | None = None
    source: str | None = None
    event: Event | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    is_superseded: bool = False


def record_from(row: Mapping[str, Any]) -> ReadRecord:
    """Give a parsed line as a record; a key of another type than its own is unknown."""
    data = row.get("data")
    return ReadRecord(
        kind=_text(row, "kind"),
        at=_text(row, "at"),
        run_id=_text(row, "run_id"),
        execution_id=_text(row, "execution_id"),
        iteration=_whole(row, "iteration"),
        seq=_whole(row, "seq"),
        event_id=_text(row, "event_id"),
        source=_text(row, "source"),
        event=_event(row),
        data=data if isinstance(data, dict) else {},
        is_superseded=bool(row.get("superseded")),
    )


def _event(row: Mapping[str, Any]) -> Event | None:
    try:
        return from_record(dict(row)) if isinstance(row.get("data", {}), dict) else None
    except (ValidationError, TypeError):
        return None


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) else None


def _whole(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
