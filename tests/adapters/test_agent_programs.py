"""What a native agent's turn comes to, by its program's stream; recorded, for what a real program rarely does."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.adapters.agent_programs.answers import closing_of
from headway.adapters.agent_programs.prices import price_of
from headway.adapters.agent_programs.troubles import complaint_of, trouble_in, trouble_in_place_of_an_answer
from headway.adapters.agents import claude_code, codex, gemini, opencode
from headway.core.agent_turns import AgentSession, CostBasis, TokenUsage, Trouble
from headway.core.events import TurnStatus
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Agent, Attempt, ProgramEnd
from headway.testing.turns import turn_about

Lines = Sequence[Mapping[str, Any] | str]


class Recorded:
    """Tools of a turn whose programs have run: each call gives the next recorded end."""

    def __init__(self, folder: Path, *runs: tuple[Lines, Mapping[str, Any]]) -> None:
        self.tree = self.folder = folder
        self.calls: list[tuple[str, ...]] = []
        self._runs = list(runs)

    def run_program(self, command: Any, stdin: str, env: Mapping[str, str], label: str = "") -> ProgramEnd:
        self.calls.append(tuple(command))
        lines, end = self._runs.pop(0)
        path = self.folder / f"stdout-{len(self.calls)}"
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        facts = {"ended": "exited", "code": 0, "output": "", "last_words": "", "elapsed_seconds": 3.0, **end}
        return ProgramEnd(stdout=path, **facts)

    def apply_patch(self, patch: bytes) -> str | None:
        raise NotImplementedError

    def payload(self, sha256: str) -> bytes:
        raise NotImplementedError


def agent(kind: str = "claude-code", **changes: Any) -> Agent:
    """Build an agent as a spec would."""
    makers = {m.__name__.rpartition(".")[2].replace("_", "-"): m for m in (claude_code, codex, gemini, opencode)}
    built: Agent = makers[kind].make(AgentSpec(type=kind, **changes))
    return built


def attempt(folder: Path, kind: str, lines: Lines, spec: Mapping[str, Any] | None = None, **end: Any) -> Attempt:
    """Give what a recorded stream comes to."""
    return agent(kind, **(spec or {})).attempt(turn_about("do it"), Recorded(folder, (lines, end)))


ANSWERED: Mapping[str, Any] = {
    "type": "assistant",
    "message": {"model": "claude-sonnet-4-5", "id": "m1", "content": []},
}
USED = {"claude-sonnet-4-5": {"inputTokens": 10, "outputTokens": 2, "costUSD": 0.5}}
SUCCESS: Mapping[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "session_id": "s",
    "num_turns": 2,
    "model_usage_since_last_result": USED,
    "permission_denials": [],
}


def test_the_last_word_counts_whatever_the_exit_code_and_the_limits_say(tmp_path: Path) -> None:
    """A program that said that it is done and was then ended for lingering is done."""
    for end in ({"code": 1}, {"ended": "timeout", "code": 124}, {"ended": "signaled", "code": None}):
        assert attempt(tmp_path, "claude-code", [ANSWERED, SUCCESS], **end).status is TurnStatus.COMPLETED


def test_what_is_no_event_or_an_unknown_one_is_passed_over(tmp_path: Path) -> None:
    """A line that is not JSON, a cut one, a new kind, odd types in a known one."""
    odd: Lines = ["warning: x", '{"type": "resu', {"type": "new"}, {"type": 5}, {"type": "user", "message": [1]}]
    deep = "[" * 100_000
    found = attempt(tmp_path, "claude-code", [*odd, '{"a": ' + deep, ANSWERED, SUCCESS])
    assert (found.status, found.usd) == (TurnStatus.COMPLETED, 0.5)


def test_an_api_error_that_calls_itself_success_is_a_failure(tmp_path: Path) -> None:
    """`is_error` and the status count, not the subtype."""
    error = {**SUCCESS, "is_error": True, "api_error_status": 429, "result": "API Error: 429"}
    found = attempt(tmp_path, "claude-code", [error], code=1)
    assert (found.status, found.trouble) == (TurnStatus.FAILED, Trouble.RATE_LIMITED)


def test_a_structured_answer_that_never_came_fails_no_turn(tmp_path: Path) -> None:
    """The edits are there; only the learnings are missing."""
    found = attempt(
        tmp_path,
        "claude-code",
        [ANSWERED, {**SUCCESS, "is_error": True, "subtype": "error_max_structured_output_retries"}],
        code=1,
    )
    assert (found.status, found.learnings) == (TurnStatus.COMPLETED, "")


def test_a_tool_that_was_refused_beside_an_edit_is_told_and_fails_nothing(tmp_path: Path) -> None:
    """The tree says whether there is a candidate."""
    use = {"type": "tool_use", "id": "t", "name": "Edit", "input": {}}
    edited = {"type": "assistant", "message": {"model": "m", "id": "m2", "content": [use]}}
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}}
    denied = {**SUCCESS, "permission_denials": [{"tool_name": "Bash"}, {"tool_name": "Bash"}]}
    found = attempt(tmp_path, "claude-code", [edited, result, denied])
    assert (found.status, found.denials) == (TurnStatus.COMPLETED, ("Bash",))
    assert attempt(tmp_path, "claude-code", [ANSWERED, denied]).trouble is Trouble.DENIED


def test_a_command_that_was_stopped_with_its_program_was_running(tmp_path: Path) -> None:
    """The program, told to end, still tells of its command's end; the limit was the command's, not the model's."""
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    asked = {"type": "assistant", "message": {"model": "m", "id": "m1", "content": [use]}}
    stopped = {"type": "system", "subtype": "task_notification", "tool_use_id": "t", "status": "stopped"}
    told = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True}]}}
    end: dict[str, Any] = {"ended": "idle_timeout", "code": 124}
    assert attempt(tmp_path, "claude-code", [asked, stopped, told], **end).trouble is Trouble.LIMIT
    assert attempt(tmp_path, "claude-code", [asked, told], **end).trouble is Trouble.UNAVAILABLE


