"""A request and an answer without their protocol: what all four of them say in common."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.testing.model_server.script import Spent

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Tool:
    """A tool that the client declared.

    Args:
        schema: JSON schema of its arguments.
        is_freeform: takes text instead of arguments.
        namespace: group that it was declared in, where the protocol has groups.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    is_freeform: bool = False
    namespace: str | None = None


@dataclass(frozen=True)
class Request:
    """What a client asked for.

    Args:
        model: name of the model.
        is_stream: the answer is to come in events.
        tools: by name.
        results: tool results since the last finished answer: how far the script has come.
        text: all text of the conversation, joined.
        schema: of the structured answer that is asked for; None: none is.
        schema_tool: name of the tool that takes it, where it is asked for by a forced tool call.
    """

    model: str
    is_stream: bool
    tools: Mapping[str, Tool]
    results: int
    text: str
    schema: Mapping[str, Any] | None = None
    schema_tool: str | None = None


@dataclass(frozen=True)
class ToolCall:
    """One call: arguments, or text for a freeform tool."""

    name: str
    arguments: Mapping[str, Any] | str
    namespace: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the model says: text, a tool call, or both."""

    text: str = ""
    call: ToolCall | None = None


@dataclass(frozen=True)
class Written:
    """An answer in its protocol: the whole document, and the same as events of a stream."""

    document: Mapping[str, Any]
    events: tuple[str, ...]


class WireProtocol(Protocol):
    """One protocol: a module with these three functions."""

    @staticmethod
    def read(body: Mapping[str, Any], path: str) -> Request:
        """Read a request."""
        ...

    @staticmethod
    def write(request: Request, answer: Answer, spent: Spent) -> Written:
        """Write an answer."""
        ...

    @staticmethod
    def error(code: int, message: str) -> Mapping[str, Any]:
        """Give the body of an HTTP error."""
        ...


def new_id(prefix: str) -> str:
    """Give an id that this process has not given yet."""
    return f"{prefix}_mock{next(_numbers)}"


def text_of(value: Any) -> str:
    """Give all text in a JSON value, joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(text_of(item) for item in value.values())
    if isinstance(value, list):
        return "\n".join(text_of(item) for item in value)
    return ""


def listed(value: Any) -> list[Mapping[str, Any]]:
    """Give the mappings of a JSON list; nothing where it is none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """Give a JSON object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}
