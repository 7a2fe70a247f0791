"""The validity gate of CP-1 and `check --aa`, by whole runs: what a harness can be caught at, and what it costs."""

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.toy import FILES, Said, Toy, a_toy

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
PATCH = "--- a/number.txt\n+++ b/number.txt\n@@ -1 +1 @@\n-100\n+{}\n"
EMPTIED = "--- a/number.txt\n+++ b/number.txt\n@@ -1 +0,0 @@\n-100\n"
SEPARATES, TRIVIAL, MOVES = "separates_known_good_from_bad", "rejects_trivial_shortcut", "known_bad_moves_metric"
SOLVE = "def solve():\n    return 100\n"
IN_PROCESS = 'import json\nfrom solve import solve\nprint(json.dumps({"value": solve(), "ok": 1}))\n'
IN_A_CHILD = """import json, subprocess, sys
code = "from solve import solve; print(solve())"
answer = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True).stdout
print(json.dumps({"value": int(answer), "ok": 1}))
"""


def exemplars(folder: Path, **patches: str) -> dict[str, Any]:
    """Write patches beside the spec and give the spec's section that names them: `known_bad="..."`."""
    for kind, text in patches.items():
        (folder / f"{kind}.patch").write_text(text)
    return {kind: [{"patch": f"{kind}.patch", "note": f"a {kind} one"}] for kind in patches}


def a_python_toy(folder: Path, harness: str, files: Mapping[str, str] | None = None, **changes: Any) -> Toy:
    """Build a toy whose candidate is a Python module."""
    return a_toy(
        folder,
        ["sed -i s/100/95/ solve.py"],
        {"solve.py": SOLVE, "harness.py": harness, **(files or {})},
        measurement={"command": "python3 -B harness.py"},
        scope={"mutable": ["solve.py"], "immutable": ["harness.py"]},
        **changes,
    )


