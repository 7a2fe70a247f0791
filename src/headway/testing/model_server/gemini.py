"""Gemini's generateContent."""

import json
import re
from collections.abc import Mapping
from typing import Any

from headway.testing.model_server.exchange import Answer, Request, Tool, Written, listed, mapping, new_id, text_of
from headway.testing.model_server.script import Spent

ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def read(body: Mapping[str, Any], path: str) -> Request:
    """Read a request; see `WireProtocol`. The model and the wish for a stream stand in the path."""
    results = 0
    for content in listed(body.get("contents")):
        parts = listed(content.get("parts"))
        if content.get("role") == "model" and not any("functionCall" in part for part in parts):
            results = 0
        results += sum("functionResponse" in part for part in parts)
    declared = [f for t in listed(body.get("tools")) for f in listed(t.get("functionDeclarations"))]
    config = mapping(body.get("generationConfig"))
    found = re.search(r"models/([^:/]+):", path)
    return Request(
        model=found.group(1) if found else "",
        is_stream="streamGenerateContent" in path,
        tools={
            str(f.get("name")): Tool(mapping(f.get("parametersJsonSchema") or f.get("parameters"))) for f in declared
        },
        results=results,
        text=text_of([body.get("systemInstruction"), body.get("contents")]),
        schema=config.get("responseJsonSchema") or config.get("responseSchema"),
    )


def write(request: Request, answer: Answer, spent: Spent) -> Written:
    """Write an answer; see `WireProtocol`. Of cached tokens it tells only those that were read."""
    parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
    if answer.call is not None:
        call = {"id": new_id("fc"), "name": answer.call.name, "args": answer.call.arguments}
        parts.append({"functionCall": call})
    given = spent.uncached + spent.cache_read
    content = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    document = {
        "candidates": [content],
        "usageMetadata": {
            "promptTokenCount": given,
            "cachedContentTokenCount": spent.cache_read,
            "candidatesTokenCount": spent.output,
            "totalTokenCount": given + spent.output,
        },
        "modelVersion": request.model,
        "responseId": new_id("resp"),
    }
    return Written(document, (f"data: {json.dumps(document)}\n\n",))


def error(code: int, message: str) -> Mapping[str, Any]:
    """Give the body of an HTTP error; see `WireProtocol`."""
    return {"error": {"code": code, "message": message, "status": ERRORS.get(code, "INTERNAL")}}
