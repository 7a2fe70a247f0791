"""A disk without room in the middle of a run: the log stays whole, nothing measured is lost, the way on is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.toy import FILES, HEADWAY, Said, Toy, a_toy

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
LIMITED = 'ulimit -f "$1"; shift; exec "$@"'
INSIDE = 'mount -t tmpfs -o size=6m none "$1" && shift && exec "$@"'
SCRIPT = """
import json, subprocess, sys
from pathlib import Path
from tests.store.logs import agreed

spec, state, headway = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
def run(*words):
    done = subprocess.run([*headway, *words], capture_output=True, text=True)
    return [done.returncode, done.stdout, done.stderr]
root = ["--state-root", str(state)]
log = state / "experiment-log.yaml"
said = [run("run", spec, "--approve-as", "me", *root)]
held = [row["outcome"] for row in agreed(log)["experiments"]]
said.append(run("status", *root))
(state / "fill").unlink()
said.append(run("resume", *root))
said.append(run("log", "check", "--json", *root))
document = agreed(log)
print(json.dumps([said, held, [row["outcome"] for row in document["experiments"]],
                  sorted(file.name for file in state.iterdir())]))
"""


def _limited(toy: Toy, blocks: int, *words: str) -> Said:
    """Run the command with no file larger than so many blocks of 512 bytes."""
    done = subprocess.run(
        ["sh", "-c", LIMITED, "sh", str(blocks), *HEADWAY, *words],
        cwd=toy.repository.root,
        env=dict(toy.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


def test_an_approval_that_could_not_be_written_is_taken_up_by_the_next_start(tmp_path: Path) -> None:
    """Exit 4 with the cause and the mend; the log as it was; the next command carries the approval out and says so."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), check=7)
    before = toy.log_path.read_bytes()
    blocks = len(before) // 512
    refused = _limited(toy, blocks, "approve", str(toy.spec), "--as", "me")
    assert refused.code == 4, refused
    assert "largest size allowed" in refused.err
    assert "ulimit -f" in refused.err
    assert toy.log_path.read_bytes() == before
    assert (toy.state / "experiment-log.pending.yaml").is_file()
    resumed = toy.headway("resume")
    assert "a change that could not be written before is in the log now: approval" in resumed.err + resumed.out
    assert toy.log()["approval"]["headway"]["approved_by"] == "me"
    assert toy.outcomes() == ["kept"]
    assert not (toy.state / "experiment-log.pending.yaml").exists()


def test_a_run_whose_disk_fills_stops_whole_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """BR-33: the second harness fills a small file system: exit 4, the log reads; resumed, all is in it."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs root")
    state = tmp_path / "state"
    state.mkdir()
    fill = f'if [ "$(cat number.txt)" = 90 ] && [ ! -e {tmp_path}/once ]; then touch {tmp_path}/once; '
    fill += f"dd if=/dev/zero of={state}/fill bs=512 2>/dev/null; fi\n"
    toy = a_toy(tmp_path, [DOWN, DOWN, DOWN], {**FILES, "harness.sh": fill + FILES["harness.sh"]})
    command = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", str(state), sys.executable, "-c", SCRIPT]
    shown = subprocess.run(
        [*command, str(toy.spec), str(state), json.dumps(HEADWAY)],
        cwd=toy.repository.root,
        env={**toy.environment, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in shown.stderr or "mount:" in shown.stderr:
        pytest.skip(f"no mount namespace here: {shown.stderr.strip()}")
    assert shown.returncode == 0, shown.stderr
    said, held, outcomes, names = json.loads(shown.stdout)
    filled, status, resumed, checked = said
    assert filled[0] == 4, filled
    assert "no space left" in filled[2].lower() and "mend:" in filled[2], filled
    assert not any("Traceback" in text for one in said for text in one[1:]), said
    assert held == ["kept"], (held, filled)
    assert status[0] == 0, status
    assert resumed[0] == 0, resumed
    assert outcomes == ["kept", "kept", "kept"], resumed
    assert checked[:2] == [0, "[]\n"], checked
    assert "experiment-log.pending.yaml" not in names
