"""The `gemini` agent: Google's Gemini CLI, called as `gemini -o stream-json`.

It reports tokens of the turn and no cost, and goes on with a conversation by its id. It takes no schema, counts no
turns for its caller and takes no limit of money. It asks a failing service again for minutes, with a word on standard
error alone; headway's limits end that. It ends with exit code 0 when it is told to end.

Source: AGENT-CLIS sections 3 to 5; tried with version 0.61.0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headway.adapters.agent_programs.answers import ASK_IN_WORDS
from headway.adapters.agent_programs.carrying_out import Order, carry_out
from headway.adapters.agent_programs.said import Complaint, Said, count, part, text
from headway.adapters.agent_programs.troubles import complaint_of
from headway.core.agent_turns import AgentSession, TokenUsage, Trouble
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, Turn, TurnTools

PROGRAM: Final = "gemini"
LOOPS: Final = ("loop detected", "maximum session turns")


class GeminiAgent:
    """Runs one `gemini` a turn."""

    can_retry = True
    name = "Gemini CLI"
    provider = "google"

    def __init__(self, spec: AgentSpec) -> None:
        self.model = spec.model or ""
        self._program = str(spec.options.get("program", PROGRAM))
        self._more = tuple(str(word) for word in spec.options.get("args", ()))

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Run the program once in the tree; see `Agent.attempt`."""
        return carry_out(self, turn, tools)

    def order(self, turn: Turn, tools: TurnTools, session: AgentSession | None) -> Order:
        """Say how to call it; see `AgentProgram.order`."""
        argv = [self._program, "--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"]
        if self.model:
            argv += ["--model", self.model]
        if session is not None:
            argv += ["--resume", session.id]
        return Order((*argv, *self._more), turn.brief + ASK_IN_WORDS, {"NO_COLOR": "1"})

    def read(self, events: Iterable[Mapping[str, Any]], session: AgentSession | None) -> Said:
        """Read its stream; see `AgentProgram.read`."""
        stream = _Stream()
        for event in events:
            stream.hear(event)
        return stream.said()


@dataclass
class _Stream:
    """What has been heard of a stream so far."""

    session: str = ""
    model: str = ""
    words: list[str] = field(default_factory=list)
    complaint: Complaint | None = None
    result: Mapping[str, Any] | None = None
    was_answered: bool = False
    running: set[str] = field(default_factory=set)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that this version does not know are left out."""
        match text(event, "type"):
            case "init":
                self.session, self.model = text(event, "session_id"), text(event, "model")
            case "message" if text(event, "role") == "assistant":
                self._answered()
                self.words.append(text(event, "content"))
            case "tool_use":
                self._answered()
                self.words = []
                self.running.add(text(event, "tool_id"))
            case "tool_result":
                self.running.discard(text(event, "tool_id"))
            case "error":
                self.complaint = _complaint(text(event, "message"))
            case "result":
                self.result = event

    def _answered(self) -> None:
        self.was_answered, self.complaint = True, None

    def said(self) -> Said:
        """Give what it all says."""
        result = self.result or {}
        models = part(result, "stats", "models")
        return Said(
            is_over=self.result is not None,
            end=_end_of(result) or self._loop(),
            complaint=self.complaint,
            final_text="".join(self.words),
            usage=_of(part(result, "stats")) if self.was_answered and self.result is not None else None,
            model=next(iter(models), "") if len(models) == 1 else self.model,
            session=self.session,
            was_answered=self.was_answered,
            is_tool_running=bool(self.running),
        )

    def _loop(self) -> Complaint | None:
        """Give the limit of the program's own that stopped it although it then says that all went well."""
        return self.complaint if self.complaint and self.complaint.trouble is Trouble.LIMIT else None


def _complaint(words: str) -> Complaint:
    if any(loop in words.lower() for loop in LOOPS):
        return Complaint(Trouble.LIMIT, words)
    return complaint_of(words)


def _end_of(result: Mapping[str, Any]) -> Complaint | None:
    if text(result, "status") in ("", "success"):
        return None
    return _complaint(text(part(result, "error"), "message") or "it ended with an error that it does not name")


def _of(stats: Mapping[str, Any]) -> TokenUsage:
    return TokenUsage(
        uncached=count(stats, "input"), cache_read=count(stats, "cached"), output=count(stats, "output_tokens")
    )


def make(spec: AgentSpec) -> GeminiAgent:
    """Build the agent from its part of the spec."""
    return GeminiAgent(spec)
