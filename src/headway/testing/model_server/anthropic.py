"""Anthropic Messages."""

import json
from collections.abc import Mapping
from typing import Any

from headway.testing.model_server.exchange import Answer, Request, Tool, Written, listed, mapping, new_id, text_of
from headway.testing.model_server.script import Spent

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Mapping[str, Any], path: str) -> Request:
    """Read a request; see `WireProtocol`."""
    results = 0
    for message in listed(body.get("messages")):
        blocks = listed(message.get("content"))
        if message.get("role") == "assistant" and not any(b.get("type") == "tool_use" for b in blocks):
            results = 0
        results += sum(b.get("type") == "tool_result" for b in blocks)
    tools = {str(t.get("name")): Tool(mapping(t.get("input_schema"))) for t in listed(body.get("tools"))}
    forced = mapping(body.get("tool_choice")).get("name")
    asked = mapping(mapping(body.get("output_config")).get("format") or body.get("output_format")).get("schema")
    return Request(
        model=str(body.get("model")),
        is_stream=bool(body.get("stream")),
        tools=tools,
        results=results,
        text=text_of([body.get("system"), body.get("messages")]),
        schema=tools[forced].schema if forced in tools else asked,
        schema_tool=forced if forced in tools else None,
    )


def write(request: Request, answer: Answer, spent: Spent) -> Written:
    """Write an answer; see `WireProtocol`."""
    usage = {
        "input_tokens": spent.uncached,
        "cache_read_input_tokens": spent.cache_read,
        "cache_creation_input_tokens": spent.cache_write,
        "output_tokens": spent.output,
    }
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.call is not None:
        content.append(
            {"type": "tool_use", "id": new_id("toolu"), "name": answer.call.name, "input": answer.call.arguments}
        )
    stop = "end_turn" if answer.call is None else "tool_use"
    message = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": request.model, "content": content}
    document = {**message, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    begun = {**document, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(content):
        events += _block(index, block)
    events.append(
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
    )
    events.append({"type": "message_stop"})
    return Written(document, tuple(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events))


def _block(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        start: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def error(code: int, message: str) -> Mapping[str, Any]:
    """Give the body of an HTTP error; see `WireProtocol`."""
    kind = ERRORS.get(code, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": new_id("req")}
