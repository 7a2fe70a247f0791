"""The `command` agent: any program, the brief on its standard input, the tree as its working directory.

The program may say more than its edits do by writing a JSON object to the file that `HEADWAY_RESULT` names:
`status` (completed, refused, needs_dependency, failed), `reason`, `learnings`, `required_deps`, `tokens`, `usd`.

Source: DESIGN section 8.
"""

from collections.abc import Mapping
from typing import Any

from headway.core.events import TurnStatus
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, ProgramEnd, Turn, TurnTools

FINAL_TEXT_CHARACTERS = 4000
SHELL_CANNOT_RUN = (126, 127)
WHERE_IT_RUNS = (
    "it starts in a folder that holds the committed files alone: give the program's absolute path, or commit it"
)


class CommandAgent:
    """Runs one shell command a turn."""

    can_retry = True

    def __init__(self, command: str) -> None:
        self._command = command

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Run the command with the brief on its standard input; see `Agent.attempt`."""
        end = tools.run_program(
            self._command,
            turn.brief,
            {
                "HEADWAY_ITERATION": str(turn.iteration),
                "HEADWAY_ATTEMPT": str(turn.attempt),
                "HEADWAY_HYPOTHESIS": turn.item.description,
                "HEADWAY_CATEGORY": turn.item.category or "",
            },
        )
        status, reason = _status(end)
        result = end.result
        return Attempt(
            status=status,
            reason=reason,
            final_text=end.output[-FINAL_TEXT_CHARACTERS:],
            learnings=str(result.get("learnings") or ""),
            deferred_deps=_texts(result.get("required_deps")),
            tokens=_count(result, "tokens"),
            usd=_dollars(result),
            elapsed_seconds=end.elapsed_seconds,
        )


def _status(end: ProgramEnd) -> tuple[TurnStatus, str]:
    """Say how the turn ended: the limits first, then what the program said of itself, then its exit code."""
    if end.ended in ("timeout", "idle_timeout"):
        limit = "its time limit" if end.ended == "timeout" else "the limit without output"
        return TurnStatus.TIMED_OUT, f"the agent's turn ran into {limit} after {end.elapsed_seconds:.0f} s"
    if end.ended == "lost":
        return TurnStatus.REFUSED, f"the agent's turn was killed from outside, or headway with it, {end.last_words}"
    said = str(end.result.get("status") or "")
    if said in ("refused", "needs_dependency", "failed"):
        return TurnStatus(said), str(end.result.get("reason") or f"the agent said `{said}`")
    if end.ended != "exited" or end.code != 0:
        how = f"exit code {end.code}" if end.ended == "exited" else "ended by a signal"
        hint = f"; {WHERE_IT_RUNS}" if end.ended == "exited" and end.code in SHELL_CANNOT_RUN else ""
        return TurnStatus.FAILED, f"the agent's command failed ({how}): {end.last_words or 'it said nothing'}{hint}"
    return TurnStatus.COMPLETED, ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in value) if isinstance(value, list) else ()


def _count(result: Mapping[str, Any], name: str) -> int | None:
    value = result.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _dollars(result: Mapping[str, Any]) -> float | None:
    value = result.get("usd")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def make(spec: AgentSpec) -> CommandAgent:
    """Build the agent; the spec's own check made sure that `command` is there."""
    return CommandAgent(spec.command or "")
