"""The user's repository is found, read and left alone; the private repository holds what a run makes."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.adapters import git as git_calls
from headway.adapters.git import Place, run_git
from headway.adapters.private_repository import Conflict, PrivateRepository
from headway.adapters.user_repository import find_repository
from headway.errors import GitFailed, GitLocked, PatchEmpty, RefMoved, RepositoryUnusable, RequestWrong
from tests.repositories import Repository, a_repository, fingerprint_of, hostile_hooks, run, write_files

WHEN = "1700000000 +0000"
REF = "refs/heads/optimize/tune"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A plain repository with one commit."""
    return a_repository(tmp_path / "repo")


def private_of(repository: Repository) -> PrivateRepository:
    """Open the private repository beside a test's repository."""
    path = repository.root.parent / "state" / "repo.git"
    return PrivateRepository.open_or_create(path, find_repository(repository.root))


def changed(private: PrivateRepository, files: dict[str, str | bytes], onto: str | None = None) -> str:
    """Make a commit in the private repository that changes files."""
    base = onto or private.user.head
    folder = private.path.parent / "scratch"
    write_files(folder, files)
    index = private.path.parent / "scratch-index"
    index.unlink(missing_ok=True)
    place = private.place.at(folder, index)
    run_git(place, "read-tree", base)
    run_git(place, "update-index", "--add", "--", *files)
    return private.commit_tree(run_git(place, "write-tree").text, base, "changed", WHEN)


# Finding the user's repository


def test_a_repository_is_found_from_any_folder_inside_it(repository: Repository) -> None:
    """Root, head and branch are the checkout's, wherever in it one stands."""
    found = find_repository(repository.root / "src")
    assert (found.root, found.head, found.branch) == (repository.root, repository.head, "refs/heads/main")
    assert not found.is_shallow


def test_another_default_branch_and_odd_paths_are_fine(tmp_path: Path) -> None:
    """Nothing rests on a branch's name or on plain paths."""
    repository = a_repository(tmp_path / "größe mit raum", {"ä ö/ü.txt": "x\n"}, branch="trunk")
    found = find_repository(repository.root)
    assert found.branch == "refs/heads/trunk"
    repository.write({"ä ö/ü.txt": "y\n", "neu ñ": "z\n"})
    assert found.dirty_paths() == ["ä ö/ü.txt", "neu ñ"]
    private = private_of(repository)
    assert list(private.ls_tree(found.head).entries) == ["ä ö/ü.txt"]


def test_a_detached_head_has_no_branch(repository: Repository) -> None:
    """The commit that is checked out counts, with or without a branch."""
    repository.git("checkout", "-q", "--detach")
    found = find_repository(repository.root)
    assert (found.head, found.branch) == (repository.head, None)


def test_a_linked_worktree_of_the_users_works(repository: Repository) -> None:
    """A checkout whose `.git` is a file publishes to the shared repository."""
    linked = repository.root.parent / "linked tree"
    repository.git("worktree", "add", "-q", "-b", "side", str(linked))
    user = find_repository(linked)
    assert (user.root, user.branch) == (linked, "refs/heads/side")
    private = PrivateRepository.open_or_create(linked.parent / "p.git", user)
    kept = changed(private, {"src/solve.py": "better\n"})
    private.publish(kept, [user.head], REF, None)
    assert repository.git("show", f"{REF}:src/solve.py") == "better"
    assert user.checked_out_branches() == {"refs/heads/main": repository.root, "refs/heads/side": linked}


def test_a_shallow_clone_works(repository: Repository) -> None:
    """The private repository knows where the history ends, also after the user fetched more."""
    repository.write({"src/solve.py": "second\n"})
    repository.commit()
    clone = Repository(repository.root.parent / "clone", repository.home)
    run(
        repository.home, "clone", "-q", "--depth=1", f"file://{repository.root}", str(clone.root), cwd=clone.root.parent
    )
    user = find_repository(clone.root)
    assert user.is_shallow
    private = private_of(clone)
    kept = changed(private, {"src/solve.py": "better\n"})
    private.publish(kept, [user.head], REF, None)
    assert clone.git("log", "--format=%s", REF).splitlines() == ["changed", "more"]
    assert run_git(private.place, "rev-list", "--count", kept).text == "2"
    clone.git("fetch", "-q", "--unshallow")
    private = private_of(clone)
    assert run_git(private.place, "rev-list", "--count", kept).text == "3"


