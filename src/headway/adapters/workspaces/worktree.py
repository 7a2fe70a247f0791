"""Pools of plain trees: the folders that agents work in and that commits are measured in.

A tree is a folder of headway's own, outside the user's repository. What it has to hold is a commit of the private
repository; its index lies there too, out of reach. `prepare` makes a tree equal to a commit byte for byte: whatever is
not in the commit is removed (untracked, ignored, nested repositories), and every file whose signature is not the one
that git noted when it wrote the file is written anew. The signature holds the kernel's change time, so a measurement
that edits a file and puts size and modification time back is found out (see `tree_files` for what is not).

Source: CONTRACTS section 1 (trees); DESIGN sections 6 and 12; BR-40, BR-42.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git import run_git
from headway.adapters.git_listing import Listing
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.workspaces.agent_git import AgentGit
from headway.adapters.workspaces.candidate import CandidateBuilder, CandidateBuilt, NoChange, Scope, TreeGone
from headway.adapters.workspaces.quick_checkout import check_out_quickly
from headway.adapters.workspaces.shared_files import SharedCopies
from headway.adapters.workspaces.tree_files import Kept, Signature, clear, remove, signatures, stuck
from headway.errors import GitFailed, RequestWrong

SETTLING_NS = 20_000_000
"""A file that changed this shortly before it was looked at may change again within the same tick of the clock."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Prepared:
    """What a tree held when it was last made equal to a commit, and when that was looked at."""

    commit: str
    signatures: dict[str, Signature]
    at_ns: int

    def untouched(self, path: str, now: Signature) -> bool:
        """Say whether a file is certainly the one that was looked at."""
        return self.signatures.get(path) == now and now.changed_ns < self.at_ns - SETTLING_NS

    def all_untouched(self, found: dict[str, Signature]) -> bool:
        """Say whether these are all the files, and each certainly the one that was looked at."""
        return len(found) == len(self.signatures) and all(self.untouched(path, now) for path, now in found.items())


class Tree:
    """One folder of a pool. One thread uses it at a time."""

    def __init__(self, name: str, path: Path, index_file: Path) -> None:
        self.name = name
        self.path = path
        self.index_file = index_file
        self.prepared: Prepared | None = None
        self.shared = SharedCopies(path)

    @property
    def is_there(self) -> bool:
        """Say whether the folder exists, as a folder of its own and no link to elsewhere."""
        return self.path.is_dir() and not self.path.is_symlink()


