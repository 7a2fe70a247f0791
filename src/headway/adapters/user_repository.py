"""The user's repository: what a run reads from it, and the few refs that it writes.

Nothing of it is written but refs of headway's own and objects (see `PrivateRepository.publish`): no index, no
configuration, no hook, no worktree entry, no reflog. Its own hooks and fsmonitor never run.
Source: CONTRACTS section 1; BR-40, BR-46, BR-49, BR-51, BR-54.
"""

import contextlib
import functools
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git import Place, git_version, run_git
from headway.adapters.git_listing import Listing, list_commit
from headway.adapters.git_refs import Refs
from headway.errors import GitFailed, RepositoryUnusable

LFS_HEADER = b"version https://git-lfs.github.com/spec/"
_LFS_POINTER_BYTES = 1024
_HANDED_ON = ("filter.lfs.", "core.autocrlf", "core.eol", "core.excludesfile")


@dataclass(frozen=True)
class UserRepository:
    """A checkout of the user's with at least one commit.

    `git_dir` is this checkout's own (for a linked worktree: under `.git/worktrees/`), `common_dir` the shared one,
    `objects` the object folder, `head` the commit that is checked out, `branch` its full ref (None: detached).
    """

    root: Path
    git_dir: Path
    common_dir: Path
    objects: Path
    head: str
    branch: str | None
    is_shallow: bool
    object_format: str

    @property
    def place(self) -> Place:
        """Where calls about this repository happen that need no checkout."""
        return Place(self.git_dir)

    @property
    def refs(self) -> Refs:
        """Its refs."""
        return Refs(self.place)

    def dirty_paths(self) -> list[str]:
        """Name what a run will not see: modified, staged and untracked files (ignored ones left out).

        Reads the user's line-ending and exclude settings, so that it says what `git status` says; writes nothing,
        looks into no submodule.
        """
        words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
        place = Place(self.git_dir, self.root, cwd=self.root, settings=self._settings(*_HANDED_ON))
        return [field[3:] for field in run_git(place, *words).fields]

    def listing(self, commit: str) -> Listing:
        """Give every file of a commit."""
        return list_commit(self.place, commit)

    def has_submodules(self, commit: str) -> list[str]:
        """Name the submodules (gitlinks) of a commit."""
        return self.listing(commit).gitlinks

    def lfs_pointers(self, commit: str, paths: Iterable[str] | None = None) -> list[str]:
        """Name the files that would be LFS pointers in a tree, because no LFS filter is set up here.

        Args:
            commit: the commit whose files are looked at.
            paths: only these; None: all.
        """
        listing = self.listing(commit)
        if self._has_lfs_filter() or not self._speaks_of_lfs(listing):
            return []
        wanted = set(listing.entries if paths is None else paths)
        sizes = run_git(self.place, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).fields
        small = [line.split("\t", 1)[1] for line in sizes if _size_in(line) < _LFS_POINTER_BYTES]
        return [path for path in small if path in wanted and self._blob(listing, path).startswith(LFS_HEADER)]

    def read_ref(self, ref: str) -> str | None:
        """Give the commit a ref stands at, None where there is none."""
        return self.refs.read(ref)

    def update_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref by compare-and-swap; `old` None: it must not exist. Raises: RefMoved, GitLocked, GitFailed."""
        self.refs.move(ref, new, old)

    def delete_ref(self, ref: str, old: str) -> None:
        """Delete a ref that stands at `old`. Raises: RefMoved, GitLocked, GitFailed."""
        self.refs.delete(ref, old)

    def checked_out_branches(self) -> dict[str, Path]:
        """Give the branches (full refs) that are checked out, each with the checkout's folder.

        Read from the `HEAD` files of the repository and of its linked worktrees, as `git worktree list` does.
        """
        folders = {self.common_dir: self.common_dir.parent}
        for folder in sorted((self.common_dir / "worktrees").glob("*/")):
            with contextlib.suppress(OSError):
                folders[folder] = Path((folder / "gitdir").read_text().strip()).parent
        found = {}
        for folder, checkout in folders.items():
            with contextlib.suppress(OSError):
                kind, _, ref = (folder / "HEAD").read_text().strip().partition(": ")
                if kind == "ref":
                    found[ref] = checkout
        return found

    def resolve(self, revision: str) -> str | None:
        """Give the commit that a revision of the user's names (`main`, `v1.2`, a hash), None where it names none."""
        answer = run_git(
            self.place, "rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}", accept=(0, 1, 128)
        )
        return answer.text if answer.status == 0 else None

    @property
    def settings(self) -> tuple[str, ...]:
        """The user's LFS filter, the one part of the configuration that git calls about trees are given."""
        return self._settings("filter.lfs.")

    def _settings(self, *prefixes: str) -> tuple[str, ...]:
        return tuple(f"{key}={value}" for key, value in self._configuration if key.startswith(prefixes))

    @functools.cached_property
    def _configuration(self) -> tuple[tuple[str, str], ...]:
        """Those of the user's settings that may be handed on, read once. Reading runs nothing."""
        names = r"^(filter\.lfs\.|core\.(autocrlf|eol|excludesfile)$)"
        words = ("config", "-z", "--includes", "--show-scope", "--get-regexp", names)
        fields = run_git(self.place, *words, accept=(0, 1), user_configuration=True).fields
        pairs = zip(fields[0::2], fields[1::2], strict=True)
        split = (setting.partition("\n") for scope, setting in pairs if scope != "command")  # "command": our own `-c`
        return tuple((key, value) for key, _, value in split)

    def _has_lfs_filter(self) -> bool:
        names = dict(self._configuration)
        command = names.get("filter.lfs.process", names.get("filter.lfs.smudge"))
        if command and "--skip" in command.split():  # `git lfs install --skip-smudge`: it leaves pointers
            return False
        return bool(command) and (not str(command).startswith("git-lfs") or shutil.which("git-lfs") is not None)

    def _speaks_of_lfs(self, listing: Listing) -> bool:
        texts = [self._blob(listing, path) for path in listing.attribute_files]
        local = self.common_dir / "info" / "attributes"
        return any(b"filter=lfs" in text for text in [*texts, local.read_bytes() if local.is_file() else b""])

    def _blob(self, listing: Listing, path: str) -> bytes:
        return run_git(self.place, "cat-file", "blob", listing.entries[path].sha).out