def test_objects_of_the_other_hash_work(tmp_path: Path) -> None:
    """A SHA-256 repository gets a SHA-256 private repository."""
    repository = a_repository(tmp_path / "repo", object_format="sha256")
    private = private_of(repository)
    kept = changed(private, {"src/solve.py": "better\n"})
    private.publish(kept, [repository.head], REF, None)
    assert len(kept) == 64 and repository.git("rev-parse", REF) == kept


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda at: at.mkdir(), "not a git repository"),
        (lambda at: run(at.parent, "init", "-q", "--bare", str(at), cwd=at.parent), "is bare"),
        (lambda at: run(at.parent, "init", "-q", str(at), cwd=at.parent), "no commits yet"),
        (lambda at: None, "no such folder"),
    ],
    ids=["no repository", "bare", "no commits", "no folder"],
)
def test_what_no_run_can_start_from_is_refused(tmp_path: Path, make: Callable[[Path], None], says: str) -> None:
    """The refusal names what is wrong, where, and the mend."""
    make(tmp_path / "at")
    with pytest.raises(RepositoryUnusable, match=says) as refused:
        find_repository(tmp_path / "at")
    assert refused.value.exit_code == 1 and refused.value.mend and str(tmp_path) in refused.value.where


def test_gits_own_folder_is_refused(repository: Repository) -> None:
    """Standing in `.git` is not standing in a checkout."""
    with pytest.raises(RepositoryUnusable, match="belongs to git"):
        find_repository(repository.root / ".git" / "refs")


# Reading it without touching it


def test_reading_a_dirty_repository_leaves_every_byte(repository: Repository) -> None:
    """Modified, staged, deleted and untracked files are named; nothing is written, no hook runs."""
    mark = repository.root.parent / "mark"
    hostile_hooks(repository, mark)
    repository.git("config", "core.fsmonitor", f"touch '{mark}'; false")
    repository.write({".gitignore": "*.log\n", "a.log": "ignored\n"})
    repository.write({"src/solve.py": "modified\n", "new file": "untracked\n", "staged.py": "staged\n"})
    repository.git("-c", "core.fsmonitor=false", "add", "staged.py")
    (repository.root / "README.md").unlink()
    os.utime(repository.root / "src" / "other.py")  # stale in the index: `git status` would write it back
    before = fingerprint_of(repository.root)
    user = find_repository(repository.root)
    assert sorted(user.dirty_paths()) == [".gitignore", "README.md", "new file", "src/solve.py", "staged.py"]
    user.has_submodules(user.head)
    user.lfs_pointers(user.head)
    user.checked_out_branches()
    assert fingerprint_of(repository.root) == before
    assert not mark.exists()


