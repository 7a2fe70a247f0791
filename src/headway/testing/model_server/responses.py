"""OpenAI Responses."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from headway.testing.model_server import chat
from headway.testing.model_server.exchange import Answer, Request, Tool, Written, listed, mapping, new_id, text_of
from headway.testing.model_server.script import Spent


def read(body: Mapping[str, Any], path: str) -> Request:
    """Read a request; see `WireProtocol`."""
    items = listed(body.get("input"))
    results = 0
    for item, after in zip(items, [*items[1:], {}], strict=True):
        if item.get("role") == "assistant" and not str(after.get("type", "")).endswith("_call"):
            results = 0  # the words that closed an earlier turn
        results += str(item.get("type", "")).endswith("_call_output")
    tools = dict(_declared(listed(body.get("tools"))))
    for item in items:  # newer models have their tools declared inside the input
        if item.get("type") == "additional_tools":
            tools.update(_declared(listed(item.get("tools"))))
    forced = mapping(body.get("tool_choice")).get("name")
    asked = mapping(mapping(body.get("text")).get("format")).get("schema")
    return Request(
        model=str(body.get("model")),
        is_stream=bool(body.get("stream")),
        tools=tools,
        results=results,
        text=text_of([body.get("instructions"), body.get("input")]),
        schema=tools[forced].schema if forced in tools else asked,
        schema_tool=forced if forced in tools else None,
    )


def _declared(tools: Iterable[Mapping[str, Any]], namespace: str | None = None) -> Iterable[tuple[str, Tool]]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _declared(listed(tool.get("tools")), str(tool.get("name")))
        else:
            name = str(tool.get("name") or tool.get("type"))
            yield name, Tool(mapping(tool.get("parameters")), tool.get("type") == "custom", namespace)


def write(request: Request, answer: Answer, spent: Spent) -> Written:
    """Write an answer; see `WireProtocol`. Of cached tokens it tells only those that were read."""
    given = spent.uncached + spent.cache_read
    usage = {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": spent.cache_read},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + spent.output,
    }
    items = _items(answer)
    begun = {
        "id": new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": request.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "tools": [],
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "tool_choice": "auto",
    }
    document = {**begun, "status": "completed", "output": items, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    events.append({"type": "response.completed", "response": document})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return Written(document, tuple(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in numbered))


def _items(answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        message = {"id": new_id("msg"), "type": "message", "role": "assistant", "status": "completed"}
        items.append({**message, "content": [part]})
    if answer.call is not None:
        call = {"id": new_id("fc"), "call_id": new_id("call"), "name": answer.call.name, "status": "completed"}
        if isinstance(answer.call.arguments, str):
            call |= {"type": "custom_tool_call", "input": answer.call.arguments}
        else:
            call |= {"type": "function_call", "arguments": json.dumps(answer.call.arguments)}
        if answer.call.namespace is not None:
            call["namespace"] = answer.call.namespace
        items.append(call)
    return items


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    at = {"output_index": index, "item_id": item["id"]}
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "message":
        text = item["content"][0]["text"]
        return [
            {**added, "item": {**item, "status": "in_progress", "content": []}},
            {
                "type": "response.content_part.added",
                "content_index": 0,
                "part": {"type": "output_text", "text": ""},
                **at,
            },
            {"type": "response.output_text.delta", "content_index": 0, "delta": text, **at},
            {"type": "response.output_text.done", "content_index": 0, "text": text, **at},
            done,
        ]
    key = "input" if item["type"] == "custom_tool_call" else "arguments"
    kind = "response.custom_tool_call_input" if key == "input" else "response.function_call_arguments"
    return [
        {**added, "item": {**item, "status": "in_progress", key: ""}},
        {"type": f"{kind}.delta", "delta": item[key], **at},
        {"type": f"{kind}.done", key: item[key], **at},
        done,
    ]


error = chat.error
"""Both protocols of this vendor tell of errors alike."""
