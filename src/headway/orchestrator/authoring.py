"""One agent's turn: its tree, its tools, its brief and what it came to.

Source: DESIGN sections 6 and 8; CONTRACTS sections 1 and 3.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.adapters.job_folder import JobExit, JobKind, JobOrder, JobState, JobStatus, last_lines, read_bounded
from headway.adapters.private_repository import Conflict
from headway.adapters.workspaces.worktree import Tree
from headway.core.actions import Author
from headway.core.events import AgentTurnEnded, TurnStatus
from headway.errors import PatchEmpty
from headway.orchestrator.ground import Ground
from headway.orchestrator.measuring import MAX_LOST_JOBS, deaths_of, fresh_folder, jobs_named, last_words
from headway.protocols import Attempt, ProgramEnd, Turn
from headway.store.paths import ensure_folder

RESULT_FILE = "result.json"
RESULT_BYTES = 1 << 20
LAST_LINES = 5


class TurnClosed(Exception):
    """The process is ending; the turn's result is not reported."""


class AuthorTools:
    """The tools of one turn (see `protocols.TurnTools`)."""

    def __init__(self, ground: Ground, action: Author, tree: Tree, start: str) -> None:
        self._ground = ground
        self._action = action
        self._tree = tree
        self._start = start
        self._is_prepared = False

    @property
    def tree(self) -> Path:
        """Give the folder to edit, made equal to the turn's starting commit at the first look."""
        if not self._is_prepared:
            self._ground.pool.prepare_for_agent(self._tree, self._start, keep=())
            self._ground.pool.copy_shared(self._tree, self._ground.user.root, self._ground.spec.parallel.shared_files)
            self._is_prepared = True
        return self._tree.path

    def apply_patch(self, patch: bytes) -> str | None:
        """Apply a patch three-way; give the conflict, or None when the tree holds the result."""
        try:
            made = self._ground.private.apply_patch(self._start, patch, "a proposed patch")
        except PatchEmpty as problem:
            return problem.what
        if isinstance(made, Conflict):
            return f"{', '.join(made.paths) or 'the patch'}: {made.detail}"
        self._ground.pool.prepare(self._tree, made)
        self._is_prepared = True
        return None

    def payload(self, sha256: str) -> bytes:
        """Give the stored bytes of a proposal."""
        return self._ground.payload_path(sha256).read_bytes()

    @property
    def folder(self) -> Path:
        """Give a folder of this turn's own below the experiment's assets."""
        assets = self._ground.run.experiment(self._action.iteration).assets
        return ensure_folder(assets / f"author-{self._action.attempt}")

    def run_program(
        self, command: str | Sequence[str], stdin: str, env: Mapping[str, str], label: str = ""
    ) -> ProgramEnd:
        """Run the agent's program in the tree as a supervised job, or take up its finished job after a crash.

        A turn that died with headway or with its keeper begins anew, also in a resumed process, but not for ever.
        """
        jobs_folder = self._ground.run.experiment(self._action.iteration).jobs
        name = f"author-{self._action.attempt}" + (f"-{label}" if label else "")
        done = self._finished(jobs_folder, name)
        if done is not None:
            return _program_end(done)
        while deaths_of(self._ground.jobs, jobs_folder, name) < MAX_LOST_JOBS:
            end = self._run(fresh_folder(jobs_folder, name), command, stdin, env)
            if self._ground.closing.is_set():
                raise TurnClosed
            if end.status not in (JobStatus.LOST, JobStatus.CANCELED):
                return _program_end(end)
            self._is_prepared = False
        return ProgramEnd(JobStatus.LOST.value, None, "", f"{MAX_LOST_JOBS} times", {}, 0.0)

    def _finished(self, jobs_folder: Path, name: str) -> JobExit | None:
        """Give the turn's job if it ended by itself before this process began, and its tree is still there."""
        newest = max(jobs_named(jobs_folder, name), key=_try_number, default=None)
        if newest is None or self._ground.jobs.state(newest) is not JobState.DONE or not self._tree.is_there:
            return None
        end = self._ground.jobs.attach(newest)
        return None if end.status in (JobStatus.CANCELED, JobStatus.LOST) else end

    def _run(self, folder: Path, command: str | Sequence[str], stdin: str, env: Mapping[str, str]) -> JobExit:
        agent = self._ground.spec.agent
        assert agent is not None, "a turn needs an agent"
        brief = folder / "brief.md"
        brief.write_text(stdin, encoding="utf-8", errors="replace")
        environment = {**self._ground.environment, **self._ground.agent_environment, **env}
        if agent.model:
            environment["HEADWAY_MODEL"] = agent.model
        return self._ground.jobs.run(
            JobOrder(
                folder=folder,
                id=self._action.id,
                kind=JobKind.AUTHOR,
                command=command if isinstance(command, str) else "",
                argv=() if isinstance(command, str) else tuple(command),
                cwd=self.tree,
                env={**environment, "HEADWAY_RESULT": str(folder / RESULT_FILE)},
                stdin=brief,
                timeout_seconds=agent.timeout_seconds,
                idle_timeout_seconds=agent.idle_timeout_seconds,
            )
        )


