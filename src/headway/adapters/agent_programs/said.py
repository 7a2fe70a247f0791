"""What a program's own stream of events says of a turn, in words that all programs share."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.core.agent_turns import TokenUsage, Trouble

MOST_LINE_BYTES = 16 << 20


@dataclass(frozen=True)
class Complaint:
    """The service of the model failed, by the program's own words."""

    trouble: Trouble
    words: str


@dataclass(frozen=True)
class Said:
    """What a stream says.

    Args:
        is_over: the program's last word was there. Without it the program crashed, whatever its exit code.
        end: what kept the turn from its end, by the last word; None where it ended well.
        complaint: the newest failure of the model's service that no answer followed: what the program was waiting out.
        final_text: the last words for the person.
        answer: the structured answer that was asked for; empty: none came.
        usage: tokens of this turn; None: unknown.
        usd: as the program reports it; None: it does not.
        model: that answered, where the program names it.
        session: id of the conversation.
        turns: how often the model was asked.
        denials: tools that were not permitted, with what they were for.
        was_kept_from_editing: a tool that edits was refused and none succeeded.
        was_answered: the model answered at least once.
        is_tool_running: a tool of the program's had been started and not ended.
    """

    is_over: bool = False
    end: Complaint | None = None
    complaint: Complaint | None = None
    final_text: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    usage: TokenUsage | None = None
    usd: float | None = None
    model: str = ""
    session: str = ""
    turns: int | None = None
    denials: tuple[str, ...] = ()
    was_kept_from_editing: bool = False
    was_answered: bool = False
    is_tool_running: bool = False


def events_of(path: Path | None) -> Iterator[Mapping[str, Any]]:
    """Give the JSON objects of a file, one a line; what is anything else, or is cut off, is left out.

    Args:
        path: the program's whole standard output; None: it never started.
    """
    if path is None:
        return
    with path.open("rb") as file:
        while line := file.readline(MOST_LINE_BYTES):
            event = _event(line)
            if event is not None:
                yield event


def _event(line: bytes) -> Mapping[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def part(event: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Give an object inside an event; an empty one where there is none."""
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def text(event: Mapping[str, Any], key: str) -> str:
    """Give a text of an event; an empty one where there is none."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def count(event: Mapping[str, Any], key: str) -> int:
    """Give a count of an event; 0 where there is none."""
    value = event.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def dollars(event: Mapping[str, Any], key: str) -> float | None:
    """Give an amount of money; None where there is none."""
    value = event.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < float("inf") else None


def parts(value: Any) -> list[Mapping[str, Any]]:
    """Give the objects of a list; nothing where it is none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