class TreePool:
    """The trees of one run, below a cache folder of the user's."""

    def __init__(self, cache_root: Path, private: PrivateRepository) -> None:
        """Take the run's cache folder; it is made at the first tree.

        Args:
            cache_root: `${XDG_CACHE_HOME:-~/.cache}/headway/<run-hash>/`, outside the user's repository.
            private: the run's private repository.
        Raises: RequestWrong when the folder lies inside the user's repository (tools walk upwards).
        """
        self.cache_root = cache_root.absolute()
        self.private = private
        self._agent_git = AgentGit(private)
        self._trees: dict[str, Tree] = {}
        if self.cache_root.resolve().is_relative_to(private.user.root.resolve()):
            raise RequestWrong(
                "the cache folder lies inside your repository", str(cache_root), "point XDG_CACHE_HOME elsewhere"
            )

    def tree(self, name: str) -> Tree:
        """Give the tree of this name; what it holds is unknown until it is prepared."""
        if not _NAME.fullmatch(name):
            raise RequestWrong(f"a tree cannot be called `{name}`", str(self.cache_root), "use letters and digits")
        if name not in self._trees:
            self.cache_root.mkdir(mode=0o700, parents=True, exist_ok=True)
            index_file = self.private.area("headway-index") / name
            self._trees[name] = Tree(name, self.cache_root / name, index_file)
        return self._trees[name]

    def prepare(self, tree: Tree, commit: str, keep: Sequence[str] = ()) -> None:
        """Make a tree equal to a commit.

        Args:
            tree: the tree; all processes that worked in it have ended.
            commit: of the private repository.
            keep: untracked files and folders that stay as they are (`build_cache`, shared files).
        Raises: TreeStuck when something cannot be removed or written, GitFailed.
        """
        listing = self.private.ls_tree(commit)
        before, tree.prepared = tree.prepared, None
        found = clear(tree.path, listing, Kept.of(keep))
        if before is not None and before.commit == commit and before.all_untouched(found):
            tree.prepared = before
            return
        quick = self._quickly(tree, before, listing, found) if before is not None else None
        if quick is None:
            self._check_out(tree, commit, Kept.of(keep))
        at_ns = time.time_ns()
        tree.prepared = Prepared(commit, quick or signatures(tree.path, listing), at_ns)

    def _quickly(
        self, tree: Tree, before: Prepared, listing: Listing, found: dict[str, Signature]
    ) -> dict[str, Signature] | None:
        """Write the few files that differ without git; None when git has to do it."""
        held = self.private.ls_tree(before.commit)
        done = check_out_quickly(self.private, tree.path, held, listing, found, before.untouched)
        if done is not None:
            tree.index_file.unlink(missing_ok=True)  # it no longer tells what the tree holds
        return done

    def prepare_for_agent(self, tree: Tree, commit: str, keep: Sequence[str] = ()) -> None:
        """Make a tree equal to a commit and give it a `.git` of its own that holds this one state and no history.

        Raises: as `prepare`.
        """
        self.prepare(tree, commit, (*keep, ".git"))
        self._agent_git.give(tree.path, commit)

    def candidate(
        self,
        tree: Tree,
        base_commit: str,
        *,
        in_mutable: Callable[[str], bool],
        in_immutable: Callable[[str], bool],
        message: str,
        when: str | None,
        left_out: Iterable[str] = (),
    ) -> CandidateBuilt | NoChange | TreeGone:
        """Make a commit of what was changed in a tree, as far as the scope allows.

        The commit is in the private repository, child of `base_commit`; no ref is set. The tree is read, never
        written, and git does not look at it at all.

        Args:
            tree: the tree; all processes that worked in it have ended.
            base_commit: the commit that it is compared with.
            in_mutable: says whether a path may be changed.
            in_immutable: says whether a path must not be changed; wins over `in_mutable`.
            message: of the commit.
            when: date of the commit, in a form of git's; None: now.
            left_out: untracked files and folders that are not looked at (shared files, build caches).
        Returns: the commit with its changes, or that nothing in scope was changed; with evidence of all that was
            changed out of scope and is not in the commit. `TreeGone` where there is no such folder: a link that stands
            in its place is never followed.
        Raises: GitFailed, TreeStuck.
        """
        if not tree.is_there:
            return TreeGone()
        builder = CandidateBuilder(self.private, tree.name, tree.path, base_commit, Scope(in_mutable, in_immutable))
        prepared = tree.prepared
        if prepared is not None:
            builder.trust(prepared.commit, prepared.untouched, tree.index_file)
        return builder.build(message, when, Kept.of(left_out))

    def copy_shared(self, tree: Tree, source_root: Path, shared_files: Sequence[str]) -> list[str]:
        """Copy files and folders that no commit has (`.env`, data) from the user's checkout into a prepared tree.

        Args:
            tree: the tree, prepared with `keep` naming what was copied before.
            source_root: the user's checkout.
            shared_files: repository-relative files and folders.
        Returns: the paths that were copied; those that the commit has itself are left as the commit has them.
        Raises: SharedFileMissing, also for a path that leads out of the checkout.
        """
        tracked = self.private.ls_tree(tree.prepared.commit).entries if tree.prepared else {}
        return tree.shared.copy(source_root, shared_files, tracked)

    def discard(self, tree: Tree) -> None:
        """Remove a tree and its index. Raises: TreeStuck."""
        tree.prepared = None
        tree.index_file.unlink(missing_ok=True)
        try:
            if tree.path.is_symlink() or tree.path.exists():
                remove(tree.path)
        except OSError as problem:
            raise stuck(tree.path, problem, f"{problem.strerror} ({problem.filename})") from problem

    def _check_out(self, tree: Tree, commit: str, kept: Kept) -> None:
        """Write what differs; a tree whose index is missing or damaged is written anew."""
        tree.index_file.with_name(f"{tree.name}.lock").unlink(missing_ok=True)
        if tree.index_file.is_file():
            try:
                self._read_tree(tree, commit)
                return
            except GitFailed:
                tree.index_file.unlink(missing_ok=True)
        clear(tree.path, Listing({}), kept)
        self._read_tree(tree, commit)

    def _read_tree(self, tree: Tree, commit: str) -> None:
        place = self.private.place.at(tree.path, tree.index_file)
        run_git(place, "read-tree", "--reset", "-u", "--no-recurse-submodules", commit)
