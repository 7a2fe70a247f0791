"""Builders for the tests of the log's store, and independent readers to compare it with."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML


def a_row(iteration: int, **changes: Any) -> dict[str, Any]:
    """An experiment's row with the fields that every experiment has, and some that invite misreading."""
    return {
        "iteration": iteration,
        "batch": 1,
        "hypothesis": f"try way {iteration}: faster, #better",
        "category": "algorithm",
        "outcome": "kept",
        "changes": [{"file": "src/a.py", "summary": "one\ntwo\n"}],
        "gates": {"count": iteration, "error_rate": 1e-07},
        "gates_passed": True,
        "metrics": {"p95_ms": {"aggregate": 1.5, "samples": [1.0, 2.0, iteration / 7]}},
        "primary_delta": "+0.7",
        "learnings": "first\n- iteration: 9\nexperiments:\n",
        "commit": "12e4567",
        **changes,
    }


def log_rows(count: int = 3, **changes: Any) -> dict[str, Any]:
    """Every section of a log with this many experiments."""
    return {
        "spec": "demo",
        "run_id": "20261130_154335",
        "started_at": "2026-11-30T15:43:35+00:00",
        "baseline": {"metrics": {"p95_ms": {"aggregate": 4.2, "samples": [4.1, 4.3]}}},
        "harness_validation": {"rejects_trivial_shortcut": True, "calibration": "not_run", "probes": []},
        "experiments": [a_row(iteration) for iteration in range(1, count + 1)],
        "best": {"iteration": 0, "metrics": {"p95_ms": 4.2}},
        "approval": {"approved_at": "2026-11-30T15:55:00+00:00", "spec_sha256": "0123456"},
        "run_state": {"status": "running", "tick": count, "active_seconds": 0.0, "pending_waits": []},
        "hypothesis_backlog": [{"description": "a: b", "priority": "high"}, {"description": "no", "priority": "low"}],
        **changes,
    }


def by_ruamel(text: bytes | str) -> Any:
    """What a YAML 1.2 loader reads."""
    return YAML(typ="safe", pure=True).load(io.BytesIO(text) if isinstance(text, bytes) else text)


def by_pyyaml(text: bytes | str) -> Any:
    """What a YAML 1.1 loader reads."""
    return yaml.safe_load(text)


def agreed(path: Path) -> Any:
    """What both loaders read in a file, once it is certain that they agree."""
    text = path.read_bytes()
    old, new = by_pyyaml(text), by_ruamel(text)
    assert repr(old) == repr(new)
    return old


def lines(*texts: str) -> bytes:
    """Bytes of these lines."""
    return "".join(f"{text}\n" for text in texts).encode()


def edited(path: Path, old: str, new: str, count: int = 1) -> None:
    """Save a log as a person's editor does: read, change, write a new file, rename."""
    save(path, path.read_bytes().replace(old.encode(), new.encode(), count))


def save(path: Path, data: bytes) -> None:
    """Put other bytes in a file's place by a rename, as most editors do."""
    beside = path.with_name(f"{path.name}~")
    beside.write_bytes(data)
    beside.rename(path)


def notices(log: Any) -> list[str]:
    """The kinds of notices that a log has, taken off it."""
    found = [str(notice.kind) for notice in log.notices]
    log.notices.clear()
    return found


def numbers(rows: Iterable[dict[str, Any]]) -> list[int]:
    """The iterations of rows."""
    return [row["iteration"] for row in rows]