def _try_number(folder: Path) -> int:
    _, _, tail = folder.name.partition("_")
    return int(tail) if tail.isdigit() else 1


def _program_end(end: JobExit) -> ProgramEnd:
    return ProgramEnd(
        ended=end.status.value,
        code=end.code,
        output=read_bounded(end.stdout_path, 16 << 10, 64 << 10) if end.stdout_path.exists() else "",
        last_words=last_words(end, LAST_LINES),
        result=_result(end.folder / RESULT_FILE),
        elapsed_seconds=end.elapsed_seconds,
        stdout=end.stdout_path if end.stdout_path.exists() else None,
        stderr=last_lines(end.stderr_path, LAST_LINES).strip() if end.stderr_path.exists() else "",
    )


def _result(path: Path) -> Mapping[str, Any]:
    """Read what the program said of itself; anything but a JSON object of sensible size says nothing."""
    if not path.is_file() or path.stat().st_size > RESULT_BYTES:
        return {}
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def author(ground: Ground, action: Author, brief: str) -> AgentTurnEnded:
    """Let the agent carry out one hypothesis; a leftover that comes back brings its own patch first.

    Raises: TurnClosed when the process is ending.
    """
    tree = ground.pool.tree(action.tree or f"agent-{action.iteration}")
    start = _start_of(ground, action)
    tools = AuthorTools(ground, action, tree, start)
    attempt = _carried_over(ground, action, tree) or _attempt(ground, action, brief, tools)
    if ground.closing.is_set():
        raise TurnClosed
    return AgentTurnEnded(
        iteration=action.iteration,
        attempt=action.attempt,
        agent=ground.spec.agent.type if ground.spec.agent else "none",
        status=attempt.status,
        tree=tree.name,
        reason=attempt.reason,
        final_text=attempt.final_text,
        learnings=attempt.learnings,
        deferred_deps=attempt.deferred_deps,
        tokens=attempt.tokens,
        usd=attempt.usd,
        elapsed_seconds=attempt.elapsed_seconds,
        trouble=attempt.trouble,
        usage=attempt.usage,
        cost_basis=attempt.cost_basis,
        session=attempt.session,
        turns=attempt.turns,
        denials=attempt.denials,
    )


def _start_of(ground: Ground, action: Author) -> str:
    """Give the commit that the tree starts from: the candidate that failed, for a repair; else the reference."""
    if action.repair is None:
        return action.base
    return ground.private.read_ref(ground.experiment_ref(action.iteration)) or action.base


def _carried_over(ground: Ground, action: Author, tree: Tree) -> Attempt | None:
    """Put an eligible leftover's commit three-way onto the new reference; None when there is none, or a conflict."""
    payload = (action.item.headway.payload if action.item.headway else None) or {}
    commit, base = payload.get("retry_commit"), payload.get("retry_base")
    if action.attempt > 1 or not isinstance(commit, str) or not isinstance(base, str):
        return None
    made = ground.private.cherry_pick(action.base, base, commit, "an eligible leftover, once more")
    if isinstance(made, Conflict):
        return None
    ground.pool.prepare(tree, made)
    return Attempt(TurnStatus.COMPLETED, tokens=0, usd=0.0)


def _attempt(ground: Ground, action: Author, brief: str, tools: AuthorTools) -> Attempt:
    if ground.agent is None:
        return Attempt(TurnStatus.REFUSED, reason="the spec names no agent", tokens=0, usd=0.0)
    turn = Turn(
        iteration=action.iteration,
        attempt=action.attempt,
        item=action.item,
        brief=brief,
        is_repair=action.repair is not None,
        session=action.session,
        usd_left=action.usd_left,
    )
    return ground.agent.attempt(turn, tools)
