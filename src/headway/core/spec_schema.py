"""The JSON Schema of the spec, drawn from the models, for editors and other tools."""

from collections.abc import Mapping
from typing import Any, Final

from headway.core.spec import Spec
from headway.core.spec_run import WORKTREE_LIMIT

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """Give the schema.

    Returns: JSON Schema, draft 2020-12. Null is allowed wherever a key may be left out, since it counts as left out.
    The rules that span several keys are there as far as a schema can say them; names that must be unique, scopes that
    must not overlap and counts that must not fall are checked by headway alone.
    """
    schema = Spec.model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        _allow_null(model)
    plateau = schema["$defs"]["Stopping"]["properties"]["plateau_iterations"]
    plateau["anyOf"] = [*plateau["anyOf"], {"const": "none"}]
    schema["allOf"] = list(CONDITIONS)
    return {"$schema": DRAFT, **schema, "title": "headway optimization spec"}


def _allow_null(model: dict[str, Any]) -> None:
    required = model.get("required", [])
    for name, field in model.get("properties", {}).items():
        field.pop("title", None)
        model["properties"][name] = field if name in required else _with_null(field)


def _with_null(field: Mapping[str, Any]) -> dict[str, Any]:
    said = {key: value for key, value in field.items() if key in ("default", "description")}
    rest = {key: value for key, value in field.items() if key not in said}
    if not rest or {"type": "null"} in rest.get("anyOf", ()):
        return {**rest, **said}
    return {"anyOf": [rest, {"type": "null"}], **said}


def _inside(*keys: str, holds: Mapping[str, Any]) -> dict[str, Any]:
    """Give the schema of a mapping in which a path is there and holds what it must."""
    wanted = dict(holds)
    for key in reversed(keys):
        wanted = {"required": [key], "properties": {key: wanted}}
    return wanted


NOT_NULL: Final[Mapping[str, Any]] = {"not": {"type": "null"}}
JUDGED: Final[Mapping[str, Any]] = {
    "required": ["rubric", "scoring"],
    "properties": {"rubric": NOT_NULL, "scoring": _inside("primary", holds=NOT_NULL)},
}
CONDITIONS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "if": _inside("metric", "primary", "type", holds={"const": "judge"}),
        "then": _inside("metric", "judge", holds={"type": "object", **JUDGED}),
    },
    {
        "if": _inside("metric", "judge", "singleton_sample", holds={"exclusiveMinimum": 0, "type": "integer"}),
        "then": _inside("metric", "judge", "singleton_rubric", holds=NOT_NULL),
    },
    {
        "if": _inside("measurement", "output_format", holds={"const": "regex"}),
        "then": _inside("measurement", "extract", holds={"type": "object", "minProperties": 1}),
    },
    {
        "if": {"not": _inside("execution", "backend", holds={"enum": ["codex", "command", "remote", "dask"]})},
        "then": {"properties": {"execution": {"properties": {"max_concurrent": {"maximum": WORKTREE_LIMIT}}}}},
    },
    {
        "if": _inside("agent", "type", holds={"const": "command"}),
        "then": _inside("agent", "command", holds={"type": "string"}),
    },
    {
        "if": _inside("parallel", "port_strategy", holds={"const": "parameterized"}),
        "then": _inside("parallel", "port_env_var", holds={"type": "string"}),
    },
)
