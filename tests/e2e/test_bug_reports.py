"""Situations from public bug reports, each shown by a whole run; a docstring begins with the report's number.

Reports that a lower test shows are not repeated here: the tests beside the code they are about name their number too.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.toy import FILES, Toy, a_toy

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
UP = "echo $(( $(cat number.txt) + 5 )) > number.txt"
PRINT = 'printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n'
DYING = """
import os, signal, sys
from headway.store.records import RecordFile
moment, kind, number = sys.argv.pop(1).split()
write = RecordFile.write

def dies(at, record):
    if (at, record["kind"], record["iteration"]) == (moment, kind, int(number)):
        os.kill(os.getpid(), signal.SIGKILL)

def dying(self, record):
    dies("before", record)
    written = write(self, record)
    dies("behind", record)
    return written

RecordFile.write = dying
from headway.cli.main import entry
entry()
"""


def killed(toy: Toy, moment: str) -> None:
    """Run the toy until headway is killed before or behind the writing of one kind of fact of one experiment."""
    words = [sys.executable, "-c", DYING, moment, "run", str(toy.spec), "--approve-as", "me"]
    done = subprocess.run(
        words, cwd=toy.repository.root, env=dict(toy.environment), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def until(claim: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for a claim to come true."""
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def counting(count: Path) -> dict[str, str]:
    """Give files whose harness notes each of its runs."""
    return {**FILES, "harness.sh": f"echo x >> '{count}'\n{PRINT}"}


def runs_of(count: Path) -> int:
    """Say how often the harness ran."""
    return len(count.read_text().split())


KILLS = {
    "before agent_turn_ended 2": "the agent's turn has not ended",
    "behind candidate_built 2": "a candidate is built",
    "before sample_taken 2": "a measurement has ended that the log does not hold yet",
    "before session_ended 2": "1 sample taken",
    "behind integration_started 2": "its integration has begun",
    "before candidate_integrated 2": "its integration has begun",
    "before experiment_ended 2": "decided: revert",
}


@pytest.mark.parametrize("moment", KILLS)
def test_a_killed_experiment_is_named_and_resumed_to_one_state(tmp_path: Path, moment: str) -> None:
    """BR-18, BR-48: status and resume say how far it had come; nothing measured is lost or counted twice."""
    kept = moment != "before experiment_ended 2"
    toy = a_toy(tmp_path, [DOWN, DOWN if kept else UP], counting(tmp_path / "count"))
    before = toy.fingerprint()
    killed(toy, moment)
    measured = runs_of(tmp_path / "count")
    status = toy.headway("status", "--json").json
    assert status["state"] == "interrupted"
    assert [p["iteration"] for p in status["phase"]] == [2]
    assert KILLS[moment] in status["phase"][0]["stage"]
    assert KILLS[moment] in toy.headway("resume").err
    log = toy.log()
    assert toy.outcomes() == ["kept", "kept" if kept else "reverted"]
    assert [e["iteration"] for e in log["experiments"]] == [1, 2]
    assert log["run_state"]["headway"]["totals"]["k"] == 2
    kept_commits = [e["commit"] for e in log["experiments"] if e["outcome"] == "kept"]
    assert toy.repository.git("rev-list", "--reverse", "HEAD..optimize/toy").split() == kept_commits
    assert runs_of(tmp_path / "count") == 3 + 2, f"{measured} before the resume"
    assert toy.fingerprint() == before
    assert toy.headway("log", "check", "--json").json == []


def test_a_marker_lies_where_no_set_up_cleans(tmp_path: Path) -> None:
    """BR-48: killed with the marker written and no entry, the next start keeps the marker and measures nothing."""
    toy = a_toy(tmp_path, [DOWN], counting(tmp_path / "count"))
    killed(toy, "before sample_taken 1")
    (marker,) = toy.state.glob("runs/*/experiments/exp0001/result.yaml")
    text, measured = marker.read_bytes(), runs_of(tmp_path / "count")
    assert toy.log()["experiments"] == []
    assert not list((tmp_path / "cache").rglob("result.yaml"))
    toy.headway("resume")
    assert toy.outcomes() == ["kept"]
    assert marker.read_bytes() == text
    assert runs_of(tmp_path / "count") == measured


