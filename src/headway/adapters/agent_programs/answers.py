"""The structured answer that closes a turn: its schema, and what it comes to; and the same from plain words.

Source: DESIGN section 8 (an agent's status is structured, never its prose); AGENT-CLIS section 8, rule 7.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.core.events import TurnStatus

MOST_LEARNINGS: Final = 4000
STATUSES: Final = {
    "done": TurnStatus.COMPLETED,
    "refused": TurnStatus.REFUSED,
    "needs_dependency": TurnStatus.NEEDS_DEPENDENCY,
}

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "outcome": {
            "type": "string",
            "enum": list(STATUSES),
            "description": "done: the edits are in the folder. refused: the hypothesis cannot or must not be carried "
            "out. needs_dependency: it needs a dependency that is not approved.",
        },
        "reason": {"type": "string", "description": "Why, where the outcome is not done; else empty."},
        "learnings": {
            "type": "string",
            "description": "One to three sentences for whoever tries next: what the change does, what was found.",
        },
        "required_dependencies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Names of dependencies that are needed and not approved; else empty.",
        },
    },
    "required": ["outcome", "reason", "learnings", "required_dependencies"],
    "additionalProperties": False,
}
"""What is asked of programs that take a schema for their last answer."""

ASK_IN_WORDS: Final = (
    "\n\nWhen the edits are done, end with one line that begins with `LEARNING:` and says in one or two sentences what "
    "the change does and what you found, for whoever tries next.\n"
)
"""What is asked of programs that take none."""


@dataclass(frozen=True)
class Closing:
    """What a turn's answer comes to."""

    status: TurnStatus = TurnStatus.COMPLETED
    reason: str = ""
    learnings: str = ""
    dependencies: tuple[str, ...] = ()


def closing_of(answer: Mapping[str, Any], final_text: str) -> Closing:
    """Read a turn's closing from its structured answer, else from its last words.

    Args:
        answer: that came; empty: none did, which fails no turn.
        final_text: may hold the same object as text, or lines that begin with `LEARNING:`.
    """
    answer = answer or object_in(final_text)
    if not any(key in answer for key in ("outcome", "learnings")):
        return Closing(learnings=_learnings_in(final_text))
    status = STATUSES.get(str(answer.get("outcome")), TurnStatus.COMPLETED)
    needed = answer.get("required_dependencies")
    dependencies = tuple(str(d) for d in needed) if isinstance(needed, Sequence) and not isinstance(needed, str) else ()
    return Closing(
        status=status,
        reason="" if status is TurnStatus.COMPLETED else str(answer.get("reason") or f"the agent said `{status}`"),
        learnings=str(answer.get("learnings") or "")[:MOST_LEARNINGS],
        dependencies=dependencies if status is TurnStatus.NEEDS_DEPENDENCY else (),
    )


def object_in(words: str) -> Mapping[str, Any]:
    """Give the JSON object that a text is, or that its last fenced block holds; an empty one where there is none."""
    for candidate in (words, *reversed(re.findall(r"```(?:json)?\s*\n(.*?)```", words, re.DOTALL))):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def _learnings_in(words: str) -> str:
    found = re.findall(r"^\W*LEARNINGS?:\W*\s*(.+)$", words, re.MULTILINE)
    return "\n".join(line.strip() for line in found)[:MOST_LEARNINGS]
