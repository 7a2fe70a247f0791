"""Action -> adapter calls -> event: a table; it decides nothing. Runs in worker threads.

Source: STYLE section 3; CONTRACTS sections 4 to 6.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.git import run_git
from headway.adapters.git_listing import GITLINK, FileChange
from headway.adapters.private_repository import Conflict
from headway.adapters.workspaces.candidate import NoChange, TreeGone
from headway.core import scope
from headway.core.actions import (
    Action,
    Author,
    BuildCandidate,
    Integrate,
    Measure,
    MergeRunnerUp,
    PrepareCheckout,
    Propose,
)
from headway.core.events import (
    BacklogExtended,
    CandidateBuilt,
    CandidateIntegrated,
    CheckoutPrepared,
    Event,
    RunnerUpCombined,
    SampleTaken,
    SessionKind,
    Side,
    Stray,
)
from headway.core.records import Change, Marker, to_row
from headway.core.records import Side as SideRow
from headway.core.sequential.simpler import size_asked
from headway.errors import BranchCheckedOut, InternalFault, PatchEmpty, RequestWrong
from headway.orchestrator.authoring import author
from headway.orchestrator.ground import Ground
from headway.orchestrator.measuring import Reading, seed_of
from headway.store.atomic import write_no_clobber
from headway.store.emit import emit_mapping
from headway.store.paths import ensure_folder

TOKEN = re.compile(rb"\w+|[^\w\s]")
"""A token of `headway.tokens(PATH)`: a word, or one other character."""
CANDIDATE_TREE = "measure-cand"
REFERENCE_TREE = "measure-ref"


@dataclass(frozen=True)
class Performing:
    """What a performer may use: the ground, and the texts that only the log's owner can give."""

    ground: Ground
    brief: Callable[[Author], str]
    now: Callable[[], str]


def perform(action: Action, with_: Performing) -> Event:
    """Carry out one action and give the fact that came of it.

    Raises: what the adapters raise (HeadwayError); the caller stops the run with it, nothing is lost.
    """
    performer = _TABLE.get(type(action))
    if performer is None:
        raise InternalFault(f"no performer for {type(action).__name__}", action.id)
    event: Event = performer(action, with_)
    return event


def _author(action: Author, with_: Performing) -> Event:
    return author(with_.ground, action, with_.brief(action))


def _build(action: BuildCandidate, with_: Performing) -> Event:
    ground = with_.ground
    tree = ground.pool.tree(action.tree)
    spec = ground.spec
    made = ground.pool.candidate(
        tree,
        action.base,
        in_mutable=lambda path: scope.matches(path, spec.scope.mutable),
        in_immutable=lambda path: _is_guarded(ground, path),
        message=_message(ground, action),
        when=with_.now(),
        left_out=(*spec.parallel.shared_files, *spec.measurement.build_cache),
    )
    if isinstance(made, TreeGone):
        return CandidateBuilt(iteration=action.iteration, attempt=action.attempt, commit=None, tree_gone=True)
    strays = tuple(
        Stray(path=s.path, kind=s.kind.value, expected_sha256=s.expected_sha256, found_sha256=s.found_sha256)
        for s in made.strays
    )
    if isinstance(made, NoChange):
        return CandidateBuilt(iteration=action.iteration, attempt=action.attempt, commit=None, strays=strays)
    ground.private.set_ref(ground.experiment_ref(action.iteration), made.commit)
    _save_diff(ground, action.iteration, made.patch)
    return CandidateBuilt(
        iteration=action.iteration,
        attempt=action.attempt,
        commit=made.commit,
        tree=made.tree_sha,
        base_tree=ground.private.tree_of(action.base),
        changes=tuple(Change(file=c.path, summary=_summary(c)) for c in made.changes),
        lines_added=sum(c.added or 0 for c in made.changes),
        lines_removed=sum(c.removed or 0 for c in made.changes),
        strays=strays,
        sizes=sizes_of(ground, made.commit),
        base_sizes=sizes_of(ground, action.base),
    )


