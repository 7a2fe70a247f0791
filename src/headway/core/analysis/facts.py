"""What an experiment's records tell beyond its row: when, how long, by whom, how large the change was.

Read from plain mappings, one record at a time, so that ten thousand files are read fast; a value that is not what its
key says is passed over. Source: docs/record.md; CONTRACTS section 7 (detail comes from the records).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """Some time that was spent on an experiment: `lane` is `agent` or `measurement`; times are ISO 8601."""

    lane: str
    ended_at: str
    seconds: float


@dataclass(frozen=True)
class Facts:
    """What the records of one experiment tell.

    Args:
        started_at: when it was dispatched, ISO 8601; None: not known.
        author_seconds: agents' turns together; None: no turn is on record.
        measure_seconds: its measurements together, of either side; None: none is on record.
        reason: why the newest decision was what it was, else why the turn or the hypothesis ended.
        lost: measurements that were killed from outside and taken again.
    """

    started_at: str | None = None
    author_seconds: float | None = None
    measure_seconds: float | None = None
    agent: str | None = None
    lines_added: int | None = None
    lines_removed: int | None = None
    reason: str | None = None
    lost: int = 0
    stretches: tuple[Stretch, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Give the time spent on it by agents and measurements; None where neither is on record."""
        known = [part for part in (self.author_seconds, self.measure_seconds) if part is not None]
        return sum(known) if known else None


def facts_of(records: Iterable[Mapping[str, Any]]) -> Facts:
    """Fold an experiment's records.

    Args:
        records: as they stand in `events.jsonl`, in order.
    """
    at: dict[str, Any] = {}
    spent: dict[str, float] = {}
    stretches: list[Stretch] = []
    reasons: dict[str, str] = {}
    lost = 0
    for record in records:
        kind, data, when = record.get("kind"), record.get("data"), record.get("at")
        if not isinstance(data, Mapping) or record.get("superseded"):
            continue
        if kind == "hypothesis_dispatched":
            at |= {"started_at": _text(when), "agent": _text(data.get("agent"))}
        elif kind in _LANES:
            lane, seconds = _LANES[kind], _number(data.get("elapsed_seconds"))
            lost += data.get("status") == "lost"
            if seconds is not None:
                spent[lane] = spent.get(lane, 0.0) + seconds
                stretches.append(Stretch(lane, _text(when) or "", seconds))
        elif kind == "candidate_built":
            at |= {name: data[name] for name in ("lines_added", "lines_removed") if _is_whole(data.get(name))}
        reason = _reason(str(kind), data)
        if reason:
            reasons[str(kind)] = reason
    return Facts(
        started_at=at.get("started_at"),
        author_seconds=spent.get("agent"),
        measure_seconds=spent.get("measurement"),
        agent=at.get("agent"),
        lines_added=at.get("lines_added"),
        lines_removed=at.get("lines_removed"),
        reason=next((reasons[kind] for kind in _TELLERS if kind in reasons), None),
        lost=lost,
        stretches=tuple(stretches),
    )


_LANES = {"agent_turn_ended": "agent", "sample_taken": "measurement"}
_TELLERS = ("session_ended", "hypothesis_dropped", "agent_turn_ended")


def _reason(kind: str, data: Mapping[str, Any]) -> str | None:
    if kind == "session_ended":
        answer = data.get("answer")
        return _text(answer.get("reason")) if isinstance(answer, Mapping) else None
    return _text(data.get("reason")) if kind in _TELLERS else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
