"""What agents, people and disks do to a run: files removed or edited under it, branches moved, folders replaced."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.toy import FILES, Toy, a_toy
from tests.jobs import eventually

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
UP = "echo $(( $(cat number.txt) + 5 )) > number.txt"
PAIRED = {
    "stability": {"mode": "repeat", "repeat_count": 3, "comparison": {"method": "paired", "relative_threshold": 0.01}}
}


def _after_one_tick(folder: Path, *hypotheses: str) -> Toy:
    """Give a toy with one batch done and the others to come."""
    toy = a_toy(folder, hypotheses)
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    return toy


def _tip(toy: Toy) -> str:
    return toy.repository.git("rev-parse", "optimize/toy").strip()


# What is kept is what was measured


def test_the_commit_that_is_kept_after_a_repair_is_the_one_that_was_measured(tmp_path: Path) -> None:
    """The first candidate crashes the harness, the repaired one is better: its commit, not the first, is the tip."""
    crash = '[ "$(cat number.txt)" = 95 ] && exit 1\n'
    toy = a_toy(tmp_path, [DOWN], {**FILES, "harness.sh": crash + FILES["harness.sh"]})
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["commit"] == entry["comparisons"][0]["candidate_revision"] == _tip(toy)
    assert toy.repository.git("show", "optimize/toy:number.txt").strip() == "90"
    assert toy.headway("log", "check", "--json").json == []


def test_a_candidate_whose_reference_failed_beside_it_is_measured_again(tmp_path: Path) -> None:
    """Once the cause is mended its hypothesis comes back, and the same code is no repeat of what was not decided."""
    broken = tmp_path / "broken"
    harness = f'if [ -e {broken} ] && [ "$(cat number.txt)" = 100 ]; then exit 5; fi\n' + FILES["harness.sh"]
    agent = f"[ -e {tmp_path}/once ] || touch {broken} {tmp_path}/once; {DOWN}"
    toy = a_toy(tmp_path, [agent], {**FILES, "harness.sh": harness}, measurement=PAIRED)
    toy.headway("run", str(toy.spec), "--approve-as", "me", check=4)
    assert toy.log()["run_state"]["headway"]["stop"]["reason"] == "reference_broken"
    broken.unlink()
    toy.headway("resume")
    assert toy.outcomes() == ["error", "kept"]


# Agents


@pytest.mark.parametrize("instead", ["true", "ln -s {outside} $d", "echo hi > $d"])
def test_an_agent_that_removes_its_folder_gets_its_hypothesis_back(tmp_path: Path, instead: str) -> None:
    """Three times, then it is dropped with the reason; a link in the folder's place is never followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "number.txt").write_text("1\n")
    toy = a_toy(tmp_path, ["d=$PWD; cd ..; rm -rf $d; " + instead.format(outside=outside), DOWN])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    (dropped,) = toy.log()["run_state"]["headway"]["dropped"]
    assert "3 times" in dropped["reason"] and "is gone" in dropped["reason"]
    assert (outside / "number.txt").read_text() == "1\n"


def test_a_file_name_that_is_no_text_stops_no_run(tmp_path: Path) -> None:
    """Names of bytes that are no UTF-8, and half characters in an agent's words, stand in the log as escapes."""
    files = {"code/number.txt": "100\n", "harness.sh": FILES["harness.sh"].replace("number", "code/number")}
    result = '{"status": "completed", "learnings": "half \\\\ud800 one"}'
    touched = """touch "$(printf 'odd\\377')" "../$(printf 'out\\376')\""""
    odd = f"cd code; {DOWN}; {touched}; echo '{result}' > $HEADWAY_RESULT"
    toy = a_toy(tmp_path, [odd, f"cd code; {DOWN}"], files, scope={"mutable": ["code/"], "immutable": ["harness.sh"]})
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept", "kept"]
    entry = toy.log()["experiments"][0]
    assert {c["file"] for c in entry["changes"]} == {"code/number.txt", "code/odd\\xff"}
    assert [t["path"] for t in entry["headway"]["tamper"]] == ["out\\xfe"]
    assert toy.repository.git("rev-list", "--count", "main..optimize/toy").strip() == "2"


# Files that are gone or damaged


def _garbage(path: Path) -> None:
    path.write_text("a: [\n")


