"""Bad input gets a message that says what, where and the mend, its exit code, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.toy import FILES, a_toy

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"


def test_a_spec_that_is_not_there(tmp_path: Path) -> None:
    """`headway run nope.yaml`: exit 1."""
    toy = a_toy(tmp_path)
    said = toy.headway("run", "nope.yaml", check=1)
    assert "nope.yaml" in said.err
    assert "mend" in said.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("- a\n- b\n", ["mapping"]),
        ("name: [unclosed\n", ["line"]),
        ("name: toy\nmetrik: {}\n", ["metrik", "metric"]),
        ("name: Toy Run\n", ["name", "measurement", "scope"]),
    ],
)
def test_a_malformed_spec_names_every_mistake_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    """What a person would type wrong: an empty file, a list, a bracket, a misspelt key, missing sections."""
    toy = a_toy(tmp_path)
    toy.spec.write_text(text)
    before = toy.fingerprint()
    said = toy.headway("run", str(toy.spec), check=1)
    for word in words:
        assert word in said.err, said.err
    assert toy.fingerprint() == before
    assert not toy.state.exists()


HARNESSES: dict[str, tuple[str, str]] = {
    "nothing": ("true\n", "standard output is empty"),
    "text": ("echo all is well\n", "no JSON"),
    "NaN": ('echo \'{"value": NaN, "ok": 1}\'\n', "NaN"),
    "infinity": ('echo \'{"value": 1e999, "ok": 1}\'\n', "1e999"),
    "words for a number": ('echo \'{"value": "12ms", "ok": 1}\'\n', "12ms"),
    "a missing name": ('echo \'{"speed": 3, "ok": 1}\'\n', "value"),
    "an error field": ('echo \'{"value": 3, "ok": 1, "error": "out of memory"}\'\n', "out of memory"),
    "exit code 1": ('echo \'{"value": 3, "ok": 1}\'; echo broken >&2; exit 1\n', "exit code 1"),
    "a failing gate": ('echo \'{"value": 3, "ok": 0}\'\n', "gate"),
    "no end": ("sleep 60\n", "longer than 1 s"),
}


@pytest.mark.parametrize("kind", HARNESSES)
def test_a_harness_that_gives_no_measurement_is_found_before_anything_is_paid(tmp_path: Path, kind: str) -> None:
    """`headway check` and `headway run` say what the harness printed; exit 4; there is no log and no agent ran."""
    script, words = HARNESSES[kind]
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": script}, measurement={"timeout_seconds": 1})
    for command in ("check", "run"):
        said = toy.headway(command, str(toy.spec), check=4)
        assert words in said.err, said.err
    assert not toy.log_path.exists()


def test_a_command_that_is_not_in_the_commit_is_told_apart_from_bad_output(tmp_path: Path) -> None:
    """The likeliest slip of all, a harness that was not committed: the mend says where the command runs."""
    said = a_toy(tmp_path, [DOWN], measurement={"command": "./mine.sh"}).headway("check", "../toy.yaml", check=4)
    assert "clean checkout, which holds committed files alone" in said.err


def test_a_gate_that_is_not_printed_is_told_apart_from_one_that_fails(tmp_path: Path) -> None:
    """A name misspelt in the spec, and a value that does not hold."""
    gates = [{"name": "okay", "check": "== 1"}, {"name": "ok", "check": ">= 2"}]
    said = a_toy(tmp_path, [DOWN], metric={"degenerate_gates": gates}).headway("check", "../toy.yaml", check=4)
    assert "okay is not in the output, and must be == 1" in said.err
    assert "ok is 1, and must be >= 2" in said.err


def test_check_warns_of_what_the_commit_does_not_hold(tmp_path: Path) -> None:
    """A scope that names no file, an agent's program that is not committed: the run would be paid for nothing."""
    changes: dict[str, Any] = {"scope": {"mutable": ["numbr.txt"]}, "agent": {"command": "tools/agent.sh --fast"}}
    notes = a_toy(tmp_path, [DOWN], **changes).headway("check", "../toy.yaml", "--json").json["notes"]
    assert any("`numbr.txt` names no file" in note for note in notes)
    assert any("`tools/agent.sh` is not in the commit" in note for note in notes)


