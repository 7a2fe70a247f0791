"""Overhead of one experiment, headway and labloop side by side in one run.

Both optimize one number in a repository of 200 files with a one-line agent and a one-line harness, one measurement
each, no sandbox: once so that every experiment is kept, once so that every one is reverted. An experiment's time is the
wall time of a run with many less that of a run with one, divided by their difference in number, so that neither tool's
start counts. Blocks of the two tools alternate, so that a busy machine hurts both: quote the ratios. Nothing is deleted
until the end: on ext4 every new file costs ten times as much for some seconds after many were deleted.

Then both go on behind a log that holds 10,000 experiments already (`--logged`), which are copies of a real one.

The last line is one JSON object. Where labloop cannot be imported it says so and prints headway's figures alone.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headway.core.edits import AppendExperiment, SetSection
from headway.core.records import Entry, to_row
from headway.core.totals import recount
from headway.store.log import LogFile

Run = Callable[[int, str, Path, dict[str, str]], float]
FILES = 200
BIN = Path(sys.executable).parent
AGENT = "echo $(( $(cat n.txt) + ${HEADWAY_ITERATION:-1} )) > n.txt"
SPEC = """\
name: overhead
metric:
  primary: {{type: hard, name: value, direction: {direction}}}
  degenerate_gates:
    - {{name: ok, check: "== 1"}}
measurement:
  command: 'printf "{{\\"value\\": %s, \\"ok\\": 1}}\\n" "$(cat n.txt)"'
  timeout_seconds: 60
  stability: {{mode: stable, noise_threshold: 0.5}}
scope:
  mutable: [n.txt]
  immutable: [f1.txt]
execution: {{mode: serial}}
sandbox: none
agent:
  type: command
  command: '{agent}'
stopping: {{max_iterations: {count}, plateau_iterations: none}}
hypotheses:
{hypotheses}
"""


def a_repository(folder: Path) -> None:
    """Make a repository of 200 small files with one commit."""
    folder.mkdir()
    (folder / "n.txt").write_text("1000\n")
    for i in range(1, FILES + 1):
        (folder / f"f{i}.txt").write_text(f"{i}\n")
    (folder / ".gitignore").write_text("labloop.jsonl\n.labloop/\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "config", "user.name", "bench"], check=True)
    subprocess.run([*git, "config", "user.email", "bench@localhost"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "start"], check=True)


def timed(command: list[str], cwd: Path, env: dict[str, str]) -> float:
    """Run a command and give its wall time in seconds; it must succeed."""
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return time.perf_counter() - begun


def headway_run(count: int, goal: str, folder: Path, env: dict[str, str]) -> float:
    """Give the wall time of a whole headway run of `count` experiments in a fresh repository."""
    a_repository(folder / "repo")
    seconds = headway_on(count, goal, folder, env)
    _check_count(folder / "repo", count, "kept" if goal == "maximize" else "reverted")
    return seconds


def headway_on(count: int, goal: str, folder: Path, env: dict[str, str], first: int = 1) -> float:
    """Give the wall time of a headway run that goes on until there are `count` experiments.

    Hypotheses before number `first`, the very first aside, are left out of the spec: they were tried already.
    """
    numbers = [0, *range(first, count)]
    hypotheses = "\n".join(f"  - {{description: number {i}, category: c}}" for i in numbers)
    spec = folder / "overhead.yaml"
    spec.write_text(SPEC.format(direction=goal, count=count, hypotheses=hypotheses, agent=AGENT))
    command = [str(BIN / "headway"), "run", str(spec), "--approve-as", "bench", "--quiet"]
    return timed(command, folder / "repo", {**env, "XDG_CACHE_HOME": str(folder / "cache")})


def _check_count(repo: Path, count: int, outcome: str) -> None:
    log = (repo / ".headway" / "overhead" / "experiment-log.yaml").read_text()
    found = log.count(f"  outcome: {outcome}\n")
    if found != count:
        sys.exit(f"the run should have {outcome} {count} experiments, its log says {found}")


def labloop_run(count: int, goal: str, folder: Path, env: dict[str, str]) -> float:
    """Give the wall time of labloop's loop over `count` trials in a fresh repository, its baseline aside."""
    a_repository(folder / "repo")
    timed([str(BIN / "labloop"), "baseline", *_labloop_words(goal)], folder / "repo", env)
    return labloop_on(count, goal, folder, env)


def labloop_on(count: int, goal: str, folder: Path, env: dict[str, str]) -> float:
    """Give the wall time of `count` more trials of labloop."""
    trials = ["--propose", AGENT, "--trials", str(count), "--sandbox", "none"]
    return timed([str(BIN / "labloop"), "run", *_labloop_words(goal), *trials], folder / "repo", env)


def _labloop_words(goal: str) -> list[str]:
    return ["--run", 'echo "metric: $(cat n.txt)"', "--metric", "metric", "--goal", goal]


