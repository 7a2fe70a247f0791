"""Overhead of one experiment, headway and labloop side by side in one run.

Both optimize one number in a repository of 200 files with a one-line agent and a one-line harness, one measurement
each, no sandbox: once so that every experiment is kept, once so that every one is reverted. An experiment's time is the
wall time of a run with many less that of a run with one, divided by their difference in number, so that neither tool's
start counts. Blocks of the two tools alternate, so that a busy machine hurts both: quote the ratios. Nothing is deleted
until the end: on ext4 every new file costs ten times as much for some seconds after many were deleted.

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
    repo = folder / "repo"
    a_repository(repo)
    hypotheses = "\n".join(f"  - {{description: number {i}, category: c}}" for i in range(count))
    spec = folder / "overhead.yaml"
    spec.write_text(SPEC.format(direction=goal, count=count, hypotheses=hypotheses, agent=AGENT))
    command = [str(BIN / "headway"), "run", str(spec), "--approve-as", "bench", "--quiet"]
    seconds = timed(command, repo, {**env, "XDG_CACHE_HOME": str(folder / "cache")})
    _check_count(repo, count, "kept" if goal == "maximize" else "reverted")
    return seconds


def _check_count(repo: Path, count: int, outcome: str) -> None:
    log = (repo / ".headway" / "overhead" / "experiment-log.yaml").read_text()
    found = log.count(f"  outcome: {outcome}\n")
    if found != count:
        sys.exit(f"the run should have {outcome} {count} experiments, its log says {found}")


def labloop_run(count: int, goal: str, folder: Path, env: dict[str, str]) -> float:
    """Give the wall time of labloop's loop over `count` trials in a fresh repository, its baseline aside."""
    repo = folder / "repo"
    a_repository(repo)
    common = ["--run", 'echo "metric: $(cat n.txt)"', "--metric", "metric", "--goal", goal]
    timed([str(BIN / "labloop"), "baseline", *common], repo, env)
    trials = ["--propose", AGENT, "--trials", str(count), "--sandbox", "none"]
    return timed([str(BIN / "labloop"), "run", *common, *trials], repo, env)


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


def main() -> None:
    """Measure in alternating blocks, print medians and ratios, end with one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=41, help="experiments in a run (default 41)")
    parser.add_argument("--blocks", type=int, default=3, help="alternating blocks (default 3)")
    asked = parser.parse_args()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "HEADWAY_"))}
    tools: dict[str, Run] = {"headway": headway_run}
    if importlib.util.find_spec("labloop") is None:
        print("labloop is not installed here: headway's own figures only, no ratio")
    else:
        tools["labloop"] = labloop_run
    with tempfile.TemporaryDirectory() as scratch:
        found = measured(tools, asked.blocks, asked.experiments, Path(scratch), env)
    figures: dict[str, float] = {
        f"{tool}_{outcome}_ms": round(statistics.median(values), 2) for (tool, outcome), values in found.items()
    }
    if "labloop" in tools:
        for outcome in ("revert", "keep"):
            ratio = figures[f"headway_{outcome}_ms"] / figures[f"labloop_{outcome}_ms"]
            figures[f"overhead_vs_labloop_{outcome}"] = round(ratio, 3)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