def test_a_version_that_tells_only_the_whole_conversation_is_priced_by_its_turn(tmp_path: Path) -> None:
    """Of a resumed conversation the totals hold what was paid before."""
    whole = {
        **{k: v for k, v in SUCCESS.items() if k != "model_usage_since_last_result"},
        "modelUsage": {"claude-sonnet-4-5": {"inputTokens": 4000, "outputTokens": 400}},
        "total_cost_usd": 9.0,
        "usage": {"input_tokens": 1000, "output_tokens": 100},
    }
    first = agent().attempt(turn_about("do it"), Recorded(tmp_path, ([ANSWERED, whole], {})))
    assert (first.usd, first.cost_basis) == (9.0, CostBasis.REPORTED)
    resumed = turn_about("mend it", AgentSession(id="s"))
    found = agent().attempt(resumed, Recorded(tmp_path, ([ANSWERED, whole], {})))
    assert found.usage == TokenUsage(uncached=1000, output=100)
    assert (found.usd, found.cost_basis) == (0.0045, CostBasis.PRICED)


def test_a_cost_of_nothing_for_work_is_unknown(tmp_path: Path) -> None:
    """A program that has no price for its model says 0."""
    unpriced = {**SUCCESS, "model_usage_since_last_result": {"mine": {"inputTokens": 10, "costUSD": 0}}}
    mine = {"type": "assistant", "message": {"model": "mine", "id": "m1", "content": []}}
    found = attempt(tmp_path, "claude-code", [mine, unpriced])
    assert (found.usd, found.cost_basis, found.tokens) == (None, CostBasis.UNKNOWN, 10)


def test_what_a_turn_that_was_ended_by_force_cost_is_at_least_known(tmp_path: Path) -> None:
    """Tokens of the answers so far, at list prices."""
    usage = {"input_tokens": 1000, "output_tokens": 1}
    told: dict[str, Any] = {
        "type": "assistant",
        "message": {"model": "claude-sonnet-4-5", "id": "m1", "content": [], "usage": usage},
    }
    again = {**told, "message": {**told["message"], "id": "m2"}}
    found = attempt(tmp_path, "claude-code", [told, told, again], ended="timeout", code=124)
    assert found.usage == TokenUsage(uncached=2000, output=2)
    assert (found.usd, found.cost_basis) == (0.00603, CostBasis.AT_LEAST)