LOSSES: dict[str, Callable[[Toy], None]] = {
    "run.json": lambda toy: next(toy.state.glob("runs/*/run.json")).unlink(),
    "runs": lambda toy: shutil.rmtree(toy.state / "runs"),
    "spec": lambda toy: (toy.state / "spec.yaml").unlink(),
    "spec damaged": lambda toy: _garbage(toy.state / "spec.yaml"),
    "log": lambda toy: toy.log_path.unlink(),
    "log damaged": lambda toy: _garbage(toy.log_path),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fresh_start_needs_nothing_of_the_run_before_it(tmp_path: Path, loss: str) -> None:
    """Whatever is missing or damaged is told as such, and `--fresh`, the mend that is named, archives what there is."""
    toy = _after_one_tick(tmp_path, DOWN, UP)
    tip = _tip(toy)
    LOSSES[loss](toy)
    if "spec" not in loss:  # which the approved spec puts back
        said = toy.headway("run", str(toy.spec), check=6)
        assert "--fresh" in said.err or "in an editor" in said.err
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--fresh")
    assert toy.outcomes() == ["kept", "reverted"]
    (archived,) = toy.repository.git("for-each-ref", "--format=%(objectname)", "refs/heads/optimize-archive/").split()
    assert archived == tip


@pytest.mark.parametrize("loss", ["spec", "spec damaged"])
def test_the_approved_spec_puts_a_lost_or_edited_copy_back(tmp_path: Path, loss: str) -> None:
    """The approval's hash says that it is the same."""
    toy = _after_one_tick(tmp_path, DOWN, UP)
    frozen = (toy.state / "spec.yaml").read_bytes()
    LOSSES[loss](toy)
    toy.headway("run", str(toy.spec))
    assert (toy.state / "spec.yaml").read_bytes() == frozen
    assert toy.outcomes() == ["kept", "reverted"]


def test_a_log_that_is_gone_is_damage_and_no_new_run(tmp_path: Path) -> None:
    """Experiments were carried out: no empty log takes their place, and no agent is paid again."""
    toy = _after_one_tick(tmp_path, UP, DOWN)
    toy.log_path.unlink()
    for words in (("status",), ("resume",), ("show", "1")):
        assert "the experiment log is gone" in toy.headway(*words, check=6).err
    assert not toy.log_path.exists()


def test_a_private_repository_without_objects_is_made_anew(tmp_path: Path) -> None:
    """What was kept lies in the user's repository."""
    toy = _after_one_tick(tmp_path, DOWN, DOWN)
    for path in (toy.state / "repo.git" / "objects").iterdir():
        shutil.rmtree(path)
    toy.headway("resume")
    assert toy.outcomes() == ["kept", "kept"]


# Fresh starts that are refused


def test_a_fresh_start_that_is_refused_archives_nothing(tmp_path: Path) -> None:
    """Uncommitted files in scope, or the branch checked out: the run before stays as it was."""
    toy = _after_one_tick(tmp_path, DOWN, UP)
    before = (toy.log_path.read_bytes(), toy.repository.git("for-each-ref"))
    (toy.repository.root / "number.txt").write_text("7\n")
    assert "not committed" in toy.headway("run", str(toy.spec), "--fresh", check=1).err
    toy.repository.git("checkout", "-q", "-f", "optimize/toy")
    assert "is checked out" in toy.headway("run", str(toy.spec), "--fresh", check=4).err
    assert (toy.log_path.read_bytes(), toy.repository.git("for-each-ref")) == before
    assert toy.repository.git("status", "--porcelain") == ""


def test_a_fresh_start_archives_a_branch_of_a_run_that_was_removed(tmp_path: Path) -> None:
    """The whole state root is gone, the branch is not."""
    toy = _after_one_tick(tmp_path, DOWN)
    shutil.rmtree(toy.state)
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--fresh")
    assert toy.outcomes() == ["kept"]


# Branches that were moved by hand


@pytest.mark.parametrize("moved", [True, False])
def test_a_branch_that_was_moved_or_deleted_is_told_before_an_agent_is_paid(tmp_path: Path, moved: bool) -> None:
    """The message names where it stood and the command that puts it back; after that the run goes on."""
    toy = _after_one_tick(tmp_path, DOWN, DOWN)
    tip = _tip(toy)
    if moved:
        mine = toy.repository.git("commit-tree", "-p", tip, "-m", "mine", f"{tip}^{{tree}}").strip()
        toy.repository.git("update-ref", "refs/heads/optimize/toy", mine)
    else:
        toy.repository.git("update-ref", "-d", "refs/heads/optimize/toy")
    said = toy.headway("resume", check=4)
    assert f"git update-ref refs/heads/optimize/toy {tip}" in said.err
    assert toy.outcomes() == ["kept"]
    assert not toy.log()["run_state"]["headway"].get("dropped")
    toy.repository.git("update-ref", "refs/heads/optimize/toy", tip)
    toy.headway("resume")
    assert toy.outcomes() == ["kept", "kept"]


# Closing a run


def test_a_run_that_has_not_begun_cannot_be_closed(tmp_path: Path) -> None:
    """At the gate `wrap-up --done` is refused, and nothing says that the run is over."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), check=7)
    assert "has not begun" in toy.headway("wrap-up", "--done", check=1).err
    assert not list(toy.state.glob("runs/*/_DONE"))


def test_closing_a_run_gives_back_the_hypothesis_whose_turn_was_interrupted(tmp_path: Path) -> None:
    """`wrap-up --done` after an interrupt, then `--continue`: it runs, it was not lost with its number."""
    asleep = tmp_path / "asleep"
    toy = a_toy(tmp_path, [f"[ -e {asleep} ] || {{ touch {asleep}; sleep 60; }}; {DOWN}", UP])
    process = toy.start("run", str(toy.spec), "--approve-as", "me")
    _wait_for(asleep)
    process.terminate()
    assert process.wait(20) == 130
    toy.headway("wrap-up", "--done")
    assert toy.log()["run_state"]["status"] == "final"
    toy.headway("wrap-up", "--continue")
    toy.headway("resume")
    assert toy.outcomes() == ["kept", "reverted"]


def test_a_run_with_an_undecided_experiment_is_not_closed(tmp_path: Path) -> None:
    """What was measured is decided first; the message says how."""
    second = tmp_path / "second"
    harness = (
        f'[ "$(cat number.txt)" = 100 ] || {{ [ -e {second}.1 ] && touch {second} && sleep 2; touch {second}.1; }}\n'
    )
    toy = a_toy(
        tmp_path,
        [DOWN],
        {**FILES, "harness.sh": harness + FILES["harness.sh"]},
        measurement={"stability": {"mode": "repeat", "repeat_count": 3}},
    )
    process = toy.start("run", str(toy.spec), "--approve-as", "me")
    _wait_for(second)
    process.terminate()
    assert process.wait(20) == 130
    assert toy.outcomes() == ["measured"]
    assert "not decided yet" in toy.headway("wrap-up", "--done", check=1).err
    toy.headway("resume", "--max-ticks", "1")
    toy.headway("wrap-up", "--done")
    assert toy.headway("log", "check", "--json").json == []


def _wait_for(path: Path) -> None:
    assert eventually(path.exists, 20)
