"""Values that satisfy a JSON schema, and arguments that fit a tool's."""

from collections.abc import Mapping
from typing import Any

from headway.testing.model_server.exchange import listed, mapping

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "path": ("file_path", "filepath", "path", "absolute_path", "target_file", "filename", "file"),
    "text": ("content", "contents", "file_text", "text", "file_content"),
    "old": ("old_string", "oldstring", "old_str", "old_text", "oldtext", "search"),
    "new": ("new_string", "newstring", "new_str", "new_text", "newtext", "replace"),
    "command": ("command", "cmd", "script", "commands"),
}
"""What clients call the same thing."""


def kinds_of(schema: Any) -> tuple[str, ...]:
    """Give the types that a schema allows, in lower case."""
    own = mapping(schema).get("type")
    found = [own] if isinstance(own, str) else [kind for kind in own or [] if isinstance(kind, str)]
    for key in ("anyOf", "oneOf"):
        for branch in listed(mapping(schema).get(key)):
            found += kinds_of(branch)
    return tuple(kind.lower() for kind in found)


def instance_of(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Give a small value that satisfies a schema, as far as clients' schemas go."""
    root = schema if root is None else root
    if isinstance(schema.get("$ref"), str):
        return instance_of(_referenced(schema["$ref"], root), root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if listed(schema.get(key)):
            return instance_of(schema[key][0], root)
    return _of_kind(schema, root)


def _referenced(pointer: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Any = root
    for part in pointer.lstrip("#/").split("/"):
        node = mapping(node).get(part)
    return mapping(node)


def _of_kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    kind = (kinds_of(schema) or ("object" if "properties" in schema else "string",))[0]
    match kind:
        case "object":
            return {name: instance_of(mapping(part), root) for name, part in mapping(schema.get("properties")).items()}
        case "array":
            return [instance_of(mapping(schema.get("items")), root)] * max(1, int(schema.get("minItems") or 1))
        case "boolean":
            return True
        case "integer" | "number":
            return _number(schema, kind == "integer")
        case "null":
            return None
    return "mock text".ljust(int(schema.get("minLength") or 0), ".")[: int(schema.get("maxLength") or 10**6)]


def _number(schema: Mapping[str, Any], is_whole: bool) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    value = (low + high) / 2 if low is not None and high is not None else low if low is not None else 1
    return int(value) if is_whole else float(value)


def arguments_for(schema: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Give arguments for a tool: parameters that mean one of `values`, and other required ones filled by type.

    Args:
        schema: of the tool's arguments.
        values: by purpose, a key of `PARAMETERS`.
    """
    found: dict[str, Any] = {}
    for name, part in mapping(schema.get("properties")).items():
        purpose = next((p for p, names in PARAMETERS.items() if p in values and name.lower() in names), None)
        if purpose is not None:
            found[name] = _as_list(values[purpose], purpose) if "array" in kinds_of(part) else values[purpose]
        elif name in (schema.get("required") or ()):
            found[name] = instance_of(mapping(part))
    return found


def _as_list(value: str, purpose: str) -> list[str]:
    return ["bash", "-c", value] if purpose == "command" else [value]
