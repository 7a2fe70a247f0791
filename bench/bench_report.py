"""Time and size of a report: a run of many experiments, made up, with records and diffs on disk as a run leaves them.

Bars (issue 9): 10,000 experiments in under 15 s and under 8 MB; the page's first paint under 2 s on 2 cores (told
where a Chromium is installed). The last line is one JSON object.
"""

import argparse
import http.server
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from headway.store.log import LogFile
from headway.store.paths import StateRoot

RUN = "20260101_000000"
SPEC = """name: faster-sort
description: Make the sort faster.
metric:
  primary: {type: hard, name: seconds, direction: minimize, target: 0.5}
  degenerate_gates: [{name: sorted, check: "== 1"}]
measurement: {command: python bench.py}
scope: {mutable: [src/], immutable: [bench.py]}
stopping: {plateau_iterations: 60}
"""
OUTCOMES = ("inconclusive", "inconclusive", "inconclusive", "reverted", "reverted", "error", "degenerate", "timeout")
WORDS = ("cache", "loop", "heap", "index", "buffer", "vector", "branch", "table", "merge", "split", "batch", "queue")
DIFF = "diff --git a/src/sort.py b/src/sort.py\n--- a/src/sort.py\n+++ b/src/sort.py\n@@ -10,6 +10,6 @@\n" + (
    " for item in items:\n-    total += weigh(item)\n+    total += weight[item]\n" * 12
)


def snapshot(samples: list[float]) -> dict[str, Any]:
    """Give a snapshot's row."""
    return {"aggregate": sorted(samples)[len(samples) // 2], "samples": samples}


def entry(number: int, best: float, rng: random.Random) -> dict[str, Any]:
    """Give one experiment's row; one in fifty is kept."""
    is_keep = number % 50 == 0
    outcome = "kept" if is_keep else rng.choice(OUTCOMES)
    words = " ".join(rng.choice(WORDS) for _ in range(14))
    row: dict[str, Any] = {
        "iteration": number,
        "batch": number // 4 + 1,
        "hypothesis": f"Try {words} so that the inner part does less work",
        "category": rng.choice(WORDS),
        "outcome": outcome,
    }
    commit = f"{number:040x}"
    gain = rng.uniform(0.001, 0.01) if is_keep else rng.gauss(-0.02, 0.02)
    if outcome in ("error", "timeout"):
        row["error_message"] = f"the command ended with exit code {rng.randrange(3)}: {rng.choice(WORDS)} failed"
    else:
        value = best * (1 - gain)
        sides = {
            side: {
                "metrics": {"seconds": snapshot([round(at * rng.gauss(1, 0.01), 6) for _ in range(4)])},
                "headway": {"order": "B A A B B A A B"},
            }
            for side, at in (("reference", best), ("candidate", value))
        }
        uncertainty = "method sequential, n=4, noise 1%, statistic 2.1 against boundary 3.9"
        row |= {
            "comparisons": [
                {"kind": "standalone", "reference_revision": "b" * 40, "candidate_revision": commit, **sides}
                | {"uncertainty": uncertainty, "headway": {"decision": "keep" if is_keep else "revert"}}
            ],
            "gates": {"sorted": 1},
            "gates_passed": outcome != "degenerate",
            "metrics": sides["candidate"]["metrics"],
            "objective_results": {"seconds": {"verdict": "improved" if is_keep else "inconclusive", "relative": gain}},
            "sample_count": 8,
        }
    row["changes"] = [{"file": f"src/{rng.choice(WORDS)}.py", "summary": "modified, +12 -12"}]
    row["learnings"] = f"It came to {gain:+.2%}; {words}"
    if is_keep:
        row["commit"] = commit
    told = {"estimate": gain, "low": gain - 0.01, "high": gain + 0.01}
    ours: dict[str, Any] = {"agent": "command", "k": number, "usage": {"usd": 0.12, "tokens": 4000}}
    row["headway"] = ours | ({"gain": told} if "comparisons" in row else {})
    return row


def records(number: int) -> str:
    """Give one experiment's records: a turn and eight samples."""
    start = 1767225600 + 200 * number

    def record(kind: str, after: float, **data: Any) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start + after)) + "Z"
        return json.dumps({"run_id": RUN, "iteration": number, "kind": kind, "at": at, "source": "live", "data": data})

    lines = [record("hypothesis_dispatched", 0, agent="command", batch=1, base="b" * 40)]
    lines.append(record("agent_turn_ended", 100, attempt=1, agent="command", status="completed", elapsed_seconds=100.0))
    lines.append(record("candidate_built", 101, commit=f"{number:040x}", lines_added=12, lines_removed=12))
    lines += [record("sample_taken", 110 + 10 * n, status="valid", elapsed_seconds=9.0, index=n) for n in range(8)]
    lines.append(
        record("session_ended", 195, answer={"decision": "revert", "reason": "no required objective improved"})
    )
    return "\n".join(lines) + "\n"


