"""The `opencode` agent: OpenCode, called as `opencode run --format json`.

It reports tokens and cost of each step, and goes on with a conversation by its id. It takes no schema, counts no turns
for its caller and takes no limit of money. It asks a failing service again without a word, and begins a step anew for
ever, at once, where streams are cut: headway's limits end that. Its last word is a step that says `stop`. A tool is
told of when it has ended, so a silent one looks like a silent model.

Source: AGENT-CLIS sections 3 to 5; tried with version 1.18.33.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headway.adapters.agent_programs.answers import ASK_IN_WORDS
from headway.adapters.agent_programs.carrying_out import Order, carry_out
from headway.adapters.agent_programs.said import Complaint, Said, count, dollars, part, text
from headway.adapters.agent_programs.troubles import complaint_of
from headway.core.agent_turns import AgentSession, TokenUsage, Trouble
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, Turn, TurnTools

PROGRAM: Final = "opencode"
CONFIG: Final = {"autoupdate": False, "share": "disabled", "snapshot": False}
ENVIRONMENT: Final = {
    "OPENCODE_CONFIG_CONTENT": json.dumps(CONFIG),
    "OPENCODE_PERMISSION": json.dumps({"*": "allow"}),
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
}
GOES_ON: Final = "tool-calls"
CUT: Final = "unknown"


class OpenCodeAgent:
    """Runs one `opencode run` a turn."""

    can_retry = True
    name = "OpenCode"
    provider = None

    def __init__(self, spec: AgentSpec) -> None:
        self.model = spec.model or ""
        self._program = str(spec.options.get("program", PROGRAM))
        self._more = tuple(str(word) for word in spec.options.get("args", ()))

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Run the program once in the tree; see `Agent.attempt`."""
        return carry_out(self, turn, tools)

    def order(self, turn: Turn, tools: TurnTools, session: AgentSession | None) -> Order:
        """Say how to call it; see `AgentProgram.order`."""
        argv = [self._program, "run", "--format", "json"]
        if self.model:
            argv += ["--model", self.model]
        if session is not None:
            argv += ["--session", session.id]
        return Order((*argv, *self._more), turn.brief + ASK_IN_WORDS, ENVIRONMENT)

    def read(self, events: Iterable[Mapping[str, Any]], session: AgentSession | None) -> Said:
        """Read its stream; see `AgentProgram.read`."""
        stream = _Stream(model=self.model.partition("/")[2])
        for event in events:
            stream.hear(event)
        return stream.said()


@dataclass
class _Stream:
    """What has been heard of a stream so far."""

    model: str
    session: str = ""
    words: str = ""
    end: Complaint | None = None
    complaint: Complaint | None = None
    is_over: bool = False
    steps: int = 0
    used: TokenUsage = field(default_factory=TokenUsage)
    usd: float = 0.0
    has_unknown: bool = False

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that this version does not know are left out."""
        self.session = text(event, "sessionID") or self.session
        match text(event, "type"):
            case "step_start":
                self.is_over, self.complaint = False, None
            case "text":
                self.words = text(part(event, "part"), "text")
            case "step_finish":
                self._finish(part(event, "part"))
            case "error":
                self.is_over, self.end = True, _complaint(part(event, "error"))

    def _finish(self, step: Mapping[str, Any]) -> None:
        reason = text(step, "reason")
        self.steps += 1
        self.is_over = reason not in (GOES_ON, CUT)
        if reason == CUT:
            self.complaint, self.has_unknown = Complaint(Trouble.UNAVAILABLE, "the answer's stream was cut"), True
            return
        self.used = self.used.plus(_of(part(step, "tokens")))
        self.usd += dollars(step, "cost") or 0.0

    def said(self) -> Said:
        """Give what it all says."""
        is_known = self.steps > 0 and not self.has_unknown
        return Said(
            is_over=self.is_over,
            end=self.end,
            complaint=self.complaint,
            final_text=self.words,
            usage=self.used if is_known else None,
            usd=round(self.usd, 6) if is_known else None,
            model=self.model,
            session=self.session,
            turns=self.steps or None,
            was_answered=self.steps > 0,
        )


def _complaint(error: Mapping[str, Any]) -> Complaint:
    data = part(error, "data")
    return complaint_of(text(data, "message") or text(error, "name"), count(data, "statusCode") or None)


def _of(tokens: Mapping[str, Any]) -> TokenUsage:
    cache = part(tokens, "cache")
    return TokenUsage(
        uncached=count(tokens, "input"),
        cache_read=count(cache, "read"),
        cache_write=count(cache, "write"),
        output=count(tokens, "output") + count(tokens, "reasoning"),
    )


def make(spec: AgentSpec) -> OpenCodeAgent:
    """Build the agent from its part of the spec."""
    return OpenCodeAgent(spec)
