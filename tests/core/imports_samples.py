"""Small logs of other tools, written for these tests."""

import json
from typing import Any

from headway.core.imports.assemble import Imported, Origin, assemble
from headway.core.imports.found import Reading


def config(metric: str = "wall_ms", direction: str | None = "lower", **more: Any) -> dict[str, Any]:
    """A pi-autoresearch line that begins a segment."""
    said = {"bestDirection": direction} if direction else {}
    return {"type": "config", "name": f"make {metric} better", "metricName": metric, "metricUnit": "ms", **said, **more}


def run(number: int, status: str = "keep", metric: Any = 10.0, **more: Any) -> dict[str, Any]:
    """A run record of pi-autoresearch."""
    return {
        "run": number,
        "commit": f"{number:07x}",
        "metric": metric,
        "metrics": {"rows": number},
        "status": status,
        "description": f"way {number}",
        "timestamp": 1_790_000_000_000 + number,
        **more,
    }


def lines(*records: Any) -> str:
    """Records as JSON lines; texts stand as they are."""
    return "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)


def made(reading: Reading, direction: str | None = None) -> Imported:
    """The log that a reading becomes."""
    return assemble(reading, Origin("a file", "ab" * 32, direction))


def rows(imported: Imported) -> list[dict[str, Any]]:
    """Its experiments."""
    return list(imported.rows["experiments"])


def told(row: dict[str, Any]) -> dict[str, Any]:
    """What stands under `headway.imported` of an entry or of the baseline."""
    return dict(row["headway"]["imported"])