def sizes_of(ground: Ground, commit: str) -> dict[str, float]:
    """Give the size of a commit that `accept_simpler` asks for: bytes or words of a file or folder; else nothing."""
    simpler = ground.spec.measurement.stability.comparison.accept_simpler
    kind, path = size_asked(simpler.metric) if simpler is not None else ("", "")
    if not kind:
        return {}
    listing = ground.private.ls_tree(commit).entries
    inside = {p: e for p, e in listing.items() if p == path or p.startswith(path.rstrip("/") + "/")}
    texts = ground.private.read_blobs(entry.sha for entry in inside.values() if entry.mode != GITLINK)
    count = sum(map(len, texts.values())) if kind == "bytes" else sum(len(TOKEN.findall(t)) for t in texts.values())
    return {simpler.metric: float(count)} if simpler is not None and inside else {}


MANIFESTS = (
    "requirements.txt",
    "requirements.lock",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "Pipfile",
    "Pipfile.lock",
    "setup.py",
    "setup.cfg",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "Gemfile",
    "Gemfile.lock",
)


def _is_guarded(ground: Ground, path: str) -> bool:
    """Say whether a path must not change: immutable scope, and dependency manifests without an approval."""
    spec = ground.spec
    if scope.matches(path, spec.scope.immutable):
        return True
    return path.rsplit("/", 1)[-1] in MANIFESTS and not spec.dependencies.approved and path not in spec.scope.mutable


def _message(ground: Ground, action: BuildCandidate | MergeRunnerUp) -> str:
    subject = " ".join(action.item.description.split())
    short = subject if len(subject) <= 72 else subject[:71] + "…"
    body = "" if short == subject else f"\n{subject}\n"
    return (
        f"{short}\n{body}\nCategory: {action.item.category or 'general'}\n"
        f"Headway-Experiment: {ground.run_id}_exp{action.iteration:04d}\n"
    )


CHANGE_WORDS = {"A": "added", "D": "deleted", "M": "modified", "T": "changed its type"}


def _summary(change: FileChange) -> str:
    word = CHANGE_WORDS.get(change.status[:1], change.status)
    if change.added is None or change.removed is None:
        return f"{word}, binary"
    return f"{word}, +{change.added} -{change.removed}"


def _save_diff(ground: Ground, iteration: int, patch: bytes) -> None:
    path = ground.run.experiment(iteration).assets / "diff.patch"
    ensure_folder(path.parent)
    ground.write_derived(path, patch)


def _prepare(action: PrepareCheckout, with_: Performing) -> Event:
    ground = with_.ground
    jobs = ground.run.experiment(action.iteration).jobs
    label = f"cand-{action.attempt}" if action.session is SessionKind.STANDALONE else f"integrated-{action.attempt}"
    prepared = ground.measuring.prepare(CANDIDATE_TREE, action.commit, jobs, label, checks=True)
    return CheckoutPrepared(
        iteration=action.iteration,
        attempt=action.attempt,
        session=action.session,
        commit=action.commit,
        stage=prepared.stage,
        ok=prepared.ok,
        detail=prepared.detail[:20_000],
    )


def _measure(action: Measure, with_: Performing) -> Event:
    ground = with_.ground
    seed = seed_of(ground.run_id, action.iteration, action.session, action.seed_number)
    tree = CANDIDATE_TREE if action.side is Side.CANDIDATE else REFERENCE_TREE
    paths = ground.run.experiment(action.iteration)
    name = action.id.split("/", 1)[1].replace("/", "-")
    reading = ground.measuring.sample(tree, action.commit, paths.jobs / name, action.id, seed)
    event = sample_event(action, reading, seed, ground.relative)
    if action.side is Side.CANDIDATE and action.session is not SessionKind.FINAL:
        _write_marker(paths.marker, action, event, ground)
    return event


