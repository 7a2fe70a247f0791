"""Logs to measure and to torture the store with."""

import random
import re
from pathlib import Path
from typing import Any

from headway.store import strategies
from headway.store.emit import emit_entry, emit_section
from headway.store.log import LogFile
from headway.store.strategies import StrategyName, StrategyReport

WORDS = ("recall", "latency", "index", "cache", "stem", "token", "query", "merge", "batch", "window", "rank", "prune")
HEAD = {
    "spec": "bench",
    "run_id": "20261130_154335",
    "started_at": "2026-11-30T15:43:35+00:00",
    "baseline": {"metrics": {"p95_ms": {"aggregate": 4.2, "samples": [4.1, 4.2, 4.3]}}, "gates": {"count": 100}},
    "harness_validation": {"rejects_trivial_shortcut": True, "calibration": "not_run", "probes": []},
}
APPROVAL = {"approved_at": "2026-11-30T15:55:00+00:00", "spec_sha256": "ab" * 32, "caps": {"max_hours": 12}}


def sentence(chance: random.Random, count: int) -> str:
    """Some words."""
    return " ".join(chance.choice(WORDS) for _ in range(count))


def an_entry(iteration: int, kib: float = 1.5) -> dict[str, Any]:
    """An experiment's row whose text takes about so many KiB."""
    chance = random.Random(iteration)
    samples = {name: [chance.random() * 5 for _ in range(5)] for name in ("p95_ms", "peak_mib")}
    row = {
        "iteration": iteration,
        "batch": 1 + iteration // 4,
        "hypothesis": f"{sentence(chance, 16)}: #{iteration}",
        "category": "algorithm",
        "outcome": "reverted",
        "changes": [{"file": f"src/{chance.choice(WORDS)}.py", "summary": sentence(chance, 14)} for _ in range(2)],
        "gates": {"count": 100, "error_rate": 0.001},
        "gates_passed": True,
        "metrics": {name: {"aggregate": sorted(values)[2], "samples": values} for name, values in samples.items()},
        "primary_delta": "+0.7",
        "learnings": "".join(f"{sentence(chance, 12)}\n" for _ in range(5)),
        "commit": f"{chance.getrandbits(160):040x}",
    }
    if kib > 2:
        row["judge"] = {"items": [_judged(chance, index) for index in range(int((kib - 1.5) * 1024 / 370))]}
    return row


def _judged(chance: random.Random, index: int) -> dict[str, Any]:
    digest = f"{chance.getrandbits(256):064x}"
    reason, feedback = sentence(chance, 14), sentence(chance, 16)
    return {"item_id": f"item-{index:03d}", "content_hash": digest, "score": 3, "reason": reason, "feedback": feedback}


def tail_sections(tick: int) -> dict[str, Any]:
    """The sections behind the experiments that change with a commit."""
    return {
        "best": {"iteration": 0, "metrics": {"p95_ms": 4.2 - tick / 1000}},
        "run_state": {"status": "running", "tick": tick, "active_seconds": tick * 1.5, "pending_waits": []},
    }


def a_log(path: Path, count: int, kib: float) -> Path:
    """Write a log with so many experiments and a backlog of twenty; where it lies."""
    chance = random.Random(7)
    backlog = [{"description": sentence(chance, 14), "category": "algorithm", "priority": "high"} for _ in range(20)]
    parts = [emit_section(name, value) for name, value in HEAD.items()]
    parts.append("experiments:\n")
    parts += [emit_entry(an_entry(iteration, kib)) for iteration in range(1, count + 1)]
    sections = {**tail_sections(0), "approval": APPROVAL}
    parts += [emit_section(name, sections[name]) for name in ("best", "approval", "run_state")]
    parts.append(emit_section("hypothesis_backlog", backlog))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(parts), "utf-8")
    return path


def opened(path: Path, way: StrategyName | None = None) -> LogFile:
    """Open a log whose commits go a certain way, or the way that fits."""
    before = strategies.probe
    if way is StrategyName.COPY:
        strategies.probe = lambda folder: StrategyReport(StrategyName.COPY, "asked for by the bench")
    try:
        return LogFile.open(path)
    finally:
        strategies.probe = before


# A log that says of itself what it must look like to the byte


def a_checked_row(iteration: int, revision: int) -> dict[str, Any]:
    """A row whose text follows from its number and revision alone."""
    chance = random.Random(iteration * 7919 + revision)
    return {
        "iteration": iteration,
        "batch": revision,
        "hypothesis": sentence(chance, chance.randrange(10, 200)),
        "outcome": "kept",
        "learnings": f"{sentence(chance, 9)}\n",
    }


def checked_state(tick: int) -> dict[str, Any]:
    """A run state whose text follows from its tick alone."""
    return {"tick": tick, "note": "w" * (tick * 37 % 300)}


def checked_log(pairs: list[tuple[int, int]], tick: int) -> bytes:
    """The bytes of a log with these numbers and revisions."""
    entries = "".join(_texts.get(pair) or _remembered(pair) for pair in pairs)
    text = emit_section("spec", "bench") + emit_section("run_id", "1") + "experiments:\n" + entries
    return (text + emit_section("run_state", checked_state(tick))).encode()


_texts: dict[tuple[int, int], str] = {}


def _remembered(pair: tuple[int, int]) -> str:
    if len(_texts) > 20_000:
        _texts.clear()
    _texts[pair] = emit_entry(a_checked_row(*pair))
    return _texts[pair]


_PAIR = re.compile(rb"^- iteration: (\d+)\n  batch: (\d+)\n", re.MULTILINE)
_TICK = re.compile(rb"^run_state:\n  tick: (\d+)\n", re.MULTILINE)


def read_checked(data: bytes) -> tuple[list[tuple[int, int]], int] | None:
    """The numbers with revisions and the tick in a log's bytes; None, when these are not one whole version."""
    tick = _TICK.search(data)
    pairs = [(int(number), int(revision)) for number, revision in _PAIR.findall(data)]
    if tick is None or [number for number, _ in pairs] != list(range(1, len(pairs) + 1)):
        return None
    return (pairs, int(tick[1])) if data == checked_log(pairs, int(tick[1])) else None