def test_a_resume_that_dies_at_once_loses_nothing(tmp_path: Path) -> None:
    """BR-20: five experiments, killed; resumed and killed within a second; the third start still has all five."""
    toy = a_toy(tmp_path, [DOWN, UP, DOWN, f"{UP}; echo 7 > other.txt", DOWN, DOWN], counting(tmp_path / "count"))
    killed(toy, "behind hypothesis_dispatched 6")
    five, measured = toy.log()["experiments"], runs_of(tmp_path / "count")
    assert len(five) == 5
    for seconds in (0.2, 0.5):
        process = toy.start("resume")
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert toy.log()["experiments"][:5] == five
    toy.headway("resume")
    assert toy.log()["experiments"][:5] == five
    assert toy.outcomes()[5:] == ["kept"]
    assert runs_of(tmp_path / "count") == measured + 1
    assert len(list(toy.state.glob("runs/*"))) == 1


@pytest.mark.parametrize("where", ["turn", "set-up", "measurement"])
def test_a_poison_experiment_is_not_tried_without_end(tmp_path: Path, where: str) -> None:
    """BR-22: what kills headway or its own keeper again and again becomes an error, and the run goes on."""
    pids = tmp_path / "pid"
    client = f"kill -9 $(cat '{pids}'); sleep 20"
    agent = f"if [ $HEADWAY_ITERATION = 1 ] && [ {where} = turn ]; then {client}; fi"
    agent += '; cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"'
    keeper = "kill -9 $(cut -d ' ' -f4 /proc/$PPID/stat); sleep 20"
    harness = f'if [ "$(cat other.txt)" = poison ]; then {keeper}; fi\n{PRINT}'
    poison = "true" if where == "turn" else "echo poison > other.txt"
    if where != "measurement":
        harness = PRINT
    toy = a_toy(
        tmp_path,
        [poison, DOWN],
        {**FILES, "harness.sh": harness},
        agent={"type": "command", "command": agent, "max_repairs": 0},
        measurement={"setup_command": f"if grep -q poison other.txt && [ {where} = set-up ]; then {client}; fi"},
    )
    toy.headway("run", str(toy.spec), check=7)
    deaths = 0
    while True:
        process = toy.start("run", str(toy.spec), "--approve-as", "me")
        pids.write_text(str(process.pid))
        code = process.wait(60)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert toy.headway("status", "--json").json["state"] == "interrupted"
        deaths += 1
        assert deaths < 5, "it is tried without end"
    assert toy.outcomes() == ["error", "kept"]
    assert "killed" in toy.log()["experiments"][0]["error_message"]