def validation_of(toy: Toy) -> dict[str, Any]:
    """Read the gate's own file."""
    (path,) = toy.state.glob("runs/*/harness-validation.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def probe(validation: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Give one probe of a record of the gate."""
    (found,) = [p for p in validation["probes"] if p["name"] == name]
    return dict(found)


def refused(toy: Toy, *words: str) -> Said:
    """Run to a failed gate: exit 4, the file is there, and no log."""
    said = toy.headway("run", str(toy.spec), *words, check=4)
    assert not toy.log_path.exists()
    return said


def test_a_harness_that_tells_good_from_bad_passes_and_every_probe_is_recorded(tmp_path: Path) -> None:
    """Known-good above known-bad, trivial not rewarded: the log holds inputs and values of every probe."""
    named = exemplars(tmp_path, known_good=PATCH.format(90), known_bad=PATCH.format(150), trivial=EMPTIED)
    toy = a_toy(tmp_path, [DOWN], exemplars=named)
    before = toy.fingerprint()
    toy.headway("run", str(toy.spec), check=7)
    validation = toy.log()["harness_validation"]
    assert validation == validation_of(toy)
    assert (validation[SEPARATES], validation[TRIVIAL]) == (True, True)
    separated = probe(validation, SEPARATES)
    assert separated["observed"]["known_good-1"]["values"] == [90]
    assert separated["observed"]["known_bad-1"]["values"] == [150]
    assert separated["inputs"]["worse"][0]["note"] == "a known_bad one"
    assert probe(validation, TRIVIAL)["observed"]["trivial-1"]["came"] == "failed"
    assert probe(validation, MOVES)["passed"] is True
    assert validation["headway"] == {"forgeable": None, "forged_by": [], "failed": []}
    assert (toy.state / "runs" / toy.log()["run_id"] / "experiments/exp0000/assets/probe-known_bad-1.patch").is_file()
    assert toy.fingerprint() == before
    assert [f["severity"] for f in toy.headway("log", "check", "--json").json] == ["info"]  # no approval yet


def test_without_exemplars_their_probes_are_null(tmp_path: Path) -> None:
    """What was not run is null, never passed, and nothing more is measured than the baseline."""
    count = tmp_path / "count"
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": f"echo x >> '{count}'\n{FILES['harness.sh']}"})
    toy.headway("run", str(toy.spec), check=7)
    validation = toy.log()["harness_validation"]
    assert (validation[SEPARATES], validation[TRIVIAL]) == (None, None)
    assert validation["calibration"] == "not_applicable"
    assert probe(validation, "false_keeps")["observed"]["kept"] == 0
    assert len(count.read_text().split()) == 3


def test_a_harness_that_reads_another_checkout_is_found(tmp_path: Path) -> None:
    """BR-71: a known-bad edit must move the metric; no agent is paid, and `check` says the same."""
    elsewhere = tmp_path / "repo" / "number.txt"
    files = {**FILES, "harness.sh": f'printf \'{{"value": %s, "ok": 1}}\\n\' "$(cat {elsewhere})"\n'}
    toy = a_toy(tmp_path, [DOWN], files, exemplars=exemplars(tmp_path, known_bad=PATCH.format(150)))
    said = refused(toy, "--approve-as", "me")
    assert MOVES in said.err and "reads another checkout" in said.err
    assert probe(validation_of(toy), MOVES)["observed"]["known_bad-1"]["values"] == [100]
    checked = toy.headway("check", str(toy.spec), "--json", check=4)
    assert MOVES in checked.json["failed_probes"]
    assert probe(checked.json["harness_validation"], MOVES)["passed"] is False
    assert "would stop at the validity gate" in toy.headway("check", str(toy.spec), check=4).out


def test_a_harness_that_rewards_empty_output_is_found(tmp_path: Path) -> None:
    """The fewest bytes are those of an empty file: trivial output scores above the untouched code."""
    files = {**FILES, "harness.sh": 'printf \'{"value": %s, "ok": 1}\\n\' "$(wc -c < number.txt)"\n'}
    toy = a_toy(tmp_path, [DOWN], files, exemplars=exemplars(tmp_path, trivial=EMPTIED))
    said = refused(toy)
    assert TRIVIAL in said.err and "trivial-1 scores 0" in said.err
    assert validation_of(toy)[TRIVIAL] is False


def test_a_harness_that_scores_known_bad_above_known_good_is_found(tmp_path: Path) -> None:
    """The values of both sides are told."""
    named = exemplars(tmp_path, known_good=PATCH.format(150), known_bad=PATCH.format(90))
    toy = a_toy(tmp_path, [DOWN], exemplars=named)
    assert "known_bad-1 scores 90, and known_good-1 only 150" in refused(toy).err
    assert validation_of(toy)["headway"]["failed"] == [SEPARATES]


@pytest.mark.parametrize("name", [SEPARATES, "Ada"])
def test_a_failed_gate_is_waived_by_name_without_measuring_again(tmp_path: Path, name: str) -> None:
    """A probe's own name, or a person's: the waiver stands in the probe, and holds for the rest of the run."""
    count = tmp_path / "count"
    files = {**FILES, "harness.sh": f"echo x >> '{count}'\n{FILES['harness.sh']}"}
    toy = a_toy(tmp_path, [DOWN], files, exemplars=exemplars(tmp_path, known_bad=PATCH.format(90)))
    assert f"--waive-validity {SEPARATES}" in refused(toy).err
    measured = len(count.read_text().split())
    said = toy.headway("run", str(toy.spec), "--waive-validity", name, check=7)
    assert f"waived ({name})" in said.err
    assert len(count.read_text().split()) == measured
    validation = toy.log()["harness_validation"]
    assert validation[SEPARATES] is False
    assert probe(validation, SEPARATES)["waiver"] == name
    assert any(f"waived ({name})" in notice for notice in toy.headway("status", "--json").json["notices"])


def test_a_slip_in_a_probes_name_waives_nothing(tmp_path: Path) -> None:
    """A name that is nearly a probe's is refused, with the right one."""
    toy = a_toy(tmp_path, [DOWN])
    said = toy.headway("run", str(toy.spec), "--waive-validity", "separates_known_good", check=1)
    assert f"did you mean `{SEPARATES}`" in said.err


def test_a_waiver_of_the_calibration_stands_in_the_log_verbatim(tmp_path: Path) -> None:
    """`--waive-calibration TEXT` fills `waiver`."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), "--waive-calibration", "Ada, on Monday: no labels yet", check=7)
    validation = toy.log()["harness_validation"]
    assert (validation["calibration"], validation["waiver"]) == ("waived", "Ada, on Monday: no labels yet")


def test_a_failed_gate_is_run_anew_once_its_cause_is_mended_outside(tmp_path: Path) -> None:
    """What the harness reads may lie outside the repository: the next start measures again, and keeps what failed."""
    elsewhere = tmp_path / "where"
    elsewhere.write_text("100\n")
    files = {**FILES, "harness.sh": f'printf \'{{"value": %s, "ok": 1}}\\n\' "$(cat $(cat {elsewhere}))"\n'}
    other = tmp_path / "other-number"
    other.write_text("100\n")
    elsewhere.write_text(f"{other}\n")
    toy = a_toy(tmp_path, [DOWN], files, exemplars=exemplars(tmp_path, known_bad=PATCH.format(150)))
    refused(toy)
    elsewhere.write_text("number.txt\n")
    toy.headway("run", str(toy.spec), check=7)
    assert list(toy.state.glob("runs/*/experiments/exp0000/probes-failed-1/known_bad-1.json"))


def test_an_exemplar_is_a_commit_too_and_keeps_only_what_a_candidate_could_change(tmp_path: Path) -> None:
    """A commit of the user's; its edit of the grader is left out and told."""
    toy = a_toy(tmp_path, [DOWN])
    toy.repository.git("checkout", "-q", "-b", "bad")
    toy.repository.write({"number.txt": "150\n", "harness.sh": 'echo \'{"value": 1, "ok": 1}\'\n'})
    toy.repository.commit("worse, and it grades itself")
    toy.repository.git("checkout", "-q", "main")
    toy.write_spec(hypotheses=[{"description": DOWN}], exemplars={"known_bad": [{"commit": "bad"}]})
    toy.headway("run", str(toy.spec), check=7)
    moved = probe(toy.log()["harness_validation"], MOVES)
    assert moved["observed"]["known_bad-1"]["values"] == [150]
    assert moved["inputs"][0]["left_out"] == ["harness.sh"]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("--- a/number.txt\n+++ b/number.txt\n@@ -1 +1 @@\n-7\n+8\n", "does not apply"),
        (
            f"--- a/harness.sh\n+++ b/harness.sh\n@@ -1 +1,2 @@\n {FILES['harness.sh']}+true\n",
            "changes nothing inside the mutable scope",
        ),
        (None, "there is no patch"),
    ],
    ids=["does not apply", "out of scope", "missing"],
)
def test_an_exemplar_that_is_none_is_told_before_anything_is_measured(
    tmp_path: Path, patch: str | None, said: str
) -> None:
    """Exit 1, with the place in the spec."""
    toy = a_toy(tmp_path, [DOWN], exemplars={"known_bad": [{"patch": "bad.patch"}]})
    if patch is not None:
        (tmp_path / "bad.patch").write_text(patch)
    for command in ("check", "run"):
        found = toy.headway(command, str(toy.spec), check=1)
        assert said in found.err and "exemplars.known_bad[0]" in found.err