def test_a_turn_killed_again_and_again_from_outside_is_not_tried_for_ever(tmp_path: Path) -> None:
    """The hypothesis itself may be what kills it."""
    assert attempt(tmp_path, "codex", [], ended="lost", code=None, last_words="3 times").status is TurnStatus.REFUSED


def test_a_declined_command_of_codex_is_a_denial(tmp_path: Path) -> None:
    """Its sandbox refused what would have edited."""
    item = {"id": "i", "type": "file_change", "status": "declined"}
    lines: Lines = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": item},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}},
    ]
    found = attempt(tmp_path, "codex", lines)
    assert (found.trouble, found.denials) == (Trouble.DENIED, ("file_change",))


def test_a_conversation_whose_earlier_cost_is_unknown_leaves_the_turns_unknown(tmp_path: Path) -> None:
    """Its totals cannot be told apart."""
    lines: Lines = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "ok"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}},
    ]
    turn = turn_about("mend it", AgentSession(id="t"))
    found = agent("codex", model="gpt-5.5").attempt(turn, Recorded(tmp_path, (lines, {})))
    assert (found.usage, found.usd) == (None, None)


def test_a_service_that_a_program_asks_again_is_told_from_its_standard_error(tmp_path: Path) -> None:
    """Before an answer any word of it counts; after one only a status, for the rest may be a tool's."""
    begun: list[Mapping[str, Any]] = [{"type": "init", "session_id": "s", "model": "m"}]
    answered = [*begun, {"type": "message", "role": "assistant", "content": "Hm."}]
    end: dict[str, Any] = {"ended": "timeout", "code": 124}
    found = attempt(tmp_path, "gemini", begun, stderr="Attempt 3 failed: fetch failed", **end)
    assert (found.status, found.trouble) == (TurnStatus.FAILED, Trouble.UNAVAILABLE)
    found = attempt(tmp_path, "gemini", answered, stderr="Attempt 3 failed\n  status: 429", **end)
    assert (found.status, found.trouble) == (TurnStatus.FAILED, Trouble.RATE_LIMITED)
    found = attempt(tmp_path, "gemini", answered, stderr="curl: connection refused", **end)
    assert (found.status, found.trouble) == (TurnStatus.TIMED_OUT, Trouble.LIMIT)


