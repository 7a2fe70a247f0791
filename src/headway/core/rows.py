"""What every record of the log has in common: how it is read, written and described.

A row is read leniently (unknown keys are kept) and written exactly: the seed's field order, what was not set is
left out, unknown keys behind the known ones, `headway` last in its place.

Source: seed 004 (absent means unknown); CONTRACTS section 2 (the extension key).
"""

from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    model_serializer,
)

EXTENSION = "headway"
"""The one key that holds all that the seed does not know."""

Int = StrictInt
Bool = StrictBool
Text = StrictStr
Count = Annotated[StrictInt, Field(ge=0)]
Iteration = Annotated[StrictInt, Field(ge=1)]
Number = Annotated[StrictInt | StrictFloat, WithJsonSchema({"type": "number"})]
"""A finite number; an integer stays one, so that a row reads back as it was written."""
Amount = Annotated[StrictInt | StrictFloat, Field(ge=0), WithJsonSchema({"type": "number", "minimum": 0})]
"""A finite number that cannot be negative: seconds, dollars."""
Timestamp = Annotated[StrictStr, WithJsonSchema({"type": "string", "format": "date-time"})]
"""ISO 8601, as text; `log check` looks whether it is one."""


def _as_the_seed_writes(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Say in the schema that an optional field is absent when unknown, never null, unless null means something."""
    schema.pop("title", None)
    nullable: frozenset[str] = getattr(model, "nullable", frozenset())
    for name, described in schema.get("properties", {}).items():
        described.pop("title", None)
        described.pop("default", None)
        if name not in nullable and "anyOf" in described:
            _drop_null(described)


def _drop_null(described: dict[str, Any]) -> None:
    left = [choice for choice in described["anyOf"] if choice != {"type": "null"}]
    if len(left) == 1:
        del described["anyOf"]
        described.update(left[0])
    else:
        described["anyOf"] = left


class Row(BaseModel):
    """A record of the log: frozen, with the seed's field names in the seed's order.

    `nullable` names the fields whose null means something other than "absent": not run, does not apply, uncapped.
    Any other field that holds None is left out when written, for absent means unknown.
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", allow_inf_nan=False, protected_namespaces=(), json_schema_extra=_as_the_seed_writes
    )
    nullable: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _in_its_order(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        row: dict[str, Any] = write(self)
        fields = type(self).model_fields
        for name in [n for n, value in row.items() if value is None and n in fields and n not in self.nullable]:
            del row[name]
        if EXTENSION in row:
            row[EXTENSION] = row.pop(EXTENSION)
        return row


def to_row(record: Row) -> dict[str, Any]:
    """Give a record as plain mappings, lists, numbers and texts, ready to be written.

    Args:
        record: any record of the log.
    Returns: the row, in the seed's order, without what was not set, unknown keys behind the known, `headway` last;
        `type(record).model_validate(row)` gives an equal record.
    """
    return record.model_dump(mode="json", exclude_unset=True)