def test_a_harness_that_imports_the_candidate_is_forgeable_and_every_keep_says_so(tmp_path: Path) -> None:
    """The run goes on; `check`, the gate's record, status, show and each keep say it."""
    toy = a_python_toy(tmp_path, IN_PROCESS)
    assert "the harness can be forged" in toy.headway("check", str(toy.spec)).out
    said = toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    validation = toy.log()["harness_validation"]
    assert validation["headway"] == {"forgeable": True, "forged_by": ["solve.py"], "failed": []}
    forged = probe(validation, "forgeable")
    assert forged["passed"] is False
    assert forged["observed"]["forged-1"]["values"] == [forged["inputs"][0]["claimed"]]
    assert "measured by a harness that can be forged" in said.out
    (keep,) = toy.headway("status", "--json").json["figures"]["keeps"]
    assert keep["forgeable"] is True
    assert "the harness can be forged: code in solve.py" in toy.headway("show", "1").out


def test_a_harness_that_runs_the_candidate_in_a_child_is_not_forgeable(tmp_path: Path) -> None:
    """What the child prints is data, so the claim is not believed; that the code ran is known by its mark."""
    toy = a_python_toy(tmp_path, IN_A_CHILD)
    said = toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    validation = toy.log()["harness_validation"]
    assert validation["headway"]["forgeable"] is False
    assert probe(validation, "forgeable")["observed"]["forged-1"]["ran"] == ["solve.py"]
    assert "not forged" in said.out and "can be forged" not in said.out


