"""The `claude-code` agent: Anthropic's Claude Code, called as `claude -p` with a stream of JSON events.

It reports tokens and cost, takes limits of turns and of money, goes on with a conversation by its id, and answers by a
schema. An API error comes as `subtype: success` with `is_error: true`. What a turn used stands in
`model_usage_since_last_result`: `usage` can lag behind, and `modelUsage` and `total_cost_usd` are those of the whole
conversation.

Source: AGENT-CLIS sections 3 to 5; tried with version 2.1.332.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headway.adapters.agent_programs.answers import SCHEMA
from headway.adapters.agent_programs.carrying_out import Order, carry_out
from headway.adapters.agent_programs.said import Complaint, Said, count, dollars, part, parts, text
from headway.adapters.agent_programs.troubles import complaint_of
from headway.core.agent_turns import AgentSession, TokenUsage, Trouble
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, Turn, TurnTools

PROGRAM: Final = "claude"
TOOLS: Final = "Bash,Edit,Write,Read,Glob,Grep,NotebookEdit"
KEPT_OUT: Final = "EnterWorktree,CronCreate,ScheduleWakeup"
"""Tools that would work in another folder or after the turn."""
EDITORS: Final = frozenset({"Edit", "Write", "NotebookEdit", "Bash"})
SYNTHETIC: Final = "<synthetic>"
LIMITS: Final = {"error_max_turns": "agent.max_turns", "error_max_budget_usd": "agent.max_cost_usd"}
NO_ANSWER: Final = "error_max_structured_output_retries"
ENVIRONMENT: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "4",  # its default goes on for many minutes; headway itself waits and asks again
}


class ClaudeCodeAgent:
    """Runs one `claude -p` a turn."""

    can_retry = True
    name = "Claude Code"
    provider = "anthropic"

    def __init__(self, spec: AgentSpec) -> None:
        self.model = spec.model or ""
        self._max_turns = spec.max_turns
        options = spec.options
        self._program = str(options.get("program", PROGRAM))
        self._permissions = str(options.get("permission_mode", "acceptEdits"))
        self._allowed = ",".join(options.get("allowed_tools") or ()) or TOOLS
        self._settings = "user" if options.get("user_settings", True) else ""
        self._more = tuple(str(word) for word in options.get("args", ()))

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Run the program once in the tree; see `Agent.attempt`."""
        return carry_out(self, turn, tools)

    def order(self, turn: Turn, tools: TurnTools, session: AgentSession | None) -> Order:
        """Say how to call it; see `AgentProgram.order`."""
        argv = [self._program, "-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"]
        argv += ["--setting-sources", self._settings, "--permission-mode", self._permissions]
        argv += ["--allowedTools", self._allowed, "--disallowedTools", KEPT_OUT, "--json-schema", json.dumps(SCHEMA)]
        if self.model:
            argv += ["--model", self.model]
        if self._max_turns is not None:
            argv += ["--max-turns", str(self._max_turns)]
        if turn.usd_left is not None:
            argv += ["--max-budget-usd", f"{turn.usd_left:.4f}"]
        if session is not None:
            argv += ["--resume", session.id]
        return Order((*argv, *self._more), turn.brief, ENVIRONMENT)

    def read(self, events: Iterable[Mapping[str, Any]], session: AgentSession | None) -> Said:
        """Read its stream; see `AgentProgram.read`."""
        stream = _Stream()
        for event in events:
            stream.hear(event)
        return stream.said(is_resumed=session is not None)


