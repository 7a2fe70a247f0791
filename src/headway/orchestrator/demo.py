"""Sets a bundled example up in a scratch folder: its repository with one commit, its patches and its spec beside it.

Everything that works on a real run works on it, `kill -9` and `headway resume` included.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git import Place, run_git
from headway.errors import RequestWrong
from headway.store.paths import ensure_folder
from headway.store.shipped import example_names, examples_folder

IDENTITY = ("-c", "user.name=headway demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Example:
    """A bundled example, ready to run."""

    name: str
    repo: Path
    spec: Path


def set_up_example(name: str, into: Path) -> Example:
    """Copy an example into a folder and commit its repository; one that is there already is taken as it is.

    Args:
        name: the example's name.
        into: the scratch folder; it gets `repo/`, `patches/` and `spec.yaml`.
    Raises: RequestWrong for a name that there is not, or a folder that holds something else.
    """
    known = example_names()
    if name not in known:
        raise RequestWrong(f"there is no example `{name}`", "headway demo", f"this version has: {', '.join(known)}")
    source = examples_folder() / name
    example = Example(name, into / "repo", into / "spec.yaml")
    if (example.repo / ".git").is_dir() and example.spec.is_file():
        return example
    if into.is_dir() and any(into.iterdir()):
        raise RequestWrong("the folder is not empty and holds no demo", str(into), "name another with --into")
    ensure_folder(into)
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in sorted(p for p in source.iterdir() if p.name not in ("repo", "spec.yaml")):
        target = into / part.name
        shutil.copytree(part, target, ignore=ignore) if part.is_dir() else shutil.copy2(part, target)
    shutil.copytree(source / "repo", example.repo, ignore=ignore)
    place = Place(cwd=example.repo.absolute())
    run_git(place, "init", "-q", "-b", "main")
    run_git(place, "add", "-A")
    run_git(place, *IDENTITY, "commit", "-q", "-m", f"{name}: where the demo starts")
    shutil.copy2(source / "spec.yaml", example.spec)
    return example