def test_a_file_that_runs_in_a_child_does_not_hide_one_that_is_imported(tmp_path: Path) -> None:
    """What ran and was not believed is left as it was, and the rest is tried again."""
    harness = IN_A_CHILD + "import late\n"
    toy = a_python_toy(tmp_path, harness, {"late.py": "LATE = 1\n"})
    toy.write_spec(
        measurement={"command": "python3 -B harness.py"},
        scope={"mutable": ["solve.py", "late.py"], "immutable": ["harness.py"]},
        hypotheses=[{"description": "true"}],
    )
    toy.headway("run", str(toy.spec), check=7)
    validation = toy.log()["harness_validation"]
    assert validation["headway"] == {"forgeable": True, "forged_by": ["late.py"], "failed": []}
    seen = probe(validation, "forgeable")["observed"]
    assert (seen["forged-1"]["ran"], seen["forged-2"]["ran"]) == (["solve.py"], ["late.py"])


def test_putting_the_output_aside_does_not_keep_a_harness_from_being_forged(tmp_path: Path) -> None:
    """A harness that turns its output away while it loads the candidate still has it open."""
    harness = "import os\nkept = os.dup(1)\nos.dup2(2, 1)\nfrom solve import solve\n"
    harness += 'os.write(kept, b\'{"value": %d, "ok": 1}\' % solve())\n'
    toy = a_python_toy(tmp_path, harness)
    toy.headway("run", str(toy.spec), check=7)
    assert toy.log()["harness_validation"]["headway"]["forgeable"] is True


def test_a_forged_metrics_file_is_a_forgery_too(tmp_path: Path) -> None:
    """Where the value is read from a file, the forgery writes that file."""
    harness = IN_PROCESS.replace("print(", "open('value.json', 'w').write(")
    toy = a_python_toy(tmp_path, harness)
    changes = {"command": "python3 -B harness.py", "metrics_file": "value.json"}
    scopes = {"mutable": ["solve.py"], "immutable": ["harness.py"]}
    toy.write_spec(measurement=changes, scope=scopes, hypotheses=[{"description": "true"}])
    toy.headway("run", str(toy.spec), check=7)
    assert toy.log()["harness_validation"]["headway"]["forgeable"] is True


def test_mutable_code_that_the_harness_never_runs_is_told(tmp_path: Path) -> None:
    """BR-71: an installed copy is measured instead; without exemplars this is a warning, and nothing is waived."""
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "solve.py").write_text(SOLVE)
    harness = f"import sys\nsys.path.insert(0, {str(installed)!r})\n{IN_PROCESS}"
    toy = a_python_toy(tmp_path, harness)
    said = toy.headway("run", str(toy.spec), check=7)
    assert "none of it ran, and the harness measured the same" in said.err
    validation = toy.log()["harness_validation"]
    assert validation["headway"]["forgeable"] is None
    assert probe(validation, "runs_mutable_code")["passed"] is False


def test_a_run_killed_in_its_gate_goes_on_where_it_was(tmp_path: Path) -> None:
    """Every probe is measured once, over all processes, and the record is that of an undisturbed gate."""
    count = tmp_path / "count"
    slow = f"echo x >> '{count}'\nsleep 0.3\n{FILES['harness.sh']}"
    named = exemplars(tmp_path, known_good=PATCH.format(90), known_bad=PATCH.format(150), trivial=PATCH.format(101))
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": slow}, exemplars=named)
    for measured in (4, 5, 6):
        process = toy.start("run", str(toy.spec))
        while len(count.read_text().split() if count.exists() else ()) < measured:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not toy.log_path.exists()
    toy.headway("run", str(toy.spec), check=7)
    assert len(count.read_text().split()) == 3 + 3
    validation = toy.log()["harness_validation"]
    assert (validation[SEPARATES], validation[TRIVIAL]) == (True, True)
    assert probe(validation, TRIVIAL)["observed"]["trivial-1"]["values"] == [101]


def test_a_probe_that_was_turned_down_before_a_kill_is_not_set_up_again(tmp_path: Path) -> None:
    """It has no measurement that could be taken up; what it came to stands in its own file."""
    checks, count = tmp_path / "checks", tmp_path / "count"
    slow = f"echo x >> '{count}'\nsleep 0.5\n{FILES['harness.sh']}"
    named = exemplars(tmp_path, known_bad=PATCH.format(150), trivial=PATCH.format(101))
    changes = {"checks_command": f"echo x >> '{checks}'; ! grep -q 150 number.txt"}
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": slow}, exemplars=named, measurement=changes)
    process = toy.start("run", str(toy.spec))
    while len(count.read_text().split() if count.exists() else ()) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    toy.headway("run", str(toy.spec), check=7)
    assert len(checks.read_text().split()) == 2 + 2  # the baseline's once a process, each probe's once
    assert len(count.read_text().split()) == 3 + 1
    observed = probe(toy.log()["harness_validation"], SEPARATES)["observed"]
    assert observed["known_bad-1"]["came"] == "rejected"


