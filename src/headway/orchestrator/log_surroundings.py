"""What lies around a log file: the frozen spec beside it, and the repositories that may hold its commits."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from headway.adapters.git import Place, run_git
from headway.core.log_references import Surroundings
from headway.errors import HeadwayError
from headway.orchestrator.start import frozen_spec, newest_run, read_facts, workload_of
from headway.store.paths import StateRoot


def surroundings_of(path: Path, commits: Iterable[str]) -> Surroundings:
    """Look around a log that lies in a state root; a log elsewhere stands alone.

    Args:
        path: the log.
        commits: those that it says are kept.
    Returns: the identity of the spec's measurement, and the commits that the run's private repository lacks (it sees
        the user's objects too); each None where there is nothing to compare with.
    """
    state = StateRoot(path.resolve().parent)
    if state.log.name != path.name or not state.spec.is_file():
        return Surroundings()
    workload = None
    with suppress(HeadwayError):
        run_id = newest_run(state)
        if run_id is not None:
            workload = workload_of(frozen_spec(state).spec, read_facts(state, run_id).harness_files)
    return Surroundings(workload, _unresolved(state.private_repo, list(commits)))


def _unresolved(repository: Path, commits: list[str]) -> frozenset[str] | None:
    if not repository.is_dir():
        return None
    if not commits:
        return frozenset()
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits)
    with suppress(HeadwayError):
        answer = run_git(Place(repository), "cat-file", "--batch-check=%(objecttype)", stdin=asked.encode())
        said = answer.text.split("\n")
        return frozenset(commit for commit, kind in zip(commits, said, strict=False) if kind != "commit")
    return None