def make_run(root: StateRoot, many: int) -> None:
    """Write a run of so many experiments."""
    rng = random.Random(7)
    best, rows = 2.0, []
    for number in range(1, many + 1):
        rows.append(entry(number, best, rng))
        if rows[-1]["outcome"] == "kept":
            best = rows[-1]["metrics"]["seconds"]["aggregate"]
    last = next((row for row in reversed(rows) if row["outcome"] == "kept"), None)
    sections = {
        "spec": "faster-sort",
        "run_id": RUN,
        "started_at": "2026-01-01T00:00:00Z",
        "baseline": {"metrics": {"seconds": snapshot([1.98, 2.0, 2.02])}, "headway": {"commit": "b" * 40}},
        "experiments": rows,
        "best": {"iteration": last["iteration"] if last else 0, "metrics": (last or {}).get("metrics", {})},
        "run_state": {"status": "waiting", "active_seconds": 180.0 * many, "pending_waits": []},
    }
    root.root.mkdir(parents=True)
    root.spec.write_text(SPEC, encoding="utf-8")
    LogFile.create(root.log, sections)
    run = root.run(RUN)
    for number in range(1, many + 1):
        paths = run.experiment(number)
        paths.assets.mkdir(parents=True)
        paths.records.write_text(records(number), encoding="utf-8")
        (paths.assets / "diff.patch").write_text(DIFF, encoding="utf-8")


class _Paints(http.server.BaseHTTPRequestHandler):
    """Holds the page's load event back until the page has told when it was painted."""

    told: "queue.Queue[float]"

    def do_GET(self) -> None:
        if self.path.startswith("/painted/"):
            self.told.put(float(self.path.removeprefix("/painted/")))
        else:
            deadline = time.monotonic() + 30
            while self.told.empty() and time.monotonic() < deadline:
                time.sleep(0.05)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def first_paint_ms(page: Path, folder: Path) -> float | None:
    """Give when a headless Chromium first painted the page's content, in milliseconds; None where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return None
    _Paints.told = queue.Queue()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Paints)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    script = (
        "<script>new PerformanceObserver(list => { for (const e of list.getEntries()) if (e.name === "
        f"'first-contentful-paint') fetch('{here}/painted/' + e.startTime, {{mode: 'no-cors'}}); }})"
        f".observe({{type: 'paint', buffered: true}}); new Image().src = '{here}/wait';</script>"
    )
    probe = folder / "paint.html"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    probe.write_text(text.replace("</head>", f"{script}</head>"), encoding="utf-8")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'p'}"]
    command += [f"--screenshot={folder / 'paint.png'}", "--window-size=1200,900", probe.as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    server.shutdown()
    return None if _Paints.told.empty() else round(_Paints.told.get(), 1)


def main() -> None:
    """Print the figures, then the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000, help="default 10,000")
    parser.add_argument("--keep", type=Path, help="leave the page here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as scratch:
        folder = Path(scratch)
        root = StateRoot(folder / "root")
        make_run(root, options.experiments)
        page = options.keep or folder / "report.html"
        command = [sys.executable, "-m", "headway.cli.main", "report", "--state-root", str(root.root), "-o", str(page)]
        start, before = time.monotonic(), os.times()
        subprocess.run(command, check=True)
        taken, after = time.monotonic() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        figures = {
            "experiments": options.experiments,
            "report_seconds": round(taken, 2),
            "report_cpu_seconds": round(cpu, 2),
            "report_mb": round(page.stat().st_size / 1e6, 2),
            "log_mb": round(root.log.stat().st_size / 1e6, 2),
            "first_paint_ms": first_paint_ms(page, folder),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
