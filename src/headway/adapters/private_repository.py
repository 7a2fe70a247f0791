"""headway's private repository: where candidates live, and the only repository that calls about trees are made in.

It is bare, borrows the user's objects (alternates) and has none of the user's refs, hooks, templates or configuration.
An experiment's commits stay here whatever happens in the user's repository; what is kept is carried over there with
`publish`: objects first, then one ref by compare-and-swap.

Beside git's own folders it holds `headway-index/` (one index a tree), `headway-stage/` (files on their way into a
commit) and `headway-templates/` (the `.git` that agents' trees are given).

Source: CONTRACTS section 1; DESIGN section 6; BR-27, BR-42.
"""

import importlib
import io
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from headway.adapters.git import Place, run_git
from headway.adapters.git_listing import FileChange, Listing, compare_trees, list_commit
from headway.adapters.git_refs import Refs
from headway.adapters.user_repository import UserRepository
from headway.errors import PatchEmpty, RefMoved, RequestWrong

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "headway"), ("EMAIL", "headway@localhost"))
}
_LISTINGS_KEPT = 4
_TREES_KEPT = 256
_BLOB_BYTES_KEPT = 8 << 20
_WORDS_KEPT = 40
_REFUSED = re.compile(r"^error: (?:patch failed: )?(.+?)(?::\d+$|: (?:does not|already|patch does not|No such))", re.M)


@dataclass(frozen=True)
class Conflict:
    """A change that does not fit where it was to go: the files in the way, and git's words."""

    paths: tuple[str, ...]
    detail: str


def store_loose(objects: Path, kind: str, content: bytes) -> str:
    """Store a loose object without starting git, and give its hash; for SHA-1 repositories alone.

    Args:
        objects: a repository's object folder.
        kind: `blob`, `tree` or `commit`.
        content: its bytes, as git has them behind the header.
    """
    gitdb: Any = importlib.import_module("gitdb")  # comes with GitPython, which is imported lazily too
    stored = gitdb.LooseObjectDB(str(objects)).store(gitdb.IStream(kind, len(content), io.BytesIO(content)))
    return str(stored.hexsha.decode("ascii"))


