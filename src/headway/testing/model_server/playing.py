"""What the model of a script says to a request."""

import json
from typing import Any

from headway.testing.model_server.exchange import Answer, Request, ToolCall
from headway.testing.model_server.json_schemas import instance_of
from headway.testing.model_server.script import Script
from headway.testing.model_server.tools import call_for

ANSWER_TOOL = "StructuredOutput"  # Claude Code asks for a structured answer by this tool


def answer_to(request: Request, script: Script) -> Answer:
    """Give the script's next answer: the next step, or the structured answer, or the last word.

    Source: none of it is kept between requests; `Request.results` says how far the script has come.
    """
    done = request.results
    if script.repeats and script.steps:
        done %= len(script.steps)
    if done < len(script.steps) and request.tools and request.schema_tool is None:
        call = call_for(script.steps[done], request)
        if call is not None:
            return Answer(f"Step {done + 1}.", call)
    if script.is_plain:
        return Answer(script.says)
    if ANSWER_TOOL in request.tools and done == len(script.steps):
        return Answer("", ToolCall(ANSWER_TOOL, _structured(script, request.tools[ANSWER_TOOL].schema)))
    if request.schema_tool is not None:
        return Answer("", ToolCall(request.schema_tool, _structured(script, request.schema or {})))
    if request.schema is not None:
        return Answer(json.dumps(_structured(script, request.schema)))
    return Answer(script.says)


def _structured(script: Script, schema: Any) -> Any:
    return dict(script.answer) if script.answer is not None else instance_of(schema)