def test_check_counts_the_hypotheses_and_finds_a_branch_that_is_not_there(tmp_path: Path) -> None:
    """The queue is read before anybody approves anything."""
    toy = a_toy(tmp_path, [DOWN, "true"])
    assert toy.headway("check", str(toy.spec), "--json").json["hypotheses"] == 2
    toy.write_spec(agent={"type": "patches", "command": None, "options": {"branches": ["nosuch"]}})
    assert "`nosuch`" in toy.headway("check", str(toy.spec), check=1).err


def test_a_diff_says_which_experiments_there_are_not(tmp_path: Path) -> None:
    """A number that was never given is not one without a candidate; a run's name is told where it is wrong."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert "there is no experiment 99" in toy.headway("diff", "99", check=1).err
    assert "runs there: toy" in toy.headway("status", "--name", "tpy", check=1).err


def test_two_objects_that_disagree_count_the_last_and_say_so(tmp_path: Path) -> None:
    """The last valid JSON object counts; that another one named the primary is noted."""
    script = 'echo \'{"value": 1, "ok": 1}\'; echo done; printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n'
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": script})
    said = toy.headway("check", str(toy.spec), "--json")
    assert said.json["metrics"] == {"value": 100}
    assert any("1 and 100; the last one counts" in note for note in said.json["notes"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"agent": {"type": "codex"}}, "codex"),
        ({"measurement": {"stability": {"comparison": {"method": "sequential", "effort": "lean"}}}}, "lean"),
        ({"measurement": {"holdout": {"command": "sh secret.sh"}}}, "holdout"),
        ({"execution": {"backend": "dask"}}, "dask"),
        ({"sandbox": "require"}, "sandbox"),
        ({"shield": {"mode": "enforce"}}, "shield"),
    ],
)
def test_what_this_version_lacks_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """Such a spec loads; run and check refuse it, exit 1, and nothing is written."""
    toy = a_toy(tmp_path, [DOWN], **changes)
    for command in ("check", "run"):
        assert words in toy.headway(command, str(toy.spec), check=1).err
    assert not toy.state.joinpath("experiment-log.yaml").exists()


def test_uncommitted_files_in_scope_are_named_and_refused(tmp_path: Path) -> None:
    """A run would not see them: exit 1, each named; files out of scope do not matter."""
    toy = a_toy(tmp_path, [DOWN])
    toy.repository.write({"number.txt": "99\n", "elsewhere.txt": "x\n"})
    said = toy.headway("run", str(toy.spec), check=1)
    assert "number.txt" in said.err
    assert "elsewhere.txt" not in said.err


def test_a_live_run_is_not_disturbed(tmp_path: Path) -> None:
    """A second `run` is refused at once and names the owner's pid: exit 5."""
    go = tmp_path / "go"
    toy = a_toy(tmp_path, [f"while [ ! -e '{go}' ]; do sleep 0.05; done; {DOWN}"])
    live = toy.start("run", str(toy.spec), "--approve-as", "me")
    try:
        while not (toy.log_path.exists() and "pending_waits:\n  - item" in toy.log_path.read_text()):
            assert live.poll() is None
        said = toy.headway("resume", check=5)
        assert str(live.pid) in said.err
        assert toy.headway("status", "--json").json["state"] == "running"
        go.touch()
        assert live.wait(60) == 0
    finally:
        live.kill()
        live.wait()
    assert toy.outcomes() == ["kept"]


@pytest.mark.parametrize("text", ["just words\n", "- a\n- b\n", "spec: toy\nspec: toy\n", "spec: 'toy\n"])
def test_a_log_that_is_damaged_is_left_alone(tmp_path: Path, text: str) -> None:
    """Exit 6, the file and the mend named, not one byte of it changed."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), check=7)
    toy.log_path.write_text(text)
    for words in (("status",), ("resume",), ("log", "check")):
        said = toy.headway(*words, check=6)
        assert "experiment-log.yaml" in said.err
    assert toy.log_path.read_text() == text


def test_where_there_is_no_run_status_says_how_to_start_one(tmp_path: Path) -> None:
    """`headway status` in a repository without a run: exit 1."""
    toy = a_toy(tmp_path)
    assert "headway run SPEC" in toy.headway("status", check=1).err


def test_inside_an_agents_turn_commands_that_write_are_refused(tmp_path: Path) -> None:
    """An agent that calls `headway approve` or `run` on its own run is told no; reading is fine."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), check=7)
    inner = type(toy)(toy.repository, toy.spec, {**toy.environment, "HEADWAY_JOB": "x"})
    assert "agent" in inner.headway("approve", str(toy.spec), "--as", "me", check=1).err
    inner.headway("status")
    assert "approval" not in toy.log()
