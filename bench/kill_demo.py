"""Kill the demo with SIGKILL at random moments, resume it each time, and look for anything lost, doubled or left over.

Each kill hits the headway process itself; its supervisor and jobs are left to their own devices, as after the
kernel's out-of-memory killer. The last line is one JSON object.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

HEADWAY = str(Path(sys.executable).parent / "headway")


def main() -> None:
    """Run the demo under fire and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=8.0, help="longest time before a kill, in seconds")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="headway-kill-") as name:
        folder = Path(name).resolve()
        state, env = folder / "state", {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        place = ["--into", str(folder / "demo"), "--state-root", str(state)]
        start = [HEADWAY, "demo", "textindex", *place]
        resume = [HEADWAY, "resume", "--repo", str(folder / "demo" / "repo"), "--state-root", str(state)]
        kills = _under_fire(start, resume, env, chance, asked.kills, asked.longest, state)
        found = _examine(state, folder / "demo" / "repo")
        time.sleep(1)
        left = _leftovers(str(folder))
        shutil.rmtree(folder / "cache", ignore_errors=True)
    print(json.dumps({"kills": kills, **found, "leftover_processes": len(left)}))


def _under_fire(
    start: list[str],
    resume: list[str],
    env: dict[str, str],
    chance: random.Random,
    wanted: int,
    longest: float,
    state: Path,
) -> int:
    """Start and kill until enough kills hit, then let the run end; give the number of kills."""
    kills = 0
    while True:
        begun = (state / "experiment-log.yaml").exists() and "approval:" in (state / "experiment-log.yaml").read_text()
        process = subprocess.Popen(
            resume if begun else start, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            out, _ = process.communicate(timeout=chance.uniform(0.3, longest) if kills < wanted else 300)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            print(f"kill {kills}: {_outcomes(state)}", flush=True)
            continue
        if process.returncode != 0:
            sys.exit(f"a resume ended with {process.returncode}:\n{out.decode(errors='replace')[-3000:]}")
        return kills


def _outcomes(state: Path) -> str:
    path = state / "experiment-log.yaml"
    log: Any = YAML(typ="safe").load(path) if path.exists() else {}
    return " ".join(f"{e['iteration']}:{e['outcome']}" for e in log.get("experiments") or ())


def _examine(state: Path, repo: Path) -> dict[str, Any]:
    """Compare log, branch and folders at the end."""
    log: Any = YAML(typ="safe").load(state / "experiment-log.yaml")
    entries = log["experiments"]
    numbers = [e["iteration"] for e in entries]
    kept = [e["commit"] for e in entries if e["outcome"] in ("kept", "runner_up_kept")]
    git = ["git", "-C", str(repo)]
    base = log["baseline"]["headway"]["commit"]
    listed = subprocess.run(
        [*git, "rev-list", "--reverse", f"{base}..optimize/textindex"], check=True, capture_output=True, text=True
    )
    commits = listed.stdout.split()
    patches = [e["hypothesis"] for e in entries]
    check = subprocess.run(
        [HEADWAY, "log", "check", str(state / "experiment-log.yaml"), "--json"], check=False, capture_output=True
    )
    return {
        "status": log["run_state"]["status"],
        "experiments": len(entries),
        "kept": len(kept),
        "duplicate_numbers": len(numbers) - len(set(numbers)),
        "duplicate_hypotheses": len(patches) - len(set(patches)),
        "not_final": sum(e["outcome"] in ("measured", "promising") for e in entries),
        "commits_without_entry": len([c for c in commits if c not in kept]),
        "kept_without_commit": len([c for c in kept if c not in commits]),
        "log_check_exit": check.returncode,
    }


def _leftovers(text: str) -> list[int]:
    """Give the processes whose command line or environment names the scratch folder."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            seen = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in seen:
            found.append(int(folder.name))
    return found


if __name__ == "__main__":
    main()
