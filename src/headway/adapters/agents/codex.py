"""The `codex` agent: OpenAI's Codex, called as `codex exec --json`.

It reports tokens of the whole conversation so far and no cost, goes on with a conversation by its id, and answers by a
schema. It counts no turns and takes no limit of money. An error is told in words alone. Without a network it waits for
ever, with a word now and then: headway's own limits end that.

Source: AGENT-CLIS sections 3 to 5; tried with version 0.163.0.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headway.adapters.agent_programs.answers import SCHEMA, object_in
from headway.adapters.agent_programs.carrying_out import Order, carry_out
from headway.adapters.agent_programs.said import Complaint, Said, count, part, text
from headway.adapters.agent_programs.troubles import complaint_of
from headway.core.agent_turns import AgentSession, TokenUsage
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, Turn, TurnTools

PROGRAM: Final = "codex"
SCHEMA_FILE: Final = "answer-schema.json"
DECLINED: Final = "declined"
EDITORS: Final = frozenset({"file_change", "command_execution"})


class CodexAgent:
    """Runs one `codex exec` a turn."""

    can_retry = True
    name = "Codex"
    provider = "openai"

    def __init__(self, spec: AgentSpec) -> None:
        self.model = spec.model or ""
        options = spec.options
        self._program = str(options.get("program", PROGRAM))
        self._sandbox = str(options.get("sandbox", "workspace-write"))
        self._has_settings = bool(options.get("user_settings", True))
        self._more = tuple(str(word) for word in options.get("args", ()))

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Run the program once in the tree; see `Agent.attempt`."""
        return carry_out(self, turn, tools)

    def order(self, turn: Turn, tools: TurnTools, session: AgentSession | None) -> Order:
        """Say how to call it; see `AgentProgram.order`."""
        schema = tools.folder / SCHEMA_FILE
        schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
        argv = [self._program, "exec", "--json", "--skip-git-repo-check", "--color", "never"]
        argv += ["--sandbox", self._sandbox, "--output-schema", str(schema)]
        if not self._has_settings:
            argv.append("--ignore-user-config")
        if self.model:
            argv += ["--model", self.model]
        argv += self._more
        if session is not None:
            argv += ["resume", session.id]
        return Order((*argv, "-"), turn.brief, {})

    def read(self, events: Iterable[Mapping[str, Any]], session: AgentSession | None) -> Said:
        """Read its stream; see `AgentProgram.read`."""
        stream = _Stream()
        for event in events:
            stream.hear(event)
        return stream.said(session)


@dataclass
class _Stream:
    """What has been heard of a stream so far."""

    thread: str = ""
    words: str = ""
    complaint: Complaint | None = None
    end: Complaint | None = None
    is_over: bool = False
    was_answered: bool = False
    used: TokenUsage | None = None
    running: set[str] = field(default_factory=set)
    denied: list[str] = field(default_factory=list)
    edited: bool = False

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that this version does not know are left out."""
        match text(event, "type"):
            case "thread.started":
                self.thread = text(event, "thread_id")
            case "item.started":
                self._answered()
                self.running.add(text(part(event, "item"), "id"))
            case "item.completed":
                self._hear_item(part(event, "item"))
            case "error":
                self.complaint = complaint_of(text(event, "message"))
            case "turn.failed":
                self.is_over, self.end = True, complaint_of(text(part(event, "error"), "message"))
            case "turn.completed":
                self.is_over, self.end, self.used = True, None, _of(part(event, "usage"))

    def _answered(self) -> None:
        self.was_answered, self.complaint = True, None

    def _hear_item(self, item: Mapping[str, Any]) -> None:
        kind = text(item, "type")
        self.running.discard(text(item, "id"))
        if kind == "error":  # a warning of the program's own, such as of an unknown setting
            return
        self._answered()
        if kind == "agent_message":
            self.words = text(item, "text")
        elif text(item, "status") == DECLINED:
            self.denied.append(kind)
        elif kind in EDITORS:
            self.edited |= text(item, "status") == "completed"

    def said(self, session: AgentSession | None) -> Said:
        """Give what it all says; tokens are told for the whole conversation, so those of earlier turns go off."""
        return Said(
            is_over=self.is_over,
            end=self.end,
            complaint=self.complaint,
            final_text=self.words,
            answer=object_in(self.words),
            usage=self._of_this_turn(session),
            session=self.thread,
            denials=tuple(dict.fromkeys(self.denied)),
            was_kept_from_editing=bool(EDITORS.intersection(self.denied)) and not self.edited,
            was_answered=self.was_answered,
            is_tool_running=bool(self.running),
        )

    def _of_this_turn(self, session: AgentSession | None) -> TokenUsage | None:
        if self.used is None or session is None or session.id != self.thread:
            return self.used
        return None if session.spent is None else self.used.minus(session.spent)


def _of(usage: Mapping[str, Any]) -> TokenUsage:
    cached, written = count(usage, "cached_input_tokens"), count(usage, "cache_write_input_tokens")
    return TokenUsage(
        uncached=max(count(usage, "input_tokens") - cached - written, 0),
        cache_read=cached,
        cache_write=written,
        output=count(usage, "output_tokens"),
    )


def make(spec: AgentSpec) -> CodexAgent:
    """Build the agent from its part of the spec."""
    return CodexAgent(spec)
