"""Builds real git repositories for tests, and tells whether one was touched.

Git is run here by itself with a clean environment, never through the code under test.
"""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILES: Mapping[str, str] = {
    "src/solve.py": "def solve():\n    return 1\n",
    "src/other.py": "OTHER = 1\n",
    "tests/check.py": "assert True\n",
    "README.md": "a toy\n",
}

HOOK_NAMES = (
    "pre-commit",
    "commit-msg",
    "post-checkout",
    "post-commit",
    "reference-transaction",
    "post-index-change",
    "pre-auto-gc",
    "fsmonitor-watchman",
)


@dataclass(frozen=True)
class Repository:
    """A repository of a test's, with the home folder whose configuration is the user's."""

    root: Path
    home: Path

    def git(self, *words: str, cwd: Path | None = None, stdin: bytes = b"") -> str:
        """Run git as the user would, without hooks, and give what it prints."""
        return run(self.home, "-c", "core.hooksPath=/dev/null", *words, cwd=cwd or self.root, stdin=stdin)

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the checkout."""
        write_files(self.root, files)

    def commit(self, message: str = "more") -> str:
        """Commit everything in the checkout."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head


def a_repository(
    folder: Path, files: Mapping[str, str | bytes] = FILES, *, branch: str = "main", object_format: str = "sha1"
) -> Repository:
    """Build a repository with one commit.

    Args:
        folder: where it lies; its home folder is made beside it.
        files: what is committed.
        branch: name of its branch.
        object_format: `sha1` or `sha256`.
    """
    home = folder.parent / f"{folder.name} home"
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text("[user]\n\tname = user\n\temail = user@example.com\n")
    folder.mkdir(parents=True)
    repository = Repository(folder, home)
    repository.git("init", "-q", f"--initial-branch={branch}", f"--object-format={object_format}")
    repository.write(files)
    repository.commit("first")
    return repository


def hostile_hooks(repository: Repository, mark: Path) -> None:
    """Give a repository hooks that leave a mark and fail."""
    for name in HOOK_NAMES:
        hook = repository.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> '{mark}'\nexit 1\n")
        hook.chmod(0o755)


def fingerprint_of(root: Path) -> dict[str, str]:
    """Hash every file below a checkout, `.git` included, but for objects and headway's own refs.

    Returns: path -> type, permissions and hash; for the checkout's files also the times of the last change.
    """
    found = {}
    for folder, names, files in os.walk(root):
        for name in [*files, *(name for name in names if Path(folder, name).is_symlink()), *names]:
            path = Path(folder, name)
            rel = str(path.relative_to(root))
            if not _is_own(rel):
                found[rel] = _print_of(path)
    return found


def _is_own(rel: str) -> bool:
    """Say whether headway may write this: objects, and refs of its own with the folders above them."""
    own = (".git/objects", ".git/refs/heads/optimize", ".git/refs/heads/optimize-archive", ".git/refs/headway")
    return rel.startswith(own)


def _print_of(path: Path) -> str:
    facts = path.lstat()
    if path.is_symlink():
        return f"link {os.readlink(path)}"
    if path.is_dir():
        return f"folder {facts.st_mode:o}"
    return f"{facts.st_mode:o} {facts.st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def run(home: Path, *words: str, cwd: Path, stdin: bytes = b"") -> str:
    """Run git with a clean environment and a home folder."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=cwd, env=environment, input=stdin, capture_output=True
    )
    assert done.returncode == 0, f"git {words}: {done.stderr.decode(errors='replace')}"
    return os.fsdecode(done.stdout).removesuffix("\n")