def sample_event(action: Measure, reading: Reading, seed: int, relative: Callable[[Path], str]) -> SampleTaken:
    """Build the fact of one harness run."""
    values: dict[str, Any] = {}
    if reading.sample is not None:
        values = {
            "gates": dict(reading.sample.gates),
            "metrics": dict(reading.sample.metrics),
            "diagnostics": dict(reading.sample.diagnostics),
            "cases": None if reading.sample.cases is None else dict(reading.sample.cases),
            "worst_cases": [dict(w) for w in reading.sample.worst_cases],
            "cost": dict(reading.sample.cost or {}),
        }
    return SampleTaken(
        iteration=action.iteration,
        attempt=action.attempt,
        session=action.session,
        side=action.side,
        index=action.index,
        status=reading.status,
        reason=reading.reason[:20_000],
        seed=seed,
        started_at=reading.started_at,
        elapsed_seconds=reading.elapsed_seconds,
        job=relative(reading.folder) if reading.folder else "",
        notes=reading.notes,
        **values,
    )


def _write_marker(path: Path, action: Measure, event: SampleTaken, ground: Ground) -> None:
    """Write `result.yaml`: what was measured, before the log says so; its durable source is the job's folder."""
    marker = Marker(
        experiment=action.iteration,
        measured_at=event.started_at or "unknown",
        candidate=SideRow(gates=event.gates, metrics=dict(event.metrics), diagnostics=event.diagnostics),
        correctness="none" if event.status != "valid" else "harness output valid; gates as reported",
        head_sha=action.commit,
    )
    ensure_folder(path.parent)
    ground.write_derived(path, emit_mapping(to_row(marker)).encode())


def _integrate(action: Integrate, with_: Performing) -> Event:
    ground = with_.ground
    worktree = ground.user.checked_out_branches().get(ground.branch)
    if worktree is not None:
        raise BranchCheckedOut(ground.branch.removeprefix("refs/heads/"), str(worktree))
    ground.private.publish(action.commit, (ground.base, action.reference), ground.branch, action.reference)
    return CandidateIntegrated(
        iteration=action.iteration,
        session=action.session,
        commit=action.commit,
        reference=action.reference,
        merged_with=action.merged_with,
    )


def _merge_runner_up(action: MergeRunnerUp, with_: Performing) -> Event:
    ground = with_.ground
    message = _message(ground, action) + f"Headway-Combined-With: {action.merged_with}\n"
    try:
        made = ground.private.cherry_pick(action.onto, action.base, action.commit, message, with_.now())
    except PatchEmpty as problem:
        made = Conflict((), problem.what)
    facts = {"iteration": action.iteration, "onto": action.onto, "merged_with": action.merged_with}
    if isinstance(made, Conflict):
        return RunnerUpCombined(commit=None, conflict=f"{', '.join(made.paths)}: {made.detail}"[:2000], **facts)
    if ground.private.tree_of(made) == ground.private.tree_of(action.onto):
        return RunnerUpCombined(commit=None, conflict="the winner holds this change already", **facts)
    ground.private.set_ref(f"{ground.experiment_ref(action.iteration)}-integrated", made)
    return RunnerUpCombined(commit=made, **facts)


class BranchTools:
    """What a proposer may look at (see `protocols.ProposerTools`)."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def branch_patch(self, name: str) -> tuple[str, bytes]:
        """Give a branch's last subject line, and its difference to where it left the base."""
        private = self._ground.private
        commit = private.import_branch(name, self._ground.base)
        left = run_git(private.place, "merge-base", self._ground.base, commit, accept=(0, 1)).text.strip()
        if not left:
            raise RequestWrong(
                f"the branch `{name}` shares no history with the base", "agent.options.branches", "name another branch"
            )
        subject = run_git(private.place, "log", "-1", "--format=%s", commit).text.strip()
        return subject or name, private.diff(left, commit)


def _propose(action: Propose, with_: Performing) -> Event:
    ground = with_.ground
    proposal = ground.proposer.propose(BranchTools(ground))
    for sha256, content in proposal.payloads.items():
        path = ground.payload_path(sha256)
        ensure_folder(path.parent)
        write_no_clobber(path, content)
    return BacklogExtended(items=proposal.items)


_TABLE: dict[type, Callable[[Any, Performing], Event]] = {
    Author: _author,
    BuildCandidate: _build,
    PrepareCheckout: _prepare,
    Measure: _measure,
    Integrate: _integrate,
    MergeRunnerUp: _merge_runner_up,
    Propose: _propose,
}