def headway_behind(logged: int, many: int, scratch: Path, env: dict[str, str]) -> float:
    """Give milliseconds an experiment, each reverted, behind a log that holds `logged` of them already."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    headway_run(1, "minimize", folder, env)
    path = folder / "repo" / ".headway" / "overhead" / "experiment-log.yaml"
    _grow(LogFile.open(path), logged)
    done = logged + 1
    headway_on(
        done, "minimize", folder, env, first=logged
    )  # the first start behind it writes what is derived from the log
    seconds = []
    for more in (1, many):
        done += more
        seconds.append(headway_on(done, "minimize", folder, env, first=logged))
    _check_count(folder / "repo", done, "reverted")
    return 1000 * (seconds[1] - seconds[0]) / (many - 1)


def _grow(file: LogFile, logged: int) -> None:
    """Append copies of a log's one experiment until it holds so many, with the totals that belong to them."""
    (row,) = file.tail(1)
    rows = [{**row, "iteration": n, "batch": n, "headway": {**row["headway"], "k": n}} for n in range(2, logged + 1)]
    state = file.section("run_state")
    totals = recount([Entry.model_validate(r) for r in (row, *rows)])
    state["headway"]["totals"] = {**state["headway"]["totals"], **to_row(totals)}
    for at in range(0, len(rows), 500):
        file.commit([AppendExperiment(r) for r in rows[at : at + 500]])
    file.commit([SetSection("run_state", {**state, "tick": logged})])


def labloop_behind(logged: int, many: int, scratch: Path, env: dict[str, str]) -> float:
    """Give milliseconds a trial, each reverted, behind a ledger that holds `logged` of them already."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    labloop_run(1, "minimize", folder, env)
    ledger = folder / "repo" / "labloop.jsonl"
    last = json.loads(ledger.read_text().splitlines()[-1])
    with ledger.open("a") as file:
        file.writelines(json.dumps({**last, "index": n}, sort_keys=True) + "\n" for n in range(2, logged + 1))
    seconds = [labloop_on(count, "minimize", folder, env) for count in (1, many)]
    return 1000 * (seconds[1] - seconds[0]) / (many - 1)


def per_experiment(run: Run, many: int, goal: str, scratch: Path, env: dict[str, str]) -> float:
    """Give milliseconds an experiment: a run of many less a run of one."""
    one, all_ = (run(count, goal, Path(tempfile.mkdtemp(dir=scratch)), env) for count in (1, many))
    return 1000 * (all_ - one) / (many - 1)


def measured(
    tools: dict[str, Run], blocks: int, experiments: int, scratch: Path, env: dict[str, str]
) -> dict[tuple[str, str], list[float]]:
    """Give milliseconds an experiment by tool and outcome, one value a block."""
    found: dict[tuple[str, str], list[float]] = {}
    for block in range(blocks):
        for goal, outcome in (("minimize", "revert"), ("maximize", "keep")):
            for tool, run in tools.items():
                ms = per_experiment(run, experiments, goal, scratch, env)
                found.setdefault((tool, outcome), []).append(ms)
                print(f"block {block + 1}: {tool:8s} {outcome:7s} {ms:7.1f} ms an experiment", flush=True)
    return found


def measured_behind(
    tools: dict[str, Run], asked: argparse.Namespace, scratch: Path, env: dict[str, str]
) -> dict[str, float]:
    """Give milliseconds an experiment by tool, behind a long log."""
    found = {}
    for tool, run in (("headway", headway_behind), ("labloop", labloop_behind)):
        if tool in tools:
            found[tool] = run(asked.logged, asked.experiments, scratch, env)
            print(f"behind {asked.logged}: {tool:8s} {found[tool]:7.1f} ms an experiment", flush=True)
    return found


def main() -> None:
    """Measure in alternating blocks, print medians and ratios, end with one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=41, help="experiments in a run (default 41)")
    parser.add_argument("--blocks", type=int, default=3, help="alternating blocks (default 3)")
    parser.add_argument("--logged", type=int, default=10_000, help="experiments logged already; 0: leave out")
    asked = parser.parse_args()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "HEADWAY_"))}
    tools: dict[str, Run] = {"headway": headway_run}
    if importlib.util.find_spec("labloop") is None:
        print("labloop is not installed here: headway's own figures only, no ratio")
    else:
        tools["labloop"] = labloop_run
    with tempfile.TemporaryDirectory() as scratch:
        found = measured(tools, asked.blocks, asked.experiments, Path(scratch), env)
        behind = measured_behind(tools, asked, Path(scratch), env) if asked.logged else {}
    figures: dict[str, float] = {
        f"{tool}_{outcome}_ms": round(statistics.median(values), 2) for (tool, outcome), values in found.items()
    }
    if behind:
        figures |= {f"{tool}_{asked.logged}_ms": round(ms, 2) for tool, ms in behind.items()}
        figures[f"overhead_{asked.logged}_vs_fresh"] = round(behind["headway"] / figures["headway_revert_ms"], 3)
        if "labloop" in behind:
            figures[f"overhead_{asked.logged}_vs_labloop"] = round(behind["headway"] / behind["labloop"], 3)
    if "labloop" in tools:
        for outcome in ("revert", "keep"):
            ratio = figures[f"headway_{outcome}_ms"] / figures[f"labloop_{outcome}_ms"]
            figures[f"overhead_vs_labloop_{outcome}"] = round(ratio, 3)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