def test_line_endings_by_the_users_settings_are_not_dirt(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the user's configuration asks for CRLF checkouts, a CRLF checkout is clean."""
    monkeypatch.setenv("HOME", str(repository.home))
    repository.git("config", "--global", "core.autocrlf", "true")
    (repository.root / "src" / "solve.py").unlink()
    repository.git("checkout", "--", "src/solve.py")
    assert b"\r\n" in (repository.root / "src" / "solve.py").read_bytes()
    os.utime(repository.root / "src" / "solve.py")
    assert find_repository(repository.root).dirty_paths() == []


def test_inherited_variables_and_settings_decide_nothing(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`GIT_*` variables and a strange global configuration do not reach git."""
    other = a_repository(tmp_path / "other", {"other": "x\n"})
    monkeypatch.setenv("HOME", str(other.home))
    other.git("config", "--global", "alias.rev-parse", "!false")
    other.git("config", "--global", "diff.external", "false")
    other.git("config", "--global", "diff.noprefix", "true")
    other.git("config", "--global", "status.short", "true")
    other.git("config", "--global", "init.templateDir", "/nonexistent")
    other.git("config", "--global", "core.bigFileThreshold", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(other.root / ".git"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.hooksPath=/nonexistent'")
    user = find_repository(repository.root)
    private = private_of(repository)
    new = changed(private, {"src/solve.py": "better\n"})
    assert user.root == repository.root
    assert b"--- a/src/solve.py\n+++ b/src/solve.py\n" in private.diff(user.head, new)


def test_submodules_are_named(repository: Repository, tmp_path: Path) -> None:
    """A gitlink of the base commit is reported with its path."""
    inner = a_repository(tmp_path / "inner")
    repository.git("submodule", "add", "-q", str(inner.root), "lib/inner one")
    repository.commit()
    user = find_repository(repository.root)
    assert user.has_submodules(user.head) == ["lib/inner one"]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


def test_lfs_pointers_are_named_where_no_filter_is(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a filter a pointer would be measured as if it were the data."""
    repository.write({".gitattributes": "*.bin filter=lfs\n", "a b.bin": POINTER, "c.bin": "real\n"})
    repository.commit()
    monkeypatch.setenv("HOME", str(repository.home))
    repository.git("config", "filter.lfs.process", "")  # whatever this machine is set up with
    repository.git("config", "filter.lfs.smudge", "")
    user = find_repository(repository.root)
    assert user.lfs_pointers(user.head) == ["a b.bin"]
    assert user.lfs_pointers(user.head, ["c.bin"]) == []


def test_a_filter_that_skips_the_data_is_none(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """BR-51: after `git lfs install --skip-smudge` a tree holds pointers, however good the filter looks."""
    repository.write({".gitattributes": "*.bin filter=lfs\n", "a.bin": POINTER})
    repository.commit()
    monkeypatch.setenv("HOME", str(repository.home))
    program = repository.home / "git-lfs"
    program.touch(0o755)
    monkeypatch.setenv("PATH", f"{repository.home}:{os.environ['PATH']}")
    for words, found in (("filter-process --skip", ["a.bin"]), ("filter-process", [])):
        repository.git("config", "filter.lfs.process", f"git-lfs {words}")
        user = find_repository(repository.root)
        assert user.lfs_pointers(user.head) == found


def test_lfs_pointers_are_no_matter_with_a_filter_or_without_lfs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter turns pointers into data; without attributes a file that looks like one is just a file."""
    plain = a_repository(tmp_path / "plain", {"a.bin": POINTER})
    assert find_repository(plain.root).lfs_pointers(plain.head) == []
    repository = a_repository(tmp_path / "repo", {".gitattributes": "*.bin filter=lfs\n", "a.bin": POINTER})
    monkeypatch.setenv("HOME", str(repository.home))
    repository.git("config", "--global", "filter.lfs.smudge", "cat")
    assert find_repository(repository.root).lfs_pointers(repository.head) == []


# Refs


def test_a_ref_moves_only_from_where_it_was_left(repository: Repository) -> None:
    """A ref that somebody else moved, made or deleted is left there, and both places are named."""
    user, first = find_repository(repository.root), repository.head
    second = repository.commit()
    with pytest.raises(RefMoved, match="no commit"):
        user.update_ref(REF, second, first)
    user.update_ref(REF, first, None)
    with pytest.raises(RefMoved) as moved:
        user.update_ref(REF, second, None)
    assert (moved.value.expected, moved.value.found, moved.value.exit_code) == ("", first, 4)
    user.update_ref(REF, second, first)
    assert user.read_ref(REF) == second
    with pytest.raises(RefMoved):
        user.delete_ref(REF, first)
    user.delete_ref(REF, second)
    assert user.read_ref(REF) is None


def test_moving_a_ref_runs_no_hook_and_writes_no_reflog(repository: Repository) -> None:
    """The user's hooks and reflogs never see headway's refs."""
    mark = repository.root.parent / "mark"
    hostile_hooks(repository, mark)
    repository.git("config", "core.logAllRefUpdates", "always")
    before = fingerprint_of(repository.root)
    find_repository(repository.root).update_ref(REF, repository.head, None)
    assert fingerprint_of(repository.root) == before
    assert not mark.exists()


def test_a_lock_is_waited_for_and_then_named(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that a dead git left is named with the command that removes it; nothing of it is touched."""
    settings = tuple(s.replace("5000", "300") for s in git_calls.FIXED_SETTINGS)
    monkeypatch.setattr(git_calls, "FIXED_SETTINGS", settings)
    lock = repository.root / ".git" / "refs" / "heads" / "optimize" / "tune.lock"
    write_files(repository.root, {str(lock.relative_to(repository.root)): ""})
    with pytest.raises(GitLocked) as locked:
        find_repository(repository.root).update_ref(REF, repository.head, None)
    assert locked.value.lock == str(lock) and f"rm '{lock}'" in locked.value.mend
    assert locked.value.exit_code == 4 and lock.exists()


def test_a_dead_lock_in_the_private_repository_is_cleared(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else works there: a lock that outlasts the wait belongs to a git that died, and the run goes on."""
    settings = tuple(s.replace("5000", "100") for s in git_calls.FIXED_SETTINGS)
    monkeypatch.setattr(git_calls, "FIXED_SETTINGS", settings)
    private, ref = private_of(repository), "refs/headway/tune/exp-001"
    write_files(private.path, {f"{ref}.lock": ""})
    with pytest.raises(GitLocked):
        private.set_ref(ref, repository.head)
    os.utime(private.path / f"{ref}.lock", (0, 0))
    private.cas_ref(ref, repository.head, None)
    assert private.read_ref(ref) == repository.head


def test_a_left_index_lock_of_the_users_hinders_nothing(repository: Repository) -> None:
    """headway never takes the user's index, so a dead lock on it does not matter."""
    write_files(repository.root, {".git/index.lock": ""})
    private = private_of(repository)
    assert private.user.dirty_paths() == []
    private.publish(changed(private, {"src/solve.py": "better\n"}), [repository.head], REF, None)
    assert (repository.root / ".git" / "index.lock").exists()


def test_a_failure_of_gits_says_gits_words(repository: Repository) -> None:
    """Command, status and the last lines of standard error are in the message, and it pickles."""
    with pytest.raises(GitFailed, match=r"`git ls-tree -r -z --full-tree nothing` ended with 128: fatal") as failed:
        private_of(repository).ls_tree("nothing")
    assert failed.value.exit_code == 4
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


# The private repository


def test_it_is_made_once_and_opened_again(repository: Repository) -> None:
    """A second opening finds what the first one left, also after one that was cut off."""
    (repository.root.parent / "state" / "repo.git.new").mkdir(parents=True)
    private = private_of(repository)
    private.set_ref("refs/headway/tune/exp-001", repository.head)
    again = private_of(repository)
    assert again.list_refs("refs/headway/tune/") == {"refs/headway/tune/exp-001": repository.head}
    assert again.read_ref("refs/headway/tune/exp-002") is None
    assert os.listdir(private.path.parent) == ["repo.git"]
    assert not (private.path / "hooks").exists()


def test_making_and_using_it_leaves_the_users_repository(repository: Repository) -> None:
    """Objects are borrowed; nothing is written until something is published, and then only objects and the ref."""
    mark = repository.root.parent / "mark"
    hostile_hooks(repository, mark)
    repository.write({"src/solve.py": "the user's own work\n", "untracked": "x\n"})
    before = fingerprint_of(repository.root)
    objects = set((repository.root / ".git" / "objects").rglob("*"))
    private = private_of(repository)
    kept = changed(private, {"src/solve.py": "better\n"})
    assert set((repository.root / ".git" / "objects").rglob("*")) == objects
    private.publish(kept, [repository.head], REF, None)
    assert fingerprint_of(repository.root) == before
    assert repository.git("rev-parse", REF) == kept
    repository.git("fsck", "--strict", "--full")
    assert not mark.exists()


def test_the_same_commit_has_the_same_hash(repository: Repository) -> None:
    """Identity and dates are fixed, so that a repeat after a crash makes no second commit."""
    private = private_of(repository)
    tree = private.tree_of(repository.head)
    made = [private.commit_tree(tree, repository.head, "say -- it\n\nwith ü", WHEN) for _ in range(2)]
    assert made[0] == made[1] and made[0] == private.resolve(made[0])
    said = run_git(private.place, "log", "-1", "--format=%an <%ae> %cn %at %B", made[0]).text
    assert said.startswith("headway <headway@localhost> headway 1700000000 say -- it\n\nwith ü")
    assert private.resolve("nothing") is None


def test_publishing_again_changes_nothing_and_a_moved_branch_is_kept(repository: Repository) -> None:
    """What is there already is fine; a branch that the user moved is never overwritten."""
    private, base = private_of(repository), repository.head
    first = changed(private, {"src/solve.py": "better\n"})
    second = changed(private, {"src/solve.py": "best\n"}, onto=first)
    private.publish(first, [base], REF, None)
    private.publish(first, [base], REF, None)
    private.publish(second, [first], REF, first)
    assert repository.git("rev-parse", REF) == second
    repository.git("update-ref", REF, base)
    with pytest.raises(RefMoved):
        private.publish(first, [base], REF, second)
    assert repository.git("rev-parse", REF) == base


def test_candidates_outlive_a_gc_of_the_users(repository: Repository) -> None:
    """An experiment's diff can be shown whatever the user cleans up (BR-27), imported branches included."""
    private, base = private_of(repository), repository.head
    repository.git("checkout", "-q", "-b", "idea")
    repository.write({"src/solve.py": "an idea\n"})
    idea = repository.commit()
    assert private.import_branch("idea", base) == idea
    made = changed(private, {"src/other.py": "OTHER = 2\n"})
    repository.git("checkout", "-q", "main")
    repository.git("branch", "-q", "-D", "idea")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "-q", "--prune=now")
    assert b"+an idea" in private.diff(base, idea) and b"+OTHER = 2" in private.diff(base, made)


def test_an_unknown_branch_is_refused(repository: Repository) -> None:
    """The refusal names it."""
    with pytest.raises(RequestWrong, match="`--upload-pack=x`"):
        private_of(repository).import_branch("--upload-pack=x", repository.head)


def test_differences_are_told_file_by_file(tmp_path: Path) -> None:
    """Status, lines added and removed, binary files and modes; odd names survive."""
    repository = a_repository(tmp_path / "repo", {"a b ü.txt": "1\n2\n", "gone": "x\n", "bin": b"\0\1", "same": "s"})
    private = private_of(repository)
    repository.write({"a b ü.txt": "1\n3\n4\n", "bin": b"\0\2", "new\tname": "n\n"})
    (repository.root / "gone").unlink()
    after = repository.commit()
    changes = {change.path: change[1:4] for change in private.changes(private.user.head, after)}
    assert changes == {
        "a b ü.txt": ("M", 2, 1),
        "bin": ("M", None, None),
        "gone": ("D", 0, 1),
        "new\tname": ("A", 1, 0),
    }
    assert private.read_file(after, "a b ü.txt") == b"1\n3\n4\n" and private.read_file(after, "gone") is None
    hashes = private.blob_hashes(after, ["same", "gone"])
    assert hashes["gone"] is None and private.read_blob(str(hashes["same"])) == b"s"
    assert private.read_blobs([str(hashes["same"])]) == {hashes["same"]: b"s"}


# Patches


def test_the_patches_people_write_apply(repository: Repository) -> None:
    """`git diff`, `git format-patch` and `diff -u` all give the same tree."""
    private, base = private_of(repository), repository.head
    repository.write({"src/solve.py": "def solve():\n    return 2\n", "src/ñ new.py": "N = 1\n"})
    repository.git("add", "-A")
    plain = repository.git("diff", "--cached").encode() + b"\n"
    wanted = repository.commit("as a mail")
    mail = repository.git("format-patch", "--stdout", "-1").encode() + b"\n"
    by_hand = (
        b"--- a/src/solve.py\t2026-01-01 00:00:00\n+++ b/src/solve.py\n@@ -1,2 +1,2 @@\n def solve():\n"
        b"-    return 1\n+    return 2\n--- /dev/null\n+++ b/src/\xc3\xb1 new.py\n@@ -0,0 +1 @@\n+N = 1\n"
    )
    for patch in (plain, mail, by_hand, private.diff(base, wanted)):
        made = private.apply_patch(base, patch, "applied", WHEN)
        assert isinstance(made, str)
        assert private.tree_of(made) == private.tree_of(wanted)
        assert run_git(private.place, "rev-parse", f"{made}^").text == base


def test_a_patch_moves_with_its_surroundings(tmp_path: Path) -> None:
    """Three-way: lines that moved, and binary files, are carried over."""
    lines = [f"line {n}\n" for n in range(40)]
    repository = a_repository(tmp_path / "repo", {"a": "".join(lines), "bin": bytes(range(256))})
    private, base = private_of(repository), repository.head
    end = changed(private, {"a": "".join([*lines[:-1], "other end\n"]), "bin": bytes(reversed(range(256)))})
    start = changed(private, {"a": "".join(["new\n"] * 9 + lines)})
    made = private.cherry_pick(start, base, end, "both", WHEN)
    assert isinstance(made, str)
    assert private.read_file(made, "a") == "".join(["new\n"] * 9 + lines[:-1] + ["other end\n"]).encode()
    assert private.read_file(made, "bin") == bytes(reversed(range(256)))


def test_a_conflict_names_the_files_and_leaves_nothing(repository: Repository) -> None:
    """Two changes of one line do not combine."""
    private, base = private_of(repository), repository.head
    one = changed(private, {"src/solve.py": "def solve():\n    return 2\n"})
    other = changed(private, {"src/solve.py": "def solve():\n    return 3\n"})
    answer = private.cherry_pick(one, base, other, "both", WHEN)
    assert isinstance(answer, Conflict)
    assert answer.paths == ("src/solve.py",) and "src/solve.py" in answer.detail
    assert os.listdir(private.path / "headway-index") == []


@pytest.mark.parametrize(
    "name", ["src/missing.py", "../outside.py", ".git/config"], ids=["missing", "outside", "inside .git"]
)
def test_a_patch_for_files_that_are_not_there_is_a_conflict(repository: Repository, name: str) -> None:
    """Git's words are kept; nothing outside the tree is ever written."""
    patch = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n".encode()
    answer = private_of(repository).apply_patch(repository.head, patch, "no", WHEN)
    assert isinstance(answer, Conflict)
    assert name in answer.detail


@pytest.mark.parametrize("patch", [b"", b"\n", b"no diff at all\n"])
def test_an_empty_patch_is_refused(repository: Repository, patch: bytes) -> None:
    """No change is no candidate."""
    with pytest.raises(PatchEmpty):
        private_of(repository).apply_patch(repository.head, patch, "no", WHEN)


def test_paths_are_never_patterns(repository: Repository) -> None:
    """A path with a star in it names one file."""
    place = Place(repository.root / ".git", repository.root, cwd=repository.root)
    assert run_git(place, "ls-files", "--", "src/*.py").text == ""
    assert run_git(place, "ls-files", "--", "src/solve.py").text == "src/solve.py"


def test_git_starts_nowhere_in_a_tree(repository: Repository) -> None:
    """A call about a tree starts in the private repository's folder and finds nothing by walking upwards."""
    place = Place(repository.root / ".git", work_tree=repository.root)
    assert place.folder == repository.root / ".git"