@dataclass
class _Stream:
    """What has been heard of a stream so far."""

    session: str = ""
    model: str = ""
    complaint: Complaint | None = None
    words: str = ""
    was_answered: bool = False
    result: Mapping[str, Any] | None = None
    open_tools: dict[str, str] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    denied: list[str] = field(default_factory=list)
    edited: bool = False
    spent: dict[str, TokenUsage] = field(default_factory=dict)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that this version does not know are left out."""
        self.session = text(event, "session_id") or self.session
        match text(event, "type"), text(event, "subtype"):
            case "system", "api_retry":
                status, words = count(event, "error_status"), text(event, "error")
                self.complaint = complaint_of(f"API error {status or ''} {words}, asked again", status or None)
            case "system", "permission_denied":
                self.denied.append(text(event, "tool_name"))
            case "system", "task_notification" if text(event, "status") == "stopped":
                self.stopped.add(text(event, "tool_use_id"))
            case "assistant", _:
                self._hear_model(part(event, "message"))
            case "user", _:
                for block in parts(part(event, "message").get("content")):
                    self._hear_tool(block)
            case "result", _:
                self.result = event

    def _hear_model(self, message: Mapping[str, Any]) -> None:
        if text(message, "model") == SYNTHETIC:
            return
        self.was_answered, self.complaint, self.model = True, None, text(message, "model")
        self.spent[text(message, "id")] = _of_api(part(message, "usage"))
        for block in parts(message.get("content")):
            if block.get("type") == "text":
                self.words = text(block, "text")
            elif block.get("type") == "tool_use":
                self.open_tools[text(block, "id")] = text(block, "name")

    def _hear_tool(self, block: Mapping[str, Any]) -> None:
        if text(block, "tool_use_id") in self.stopped:  # the program was told to end while it ran
            return
        name = self.open_tools.pop(text(block, "tool_use_id"), "")
        self.edited |= name in EDITORS and not block.get("is_error")

    def said(self, is_resumed: bool) -> Said:
        """Give what it all says.

        Args:
            is_resumed: the turn went on with an earlier conversation.
        """
        result = self.result
        if result is None:
            partial = TokenUsage()
            for spent in self.spent.values():
                partial = partial.plus(spent)
            return Said(
                complaint=self.complaint,
                final_text=self.words,
                usage=partial if self.was_answered else None,
                model=self.model,
                session=self.session,
                was_answered=self.was_answered,
                denials=_told(self.denied),
                is_tool_running=bool(self.open_tools),
            )
        denied = [text(d, "tool_name") for d in parts(result.get("permission_denials"))]
        usage, usd = _spent(result, is_resumed)
        return Said(
            is_over=True,
            end=_end_of(result),
            complaint=self.complaint,
            final_text=text(result, "result") or self.words,
            answer=part(result, "structured_output"),
            usage=usage,
            usd=usd,
            model=self.model,
            session=self.session,
            turns=count(result, "num_turns"),
            denials=_told(denied),
            was_kept_from_editing=bool(EDITORS.intersection(denied)) and not self.edited,
            was_answered=self.was_answered,
        )


def _end_of(result: Mapping[str, Any]) -> Complaint | None:
    """Say what kept the turn from its end; a structured answer that never came keeps none from it."""
    subtype = text(result, "subtype")
    if not result.get("is_error") or subtype == NO_ANSWER:
        return None
    words = "; ".join(str(e) for e in result.get("errors") or ()) or text(result, "result") or subtype
    if subtype in LIMITS:
        return Complaint(Trouble.LIMIT, f"{words}, see {LIMITS[subtype]}")
    return complaint_of(words, count(result, "api_error_status") or None, _otherwise(result))


def _otherwise(result: Mapping[str, Any]) -> Trouble:
    is_of_the_service = text(result, "terminal_reason") == "api_error" or text(result, "subtype") == "success"
    return Trouble.UNAVAILABLE if is_of_the_service else Trouble.CRASHED


def _told(denied: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in denied if name))


def _of_api(usage: Mapping[str, Any]) -> TokenUsage:
    return TokenUsage(
        uncached=count(usage, "input_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write=count(usage, "cache_creation_input_tokens"),
        output=count(usage, "output_tokens"),
    )


def _spent(result: Mapping[str, Any], is_resumed: bool) -> tuple[TokenUsage, float | None]:
    """Give what a turn used, and its cost.

    A version that does not tell a turn's share of a conversation apart is taken at its `usage`, without a cost.
    """
    models = result.get("model_usage_since_last_result")
    if isinstance(models, Mapping):
        costs = [dollars(part(models, name), "costUSD") for name in models]
        return _of_models(models), None if None in costs else round(sum(c for c in costs if c is not None), 6)
    if is_resumed:
        return _of_api(part(result, "usage")), None
    return _of_models(part(result, "modelUsage")), dollars(result, "total_cost_usd")


def _of_models(models: Mapping[str, Any]) -> TokenUsage:
    """Add up what each model used: the main one, and those that the program asks for small things."""
    total = TokenUsage()
    for name in models:
        use = part(models, name)
        total = total.plus(
            TokenUsage(
                uncached=count(use, "inputTokens"),
                cache_read=count(use, "cacheReadInputTokens"),
                cache_write=count(use, "cacheCreationInputTokens"),
                output=count(use, "outputTokens"),
            )
        )
    return total


def make(spec: AgentSpec) -> ClaudeCodeAgent:
    """Build the agent from its part of the spec."""
    return ClaudeCodeAgent(spec)
