"""Whole runs of the real command in real repositories."""

import json
from pathlib import Path

import pytest

from tests.e2e.toy import a_toy

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
UP = "echo $(( $(cat number.txt) + 5 )) > number.txt"


def test_a_run_keeps_what_is_better_and_reverts_what_is_not(tmp_path: Path) -> None:
    """`headway run SPEC --approve-as me`: keeps land on the branch in order, the log says what became of each."""
    toy = a_toy(tmp_path, [DOWN, UP, "echo nonsense > number.txt", DOWN])
    said = toy.headway("run", str(toy.spec), "--approve-as", "me", "--json")
    assert said.json["reason"] == "nothing_runnable"
    assert toy.outcomes() == ["kept", "reverted", "error", "kept"]
    log = toy.log()
    assert log["best"]["metrics"]["value"]["aggregate"] == 90
    assert log["run_state"]["status"] == "final"
    assert log["run_state"]["headway"]["totals"]["counts"] == {"kept": 2, "reverted": 1, "error": 1}
    assert "strict JSON" in log["experiments"][2]["error_message"]
    assert toy.repository.git("show", "optimize/toy:number.txt").strip() == "90"
    commits = toy.repository.git("rev-list", "--reverse", "HEAD..optimize/toy").split()
    assert commits == [e["commit"] for e in log["experiments"] if e["outcome"] == "kept"]
    assert toy.headway("log", "check", "--json").json == []
    assert (toy.state / "runs" / log["run_id"] / "_DONE").is_file()


def test_without_approval_a_run_measures_its_baseline_and_waits_at_the_gate(tmp_path: Path) -> None:
    """`headway run SPEC` pays no agent before a person's yes: exit 7, the command to approve is shown."""
    toy = a_toy(tmp_path, [DOWN])
    said = toy.headway("run", str(toy.spec), check=7)
    assert "headway approve" in said.out + said.err
    assert toy.log()["experiments"] == []
    assert "run_state" not in toy.log()
    assert toy.headway("status", "--json").json["state"] == "at_gate"
    toy.headway("approve", str(toy.spec), "--as", "Ada")
    toy.headway("resume")
    assert toy.outcomes() == ["kept"]
    assert toy.log()["approval"]["headway"]["approved_by"] == "Ada"


def test_a_changed_cap_presents_the_gate_again_and_a_changed_metric_needs_a_fresh_start(tmp_path: Path) -> None:
    """A raised cap is shown, frozen anew and must be approved; what changes the measurement is refused by name."""
    toy = a_toy(tmp_path, [DOWN, DOWN], stopping={"max_iterations": 1})
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    hypotheses = [{"description": DOWN, "category": c} for c in "ab"]
    toy.write_spec(hypotheses=hypotheses, stopping={"max_iterations": 5})
    said = toy.headway("run", str(toy.spec), check=7)
    assert "max_iterations" in said.out + said.err
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept", "kept"]
    toy.write_spec(hypotheses=hypotheses, measurement={"command": "sh ./harness.sh"}, stopping={"max_iterations": 5})
    said = toy.headway("run", str(toy.spec), check=1)
    assert "measurement.command" in said.err
    assert "--fresh" in said.err


