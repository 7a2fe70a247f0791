"""Writes the JSON Schemas that are checked in under `schemas/`: `python -m headway.store.schema_files [FOLDER]`.

A schema is added with one row in `SCHEMAS`; a test compares the files with what the code gives.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from headway.core.log_schema import judge_cache_schema, log_schema, marker_schema
from headway.core.spec_schema import spec_schema
from headway.errors import UsageWrong

SCHEMAS: Final[Mapping[str, Callable[[], Mapping[str, Any]]]] = {
    "optimize-spec.schema.json": spec_schema,
    "experiment-log.schema.json": log_schema,
    "result-marker.schema.json": marker_schema,
    "judge-cache.schema.json": judge_cache_schema,
}
"""File name to the function that gives the schema."""


def schema_text(name: str) -> str:
    """Give the text of one schema file.

    Args:
        name: of the file, a key of `SCHEMAS`.
    Returns: the text, with a newline at its end.
    """
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


def schema_folder() -> Path:
    """Give the folder of the checked-in schemas, `schemas/` beside the sources."""
    return Path(__file__).parents[3] / "schemas"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every schema.

    Args:
        arguments: at most one, the folder; without one, that of the checked-in schemas.
    Raises: UsageWrong, where there is more than one argument or no such folder.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    folder = Path(given[0]) if given else schema_folder()
    if len(given) > 1 or not folder.is_dir():
        raise UsageWrong("schemas go to one folder that exists", str(folder), "name that folder, and nothing else")
    for name in SCHEMAS:
        (folder / name).write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