def test_a_waiver_outlives_a_death_between_the_gates_file_and_the_log(tmp_path: Path) -> None:
    """What was waived once need not be said again."""
    toy = a_toy(tmp_path, [DOWN], exemplars=exemplars(tmp_path, known_bad=PATCH.format(90)))
    waived = ("--waive-validity", "Ada", "--waive-calibration", "Ada, today")
    toy.headway("run", str(toy.spec), *waived, check=7)
    toy.log_path.unlink()
    toy.headway("run", str(toy.spec), check=7)
    validation = toy.log()["harness_validation"]
    assert probe(validation, SEPARATES)["waiver"] == "Ada"
    assert validation["waiver"] == "Ada, today"
    said = toy.headway("run", str(toy.spec), *waived, check=7)
    assert "a waiver changes nothing now" in said.err


def test_probes_that_would_take_too_much_of_the_run_are_left_open(tmp_path: Path) -> None:
    """Fixed costs are at most 15% of the run's time: what does not fit is null, and says why."""
    slow = f"sleep 0.2\n{FILES['harness.sh']}"
    named = exemplars(tmp_path, known_bad=PATCH.format(150))
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": slow}, exemplars=named, stopping={"max_hours": 0.0005})
    toy.headway("run", str(toy.spec), check=7)
    validation = toy.log()["harness_validation"]
    assert validation[SEPARATES] is None
    assert "no time was left" in probe(validation, MOVES)["observed"]["known_bad-1"]["reason"]


def test_check_aa_measures_no_ops_and_counts_those_that_are_kept(tmp_path: Path) -> None:
    """A harness whose values rise at every run: with a threshold of nothing, half of all no-ops are kept by chance."""
    count = tmp_path / "count"
    noisy = f"echo x >> '{count}'\nn=$(( $(wc -l < '{count}') % 2 ))\nprintf '{{\"value\": %s, \"ok\": 1}}\\n' $n\n"
    changes = {"stability": {"mode": "stable", "noise_threshold": 0}}
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": noisy}, measurement=changes)
    before = toy.fingerprint()
    found = toy.headway("check", str(toy.spec), "--aa", "6", "--json").json
    assert found["measured"] == {"no_ops": 6, "kept": 3, "share": 0.5, "samples": 6}
    assert len(count.read_text().split()) == 3 + 6
    assert found["decisions"] == {"inconclusive": 3, "keep-eligible": 3}
    assert 0.1 < found["estimated"]["share"] < 0.6
    count.unlink()
    assert "3 of 6 no-ops kept" in toy.headway("check", str(toy.spec), "--aa", "6").out
    assert toy.fingerprint() == before


def test_check_aa_of_a_deterministic_harness_keeps_nothing_in_pairs(tmp_path: Path) -> None:
    """Both sides are measured in their own checkouts, in the method's own order."""
    changes = {"stability": {"mode": "repeat", "repeat_count": 2, "comparison": {"method": "paired"}}}
    toy = a_toy(tmp_path, [DOWN], measurement=changes)
    found = toy.headway("check", str(toy.spec), "--aa", "2", "--json").json
    assert found["measured"] == {"no_ops": 2, "kept": 0, "share": 0.0, "samples": 8}


def test_the_gate_says_how_many_no_ops_a_noisy_harness_keeps(tmp_path: Path) -> None:
    """The estimate costs no measurement and is told before the approval."""
    count = tmp_path / "count"
    noisy = f"echo x >> '{count}'\nn=$(( $(wc -l < '{count}') % 2 ))\nprintf '{{\"value\": %s, \"ok\": 1}}\\n' $n\n"
    changes = {"stability": {"mode": "stable", "noise_threshold": 0}}
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": noisy}, measurement=changes)
    said = toy.headway("run", str(toy.spec), check=7)
    assert len(count.read_text().split()) == 3
    found = probe(toy.log()["harness_validation"], "false_keeps")
    assert found["observed"]["estimated"] is True
    assert found["passed"] is False and found["inputs"]["no_ops"] == 10_000
    assert "would be kept by chance" in said.out