def find_repository(folder: Path) -> UserRepository:
    """Find the repository that a folder lies in.

    Linked worktrees, submodules, detached heads, shallow clones and any name of the default branch are fine.
    Raises: RepositoryUnusable (no repository, a bare one, no commits yet, a folder of git's own), GitMissing.
    """
    git_version()
    if not folder.is_dir():
        raise RepositoryUnusable("there is no such folder", str(folder), "name a folder inside a git repository")
    here = Place(cwd=folder.absolute())
    is_shallow, object_format = _kind(here, folder)
    words = ("--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    paths = run_git(here, "rev-parse", *words, "--git-path", "objects").text.split("\n")
    if len(paths) != 4:
        raise RepositoryUnusable("the path of the repository holds a line break", str(folder), "move the repository")
    root, git_dir, common_dir, objects = (Path(path) for path in paths)
    head, branch = _head(Place(git_dir), root)
    return UserRepository(root, git_dir, common_dir, objects.resolve(), head, branch, is_shallow, object_format)


def _kind(here: Place, folder: Path) -> tuple[bool, str]:
    """Say whether the repository around a folder is shallow, and its object format."""
    words = ("--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository", "--show-object-format")
    try:
        bare, inside, shallow, object_format = run_git(here, "rev-parse", *words).text.splitlines()
    except GitFailed as problem:
        raise RepositoryUnusable(
            f"this is not a git repository ({problem.said.splitlines()[0] if problem.said else 'git says no'})",
            str(folder),
            "run `git init`, add your files and commit them, or name another folder with --repo",
        ) from problem
    if bare == "true":
        raise RepositoryUnusable("the repository is bare", str(folder), "clone it and start from the clone")
    if inside == "true":
        raise RepositoryUnusable("this folder belongs to git itself", str(folder), "start from the checkout")
    return shallow == "true", object_format


def _head(place: Place, root: Path) -> tuple[str, str | None]:
    """Give the commit that is checked out, and its branch."""
    answer = run_git(place, "rev-parse", "--verify", "-q", "HEAD^{commit}", accept=(0, 1, 128))
    if answer.status != 0:
        raise RepositoryUnusable(
            "the repository has no commits yet", str(root), "commit your files (`git add -A && git commit`)"
        )
    branch = run_git(place, "symbolic-ref", "-q", "HEAD", accept=(0, 1))
    return answer.text, branch.text or None


def _size_in(line: str) -> int:
    size = line.split("\t", 1)[0].split()[3]
    return int(size) if size.isdigit() else _LFS_POINTER_BYTES