def test_a_fresh_start_archives_the_run_and_its_branch(tmp_path: Path) -> None:
    """`--fresh` deletes nothing: log and spec lie in the archive, the old branch under optimize-archive."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    old = toy.log()
    tip = toy.repository.git("rev-parse", "optimize/toy")
    assert toy.headway("run", str(toy.spec)).code == 0
    (toy.state / ".experiment-log.yaml.prev").write_text("spec: [what a crash left of a commit")
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--fresh")
    archive = toy.state / "runs" / old["run_id"] / "archive"
    assert (archive / "experiment-log.yaml").is_file()
    assert [*toy.state.glob(".experiment-log*"), *archive.glob(".*")] == []
    assert toy.repository.git("rev-parse", f"optimize-archive/toy/{old['run_id']}") == tip
    assert toy.log()["run_id"] != old["run_id"]
    assert toy.outcomes() == ["kept"]


def test_a_batch_integrates_its_winner_then_runners_up_measured_anew(tmp_path: Path) -> None:
    """Four good candidates at once: the best is kept, two are combined and measured again, the last comes back once."""
    lines = {name: "".join(f"{i}\n" for i in range(20)) for name in ("a.txt", "b.txt", "c.txt")}
    harness = 'printf \'{"value": %s, "ok": 1}\\n\' "$(cat a.txt b.txt c.txt | wc -l)"\n'
    toy = a_toy(
        tmp_path,
        ["sed -i 1d a.txt", "sed -i 1,2d b.txt", "sed -i 1,3d c.txt", "sed -i 15,20d a.txt"],
        {**lines, "harness.sh": harness},
        scope={"mutable": ["*.txt"], "immutable": ["harness.sh"]},
        execution={"mode": "parallel", "max_concurrent": 4},
        max_runner_up_merges_per_batch=2,
        runner_up="hunks",
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    log = toy.log()
    assert toy.outcomes() == ["not_selected", "runner_up_kept", "runner_up_kept", "kept", "kept"]
    assert log["best"]["metrics"]["value"]["aggregate"] == 60 - 1 - 2 - 3 - 6
    kinds = [[c["kind"] for c in e.get("comparisons", [])] for e in log["experiments"]]
    assert kinds == [
        ["standalone"],
        ["standalone", "integrated"],
        ["standalone", "integrated"],
        ["standalone"],
        ["standalone"],
    ]
    assert log["experiments"][4]["headway"]["hypothesis_id"] == log["experiments"][0]["headway"]["hypothesis_id"]
    assert toy.headway("log", "check", "--json").json == []


def test_a_hypothesis_with_an_unapproved_dependency_waits_for_wrap_up(tmp_path: Path) -> None:
    """It is never run; at the end it is shown as deferred, and runs once its dependency is approved."""
    toy = a_toy(tmp_path, [{"description": DOWN, "category": "a", "required_deps": ["numpy"]}, UP])
    toy.headway("run", str(toy.spec), "--approve-as", "me", check=7)
    assert toy.outcomes() == ["reverted", "deferred_needs_approval"]
    assert "numpy" in toy.log()["experiments"][1]["deferred_reason"]
    assert "numpy" in toy.headway("wrap-up", "--approve-dep", "nympy", check=1).err
    toy.headway("wrap-up", "--approve-dep", "numpy")
    toy.headway("resume")
    assert toy.outcomes() == ["reverted", "deferred_needs_approval", "kept"]
    assert toy.log()["run_state"]["headway"]["approved_deps"] == ["numpy"]


def test_edits_outside_the_scope_are_left_out_and_stay_as_evidence(tmp_path: Path) -> None:
    """An agent that edits its grader changes no measurement; the log has the path and both hashes."""
    cheat = f'{DOWN}; echo \'echo {{\\"value\\": 0, \\"ok\\": 1}}\' > harness.sh; echo x > sitecustomize.py'
    toy = a_toy(tmp_path, [cheat])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["outcome"] == "kept"
    assert entry["metrics"]["value"]["aggregate"] == 95
    found = {t["path"]: t for t in entry["headway"]["tamper"]}
    assert set(found) == {"harness.sh", "sitecustomize.py"}
    assert found["harness.sh"]["expected_sha256"] != found["harness.sh"]["found_sha256"]
    assert toy.repository.git("diff", "--name-only", "HEAD", "optimize/toy").split() == ["number.txt"]


def test_with_the_policy_revert_a_tampering_candidate_is_not_measured(tmp_path: Path) -> None:
    """`tamper_policy: revert`: the outcome is reverted, with the cause, and no sample was taken."""
    toy = a_toy(tmp_path, [f"{DOWN}; echo x >> harness.sh"], tamper_policy="revert")
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["outcome"] == "reverted"
    assert "harness.sh" in entry["learnings"]
    assert "sample_count" not in entry


def test_a_measurement_that_never_ends_is_a_timeout_with_nothing_left_running(tmp_path: Path) -> None:
    """The whole process tree dies at the limit, the escaped child too; the outcome is `timeout`."""
    harness = (
        'if [ "$(cat other.txt)" = hang ]; then setsid sleep 300 & sleep 300; fi\n'
        'printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n'
    )
    toy = a_toy(
        tmp_path,
        ["echo hang > other.txt"],
        {"number.txt": "100\n", "other.txt": "1\n", "harness.sh": harness},
        measurement={"timeout_seconds": 1},
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["outcome"] == "timeout"
    assert "longer than 1 s" in entry["error_message"]
    assert not _running_with(str(tmp_path))


def _running_with(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"HEADWAY_JOB" in environment and text.encode() in environment:
            found.append(folder.name)
    return found


def test_setup_build_and_checks_run_before_the_first_sample(tmp_path: Path) -> None:
    """A candidate that does not build is an error, one that fails its checks degenerate; neither is measured."""
    toy = a_toy(
        tmp_path,
        [DOWN, "echo nobuild > other.txt", "echo nocheck > other.txt"],
        measurement={
            "setup_command": "echo ready > made-by-setup",
            "build_command": "test -f made-by-setup && ! grep -q nobuild other.txt",
            "checks_command": "! grep -q nocheck other.txt",
        },
        agent={"type": "command", "command": 'cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"', "max_repairs": 0},
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept", "error", "degenerate"]
    errors = [e.get("error_message", "") + e.get("learnings", "") for e in toy.log()["experiments"]]
    assert "build failed" in errors[1]
    assert "checks failed" in errors[2]


def test_a_repair_turn_gets_the_last_lines_of_what_failed(tmp_path: Path) -> None:
    """A candidate that does not build is mended in one more turn, whose brief holds the build's last words."""
    agent = (
        "cat > ../brief-$HEADWAY_ATTEMPT.md; "
        "if [ $HEADWAY_ATTEMPT = 1 ]; then echo broken > other.txt; "
        "else echo fine > other.txt; echo 90 > number.txt; fi"
    )
    toy = a_toy(
        tmp_path,
        ["mend it"],
        measurement={"build_command": "if grep -q broken other.txt; then echo the compiler says no; exit 1; fi"},
        agent={"type": "command", "command": agent},
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    (brief,) = (tmp_path / "cache").rglob("brief-2.md")
    assert "the compiler says no" in brief.read_text()


def test_the_same_code_is_not_measured_twice(tmp_path: Path) -> None:
    """A candidate with the trees of an earlier one gets an entry without a measurement that names it."""
    toy = a_toy(tmp_path, [UP, UP])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    first, second = toy.log()["experiments"]
    assert (first["outcome"], second["outcome"]) == ("reverted", "inconclusive")
    assert second["headway"]["repeat_of"] == 1
    assert "sample_count" not in second


def test_an_agents_failure_is_no_experiment(tmp_path: Path) -> None:
    """Three failures in a row block the run, and the hypothesis stays; failing again after a resume, it is dropped."""
    toy = a_toy(tmp_path, ["exit 9"])
    said = toy.headway("run", str(toy.spec), "--approve-as", "me", "--json", check=4)
    assert said.json["reason"] == "agent_unavailable"
    assert toy.headway("status", "--json").json["backlog"] == 1
    said = toy.headway("resume", "--json", check=None)
    assert toy.outcomes() == []
    (dropped,) = toy.log()["run_state"]["headway"]["dropped"]
    assert "exit code 9" in dropped["reason"]
    assert said.code == 0
    assert said.json["reason"] == "nothing_runnable"


def test_json_output_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    """`--json` on every command that prints data."""
    toy = a_toy(tmp_path, [DOWN])
    for words in (
        ("check", str(toy.spec)),
        ("run", str(toy.spec), "--approve-as", "me"),
        ("status",),
        ("show", "1"),
        ("log", "show"),
        ("log", "show", "1"),
        ("log", "check"),
        ("wrap-up",),
    ):
        json.loads(toy.headway(*words, "--json").out)


@pytest.mark.parametrize("word", ["--max-ticks=1"])
def test_a_run_can_be_driven_one_tick_at_a_time(tmp_path: Path, word: str) -> None:
    """`run --max-ticks 1` from a scheduler works as a loop: each call does one batch and leaves the log `waiting`."""
    toy = a_toy(tmp_path, [DOWN, UP, DOWN])
    toy.headway("run", str(toy.spec), "--approve-as", "me", word)
    assert toy.outcomes() == ["kept"]
    assert toy.log()["run_state"]["status"] == "waiting"
    assert toy.log()["run_state"]["pending_waits"][0]["wake"] == "unavailable"
    toy.headway("resume", word)
    toy.headway("resume", word)
    assert toy.outcomes() == ["kept", "reverted", "kept"]
