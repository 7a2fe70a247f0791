"""The JSON Schemas of the log and of the files beside it, drawn from the records' models.

Unknown keys are allowed, for they are kept; null is allowed only where it means something other than "absent".
Source: seed 004; DESIGN section 5.
"""

from typing import Any, Final

from headway.core.measurements import Marker
from headway.core.rows import Row
from headway.core.run_records import JudgeCache, Log

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def log_schema() -> dict[str, Any]:
    """Give the schema of `experiment-log.yaml`, draft 2020-12."""
    return _schema(Log, "headway experiment log")


def marker_schema() -> dict[str, Any]:
    """Give the schema of a result marker, `result.yaml`, draft 2020-12."""
    return _schema(Marker, "headway result marker")


def judge_cache_schema() -> dict[str, Any]:
    """Give the schema of `judge-cache.yaml`, draft 2020-12."""
    return _schema(JudgeCache, "headway judge cache")


def _schema(record: type[Row], title: str) -> dict[str, Any]:
    schema = record.model_json_schema()
    for definition in schema["$defs"].values():
        definition.pop("title", None)
    return {"$schema": DRAFT, **schema, "title": title}
