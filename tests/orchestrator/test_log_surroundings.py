"""Kept commits are looked for where the run keeps them."""

import subprocess
from pathlib import Path

from headway.core.log_references import Surroundings
from headway.orchestrator.log_surroundings import surroundings_of


def git(folder: Path, *words: str, stdin: bytes = b"") -> str:
    """Run git and give what it said."""
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_a_commit_that_the_private_repository_lacks_is_told(tmp_path: Path) -> None:
    """One that it has, full or abbreviated, is not; an object of another kind is no commit."""
    (tmp_path / "spec.yaml").write_text("name: x\n")
    (tmp_path / "experiment-log.yaml").write_text("experiments: []\n")
    repository = tmp_path / "repo.git"
    repository.mkdir()
    git(repository, "init", "--bare", "-q")
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"x")
    tree = git(repository, "mktree", stdin=f"100644 blob {blob}\ta\n".encode())
    commit = git(repository, "commit-tree", tree, "-m", "x")
    log = tmp_path / "experiment-log.yaml"
    found = surroundings_of(log, [commit, "0" * 40, commit[:9], blob, "no such"])
    assert found.unresolved == {"0" * 40, blob, "no such"}
    assert surroundings_of(log, []).unresolved == frozenset()


def test_a_log_that_lies_elsewhere_stands_alone(tmp_path: Path) -> None:
    """Nothing around it is asked."""
    (tmp_path / "other.yaml").write_text("experiments: []\n")
    (tmp_path / "spec.yaml").write_text("name: x\n")
    assert surroundings_of(tmp_path / "other.yaml", ["a" * 40]) == Surroundings()
    (tmp_path / "experiment-log.yaml").write_text("experiments: []\n")
    assert surroundings_of(tmp_path / "experiment-log.yaml", ["a" * 40]).unresolved is None
