"""The user's checkout, index, refs and untracked files are byte-identical after every command."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.toy import FILES, Toy, a_toy
from tests.repositories import hostile_hooks

pytestmark = pytest.mark.e2e

DOWN = "echo $(( $(cat number.txt) - 5 )) > number.txt"
UP = "echo $(( $(cat number.txt) + 5 )) > number.txt"


def _dirty(toy: Toy) -> None:
    """A modified tracked file and an untracked one outside the scopes, and something staged."""
    toy.repository.write({"notes.md": "changed\n", "untracked.txt": "mine\n", "staged.txt": "new\n"})
    toy.repository.git("add", "staged.txt")


def _detached(toy: Toy) -> None:
    toy.repository.git("checkout", "-q", "--detach")


def _on_trunk(toy: Toy) -> None:
    toy.repository.git("branch", "-q", "-m", "trunk")


def _with_hooks(toy: Toy) -> None:
    hostile_hooks(toy.repository, toy.spec.parent / "hook-ran")


def _with_settings(toy: Toy) -> None:
    for name, value in (("core.autocrlf", "true"), ("commit.gpgsign", "true"), ("core.fsmonitor", "false")):
        toy.repository.git("config", name, value)


STATES: dict[str, Callable[[Toy], None]] = {
    "dirty": _dirty,
    "detached": _detached,
    "trunk": _on_trunk,
    "hooks": _with_hooks,
    "settings": _with_settings,
}


@pytest.mark.parametrize("state", STATES)
def test_no_command_touches_the_users_repository(tmp_path: Path, state: str) -> None:
    """check, run, status, show, diff, log, stop, wrap-up, clean and a fresh run leave every byte where it was."""
    files = {**FILES, "notes.md": "notes\n", "mit Leerzeichen/größe.txt": "1\n"}
    toy = a_toy(tmp_path, [DOWN, UP, f"{DOWN}; echo 2 > 'mit Leerzeichen/größe.txt'"], files, name="das Repo ü")
    toy.write_spec(
        hypotheses=[
            {"description": h, "category": "c"} for h in (DOWN, UP, f"{DOWN}; echo 2 > 'mit Leerzeichen/größe.txt'")
        ],
        scope={"mutable": ["number.txt", "other.txt", "mit Leerzeichen"], "immutable": ["harness.sh"]},
    )
    STATES[state](toy)
    before, head = toy.fingerprint(), toy.repository.git("rev-parse", "HEAD")
    spec = str(toy.spec)
    for words in (
        ("check", spec),
        ("run", spec, "--approve-as", "me"),
        ("status",),
        ("show", "1"),
        ("diff", "3"),
        ("log", "check"),
        ("log", "show"),
        ("stop",),
        ("wrap-up",),
        ("run", spec, "--approve-as", "me", "--fresh"),
        ("clean",),
    ):
        toy.headway(*words)
        assert toy.fingerprint() == before, f"after headway {' '.join(words)}"
    assert toy.outcomes() == ["kept", "reverted", "kept"]
    assert toy.repository.git("rev-parse", "HEAD") == head
    assert not (toy.spec.parent / "hook-ran").exists()
    assert toy.repository.git("status", "--porcelain", "--", ".headway") == ""
    assert "größe.txt" in toy.repository.git(
        "-c", "core.quotePath=false", "diff", "--name-only", "HEAD", "optimize/toy"
    )


def test_a_branch_that_is_checked_out_is_not_moved(tmp_path: Path) -> None:
    """Integration waits: exit 4, status blocked, the mend is to switch to another branch; then the run goes on."""
    toy = a_toy(tmp_path, [DOWN])
    toy.headway("run", str(toy.spec), check=7)
    toy.repository.git("checkout", "-q", "optimize/toy")
    before = toy.fingerprint()
    said = toy.headway("run", str(toy.spec), "--approve-as", "me", check=4)
    assert "switch to another branch" in said.err
    assert toy.fingerprint() == before
    assert toy.log()["run_state"]["status"] == "blocked"
    toy.repository.git("checkout", "-q", "main")
    toy.headway("resume")
    assert toy.outcomes() == ["kept"]


def test_reverted_leftovers_never_reach_the_next_candidate(tmp_path: Path) -> None:
    """A new file of a reverted experiment, and ignored droppings, are gone when the next one starts."""
    files = {**FILES, ".gitignore": "*.cache\n"}
    look = f"ls -A > other.txt; {DOWN}"
    toy = a_toy(tmp_path, [f"echo x > helper.txt; echo y > a.cache; {UP}", look], files)
    toy.write_spec(
        hypotheses=[
            {"description": h, "category": "c"} for h in (f"echo x > helper.txt; echo y > a.cache; {UP}", look)
        ],
        scope={"mutable": ["*.txt"], "immutable": ["harness.sh"]},
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["reverted", "kept"]
    seen = toy.repository.git("show", "optimize/toy:other.txt").split()
    assert "helper.txt" not in seen
    assert "a.cache" not in seen


def test_every_diff_can_be_shown_after_a_garbage_collection(tmp_path: Path) -> None:
    """Reverted or kept, `headway diff N` prints it, whatever `git gc` threw away in the user's repository."""
    toy = a_toy(tmp_path, [DOWN, UP])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    toy.repository.git("gc", "-q", "--prune=now")
    assert "+95" in toy.headway("diff", "1").out
    assert "+100" in toy.headway("diff", "2").out
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--fresh")
    assert toy.outcomes() == ["kept", "reverted"]


def test_a_shallow_clone_works_and_what_cannot_work_says_so(tmp_path: Path) -> None:
    """A shallow clone runs; a bare repository and one without commits get a clear answer, exit 1."""
    toy = a_toy(tmp_path, [DOWN])
    toy.repository.commit("second")
    shallow = tmp_path / "shallow"
    toy.repository.git("clone", "-q", "--depth", "1", toy.repository.root.as_uri(), str(shallow))
    toy.headway("run", str(toy.spec), "--approve-as", "me", cwd=shallow)
    assert "optimize/toy" in toy.repository.git("branch", "--list", "optimize/*", cwd=shallow)
    bare = tmp_path / "bare"
    toy.repository.git("clone", "-q", "--bare", str(toy.repository.root), str(bare))
    assert "bare" in toy.headway("run", str(toy.spec), cwd=bare, check=1).err
    empty = tmp_path / "empty"
    empty.mkdir()
    toy.repository.git("init", "-q", cwd=empty)
    assert "commit" in toy.headway("run", str(toy.spec), cwd=empty, check=1).err


def test_submodules_are_refused_before_any_agent_is_paid(tmp_path: Path) -> None:
    """A base commit with submodules cannot be set up in this version: exit 1, named, nothing written."""
    toy = a_toy(tmp_path, [DOWN])
    inner = a_toy(tmp_path, [], name="inner").repository
    toy.repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    toy.repository.commit("with a submodule")
    said = toy.headway("run", str(toy.spec), check=1)
    assert "submodule" in said.err
    assert "sub" in said.err
    assert not toy.state.joinpath("experiment-log.yaml").exists()
