"""The scripted model server: four protocols, one script, and every way in which an answer can fail."""

import http.client
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from headway.testing.model_server import (
    Call,
    Fault,
    FaultKind,
    ModelServer,
    Read,
    Replace,
    Script,
    Shell,
    Spent,
    Write,
    serve,
    status,
)
from headway.testing.model_server.exchange import Request, Tool
from headway.testing.model_server.json_schemas import instance_of
from headway.testing.model_server.tools import call_for

PATH_SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"learnings": {"type": "string"}, "n": {"type": "integer", "minimum": 3}},
}
SCRIPTS = {
    "look": Script((Read("a.txt"),), says="Seen.", spent=Spent(10, 4, 2, 1)),
    "typed": Script(answer={"learnings": "much"}),
    "limited": Script(fault=status(429, retry_after=7, times=1)),
    "cut": Script(says="x" * 200, fault=Fault(FaultKind.CUT)),
    "silent": Script(fault=Fault(FaultKind.SILENT)),
    "late": Script(fault=Fault(FaultKind.STATUS, 500, after=1)),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(SCRIPTS) as running:
        yield running


def post(url: str, body: Mapping[str, Any]) -> tuple[int, Any, Mapping[str, str]]:
    """Send JSON; give the status, the answer, and its headers."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read()), dict(answer.headers)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read()), dict(refused.headers)


def anthropic(done: bool = False) -> dict[str, Any]:
    asked: list[dict[str, Any]] = [{"role": "user", "content": "Working directory: /tree"}]
    if done:
        asked += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "1"}]},
        ]
    return {"model": "m", "messages": asked, "tools": [{"name": "Read", "input_schema": PATH_SCHEMA}]}


def chat(done: bool = False) -> dict[str, Any]:
    asked: list[dict[str, Any]] = [{"role": "user", "content": "Working directory: /tree"}]
    if done:
        asked += [{"role": "assistant", "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "1"}]
    function = {"name": "Read", "parameters": PATH_SCHEMA}
    return {"model": "m", "messages": asked, "tools": [{"type": "function", "function": function}]}


def responses(done: bool = False) -> dict[str, Any]:
    asked: list[dict[str, Any]] = [{"role": "user", "content": "<cwd>/tree</cwd>"}]
    if done:
        asked += [{"type": "function_call", "name": "Read"}, {"type": "function_call_output", "output": "1"}]
    tool = {"type": "function", "name": "Read", "parameters": PATH_SCHEMA}
    return {"model": "m", "input": asked, "tools": [tool]}


def gemini(done: bool = False) -> dict[str, Any]:
    asked: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Working directory: /tree"}]}]
    if done:
        asked += [
            {"role": "model", "parts": [{"functionCall": {"name": "Read"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "Read"}}]},
        ]
    return {"contents": asked, "tools": [{"functionDeclarations": [{"name": "Read", "parameters": PATH_SCHEMA}]}]}


def _anthropic_said(answer: Any) -> tuple[str, Any, tuple[int, ...]]:
    used = answer["usage"]
    tokens = (used["input_tokens"], used["cache_read_input_tokens"], used["output_tokens"])
    calls = [block["input"] for block in answer["content"] if block["type"] == "tool_use"]
    return answer["content"][0].get("text", ""), calls[0] if calls else None, tokens


def _chat_said(answer: Any) -> tuple[str, Any, tuple[int, ...]]:
    used, message = answer["usage"], answer["choices"][0]["message"]
    cached = used["prompt_tokens_details"]["cached_tokens"]
    calls = [json.loads(call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    tokens = (used["prompt_tokens"] - cached, cached, used["completion_tokens"])
    return message["content"], calls[0] if calls else None, tokens


def _responses_said(answer: Any) -> tuple[str, Any, tuple[int, ...]]:
    used = answer["usage"]
    cached = used["input_tokens_details"]["cached_tokens"]
    texts = [item["content"][0]["text"] for item in answer["output"] if item["type"] == "message"]
    calls = [json.loads(item["arguments"]) for item in answer["output"] if item["type"] == "function_call"]
    return texts[0], calls[0] if calls else None, (used["input_tokens"] - cached, cached, used["output_tokens"])


def _gemini_said(answer: Any) -> tuple[str, Any, tuple[int, ...]]:
    used, parts = answer["usageMetadata"], answer["candidates"][0]["content"]["parts"]
    cached = used["cachedContentTokenCount"]
    calls = [part["functionCall"]["args"] for part in parts if "functionCall" in part]
    tokens = (used["promptTokenCount"] - cached, cached, used["candidatesTokenCount"])
    return parts[0]["text"], calls[0] if calls else None, tokens


Said = Callable[[Any], tuple[str, Any, tuple[int, ...]]]
PROTOCOLS: Mapping[str, tuple[str, Callable[..., dict[str, Any]], Said]] = {
    "anthropic": ("/v1/messages", anthropic, _anthropic_said),
    "chat": ("/v1/chat/completions", chat, _chat_said),
    "responses": ("/v1/responses", responses, _responses_said),
    "gemini": ("/v1beta/models/m:generateContent", gemini, _gemini_said),
}
each = pytest.mark.parametrize("protocol", PROTOCOLS)


@each
def test_a_script_is_played_with_the_clients_own_tools(protocol: str, server: ModelServer) -> None:
    """First the step, with arguments that fit and the client's own folder; after its result the last word."""
    path, body, said = PROTOCOLS[protocol]
    _, answer, _ = post(server.url("look", path), body())
    assert said(answer) == ("Step 1.", {"file_path": "/tree/a.txt"}, (10, 4, 1))
    _, answer, _ = post(server.url("look", path), body(done=True))
    assert said(answer)[:2] == ("Seen.", None)


@each
def test_a_stream_says_the_same(protocol: str, server: ModelServer) -> None:
    """In events, each with whole JSON; the client closes nothing itself."""
    path, body, _ = PROTOCOLS[protocol]
    url = server.url("look", path.replace(":generateContent", ":streamGenerateContent"))
    request = urllib.request.Request(url, json.dumps({**body(), "stream": True}).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        lines = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    assert "Step 1." in json.dumps(events) and "/tree/a.txt" in json.dumps(events)


@each
def test_an_error_has_its_status_and_its_time_and_passes_when_it_is_told_to(protocol: str, server: ModelServer) -> None:
    """Once 429 with `retry-after`, then the answer; each protocol's own body."""
    path, body, _ = PROTOCOLS[protocol]
    own = f"limited-{protocol}"
    server.scripts[own] = SCRIPTS["limited"]
    code, answer, headers = post(server.url(own, path), body())
    assert (code, headers["retry-after"]) == (429, "7")
    assert "mock error 429" in json.dumps(answer["error"])
    assert post(server.url(own, path), body())[0] == 200
    assert [asked.status for asked in server.asked(own)] == [429, 200]


def test_a_fault_may_begin_later(server: ModelServer) -> None:
    """The first request goes well."""
    url = server.url("late", "/v1/chat/completions")
    assert [post(url, chat())[0] for _ in range(3)] == [200, 500, 500]


@each
def test_a_cut_stream_ends_inside_an_event(protocol: str, server: ModelServer) -> None:
    """The connection is closed, and what came is not whole."""
    path, body, _ = PROTOCOLS[protocol]
    url = server.url("cut", path.replace(":generateContent", ":streamGenerateContent"))
    request = urllib.request.Request(url, json.dumps({**body(), "stream": True, "tools": []}).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        text = answer.read().decode()
    last = text.rsplit("data: ", 1)[1]
    with pytest.raises(json.JSONDecodeError):
        json.loads(last)


def test_a_silent_server_answers_nobody_and_lets_go_with_its_client(server: ModelServer) -> None:
    """A client that gives up is not waited for at the end."""
    host, port = server.server_address[:2]
    client = http.client.HTTPConnection(str(host), int(port), timeout=0.5)
    client.request("POST", "/s/silent/v1/messages", json.dumps(anthropic()))
    with pytest.raises(socket.timeout):
        client.getresponse()
    client.close()
    assert server.asked("silent")[0].status == 0


def test_a_structured_answer_is_given_where_it_is_asked_for(server: ModelServer) -> None:
    """By a response format, by a forced tool, by Claude Code's own tool: the script's, or one made from the schema."""
    formatted = {"type": "json_schema", "json_schema": {"schema": ANSWER_SCHEMA}}
    _, answer, _ = post(server.url("typed", "/v1/chat/completions"), {"messages": [], "response_format": formatted})
    assert json.loads(answer["choices"][0]["message"]["content"]) == {"learnings": "much"}
    tools = [{"name": "StructuredOutput", "input_schema": ANSWER_SCHEMA}]
    _, answer, _ = post(server.url("talk", "/v1/messages"), {"messages": [], "tools": tools})
    assert answer["content"][0]["input"] == {"learnings": "mock text", "n": 3}
    forced = {"messages": [], "tools": tools, "tool_choice": {"type": "tool", "name": "StructuredOutput"}}
    _, answer, _ = post(server.url("typed", "/v1/messages"), forced)
    assert answer["content"][0]["input"] == {"learnings": "much"}


def test_what_was_asked_is_kept_without_keys(server: ModelServer) -> None:
    """A test can look at what reached the model; no key lies about."""
    url = server.url("talk", "/v1/messages")
    request = urllib.request.Request(url, json.dumps(anthropic()).encode(), {"x-api-key": "sk-1", "user-agent": "me"})
    urllib.request.urlopen(request, timeout=20).read()
    asked = server.asked("talk")[-1]
    assert (asked.protocol, asked.headers["user-agent"]) == ("anthropic", "me")
    assert "sk-1" not in str(asked.headers) + repr(asked.body)


def test_a_script_that_is_not_there_is_not_found(server: ModelServer) -> None:
    """With its name."""
    code, answer, _ = post(server.url("nobody", "/v1/messages"), anthropic())
    assert code == 404 and "nobody" in json.dumps(answer)


COMMAND = {"properties": {"command": {"type": "string"}}}


@pytest.mark.parametrize(
    ("step", "tools", "name", "arguments"),
    [
        (Write("a", "x\n"), {"bash": Tool(COMMAND)}, "bash", {"command": "printf %s 'x\n' > a"}),
        (Read("a b"), {"Bash": Tool(COMMAND)}, "Bash", {"command": "cat 'a b'"}),
        (
            Shell("ls"),
            {"shell": Tool({"properties": {"command": {"type": "array", "items": {"type": "string"}}}})},
            "shell",
            {"command": ["bash", "-c", "ls"]},
        ),
        (
            Replace("a", "1", "2"),
            {"apply_patch": Tool(is_freeform=True)},
            "apply_patch",
            "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch\n",
        ),
        (
            Write("a", "2\n"),
            {"apply_patch": Tool({"properties": {"input": {"type": "string"}}})},
            "apply_patch",
            {"input": "*** Begin Patch\n*** Add File: a\n+2\n*** End Patch\n"},
        ),
        (Call("mine", {"a": 1}), {}, "mine", {"a": 1}),
    ],
)
def test_a_step_is_done_with_whatever_tool_there_is(
    step: Any, tools: Mapping[str, Tool], name: str, arguments: Any
) -> None:
    """A file tool, else a patch, else the shell."""
    found = call_for(step, Request("m", False, tools, 0, ""))
    assert found is not None
    assert (found.name, found.arguments) == (name, arguments)


def test_a_step_for_which_there_is_no_tool_is_left_out() -> None:
    """The model then only talks."""
    assert call_for(Read("a"), Request("m", False, {"weather": Tool()}, 0, "")) is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 5}, 5),
        ({"enum": ["a", "b"]}, "a"),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "boolean"}}}, True),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"type": "array", "items": {"type": "number", "minimum": 1, "maximum": 2}, "minItems": 2}, [1.5, 1.5]),
        ({"type": "string", "maxLength": 4}, "mock"),
    ],
)
def test_a_value_is_made_from_a_schema(schema: Mapping[str, Any], value: Any) -> None:
    """As far as clients' schemas go."""
    assert instance_of(schema) == value