def test_a_step_of_opencode_that_only_calls_tools_is_no_last_word(tmp_path: Path) -> None:
    """It crashed before the model had seen their results."""
    step = {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": {"input": 5, "output": 1}, "cost": 0.1}}
    found = attempt(tmp_path, "opencode", [{"type": "step_start"}, step])
    assert (found.status, found.trouble) == (TurnStatus.FAILED, Trouble.CRASHED)
    assert (found.usd, found.cost_basis) == (0.1, CostBasis.AT_LEAST)


def test_arguments_are_a_list_and_carry_what_the_spec_says(tmp_path: Path) -> None:
    """Model, limits and permissions; the brief is on standard input, never among them."""
    done = Recorded(tmp_path, ([ANSWERED, SUCCESS], {}))
    options = {"program": "/opt/claude", "permission_mode": "auto", "user_settings": False, "args": ["--effort", "low"]}
    turn = turn_about("do; rm -rf /", usd_left=1.5)
    agent(model="opus", max_turns=9, options=options).attempt(turn, done)
    (call,) = done.calls
    said = " ".join(call)
    assert call[0] == "/opt/claude" and call[-2:] == ("--effort", "low")
    for words in ("--model opus", "--max-turns 9", "--max-budget-usd 1.5000", "--permission-mode auto"):
        assert words in said
    assert call[call.index("--setting-sources") + 1] == ""
    assert "rm -rf" not in said


def test_the_sandbox_and_the_settings_of_codex_are_those_of_the_spec(tmp_path: Path) -> None:
    """Its session is resumed behind all options."""
    lines = [{"type": "turn.completed", "usage": {}}]
    done = Recorded(tmp_path, (lines, {}))
    options = {"sandbox": "read-only", "user_settings": False, "args": ["-c", "a=1"]}
    agent("codex", options=options).attempt(turn_about("x", AgentSession(id="t")), done)
    (call,) = done.calls
    assert call[-5:] == ("-c", "a=1", "resume", "t", "-")
    assert "--ignore-user-config" in call and call[call.index("--sandbox") + 1] == "read-only"


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        ("unexpected status 401 Unauthorized: x", Trouble.AUTH),
        ("exceeded retry limit, last status: 429 Too Many Requests", Trouble.RATE_LIMITED),
        ('[API Error: {"error":{"code":404,"message":"no"}}]', Trouble.BAD_REQUEST),
        ("API Error: 529 overloaded", Trouble.UNAVAILABLE),
        ("Invalid API key · Please run /login", Trouble.AUTH),
        ("You've hit your session limit · resets 3pm", Trouble.RATE_LIMITED),
        ("stream disconnected before completion", Trouble.UNAVAILABLE),
        ("unexpected status 408 Request Timeout", Trouble.UNAVAILABLE),
        ("segmentation fault", None),
    ],
)
def test_an_error_message_tells_its_trouble(words: str, trouble: Trouble | None) -> None:
    """By its status where it has one, else by its words; else the caller says what it is."""
    assert trouble_in(words) is trouble
    assert complaint_of(words, otherwise=Trouble.CRASHED).trouble is (trouble or Trouble.CRASHED)


@pytest.mark.parametrize(
    "answer",
    [
        "API Error: Rate limit reached",
        "Claude AI usage limit reached|1760000000",
        "You've hit your limit · resets 4pm (UTC)",
        "5-hour limit reached ∙ resets 3am",
        "[API Error: quota exceeded]",
    ],
)
def test_a_notice_in_place_of_an_answer_is_one(answer: str) -> None:
    """BR-83: exit code 0, `success`, and the notice as the text."""
    assert trouble_in_place_of_an_answer(answer) is not None


@pytest.mark.parametrize(
    "answer",
    [
        "I added a guard so that the API Error of the rate limit is retried.",
        "Done. Rate limit handling is in client.py.",
        "API Error handling: " + "x" * 500,
        "",
    ],
)
def test_an_answer_that_speaks_of_limits_is_an_answer(answer: str) -> None:
    """A hypothesis may be about them."""
    assert trouble_in_place_of_an_answer(answer) is None


def test_learnings_come_from_the_answer_else_from_the_words() -> None:
    """As an object, in a fenced block, or on a line; from nowhere is no failure."""
    typed = {"outcome": "refused", "reason": "unsafe", "learnings": "none", "required_dependencies": []}
    assert closing_of(typed, "").status is TurnStatus.REFUSED
    assert closing_of({}, f"So:\n```json\n{json.dumps(typed)}\n```").reason == "unsafe"
    assert closing_of({}, "Done.\n**LEARNING:** it is faster\nLEARNINGS: and smaller").learnings == (
        "it is faster\nand smaller"
    )
    assert closing_of({}, "Done.").learnings == ""
    assert closing_of({"outcome": 5, "learnings": None, "required_dependencies": "numpy"}, "").dependencies == ()


def test_cached_tokens_are_priced_as_such() -> None:
    """The price list's input holds them; ours does not."""
    usage = TokenUsage(uncached=1000, cache_read=400, cache_write=200, output=100)
    assert price_of(usage, "claude-sonnet-4-5", "anthropic") == 0.00537
    assert price_of(usage, "no such model", "anthropic") is None
    assert price_of(usage, "", None) is None


def test_without_the_price_list_a_cost_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is optional, and looked for only when a price is needed."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    lines: Lines = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "ok"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}},
    ]
    found = attempt(tmp_path, "codex", lines, {"model": "gpt-5.5"})
    assert (found.usd, found.tokens, found.cost_basis) == (None, 11, CostBasis.UNKNOWN)
