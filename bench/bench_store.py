"""The log's store beside SQLite, and beside kills, readers and an editor.

Latencies: in every round each store does each of three things once (append an experiment, replace one of the last
ten, change the sections at the end), so that a busy machine hurts all alike; medians; quote the ratios. SQLite commits
the same bytes in WAL mode with synchronous=FULL and reads them back; headway emits, writes, flushes, and compares what
it reads by name. Whole copies are measured in rounds of their own, since what they write slows down whatever follows.
Resume: opening a log of 10,000 experiments beside loading it whole with a C loader (PyYAML's CSafeLoader).

The last line is one JSON object. `update_...` is the worse of a recent experiment and the sections.
"""

import argparse
import gc
import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from store_samples import a_log, an_entry, opened, tail_sections
from store_torture import kills, race, readers

from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
from headway.store.emit import emit_entry, emit_section
from headway.store.strategies import StrategyName

OPERATIONS = ("append", "recent", "sections")
Medians = dict[tuple[str, str], float]


class Headway:
    """The log."""

    def __init__(self, path: Path, way: StrategyName | None) -> None:
        self.log = opened(path, way)
        self.sections(0)  # the first commit of a process makes the spare copy

    def append(self, row: dict[str, Any]) -> None:
        self.log.commit([AppendExperiment(row)])

    def recent(self, row: dict[str, Any]) -> None:
        self.log.commit([ReplaceExperiment(row["iteration"], row)])

    def sections(self, tick: int) -> None:
        self.log.commit([SetSection(name, value) for name, value in tail_sections(tick).items()])


class Sqlite:
    """The same texts as rows of a database."""

    def __init__(self, path: Path, count: int, kib: float) -> None:
        self.db = sqlite3.connect(path.with_suffix(".db"), isolation_level=None)
        for line in ("pragma journal_mode=WAL", "pragma synchronous=FULL", "create table t(k primary key, v)"):
            self.db.execute(line)
        self.db.execute("begin")
        texts = ((number, emit_entry(an_entry(number, kib)).encode()) for number in range(1, count + 1))
        self.db.executemany("insert into t values(?, ?)", texts)
        self.db.execute("commit")

    def append(self, row: dict[str, Any]) -> None:
        self._put({row["iteration"]: emit_entry(row).encode()})

    def recent(self, row: dict[str, Any]) -> None:
        self.append(row)

    def sections(self, tick: int) -> None:
        self._put({name: emit_section(name, value).encode() for name, value in tail_sections(tick).items()})

    def _put(self, texts: dict[Any, bytes]) -> None:
        self.db.execute("begin immediate")
        self.db.executemany("insert or replace into t values(?, ?)", texts.items())
        self.db.execute("commit")
        for key, text in texts.items():
            assert self.db.execute("select v from t where k=?", (key,)).fetchone()[0] == text


def timed(work: Callable[[Any], object], argument: Any) -> float:
    """Milliseconds that something takes."""
    begun = time.perf_counter()
    work(argument)
    return 1000 * (time.perf_counter() - begun)


def measured(folder: Path, cases: Mapping[str, tuple[StrategyName | None, int, float]], rounds: int) -> Medians:
    """The median milliseconds of each operation of each case, and of SQLite at its size."""
    stores: dict[str, tuple[Any, int, float]] = {}
    for name, (way, count, kib) in cases.items():
        path = a_log(folder / name / "experiment-log.yaml", count, kib)
        stores[name] = Headway(path, way), count, kib
        stores[f"{name} sqlite"] = Sqlite(path, count, kib), count, kib
    found: dict[tuple[str, str], list[float]] = {}
    gc.collect()
    gc.freeze()
    for round_ in range(1, rounds + 1):
        for operation in OPERATIONS:
            for name, (store, count, kib) in stores.items():
                row = an_entry(count + round_ - (round_ * 3 % 10 if operation == "recent" else 0), kib)
                if operation == "recent":
                    row["outcome"] = f"round {round_}"
                ms = timed(getattr(store, operation), round_ if operation == "sections" else row)
                found.setdefault((name, operation), []).append(ms)
    medians = {key: statistics.median(values) for key, values in found.items()}
    for name in stores:
        row_of = "  ".join(f"{operation} {medians[name, operation]:7.3f}" for operation in OPERATIONS)
        print(f"{name:22s} ms  {row_of}", flush=True)
    shutil.rmtree(folder)
    return medians


def over(found: Medians, name: str, operation: str) -> float:
    """How many times as long as SQLite."""
    return found[name, operation] / found[f"{name} sqlite", operation]


def latencies(folder: Path, rounds: int) -> dict[str, float]:
    """The ratios of both ways to commit."""
    fits = {"100": (None, 100, 1.5), "10000": (None, 10_000, 1.5), "10000 x 8 KiB": (None, 10_000, 8.0)}
    found = measured(folder / "fits", fits, rounds)
    ways = {f"copy {count}": (StrategyName.COPY, count, 1.5) for count in (1_000, 10_000)}
    copied = measured(folder / "copy", ways, rounds)
    return {
        "append_10000_vs_sqlite_wal": over(found, "10000", "append"),
        "append_10000_vs_100": found["10000", "append"] / found["100", "append"],
        "update_10000_vs_sqlite_wal": max(over(found, "10000", "recent"), over(found, "10000", "sections")),
        "append_8k_10000_vs_sqlite_wal": over(found, "10000 x 8 KiB", "append"),
        "copy_append_1000_vs_sqlite_wal": over(copied, "copy 1000", "append"),
        "copy_append_10000_vs_sqlite_wal": over(copied, "copy 10000", "append"),
    }


def resume(folder: Path, rounds: int = 3) -> dict[str, float]:
    """Opening a log of 10,000 beside loading all of it."""
    path = a_log(folder / "resume" / "experiment-log.yaml", 10_000, 1.5)
    opening, loading = [], []
    for _ in range(rounds):
        opening += [timed(opened, path) for _ in range(3)]
        loading.append(timed(lambda path: yaml.load(path.read_bytes(), yaml.CSafeLoader), path))
        gc.collect()
    print(f"open {statistics.median(opening):.1f} ms, full load {statistics.median(loading):.0f} ms", flush=True)
    return {"resume_10000_vs_full_load": statistics.median(opening) / statistics.median(loading)}


def main() -> None:
    """Measure, torture, end with one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="rounds of the latencies (default 60)")
    parser.add_argument("--kills", type=int, default=500, help="processes to kill (default 500)")
    parser.add_argument("--read-seconds", type=float, default=10, help="seconds with readers (default 10)")
    parser.add_argument("--race-seconds", type=float, default=0, help="seconds with an editor (default 0: left out)")
    parser.add_argument("--folder", type=Path, help="where the files go, for another file system (default: temporary)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        report = opened(a_log(folder / "probe" / "experiment-log.yaml", 1, 1.5)).strategy
        print(f"commits here go by {report}", flush=True)
        figures: dict[str, Any] = {"strategy": str(report.name)}
        figures |= {key: round(value, 3) for key, value in latencies(folder, asked.rounds).items()}
        figures |= {key: round(value, 4) for key, value in resume(folder).items()}
        figures |= kills(folder / "kills" / "experiment-log.yaml", asked.kills)
        figures |= readers(folder / "readers" / "experiment-log.yaml", asked.read_seconds)
        if asked.race_seconds:
            figures |= race(folder / "race" / "experiment-log.yaml", asked.race_seconds)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
