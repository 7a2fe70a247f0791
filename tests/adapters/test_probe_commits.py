"""Commits of code that nobody's turn has written: in scope alone, child of the base, the same again each time."""

from pathlib import Path

import pytest

from headway.adapters.private_repository import PrivateRepository
from headway.adapters.user_repository import find_repository
from headway.adapters.workspaces.probe_commits import source_files, with_files, within_scope
from tests.repositories import a_repository

DATE = "946684800 +0000"


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_files_get_other_bytes_and_keep_their_modes(tmp_path: Path, object_format: str) -> None:
    """Both object formats; the commit is a child of the base, and asking again gives the same one."""
    user = a_repository(tmp_path / "repo", object_format=object_format)
    (user.root / "src" / "solve.py").chmod(0o755)
    base = user.commit("executable")
    private = PrivateRepository.open_or_create(tmp_path / "private.git", find_repository(user.root))
    made = [with_files(private, base, {"src/solve.py": b"forged\n"}, "a probe", DATE) for _ in range(2)]
    assert made[0] == made[1]
    before, after = private.ls_tree(base).entries, private.ls_tree(made[0].commit).entries
    assert after["src/solve.py"].mode == before["src/solve.py"].mode == "100755"
    assert private.read_blob(after["src/solve.py"].sha) == b"forged\n"
    assert {path for path in before if before[path] != after[path]} == {"src/solve.py"}
    assert b"+forged" in made[0].patch


def test_what_lies_out_of_scope_is_left_out_and_named(tmp_path: Path) -> None:
    """Changes, additions and deletions in scope are taken over, all others are told; odd names too."""
    user = a_repository(tmp_path / "repo")
    base = user.head
    (user.root / "src" / "other.py").unlink()
    user.write({"src/solve.py": "x\n", "src/new ü\n.py": "y\n", "tests/check.py": "always\n"})
    made = user.commit("all at once")
    private = PrivateRepository.open_or_create(tmp_path / "private.git", find_repository(user.root))
    found = within_scope(private, base, made, lambda path: path.startswith("src/"), "a probe", DATE)
    entries = private.ls_tree(found.commit).entries
    assert set(entries) == {"src/solve.py", "src/new ü\n.py", "tests/check.py", "README.md"}
    assert entries["tests/check.py"] == private.ls_tree(base).entries["tests/check.py"]
    assert found.left_out == ("tests/check.py",)
    assert user.git("rev-list", "--count", "HEAD") == "2"


def test_only_regular_files_are_sources_those_near_the_root_first(tmp_path: Path) -> None:
    """Links are no code of their own."""
    user = a_repository(tmp_path / "repo", {"a/b/c.py": "", "z.py": "", "a/d.py": "", "n.txt": ""})
    (user.root / "link.py").symlink_to("z.py")
    commit = user.commit("a link")
    private = PrivateRepository.open_or_create(tmp_path / "private.git", find_repository(user.root))
    assert list(source_files(private, commit, lambda path: path.endswith(".py"))) == ["z.py", "a/d.py", "a/b/c.py"]
