"""OpenAI Chat Completions, which many other programs and servers speak."""

import json
import time
from collections.abc import Mapping
from typing import Any

from headway.testing.model_server.exchange import Answer, Request, Tool, Written, listed, mapping, new_id, text_of
from headway.testing.model_server.script import Spent

CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def read(body: Mapping[str, Any], path: str) -> Request:
    """Read a request; see `WireProtocol`."""
    results = 0
    for message in listed(body.get("messages")):
        if message.get("role") == "assistant" and not message.get("tool_calls"):
            results = 0
        results += message.get("role") == "tool"
    functions = [mapping(t.get("function")) or t for t in listed(body.get("tools"))]
    tools = {str(f.get("name")): Tool(mapping(f.get("parameters"))) for f in functions}
    forced = mapping(mapping(body.get("tool_choice")).get("function")).get("name")
    asked = mapping(body.get("response_format"))
    wanted = (
        {"type": "object"} if asked.get("type") == "json_object" else mapping(asked.get("json_schema")).get("schema")
    )
    return Request(
        model=str(body.get("model")),
        is_stream=bool(body.get("stream")),
        tools=tools,
        results=results,
        text=text_of(body.get("messages")),
        schema=tools[forced].schema if forced in tools else wanted,
        schema_tool=forced if forced in tools else None,
    )


def write(request: Request, answer: Answer, spent: Spent) -> Written:
    """Write an answer; see `WireProtocol`. Of cached tokens it tells only those that were read."""
    prompt = spent.uncached + spent.cache_read
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": spent.output,
        "total_tokens": prompt + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.cache_read},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.call is not None:
        function = {"name": answer.call.name, "arguments": json.dumps(answer.call.arguments)}
        message["tool_calls"] = [{"id": new_id("call"), "type": "function", "function": function}]
    end = "stop" if answer.call is None else "tool_calls"
    head = {"id": new_id("chatcmpl"), "created": int(time.time()), "model": request.model}
    choice = {"index": 0, "message": message, "finish_reason": end, "logprobs": None}
    document = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    delta = {**message, "content": answer.text}
    if "tool_calls" in message:
        delta["tool_calls"] = [{**message["tool_calls"][0], "index": 0}]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
        {"choices": [], "usage": usage},
    ]
    lines = [json.dumps({**head, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return Written(document, tuple(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))


def error(code: int, message: str) -> Mapping[str, Any]:
    """Give the body of an HTTP error; see `WireProtocol`."""
    kind = "server_error" if code >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": CODES.get(code)}}
