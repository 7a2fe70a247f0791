"""Real `kill -9` of the real command at random moments; the resumed run ends as an undisturbed one."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.toy import Toy, a_toy

pytestmark = pytest.mark.crash

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
UP = "echo $(( $(cat number.txt) + 5 )) > number.txt"
SLOW = {"harness.sh": 'sleep 0.2; printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n'}
KILLS = 10


def _killed_until_over(toy: Toy, chance: random.Random) -> int:
    """Start, kill at a random moment, and again; the last start is left alone. Gives the number of kills."""
    kills = 0
    while True:
        process = toy.start("run", str(toy.spec), "--approve-as", "me")
        try:
            code = process.wait(chance.uniform(0.3, 2.5) if kills < KILLS else 120)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            continue
        assert code == 0
        return kills


def _processes_of(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                seen = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in seen and b"pytest" not in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path, seed: int) -> None:
    """Outcomes in order, numbers once, the branch and the log agree, no process is left, the checkout untouched."""
    other = "echo seen > other.txt"
    hypotheses = [DOWN, UP, "echo nonsense > number.txt", f"{DOWN}; {other}", "true", DOWN]
    toy = a_toy(tmp_path, hypotheses, {"number.txt": "100\n", "other.txt": "1\n", **SLOW})
    before = toy.fingerprint()
    kills = _killed_until_over(toy, random.Random(seed))
    log = toy.log()
    assert toy.outcomes() == ["kept", "reverted", "error", "kept", "kept"], f"after {kills} kills"
    numbers = [e["iteration"] for e in log["experiments"]]
    assert numbers == sorted(set(numbers))
    commits = toy.repository.git("rev-list", "--reverse", "HEAD..optimize/toy").split()
    assert commits == [e["commit"] for e in log["experiments"] if e["outcome"] == "kept"]
    assert log["run_state"]["headway"]["totals"]["k"] == 4
    assert [d["description"] for d in log["run_state"]["headway"]["dropped"]] == ["true"]
    assert toy.headway("log", "check", "--json").json == []
    assert toy.fingerprint() == before
    deadline = time.monotonic() + 10
    while _processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _processes_of(tmp_path) == []


def test_a_measurement_outlives_headway_and_is_taken_up(tmp_path: Path) -> None:
    """Killed while the harness runs, the next start waits for that very run instead of measuring again."""
    harness = 'echo x >> "$COUNT"; sleep 2; printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n'
    count = tmp_path / "count"
    toy = a_toy(
        tmp_path,
        [DOWN],
        {"number.txt": "100\n", "other.txt": "1\n", "harness.sh": harness.replace('"$COUNT"', f"'{count}'")},
    )
    toy.headway("run", str(toy.spec), check=7)
    baseline = len(count.read_text().split())
    process = toy.start("run", str(toy.spec), "--approve-as", "me")
    while len(count.read_text().split()) == baseline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert toy.headway("status", "--json").json["state"] == "interrupted"
    toy.headway("resume")
    assert toy.outcomes() == ["kept"]
    assert len(count.read_text().split()) == baseline + 1


def test_an_interrupt_stops_at_once_and_says_how_to_go_on(tmp_path: Path) -> None:
    """Ctrl-C: exit 130, the log says `waiting` with the reason, and `resume` goes on."""
    toy = a_toy(tmp_path, [f"sleep 30; {DOWN}"], files={"number.txt": "100\n", "other.txt": "1\n", **SLOW})
    process = toy.start("run", str(toy.spec), "--approve-as", "me")
    while not (toy.log_path.exists() and "pending_waits:\n  - item" in toy.log_path.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert toy.log()["run_state"]["status"] == "waiting"
    assert toy.log()["run_state"]["headway"]["stop"]["reason"] == "interrupt"


def test_stop_ends_a_live_run_at_its_next_safe_point(tmp_path: Path) -> None:
    """`headway stop` while a run is live: what is under way is finished, then the run waits; resume goes on."""
    go = tmp_path / "go"
    waits = f"while [ ! -e '{go}' ]; do sleep 0.05; done; {DOWN}"
    toy = a_toy(tmp_path, [waits, UP, DOWN], {"number.txt": "100\n", "other.txt": "1\n", **SLOW})
    process = toy.start("run", str(toy.spec), "--approve-as", "me")
    while not (toy.log_path.exists() and "pending_waits:\n  - item" in toy.log_path.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    toy.headway("stop")
    go.touch()
    assert process.wait(30) == 0
    assert toy.log()["run_state"]["headway"]["stop"]["reason"] == "stop"
    assert len(toy.log()["experiments"]) < 3
    toy.headway("resume")
    assert toy.outcomes() == ["kept", "reverted", "kept"]