def test_one_failing_child_of_a_batch_costs_the_others_nothing(tmp_path: Path) -> None:
    """BR-28, BR-25: of four at once the second raises; three results and one error are logged, four costs counted."""
    pay = 'echo \'{"usd": 0.25, "tokens": 10}\' > "$HEADWAY_RESULT"; cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"'
    toy = a_toy(
        tmp_path,
        [DOWN, "echo nonsense > number.txt", UP, "echo 93 > number.txt"],
        execution={"mode": "parallel", "max_concurrent": 4},
        agent={"type": "command", "command": pay, "max_repairs": 0},
        max_runner_up_merges_per_batch=0,
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    assert toy.outcomes() == ["not_selected", "error", "reverted", "kept"]
    assert {e["batch"] for e in toy.log()["experiments"]} == {1}
    assert [e["headway"]["usage"]["usd"] for e in toy.log()["experiments"]] == [0.25] * 4
    assert toy.log()["best"]["total_run_cost_usd"] == 1.0


def test_a_crashed_agent_of_a_batch_costs_the_others_nothing(tmp_path: Path) -> None:
    """BR-28: the second agent's program fails; its hypothesis comes back, its cost counts, the others stand."""
    pay = 'echo \'{"usd": 0.25}\' > "$HEADWAY_RESULT"; cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"'
    toy = a_toy(
        tmp_path,
        [DOWN, "exit 9", UP, "echo 93 > number.txt"],
        execution={"mode": "parallel", "max_concurrent": 4},
        agent={"type": "command", "command": pay, "max_repairs": 0},
        max_runner_up_merges_per_batch=0,
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    assert toy.outcomes() == ["not_selected", "reverted", "kept"]
    assert toy.log()["best"]["total_run_cost_usd"] == 1.0
    waiting = [h["description"] for h in toy.log()["hypothesis_backlog"]]
    assert "exit 9" in waiting


def test_a_shared_file_that_goes_missing_is_no_experiments_fault(tmp_path: Path) -> None:
    """BR-51: ignored files are copied; a missing one stops the run by name before and within it, and scores nothing."""
    harness = f'test "$(cat .env)" = secret || exit 1\ntest -f data/big || exit 1\n{PRINT}'
    toy = a_toy(
        tmp_path,
        [DOWN, DOWN],
        {**FILES, "harness.sh": harness, ".gitignore": ".env\ndata/\n"},
        parallel={"shared_files": [".env", "data"]},
    )
    toy.repository.write({".env": "secret\n"})
    for words in (("check", str(toy.spec)), ("run", str(toy.spec), "--approve-as", "me")):
        said = toy.headway(*words, check=1)
        assert "`data` does not exist" in said.err
    toy.repository.write({"data/big": "1\n"})
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    (toy.repository.root / ".env").unlink()
    said = toy.headway("resume", check=1)
    assert "`.env` does not exist" in said.err
    assert toy.outcomes() == ["kept"]
    assert toy.log()["run_state"]["status"] == "blocked"
    assert ".env" in toy.headway("status").out
    toy.repository.write({".env": "secret\n"})
    toy.headway("resume")
    assert toy.outcomes() == ["kept", "kept"]


def test_a_baseline_that_failed_is_measured_anew_once_it_is_mended(tmp_path: Path) -> None:
    """BR-51, BR-18: a harness that lacked something, or a commit that fails, does not stay failed after the mend."""
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": f"test -e '{tmp_path}/tool' || exit 3\n{PRINT}"})
    assert "exit code 3" in toy.headway("run", str(toy.spec), check=4).err
    (tmp_path / "tool").touch()
    toy.headway("run", str(toy.spec), check=7)
    other = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": "exit 3\n"}, name="other")
    assert "exit code 3" in other.headway("run", str(other.spec), check=4).err
    other.repository.write({"harness.sh": PRINT})
    other.repository.commit("mended")
    other.headway("run", str(other.spec), check=7)
    assert other.log()["baseline"]["headway"]["commit"] == other.repository.head


def test_locks_of_a_dead_git_are_named_and_fail_no_experiment(tmp_path: Path) -> None:
    """BR-54: an index lock hinders nothing; a lock on the branch stops the run by name, and the keep comes later."""
    toy = a_toy(tmp_path, [DOWN])
    (toy.repository.root / ".git" / "index.lock").touch()
    toy.headway("run", str(toy.spec), check=7)
    lock = toy.repository.root / ".git" / "refs" / "heads" / "optimize" / "toy.lock"
    lock.touch()
    said = toy.headway("run", str(toy.spec), "--approve-as", "me", check=4)
    assert f"rm '{lock}'" in said.err
    assert "then try again" in said.err
    assert lock.exists()
    assert toy.outcomes() == ["measured"]
    status = toy.headway("status", "--json").json
    assert status["state"] == "blocked"
    assert str(lock) in status["next_action"]["why"]
    lock.unlink()
    toy.headway("resume")
    assert toy.outcomes() == ["kept"]
    assert (toy.repository.root / ".git" / "index.lock").exists()


def test_a_timeout_ends_on_time_and_its_wall_time_is_logged(tmp_path: Path) -> None:
    """BR-56, BR-58: 60 s of sleep under a limit of 1 s; what was left running is ended and reported."""
    harness = f'if [ "$(cat other.txt)" = hang ]; then sleep 61 & setsid sleep 62 & sleep 60; fi\n{PRINT}'
    left = f'if [ "$(cat other.txt)" = left ]; then setsid sleep 63 & sleep 0.3; fi\n{harness}'
    toy = a_toy(
        tmp_path,
        ["echo hang > other.txt", f"echo left > other.txt; {DOWN}"],
        {**FILES, "harness.sh": left},
        measurement={"timeout_seconds": 1},
    )
    begun = time.monotonic()
    said = toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert time.monotonic() - begun < 20
    assert toy.outcomes() == ["timeout", "kept"]
    assert "longer than 1 s" in toy.log()["experiments"][0]["error_message"]
    assert "ended after 1." in toy.log()["experiments"][0]["error_message"]
    shown = toy.headway("show", "1", "--json").json
    (sample,) = [r["data"] for r in shown["records"] if r["kind"] == "sample_taken"]
    assert 1 <= sample["elapsed_seconds"] < 3
    assert "sleep 63" in toy.headway("show", "2").out
    assert "sleep 63" in said.err


INVALID = ["NaN", "Infinity", "-Infinity", "1e999", "null", '\\"\\"', '\\"12ms\\"', "true"]


def test_what_is_no_number_is_a_final_error_that_shows_the_text(tmp_path: Path) -> None:
    """BR-63, BR-65: each ends as `error`, names what stood there, and touches neither the best nor the noise."""
    hypotheses = [f'printf %s "{text}" > number.txt' for text in INVALID]
    toy = a_toy(
        tmp_path,
        hypotheses,
        agent={"type": "command", "command": 'cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"', "max_repairs": 0},
        stopping={"max_consecutive_failures": 100},
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    log = toy.log()
    assert toy.outcomes() == ["error"] * len(INVALID)
    for entry, text in zip(log["experiments"], INVALID, strict=True):
        assert text.replace("\\", "") in entry["error_message"], entry["error_message"]
        assert "metrics" not in entry
    assert log["best"]["iteration"] == 0
    assert log["run_state"]["pending_waits"] == []


def test_output_that_is_mixed_with_everything_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """BR-69, BR-67: bars, colours, wrong bytes, 200 MB of log, JSON in stderr; both of two values are told."""
    harness = r"""
printf '\r 40%%|####  |\r100%%|######|\n\033[31mwarning\033[0m \377\376\n'
head -c 209715200 /dev/zero | tr '\0' x
printf '\n{"value": 1, "ok": 1}\n' >&2
printf '\n{"value": 7, "ok": 1}\nmore\n{\n  "value": %s,\n  "ok": 1,\n  "runtime_ms": 9000\n}\n' "$(cat number.txt)"
"""
    toy = a_toy(tmp_path, [], {**FILES, "harness.sh": harness})
    script = "import re, sys; from pathlib import Path; from headway.cli.main import entry\ntry: entry()\n"
    script += "finally:\n said = Path('/proc/self/status').read_text()\n"
    script += " print(re.search(r'VmHWM:\\s+(\\d+)', said)[1], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, "check", str(toy.spec), "--json"],
        cwd=toy.repository.root,
        env=dict(toy.environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["metrics"] == {"value": 100}
    assert any("7 and 100" in note for note in answer["notes"])
    assert int(done.stderr.split()[-1]) < 200_000, "KB of memory"


def test_a_harness_that_reads_the_users_checkout_is_told(tmp_path: Path) -> None:
    """BR-71: a command that names the checkout is warned of; values that no candidate ever changes are flagged."""
    toy = a_toy(tmp_path)
    other = "echo {} > other.txt"
    toy.write_spec(
        measurement={"command": f"cd '{toy.repository.root}' && sh harness.sh"},
        hypotheses=[{"description": other.format(n), "category": f"c{n}"} for n in range(5, 8)],
    )
    for words in (("check", str(toy.spec)), ("run", str(toy.spec), "--approve-as", "me")):
        said = toy.headway(*words)
        assert "names your checkout" in said.out + said.err
    assert toy.outcomes() == ["inconclusive"] * 3
    assert any("same value as the baseline" in notice for notice in toy.headway("status", "--json").json["notices"])
