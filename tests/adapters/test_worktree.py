"""Trees are made equal to commits, and what an agent leaves in one becomes a candidate or evidence."""

import errno
import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from headway.adapters import git as git_calls
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.user_repository import find_repository
from headway.adapters.workspaces.candidate import CandidateBuilt, NoChange, TreeGone, leaves_the_tree
from headway.adapters.workspaces.tree_files import stuck
from headway.adapters.workspaces.worktree import Tree, TreePool
from headway.errors import DiskFailed, RequestWrong, SharedFileMissing, TreeStuck
from tests.repositories import FILES, Repository, a_repository, fingerprint_of, hostile_hooks, run, write_files

WHEN = "1700000000 +0000"


class Bench:
    """A repository with a pool of trees: `src/` may be changed, `tests/` must not."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes] = FILES) -> None:
        self.repository: Repository = a_repository(folder / "repo", files)
        self.folder = folder
        self.reopen()
        self.base = self.repository.head

    def reopen(self) -> None:
        """Open everything anew, as a new process would."""
        user = find_repository(self.repository.root)
        self.private = PrivateRepository.open_or_create(self.folder / "state" / "repo.git", user)
        self.pool = TreePool(self.folder / "cache", self.private)

    def agent_tree(self) -> Tree:
        """Give a tree as an agent finds it."""
        tree = self.pool.tree("agent-1")
        self.pool.prepare_for_agent(tree, self.base)
        return tree

    def candidate(self, tree: Tree, *, left_out: tuple[str, ...] = ()) -> CandidateBuilt | NoChange:
        """Make a candidate of what was changed in a tree."""
        made = self.pool.candidate(
            tree,
            self.base,
            in_mutable=lambda path: path.startswith("src/"),
            in_immutable=lambda path: path.startswith("tests/"),
            message="try",
            when=WHEN,
            left_out=left_out,
        )
        assert isinstance(made, CandidateBuilt | NoChange), made
        return made

    def built(self, tree: Tree, *, left_out: tuple[str, ...] = ()) -> CandidateBuilt:
        """Make a candidate that must exist."""
        answer = self.candidate(tree, left_out=left_out)
        assert isinstance(answer, CandidateBuilt)
        return answer

    def content(self, commit: str) -> dict[str, tuple[str, bytes]]:
        """Give a commit's files: mode and bytes."""
        listing = self.private.ls_tree(commit)
        return {path: (entry.mode, self.private.read_blob(entry.sha)) for path, entry in listing.entries.items()}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A repository with a pool of trees."""
    return Bench(tmp_path)


def holds(tree: Path) -> dict[str, tuple[str, bytes]]:
    """Read a tree as a commit would hold it, `.git` left out."""
    found = {}
    for folder, names, files in os.walk(tree):
        if Path(folder) == tree and ".git" in names:
            names.remove(".git")
        for name in [*files, *(name for name in names if Path(folder, name).is_symlink())]:
            path = Path(folder, name)
            rel = str(path.relative_to(tree))
            if path.is_symlink():
                found[rel] = ("120000", os.fsencode(os.readlink(path)))
            else:
                found[rel] = ("100755" if path.stat().st_mode & 0o100 else "100644", path.read_bytes())
    return found


def strays(answer: CandidateBuilt | NoChange) -> dict[str, str]:
    """Give the evidence by path."""
    return {stray.path: stray.kind.value for stray in answer.strays}


def agent_git(tree: Tree, *words: str) -> str:
    """Run git as an agent would, in the tree's own repository."""
    return run(tree.path.parent, "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=tree.path)


# Preparing


def test_a_tree_holds_the_commit_and_nothing_else(bench: Bench) -> None:
    """Untracked, ignored, nested and blocking things go; changed, deleted and chmodded files come back."""
    bench.repository.write({".gitignore": "*.log\nbuild/\n", "run.sh": "#!/bin/sh\n", "dir/inner/file": "x\n"})
    (bench.repository.root / "run.sh").chmod(0o755)
    (bench.repository.root / "link").symlink_to("src/solve.py")
    bench.base = bench.repository.commit()
    wanted = bench.content(bench.base)
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    assert holds(tree.path) == wanted and wanted["run.sh"][0] == "100755" and wanted["link"][0] == "120000"
    outside = bench.folder / "outside"
    write_files(outside, {"precious": "mine\n"})
    write_files(
        tree.path, {"new.py": "x", "a.log": "x", "build/deep/x": "x", "nested/.git/HEAD": "ref: refs/heads/x\n"}
    )
    write_files(tree.path, {".git/config": "[core]\n\tbare = true\n", "src/__pycache__/solve.pyc": "x"})
    write_files(tree.path, {"src/solve.py": "changed\n"})
    (tree.path / "run.sh").chmod(0o644)
    (tree.path / "README.md").unlink()
    (tree.path / "README.md").mkdir()
    (tree.path / "README.md" / "x").write_text("x")
    (tree.path / "link").unlink()
    (tree.path / "link").symlink_to(outside)
    shutil.rmtree(tree.path / "dir")
    (tree.path / "dir").symlink_to(outside)
    (tree.path / "tests" / "escape").symlink_to(outside)
    os.mkfifo(tree.path / "pipe")
    bench.pool.prepare(tree, bench.base)
    assert holds(tree.path) == wanted
    assert not (tree.path / ".git").exists() and not (tree.path / "pipe").exists()
    assert os.listdir(outside) == ["precious"]


def test_read_only_folders_do_not_stand_in_the_way(bench: Bench) -> None:
    """Folders that were closed are opened and emptied."""
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    write_files(tree.path, {"closed/inner/file": "x", "src/solve.py": "changed\n"})
    for name in ("closed/inner", "closed", "src"):
        (tree.path / name).chmod(0o500)
    bench.pool.prepare(tree, bench.base)
    assert holds(tree.path) == bench.content(bench.base)
    assert (tree.path / "src").stat().st_mode & 0o777 == 0o755


def test_an_edit_with_forged_times_is_undone(bench: Bench) -> None:
    """Same size, same modification time: the change time gives the edit away, to every later preparation."""
    tree = bench.pool.tree("measure")
    for _ in range(2):
        bench.pool.prepare(tree, bench.base)
        time.sleep(0.05)
    file = tree.path / "src" / "solve.py"
    before = file.stat()
    file.write_text(file.read_text().replace("1", "9"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    bench.pool.prepare(tree, bench.base)
    assert holds(tree.path) == bench.content(bench.base)


def test_a_file_with_a_second_name_is_replaced(bench: Bench) -> None:
    """A hard link kept elsewhere could change a measured file later on."""
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    os.link(tree.path / "src" / "solve.py", bench.folder / "second name")
    bench.pool.prepare(tree, bench.base)
    (bench.folder / "second name").write_text("changed later\n")
    assert holds(tree.path) == bench.content(bench.base)


def test_a_tree_goes_from_commit_to_commit(bench: Bench) -> None:
    """Files that turn into folders and back, and files that go, end as the commit has them."""
    first = bench.base
    (bench.repository.root / "README.md").unlink()
    shutil.rmtree(bench.repository.root / "src")
    bench.repository.write({"README.md/inner": "x\n", "src": "a file now\n"})
    second = bench.repository.commit()
    tree = bench.pool.tree("measure")
    for commit in (first, second, first, second):
        bench.pool.prepare(tree, commit)
        assert holds(tree.path) == bench.content(commit)


def test_an_untouched_tree_costs_no_git_call(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference is measured again and again from one tree."""
    tree = bench.pool.tree("reference")
    for _ in range(2):
        bench.pool.prepare(tree, bench.base)
        time.sleep(0.05)
    with monkeypatch.context() as patch:
        patch.setattr(git_calls, "_execute", lambda *_: pytest.fail("git was called"))
        bench.pool.prepare(tree, bench.base)
    assert holds(tree.path) == bench.content(bench.base)


@pytest.mark.parametrize("damage", ["garbage", "missing", "locked"])
def test_a_dead_processs_tree_is_taken_over(bench: Bench, damage: str) -> None:
    """After a crash the tree is made equal to the commit whatever its index says."""
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    write_files(tree.path, {"src/solve.py": "changed\n", "new": "x"})
    if damage == "garbage":
        tree.index_file.write_bytes(b"DIRC garbage")
    elif damage == "missing":
        tree.index_file.unlink()
    else:
        tree.index_file.with_name("measure.lock").touch()
    bench.reopen()
    bench.pool.prepare(bench.pool.tree("measure"), bench.base)
    assert holds(tree.path) == bench.content(bench.base)


def test_build_caches_are_kept_and_tracked_files_in_them_are_not(bench: Bench) -> None:
    """`keep` names untracked things only; links in their place are never kept."""
    bench.repository.write({"cache/tracked": "x\n"})
    bench.base = bench.repository.commit()
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    write_files(tree.path, {"cache/tracked": "changed\n", "cache/a/b": "kept", "out/c": "kept", "out2/d/e": "kept"})
    write_files(tree.path, {"out2/gone": "x", "other/gone": "x"})
    for folder in ("cache", "out"):
        (tree.path / folder / "python").symlink_to("/usr/bin/python3")  # as virtual environments have them
    bench.pool.prepare(tree, bench.base, keep=["cache/", "./out", "out2/d"])
    assert {path: text for path, (_, text) in holds(tree.path).items() if text == b"kept"}.keys() == {
        "cache/a/b",
        "out/c",
        "out2/d/e",
    }
    assert (tree.path / "cache" / "tracked").read_text() == "x\n"
    assert (tree.path / "cache/python").is_symlink() and (tree.path / "out/python").is_symlink()
    assert not (tree.path / "out2" / "gone").exists() and not (tree.path / "other").exists()
    shutil.rmtree(tree.path / "out")
    (tree.path / "out").symlink_to(bench.folder)
    bench.pool.prepare(tree, bench.base, keep=["out"])
    assert not (tree.path / "out").is_symlink()


def test_settings_of_the_users_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`core.autocrlf`, `eol` and filters of the user's own do not reach measured files; `.gitattributes` do."""
    bench = Bench(tmp_path, {"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "by.rule": "a\n", "f.x": "x\n"})
    bench.repository.write({".gitattributes": "*.rule text eol=crlf\n*.x filter=evil\n"})
    bench.base = bench.repository.commit()
    monkeypatch.setenv("HOME", str(bench.repository.home))
    for name, value in (("core.autocrlf", "true"), ("core.eol", "crlf"), ("filter.evil.smudge", "echo forged")):
        bench.repository.git("config", "--global", name, value)
    bench.reopen()
    tree = bench.pool.tree("measure")
    bench.pool.prepare(tree, bench.base)
    texts = {path: text for path, (_, text) in holds(tree.path).items() if path != ".gitattributes"}
    assert texts == {"lf": b"a\nb\n", "crlf": b"a\r\nb\r\n", "by.rule": b"a\r\n", "f.x": b"x\n"}


def test_the_users_lfs_filter_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The LFS filter alone is handed on: data in the tree, pointers in the candidate."""
    bench = Bench(tmp_path, {".gitattributes": "*.bin filter=lfs\n", "src/a.bin": "tniop\n", "tests/b.bin": "tniop\n"})
    monkeypatch.setenv("HOME", str(bench.repository.home))
    bench.repository.git("config", "--global", "filter.lfs.smudge", "rev")
    bench.repository.git("config", "--global", "filter.lfs.clean", "rev")
    bench.reopen()
    if any(setting.startswith("filter.lfs.process") for setting in bench.private.user.settings):
        pytest.skip("this machine's own LFS filter stands before the test's")
    tree = bench.agent_tree()
    assert (tree.path / "src" / "a.bin").read_text() == "point\n"
    tree.prepared = None  # as after a crash: every file has to be read
    (tree.path / "src" / "a.bin").write_text("other\n")
    built = bench.built(tree)
    assert bench.private.read_file(built.commit, "src/a.bin") == b"rehto\n"
    assert built.strays == ()


def test_preparing_and_building_leaves_the_users_repository(bench: Bench) -> None:
    """Every operation on trees leaves the user's repository byte for byte, hooks unrun, modified or not."""
    mark = bench.folder / "mark"
    hostile_hooks(bench.repository, mark)
    bench.repository.write({"src/solve.py": "the user's own work\n", "untracked": "x\n", ".env": "KEY=1\n"})
    before = fingerprint_of(bench.repository.root)
    objects = set((bench.repository.root / ".git" / "objects").rglob("*"))
    tree = bench.agent_tree()
    bench.pool.copy_shared(tree, bench.repository.root, [".env"])
    write_files(tree.path, {"src/solve.py": "better\n", "tests/check.py": "forged\n"})
    built = bench.built(tree, left_out=(".env",))
    bench.pool.prepare(bench.pool.tree("measure"), built.commit)
    bench.pool.discard(tree)
    assert fingerprint_of(bench.repository.root) == before
    assert set((bench.repository.root / ".git" / "objects").rglob("*")) == objects
    assert not mark.exists() and not tree.path.exists()


def test_a_pool_inside_the_users_repository_is_refused(bench: Bench) -> None:
    """Tools in a tree walk upwards and would find the user's files."""
    with pytest.raises(RequestWrong, match="inside your repository"):
        TreePool(bench.repository.root / "cache", bench.private)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden"])
def test_a_tree_needs_a_plain_name(bench: Bench, name: str) -> None:
    """A tree's name is the name of a folder and of a file."""
    with pytest.raises(RequestWrong, match="cannot be called"):
        bench.pool.tree(name)


# The agent's own repository


def test_an_agents_repository_holds_one_commit_and_no_way_out(bench: Bench) -> None:
    """No history, no remotes, no borrowed objects; `git status` is clean and committing works."""
    bench.repository.write({"src/solve.py": "second\n"})
    secret = bench.repository.git("hash-object", "-w", "--stdin", stdin=b"secret")
    bench.base = bench.repository.commit()
    tree = bench.agent_tree()
    assert agent_git(tree, "log", "--format=%s %an") == "the state to start from headway"
    assert agent_git(tree, "status", "--porcelain") == "" and agent_git(tree, "branch") == "* work"
    assert agent_git(tree, "remote") == "" and not (tree.path / ".git/objects/info/alternates").exists()
    assert agent_git(tree, "fsck", "--strict", "--full") == ""
    assert subprocess.run(["git", "cat-file", "-e", secret], cwd=tree.path, capture_output=True).returncode != 0
    agent_git(tree, "commit", "-q", "--allow-empty", "-m", "mine")
    bench.pool.prepare_for_agent(tree, bench.base)
    assert agent_git(tree, "log", "--format=%s") == "the state to start from"


@pytest.mark.parametrize(
    "tampering",
    [
        "echo x > .git/hooks/pre-commit || (mkdir .git/hooks && echo x > .git/hooks/pre-commit)",
        "echo '[core]' >> .git/config",
        "chmod +x .git/HEAD",
        "rm .git/index && ln -s /etc/passwd .git/index",
        "rm -rf .git/objects && ln -s /tmp .git/objects",
        "rm -rf .git && echo 'gitdir: /tmp' > .git",
        "rm -rf .git && ln -s /tmp .git",
        "mkfifo .git/refs/heads/other",
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m mine",
        "ln .git/HEAD .git/../HEAD2",
        "chmod 0 .git/objects .git",
        "rm -rf .git",
        "printf 'ref: refs/heads/mork\n' > .git/HEAD",
    ],
)
def test_whatever_a_turn_did_to_its_repository_the_next_one_starts_with_a_clean_one(
    bench: Bench, tampering: str
) -> None:
    tree, fresh = bench.agent_tree(), bench.pool.tree("fresh")
    bench.pool.prepare_for_agent(fresh, bench.base)
    subprocess.run(["sh", "-c", tampering], cwd=tree.path, check=False, stderr=subprocess.DEVNULL)
    bench.pool.prepare_for_agent(tree, bench.base)
    assert _whole(tree.path / ".git") == _whole(fresh.path / ".git")


def _whole(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Give every file and folder of a `.git`: mode, number of names, bytes."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        names = 1 if path.is_dir() else facts.st_nlink
        found[str(path.relative_to(folder))] = (stat.S_IFMT(facts.st_mode) | facts.st_mode & 0o111, names, content)
    return found


def test_an_agents_repository_follows_the_reference(bench: Bench) -> None:
    """After a keep the agent starts from the new reference; the template follows it."""
    tree = bench.agent_tree()
    for n in range(4):
        write_files(tree.path, {"src/solve.py": f"step {n}\n"})
        bench.base = bench.built(tree).commit
        bench.pool.prepare_for_agent(tree, bench.base)
        assert (tree.path / "src" / "solve.py").read_text() == f"step {n}\n"
        assert agent_git(tree, "rev-list", "--count", "HEAD") == "1"
        assert (
            agent_git(tree, "status", "--porcelain") == ""
            and agent_git(tree, "fsck", "--strict", "--no-dangling") == ""
        )
        assert agent_git(tree, "write-tree") == agent_git(tree, "rev-parse", "HEAD^{tree}")
    assert os.listdir(bench.private.path / "headway-templates") == [bench.base]


def test_an_agents_repository_works_with_the_other_hash(tmp_path: Path) -> None:
    """A SHA-256 repository gives agents a SHA-256 repository."""
    bench = Bench.__new__(Bench)
    bench.repository = a_repository(tmp_path / "repo", object_format="sha256")
    bench.folder, bench.base = tmp_path, bench.repository.head
    bench.reopen()
    tree = bench.agent_tree()
    assert agent_git(tree, "status", "--porcelain") == ""
    write_files(tree.path, {"src/solve.py": "better\n"})
    assert len(bench.built(tree).commit) == 64


# Candidates


def test_a_candidate_holds_the_changes_in_scope(bench: Bench) -> None:
    """Changed, new, deleted, renamed, executable and linked files; odd names; the base's child; told line by line."""
    bench.repository.write({"src/old name.py": "moved\n", "src/gone.py": "x\n", "src/dir/a": "x\n", "src/file": "x\n"})
    bench.repository.write({"src/turns/into/link": "x\n"})
    bench.base = bench.repository.commit()
    tree = bench.agent_tree()
    root = tree.path
    (root / "src/old name.py").rename(root / "src/neuer näme.py")
    (root / "src/gone.py").unlink()
    (root / "src/other.py").chmod(0o755)
    shutil.rmtree(root / "src/dir")
    (root / "src/file").unlink()
    write_files(root, {"src/solve.py": "better\n", "src/dir": "a file\n", "src/file/x": "in a folder\n"})
    (root / "src/link").symlink_to("../README.md")
    shutil.rmtree(root / "src/turns")
    (root / "src/turns").symlink_to("file")
    (root / "src/empty").mkdir()
    wanted = holds(root)
    built = bench.built(tree)
    assert built.strays == ()
    assert bench.content(built.commit) == wanted
    assert {change.path: change[1:4] for change in built.changes} == {
        "src/dir": ("A", 1, 0),
        "src/dir/a": ("D", 0, 1),
        "src/file": ("D", 0, 1),
        "src/file/x": ("A", 1, 0),
        "src/gone.py": ("D", 0, 1),
        "src/link": ("A", 1, 0),
        "src/neuer näme.py": ("A", 1, 0),
        "src/old name.py": ("D", 0, 1),
        "src/other.py": ("M", 0, 0),
        "src/solve.py": ("M", 1, 2),
        "src/turns": ("A", 1, 0),
        "src/turns/into/link": ("D", 0, 1),
    }
    assert bench.private.tree_of(built.commit) == built.tree_sha
    assert bench.private.resolve(f"{built.commit}^") == bench.base
    bench.private._listings.clear()  # what was remembered without git is what git says
    assert bench.content(built.commit) == wanted
    bench.pool.prepare(bench.pool.tree("measure"), built.commit)
    assert holds(bench.pool.tree("measure").path) == wanted


def test_the_same_edit_gives_the_same_commit_in_any_process(bench: Bench) -> None:
    """With what is known of the tree, without it, and after a restart."""
    tree = bench.agent_tree()
    write_files(tree.path, {"src/solve.py": "better\n", "src/new.py": "new\n"})
    first = bench.built(tree)
    tree.prepared = None
    assert bench.built(tree) == first
    bench.reopen()
    assert bench.built(bench.pool.tree("agent-1")) == first


def test_nothing_changed_is_no_candidate(bench: Bench) -> None:
    """Touching files, changing them back, and what tools leave behind is no change."""
    tree = bench.agent_tree()
    assert bench.candidate(tree) == NoChange(())
    os.utime(tree.path / "src" / "solve.py")
    os.utime(tree.path / "tests" / "check.py")
    (tree.path / "README.md").write_text(FILES["README.md"])
    write_files(tree.path, {"src/__pycache__/solve.cpython-311.pyc": "x", "tests/.pytest_cache/v": "x"})
    assert bench.candidate(tree) == NoChange(())


def test_a_forged_time_hides_no_change(bench: Bench) -> None:
    """An agent that keeps size and modification time is seen all the same, in scope and out of it."""
    tree = bench.agent_tree()
    time.sleep(0.05)
    bench.pool.prepare_for_agent(tree, bench.base)
    for name in ("src/solve.py", "tests/check.py"):
        file = tree.path / name
        facts = file.stat()
        file.write_bytes(file.read_bytes().swapcase())
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    built = bench.built(tree)
    assert [change.path for change in built.changes] == ["src/solve.py"]
    assert strays(built) == {"tests/check.py": "immutable"}


def test_an_edit_in_the_same_instant_is_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose signature may be older than a change in the same tick of the clock is read, not trusted."""
    tree = bench.agent_tree()
    file = tree.path / "src" / "solve.py"
    assert tree.prepared is not None
    now = tree.prepared.signatures["src/solve.py"]
    file.write_bytes(file.read_bytes().swapcase())
    changed = dict(tree.prepared.signatures)
    facts = file.lstat()
    changed["src/solve.py"] = now._replace(modified_ns=facts.st_mtime_ns, changed_ns=facts.st_ctime_ns)
    monkeypatch.setattr(tree, "prepared", type(tree.prepared)(bench.base, changed, tree.prepared.at_ns))
    assert [change.path for change in bench.built(tree).changes] == ["src/solve.py"]


def sha256(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def test_changes_out_of_scope_are_evidence_and_not_committed(bench: Bench) -> None:
    """Created, changed and deleted files are named with both hashes; the change in scope goes on alone (BR-10)."""
    tree = bench.agent_tree()
    write_files(tree.path, {"src/solve.py": "better\n", "tests/check.py": "forged\n", "tests/conftest.py": "shadow\n"})
    write_files(tree.path, {"sitecustomize.py": "evil\n"})
    (tree.path / "README.md").unlink()
    built = bench.built(tree)
    assert {(s.path, s.kind.value, s.expected_sha256, s.found_sha256) for s in built.strays} == {
        ("README.md", "out_of_scope", sha256(FILES["README.md"]), None),
        ("sitecustomize.py", "out_of_scope", None, sha256("evil\n")),
        ("tests/check.py", "immutable", sha256(FILES["tests/check.py"]), sha256("forged\n")),
        ("tests/conftest.py", "immutable", None, sha256("shadow\n")),
    }
    wanted = bench.content(bench.base) | {"src/solve.py": ("100644", b"better\n")}
    assert bench.content(built.commit) == wanted
    (tree.path / "src/solve.py").write_text(FILES["src/solve.py"])
    answer = bench.candidate(tree)
    assert isinstance(answer, NoChange) and strays(answer).keys() == strays(built).keys()


def nested_repository(tree: Path) -> None:
    run(tree.parent, "init", "-q", str(tree / "src" / "lib"), cwd=tree)
    write_files(tree, {"src/lib/code.py": "x\n"})
    run(tree.parent, "add", "-A", cwd=tree / "src" / "lib")
    run(tree.parent, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", cwd=tree / "src" / "lib")


def repository_around_tracked_files(tree: Path) -> None:
    run(tree.parent, "init", "-q", str(tree / "src"), cwd=tree)


def git_file(tree: Path) -> None:
    write_files(tree, {"src/lib/.git": "gitdir: /nonexistent\n"})


@pytest.mark.parametrize(
    ("do", "path", "kind"),
    [
        (nested_repository, "src/lib", "gitlink"),
        (repository_around_tracked_files, "src", "gitlink"),
        (git_file, "src/lib", "gitlink"),
        (lambda tree: write_files(tree, {".gitmodules": "[submodule]\n"}), ".gitmodules", "gitmodules"),
        (lambda tree: write_files(tree, {"src/.gitattributes": "* text\n"}), "src/.gitattributes", "attributes"),
        (lambda tree: (tree / "src/out").symlink_to("/etc/passwd"), "src/out", "symlink"),
        (lambda tree: (tree / "src/out").symlink_to("../../x"), "src/out", "symlink"),
        (lambda tree: (tree / "src/out").symlink_to("../tests/../../x"), "src/out", "symlink"),
    ],
    ids=["nested", "around tracked", "git file", "gitmodules", "attributes", "absolute", "climbing", "hidden climb"],
)
def test_what_no_candidate_may_hold_is_refused_inside_the_scope_too(
    bench: Bench, do: Callable[[Path], object], path: str, kind: str
) -> None:
    """Nested repositories, submodules, attributes and links out of the tree are evidence; the rest goes on."""
    tree = bench.agent_tree()
    (tree.path / "src/solve.py").write_text("better\n")
    do(tree.path)
    built = bench.built(tree)
    assert strays(built) == {path: kind}
    assert [change.path for change in built.changes] == ["src/solve.py"]


@pytest.mark.parametrize(
    ("target", "leaves"),
    [
        ("b", False),
        ("../b", False),
        ("./../b/c", False),
        ("../../b", True),
        ("/b", True),
        ("b/../c", True),
        ("", False),
    ],
)
def test_a_link_leaves_by_its_text(target: str, leaves: bool) -> None:
    """`..` may stand in front, as often as the link lies deep."""
    assert leaves_the_tree("src/link", target) is leaves


def test_the_agents_own_repository_has_no_effect(bench: Bench) -> None:
    """Commits, hooks, fsmonitor, filters, ignore rules and attributes of an agent's change nothing and never run."""
    tree = bench.agent_tree()
    mark = bench.folder / "mark"
    evil = f"touch '{mark}'; false"
    write_files(tree.path, {"src/solve.py": "better\n", "src/hidden.py": "new\n", ".gitignore": "hidden.py\n"})
    write_files(tree.path, {".gitattributes": "* filter=evil text eol=crlf\n", ".git/info/exclude": "*\n"})
    for name, value in (
        ("core.fsmonitor", evil),
        ("filter.evil.clean", evil),
        ("core.worktree", "/"),
        ("core.bare", "1"),
    ):
        agent_git(tree, "config", "--file", ".git/config", name, value)
    for name in ("pre-commit", "post-index-change", "post-checkout", "reference-transaction"):
        write_files(tree.path, {f".git/hooks/{name}": f"#!/bin/sh\n{evil}\n"})
        (tree.path / ".git/hooks" / name).chmod(0o755)
    shutil.rmtree(tree.path / ".git/refs")
    built = bench.built(tree)
    assert strays(built) == {".gitattributes": "attributes", ".gitignore": "out_of_scope"}
    assert bench.private.read_file(built.commit, "src/solve.py") == b"better\n"
    assert bench.private.read_file(built.commit, "src/hidden.py") == b"new\n"
    bench.pool.prepare_for_agent(tree, bench.base)
    assert agent_git(tree, "status", "--porcelain") == ""
    assert not mark.exists()


def test_ignored_files_are_no_part_of_a_candidate_unless_tracked(tmp_path: Path) -> None:
    """The base commit's rules decide, nested and negated ones too, and the user's `info/exclude`."""
    bench = Bench(
        tmp_path,
        {
            ".gitignore": "*.log\nnode_modules/\n:odd\n:(odd)\n",
            "src/.gitignore": "out/\n!keep.log\n",
            "src/kept.log": "tracked\n",
            "src/solve.py": "x\n",
        },
    )
    write_files(bench.repository.root, {".git/info/exclude": "local.*\n"})
    bench.repository.git("add", "-f", "src/kept.log")
    bench.base = bench.repository.commit()
    bench.reopen()
    tree = bench.agent_tree()
    nested_repository(tree.path)
    (tree.path / "src/lib").rename(tree.path / "node_modules")
    write_files(tree.path, {"src/kept.log": "changed\n", "src/keep.log": "x", "src/new/[a]*.py": "x"})
    ignored = ("src/a.log", "src/out/deep/f", "src/local.py", "src/:odd", "src/new/b.log", "b.log", ":(odd)", ":odd")
    write_files(tree.path, dict.fromkeys(ignored, "x"))
    built = bench.built(tree)
    assert [change.path for change in built.changes] == ["src/keep.log", "src/kept.log", "src/new/[a]*.py"]
    assert built.strays == ()


def test_line_endings_by_the_base_commits_attributes_are_no_change(tmp_path: Path) -> None:
    """A file that is stored with other line endings is neither a change nor evidence, whatever was known of it."""
    bench = Bench(
        tmp_path,
        {".gitattributes": "*.txt text eol=crlf\n", "src/a.txt": "a\nb\n", "tests/b.txt": "a\n", "src/c": "c\n"},
    )
    tree = bench.agent_tree()
    tree.prepared = None
    assert bench.candidate(tree) == NoChange(())
    write_files(tree.path, {"src/a.txt": "a\r\nc\r\n", "tests/b.txt": "b\r\n"})
    built = bench.built(tree)
    assert bench.private.read_file(built.commit, "src/a.txt") == b"a\nc\n"
    assert [change[:4] for change in built.changes] == [("src/a.txt", "M", 1, 1)]
    assert strays(built) == {"tests/b.txt": "immutable"}


def test_special_files_and_closed_files_do_not_stop_a_candidate(bench: Bench) -> None:
    """Pipes are passed over, a tracked file that became one is gone, a file closed to its owner is read."""
    tree = bench.agent_tree()
    os.mkfifo(tree.path / "src" / "pipe")
    (tree.path / "src" / "other.py").unlink()
    os.mkfifo(tree.path / "src" / "other.py")
    write_files(tree.path, {"src/solve.py": "better\n"})
    (tree.path / "src" / "solve.py").chmod(0o000)
    (tree.path / "tests").chmod(0o000)
    built = bench.built(tree)
    assert [change[:2] for change in built.changes] == [("src/other.py", "D"), ("src/solve.py", "M")]
    assert built.strays == ()


def test_a_folder_replaced_by_a_link_is_not_followed(bench: Bench) -> None:
    """Files behind a link are not the tree's: the tracked ones are gone, and the link is judged by itself."""
    tree = bench.agent_tree()
    outside = bench.folder / "outside"
    shutil.copytree(tree.path / "tests", outside)
    shutil.rmtree(tree.path / "tests")
    (tree.path / "tests").symlink_to(outside)
    (tree.path / "src/solve.py").write_text("better\n")
    built = bench.built(tree)
    assert strays(built) == {"tests": "symlink", "tests/check.py": "immutable"}


def test_submodules_of_the_base_stay_as_they_are(tmp_path: Path) -> None:
    """A gitlink is an empty folder in a tree; filling it is evidence, a candidate keeps the link."""
    inner = a_repository(tmp_path / "inner")
    bench = Bench(tmp_path / "outer")
    bench.repository.git("submodule", "add", "-q", str(inner.root), "lib")
    bench.base = bench.repository.commit()
    tree = bench.agent_tree()
    (tree.path / "src/solve.py").write_text("better\n")
    built = bench.built(tree)
    assert built.strays == () and bench.private.ls_tree(built.commit).gitlinks == ["lib"]
    write_files(tree.path, {"lib/x": "x"})
    assert strays(bench.built(tree)) == {"lib": "gitlink"}
    bench.pool.prepare(tree, built.commit)
    assert os.listdir(tree.path / "lib") == []


def test_a_patch_in_a_tree_becomes_a_candidate(bench: Bench) -> None:
    """A tree that holds another commit is compared with the base all the same (patches, retries)."""
    tree = bench.agent_tree()
    write_files(tree.path, {"src/solve.py": "better\n", "src/new.py": "x\n"})
    first = bench.built(tree)
    for _ in range(2):
        bench.pool.prepare(tree, first.commit)
        time.sleep(0.05)
    again = bench.built(tree)
    assert again == first


def test_a_common_candidate_takes_one_git_call(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment's share of git in the common case: one call to build its candidate, none to prepare trees."""
    calls: list[str] = []
    execute = git_calls._execute

    def counted(command: list[str], *rest: object) -> object:
        calls.append(command[command.index("safe.directory=*") + 1])
        return execute(command, *rest)  # type: ignore[arg-type]

    bench.agent_tree()
    bench.pool.prepare(bench.pool.tree("measure"), bench.base)
    monkeypatch.setattr(git_calls, "_execute", counted)
    tree = bench.agent_tree()
    (tree.path / "src/solve.py").write_text("better\n")
    built = bench.built(tree)
    bench.pool.prepare(bench.pool.tree("measure"), built.commit)
    assert calls == ["diff-tree"]


# Shared files


def test_shared_files_are_copies_and_stay_out_of_the_candidate(bench: Bench) -> None:
    """Files and folders arrive, links followed; changing the copy changes nothing of the user's."""
    root = bench.repository.root
    bench.repository.write({".env": "KEY=1\n", "data/a/b": "data\n", "data/c": "c\n", "src/solve.py": "user's own\n"})
    (root / "data" / "link").symlink_to(bench.folder / "elsewhere")
    write_files(bench.folder, {"elsewhere/x": "linked\n"})
    (root / "data" / "circle").symlink_to(root / "data")
    (root / "data" / "dangling").symlink_to("nowhere")
    before = fingerprint_of(root)
    tree = bench.agent_tree()
    shared = [".env", "data/", "src/solve.py"]
    copied = bench.pool.copy_shared(tree, root, shared)
    assert copied == [".env", "data/a/b", "data/c", "data/link/x"]
    assert (tree.path / "data/link/x").read_text() == "linked\n"
    assert (tree.path / "src/solve.py").read_text() == FILES["src/solve.py"]
    write_files(tree.path, {"data/c": "changed\n", "data/more": "x", "src/other.py": "better\n"})
    built = bench.built(tree, left_out=(".env", "data"))
    assert [change.path for change in built.changes] == ["src/other.py"] and built.strays == ()
    bench.pool.prepare(tree, bench.base, keep=[".env", "data"])
    (tree.path / "data/a/b").unlink()
    (tree.path / "data/a/b").symlink_to(root / "data/a/b")
    bench.pool.copy_shared(tree, root, shared)
    assert not (tree.path / "data/more").exists() and not (tree.path / "data/a/b").is_symlink()
    assert (tree.path / "data/c").read_text() == "c\n"
    assert fingerprint_of(root) == before


def test_an_untouched_copy_is_not_made_again(bench: Bench) -> None:
    """Large data are copied once a tree; a changed source or copy is copied again."""
    bench.repository.write({"data/big": "1\n"})
    tree = bench.agent_tree()
    bench.pool.copy_shared(tree, bench.repository.root, ["data"])
    inode = (tree.path / "data/big").stat().st_ino
    bench.pool.prepare(tree, bench.base, keep=["data"])
    bench.pool.copy_shared(tree, bench.repository.root, ["data"])
    assert (tree.path / "data/big").stat().st_ino == inode
    bench.repository.write({"data/big": "2\n"})
    bench.pool.copy_shared(tree, bench.repository.root, ["data"])
    assert (tree.path / "data/big").read_text() == "2\n"


@pytest.mark.parametrize("name", ["missing", "../outside", "/etc/passwd", ".git/config", ""])
def test_a_shared_file_that_is_not_there_is_an_error(bench: Bench, name: str) -> None:
    """A missing or outside file is an error of set-up, never a bad score (BR-51)."""
    (bench.folder / "outside").write_text("x")
    with pytest.raises(SharedFileMissing) as missing:
        bench.pool.copy_shared(bench.agent_tree(), bench.repository.root, [name])
    assert missing.value.exit_code == 1 and "shared_files" in missing.value.mend


def test_a_commit_made_without_git_is_the_one_that_git_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects written directly have the hashes of git's own: nested folders, modes, links, deletions, odd names."""
    from headway.adapters.workspaces import candidate as module

    files: dict[str, str | bytes] = {
        "a/b/c.py": "1\n",
        "a/b.py": "2\n",
        "a-b/x": "3\n",
        "gone/only.txt": "4\n",
        "größe mit Leerzeichen.txt": "5\n",
        "becomes/folder": "6\n",
        "binary.bin": bytes(range(256)),
    }
    made = []
    for name in ("direct", "staged"):
        repository = a_repository(tmp_path / name / "repo", files)
        private = PrivateRepository.open_or_create(tmp_path / name / "private", find_repository(repository.root))
        pool = TreePool(tmp_path / name / "cache", private)
        tree = pool.tree("t")
        pool.prepare(tree, repository.head)
        (tree.path / "a/b/c.py").write_text("changed\nmore\n")
        (tree.path / "a/b.py").chmod(0o755)
        (tree.path / "gone/only.txt").unlink()
        (tree.path / "new/deep/er").mkdir(parents=True)
        (tree.path / "new/deep/er/file.txt").write_text("new\n")
        (tree.path / "a/link").symlink_to("b.py")
        (tree.path / "becomes/folder").unlink()
        (tree.path / "becomes/folder").mkdir()
        (tree.path / "becomes/folder/file").write_text("7\n")
        (tree.path / "größe mit Leerzeichen.txt").write_text("8\n")
        (tree.path / "binary.bin").write_bytes(bytes(reversed(range(256))))
        if name == "staged":
            monkeypatch.setattr(module, "fits", lambda *_: False)
        built = pool.candidate(
            tree,
            repository.head,
            in_mutable=lambda path: True,
            in_immutable=lambda path: False,
            message="ä message",
            when="2026-01-31T12:00:00Z",
        )
        assert isinstance(built, module.CandidateBuilt)
        repository.git("--git-dir", str(private.path), "fsck", "--strict", "--no-dangling")
        made.append((built.tree_sha, built.changes, built.patch, repository.head))
    assert made[0] == made[1]


def test_a_file_of_more_than_a_gibibyte_is_evidence_and_no_candidate(bench: Bench) -> None:
    """It is not read: neither new nor in the place of a committed file does it hold up or fill anything."""
    tree = bench.agent_tree()
    write_files(tree.path, {"src/small.py": "x = 1\n"})
    for name in ("src/huge.bin", "src/solve.py"):
        with (tree.path / name).open("ab") as file:
            file.truncate((1 << 30) + 1)
    answer = bench.built(tree)
    assert strays(answer) == {"src/huge.bin": "too_large", "src/solve.py": "too_large"}
    assert [change.path for change in answer.changes] == ["src/small.py"]
    assert all(stray.found_sha256 is None for stray in answer.strays)


@pytest.mark.parametrize("instead", ["nothing", "link", "file"])
def test_where_the_folder_is_gone_nothing_is_said_of_it(bench: Bench, instead: str) -> None:
    """A link in its place is not followed."""
    tree = bench.agent_tree()
    shutil.rmtree(tree.path)
    if instead == "link":
        tree.path.symlink_to(bench.repository.root)
    elif instead == "file":
        tree.path.write_text("x")
    made = bench.pool.candidate(
        tree, bench.base, in_mutable=lambda path: True, in_immutable=lambda path: False, message="try", when=WHEN
    )
    assert isinstance(made, TreeGone)
    assert holds(bench.agent_tree().path) == bench.content(bench.base)


def test_a_full_disk_is_not_said_to_be_mended_by_removing_a_tree(tmp_path: Path) -> None:
    """Of one file by its number, of several by the words."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x")
    assert isinstance(stuck(tmp_path, full, "detail"), DiskFailed)
    assert isinstance(stuck(tmp_path, shutil.Error([("a", "b", str(full))]), "detail"), DiskFailed)
    assert isinstance(stuck(tmp_path, OSError(errno.EBUSY, "busy"), "detail"), TreeStuck)