class PrivateRepository:
    """The private repository of one run. Threads may share it; each tree's index is used by one at a time."""

    def __init__(self, path: Path, user: UserRepository) -> None:
        self.path = path
        self.user = user
        self.place = Place(path, settings=user.settings)
        self.refs = Refs(self.place, is_own=True)
        self._lock = threading.Lock()
        self._listings: OrderedDict[str, Listing] = OrderedDict()
        self._trees: OrderedDict[str, str] = OrderedDict()
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._made: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    @classmethod
    def open_or_create(cls, path: Path, user: UserRepository) -> "PrivateRepository":
        """Open the repository at `path`, made first where it is not there yet.

        The user's object folder, shallow boundary and `info/exclude` are taken anew at every opening.
        Raises: RequestWrong when it was made for a repository of another object format; GitFailed; OSError.
        """
        path = path.absolute()
        if not _is_whole(path):
            _create(path, user)
        repository = cls(path, user)
        repository._refresh()
        return repository

    # Commits

    def commit_tree(self, tree: str, parent: str | None, message: str, when: str | None = None) -> str:
        """Make a commit under headway's own name; the same arguments give the same hash.

        Args:
            tree: hash of the tree.
            parent: the commit before it, None for a root.
            message: what the commit says.
            when: date of the commit in a form of git's (`2026-01-31T12:00:00Z`, `1700000000 +0000`); None: now.
        """
        words = ("commit-tree", tree, *(("-p", parent) if parent else ()), "-F", "-")
        dates = {} if when is None else {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        text = message.replace("\0", "").encode(errors="replace")
        if not text.endswith(b"\n"):
            text += b"\n"
        return run_git(self.place, *words, stdin=text, environment=IDENTITY | dates).text

    def resolve(self, revision: str) -> str | None:
        """Give the commit that a revision names here, None where it names none."""
        words = ("rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        answer = run_git(self.place, *words, accept=(0, 1, 128))
        return answer.text if answer.status == 0 else None

    def tree_of(self, commit: str) -> str:
        """Give the hash of a commit's tree."""
        with self._lock:
            known = self._trees.get(commit)
        if known is None:
            known = run_git(self.place, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").text
            self.know_tree(commit, known)
        return known

    def know_tree(self, commit: str, tree: str) -> None:
        """Keep the hash of a commit's tree that is known without asking git."""
        with self._lock:
            self._trees[commit] = tree
            while len(self._trees) > _TREES_KEPT:
                self._trees.popitem(last=False)

    def store_object(self, kind: str, content: bytes) -> str:
        """Store a loose object without starting git, and give its hash; see `store_loose`."""
        return store_loose(self.path / "objects", kind, content)

    def know_objects(self, commit: str, hashes: Iterable[str]) -> None:
        """Note which objects a commit has that its parent has not, all of them loose here."""
        with self._lock:
            self._made[commit] = tuple(hashes)
            while len(self._made) > _LISTINGS_KEPT:
                self._made.popitem(last=False)

    def ls_tree(self, commit: str) -> Listing:
        """Give every file of a commit; the last few listings are kept in memory."""
        with self._lock:
            found = self._listings.get(commit)
            if found is not None:
                self._listings.move_to_end(commit)
        return found if found is not None else self.remember(commit, list_commit(self.place, commit))

    def remember(self, commit: str, listing: Listing) -> Listing:
        """Keep a listing that is known without asking git."""
        with self._lock:
            self._listings[commit] = listing
            while len(self._listings) > _LISTINGS_KEPT:
                self._listings.popitem(last=False)
        return listing

    def diff(self, before: str, after: str) -> bytes:
        """Give the patch from one commit to another: binary, whole hashes, no outside diff program, no renames."""
        words = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv")
        return run_git(self.place, *words, before, after).out

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """Give the files that differ between two commits, with lines added and removed."""
        return compare_trees(self.place, before, after)

    def read_blob(self, sha: str) -> bytes:
        """Give the bytes of a blob."""
        return run_git(self.place, "cat-file", "blob", sha).out

    def size_of(self, sha: str) -> int:
        """Give the size of a blob, in bytes."""
        return int(run_git(self.place, "cat-file", "-s", sha).text)

    def read_blobs(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Give the bytes of many blobs in one call."""
        wanted = list(dict.fromkeys(hashes))
        if not wanted:
            return {}
        out = run_git(self.place, "cat-file", "--batch", stdin="".join(f"{sha}\n" for sha in wanted).encode()).out
        found, at = {}, 0
        for sha in wanted:
            line_end = out.index(b"\n", at)
            size = int(out[at:line_end].split()[2])
            found[sha] = out[line_end + 1 : line_end + 1 + size]
            at = line_end + 1 + size + 1
        return found

    def small_blobs(self, hashes: Iterable[str]) -> dict[str, bytes] | None:
        """Give the bytes of a few small blobs, kept in memory for the next time; None when they are too many bytes."""
        wanted = set(hashes)
        with self._lock:
            found = {sha: self._blobs[sha] for sha in wanted if sha in self._blobs}
        read = self.read_blobs(wanted - found.keys())
        if sum(map(len, read.values())) > _BLOB_BYTES_KEPT:
            return None
        for sha, content in read.items():
            self.keep_blob(sha, content)
        return found | read

    def keep_blob(self, sha: str, content: bytes) -> None:
        """Keep the bytes of a small blob in memory, within a bound."""
        if len(content) > _BLOB_BYTES_KEPT // 8:
            return
        with self._lock:
            self._blobs[sha] = content
            self._blobs.move_to_end(sha)
            while sum(map(len, self._blobs.values())) > _BLOB_BYTES_KEPT:
                self._blobs.popitem(last=False)

    def read_file(self, commit: str, path: str) -> bytes | None:
        """Give the bytes of a file of a commit, None where it has no such file."""
        entry = self.ls_tree(commit).entries.get(path)
        return None if entry is None else self.read_blob(entry.sha)

    def blob_hashes(self, commit: str, paths: Iterable[str]) -> dict[str, str | None]:
        """Give git's hash of each of the paths in a commit, None for a path that it does not have."""
        entries = self.ls_tree(commit).entries
        return {path: entries[path].sha if path in entries else None for path in paths}

    # Refs

    def read_ref(self, ref: str) -> str | None:
        """Give the commit a private ref stands at, None where there is none."""
        return self.refs.read(ref)

    def list_refs(self, prefix: str) -> dict[str, str]:
        """Give every private ref under a prefix with its commit."""
        return self.refs.all(prefix)

    def set_ref(self, ref: str, commit: str) -> None:
        """Put a private ref at a commit, wherever it stood; written as git writes a loose ref, lock file first."""
        path = self.path / ref
        lock = path.with_name(path.name + ".lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError:
            self.refs.put(ref, commit)  # somebody holds the lock, or the name is in the way: git knows what to say
            return
        with os.fdopen(handle, "w") as file:
            file.write(f"{commit}\n")
        lock.replace(path)

    def cas_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a private ref from `old` (None: it must not exist). Raises: RefMoved."""
        self.refs.move(ref, new, old)

    # Changes from elsewhere

    def apply_patch(self, onto: str, patch: bytes, message: str, when: str | None = None) -> str | Conflict:
        """Apply a patch three-way to a commit and give the new commit.

        Reads what `git diff`, `git format-patch` and `diff -u` (with `a/` and `b/`) write. A patch that is in the
        commit already gives a commit with the same tree.
        Returns: the commit, or what stands in the way.
        Raises: PatchEmpty when there is no change in it.
        """
        with self._scratch_index(onto) as place:
            answer = run_git(
                place, "apply", "--3way", "--cached", "--whitespace=nowarn", stdin=patch, accept=(0, 1, 128)
            )
            if answer.status != 0:
                return _conflict(place, answer.said)
            tree = run_git(place, "write-tree").text
        return self.commit_tree(tree, onto, message, when)

    def cherry_pick(
        self, onto: str, before: str, after: str, message: str, when: str | None = None
    ) -> "str | Conflict":
        """Carry the difference between two commits over to a third, three-way.

        Returns: the new commit (child of `onto`), or what stands in the way.
        Raises: PatchEmpty when the two commits are equal.
        """
        return self.apply_patch(onto, self.diff(before, after), message, when)

    def import_branch(self, name: str, besides: str) -> str:
        """Bring a branch or commit of the user's in, so that it stays whatever becomes of it there.

        Args:
            name: a branch, tag or commit of the user's.
            besides: a commit whose objects are safe already (the base).
        Raises: RequestWrong when the user's repository has no such branch.
        """
        commit = self.user.resolve(name)
        if commit is None:
            raise RequestWrong(f"there is no branch or commit `{name}`", str(self.user.root), "see `git branch --list`")
        with _packed(self.user.place, commit, (besides,)) as pack:
            if pack is not None:
                run_git(self.place, "index-pack", "--stdin", stdin=pack)
        return commit

    # To the user's repository

    def publish(self, tip: str, exclude: Sequence[str], ref: str, old: str | None) -> None:
        """Carry a kept commit into the user's repository and move a ref there to it; safe to repeat.

        Args:
            tip: the commit.
            exclude: commits that the user's repository has already, with all before them; the tip's parent among them.
            ref: the user's ref to move, `refs/heads/optimize/<spec>`.
            old: where it has to stand now; None: it must not exist.
        Raises: RefMoved when the ref stands elsewhere (the objects may have been copied, the ref is untouched).
        """
        with self._lock:
            made = self._made.get(tip, ())
        if not made or not self._copy_loose(made):
            self.copy_objects(tip, exclude)
        try:
            self.user.update_ref(ref, tip, old)
        except RefMoved:
            if self.user.read_ref(ref) != tip:
                raise

    def copy_objects(self, tip: str, exclude: Sequence[str]) -> None:
        """Copy what `tip` has and `exclude` has not into the user's object folder; nothing else of it changes."""
        revisions = "".join(f"{revision}\n" for revision in (tip, *(f"^{commit}" for commit in exclude)))
        listed = run_git(self.place, "rev-list", "--objects", "--no-object-names", "--stdin", stdin=revisions.encode())
        if self._copy_loose(listed.text.split()):
            return
        with _packed(self.place, tip, exclude) as pack:
            if pack is not None:
                run_git(Place(self.user.git_dir), "unpack-objects", "-q", stdin=pack)

    def _copy_loose(self, hashes: Iterable[str]) -> bool:
        """Copy loose objects as they are; False when one of them is not loose, or a copy is refused."""
        for sha in reversed(list(hashes)):  # a commit comes last, when all that it names is there
            source = self.path / "objects" / sha[:2] / sha[2:]
            target = self.user.objects / sha[:2] / sha[2:]
            if target.exists():
                continue
            draft = target.with_name(f"tmp_obj_headway_{sha[:8]}")
            try:
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(source, draft)
                draft.chmod(0o444)
                draft.replace(target)
            except OSError:
                return False
        return True

    # Inside

    @contextmanager
    def _scratch_index(self, commit: str) -> Iterator[Place]:
        """Give a place with an index of its own that holds a commit's files."""
        with tempfile.TemporaryDirectory(dir=self.area("headway-index")) as folder:
            place = self.place.at(None, Path(folder) / "index")
            run_git(place, "read-tree", commit)
            yield place

    def area(self, name: str) -> Path:
        """Give a folder of headway's own inside the repository, made where it is missing."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _refresh(self) -> None:
        """Take over what may have changed in the user's repository since the last opening."""
        _write(self.path / "objects" / "info" / "alternates", f"{self.user.objects}\n".encode())
        shallow = self.user.common_dir / "shallow"
        if shallow.is_file():
            _write(self.path / "shallow", shallow.read_bytes())
        else:
            (self.path / "shallow").unlink(missing_ok=True)
        exclude = self.user.common_dir / "info" / "exclude"
        _write(self.path / "info" / "exclude", exclude.read_bytes() if exclude.is_file() else b"")
        shutil.rmtree(self.path / "headway-stage", ignore_errors=True)
        found = run_git(self.place, "rev-parse", "--show-object-format").text
        if found != self.user.object_format:
            raise RequestWrong(
                f"the run's private repository uses {found}, your repository {self.user.object_format}",
                str(self.path),
                "start anew with `headway run --fresh`",
            )


def _is_whole(path: Path) -> bool:
    """Say whether git takes a folder for a repository."""
    return (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))


def _create(path: Path, user: UserRepository) -> None:
    """Make the repository beside its place and move it there whole."""
    unfinished = path.with_name(f"{path.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ("init", "-q", "--bare", "--template=", f"--object-format={user.object_format}", str(unfinished))
    run_git(Place(cwd=path.parent), *words)
    (unfinished / "info").mkdir(exist_ok=True)
    unfinished.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
    unfinished.rename(path)


def _write(path: Path, data: bytes) -> None:
    """Write a small file unless it holds the same bytes."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


@contextmanager
def _packed(place: Place, tip: str, exclude: Sequence[str]) -> Iterator[BinaryIO | None]:
    """Give a file with the objects of `tip` that `exclude` lacks, as a pack; None where there are none."""
    wanted = "".join(f"{line}\n" for line in (tip, *(f"^{commit}" for commit in exclude)))
    with tempfile.TemporaryFile() as spool:
        pack = cast(BinaryIO, spool)
        run_git(place, "pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode(), stdout=pack)
        pack.seek(8)
        is_empty = int.from_bytes(pack.read(4), "big") == 0
        pack.seek(0)
        yield None if is_empty else pack


def _conflict(place: Place, said: str) -> Conflict:
    """Read what stood in a patch's way. Raises: PatchEmpty."""
    if "No valid patches" in said or "unrecognized input" in said:
        raise PatchEmpty(said.removeprefix("error: "))
    unmerged = [line.partition("\t")[2] for line in run_git(place, "ls-files", "-u", "-z").fields]
    paths = dict.fromkeys([*unmerged, *_REFUSED.findall(said)])
    return Conflict(tuple(paths), "\n".join(said.splitlines()[-_WORDS_KEPT:]))
