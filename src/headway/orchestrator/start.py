"""CP-0 and what comes before it: the repository, the frozen spec, and the concrete parts of a run.

Source: DESIGN section 4; CONTRACTS sections 1, 2 and 3.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters import registry
from headway.adapters.private_repository import PrivateRepository
from headway.adapters.processes import Jobs, base_environment
from headway.adapters.user_repository import UserRepository
from headway.adapters.workspaces.worktree import TreePool
from headway.core import scope
from headway.core.spec import Spec
from headway.core.spec_support import refusals
from headway.errors import DataDamaged, HeadwayError, OutsideFailed, RequestWrong
from headway.orchestrator.ground import Ground
from headway.orchestrator.measuring import Measuring
from headway.protocols import Agent
from headway.store.atomic import disk_failure, write_atomic
from headway.store.log import LogFile
from headway.store.parked import is_parked_beside, take_up
from headway.store.paths import StateRoot, ensure_folder, iteration_of, new_run_id, prepare_state_root
from headway.store.spec_file import LoadedSpec, load_spec

INSTRUCTIONS_CHARACTERS = 8_000


class SpecRefused(RequestWrong):
    """The spec asks for something that this version cannot do; refused by name, never ignored."""

    def __init__(self, problems: tuple[tuple[str, str, str], ...], path: str) -> None:
        what = "\n".join(f"{where}: {said}" + (f" ({mend})" if mend else "") for where, said, mend in problems)
        super().__init__(what, path, "take it out of the spec, or use a version that has it")
        self.args = (problems, path)


class ScopeDirty(RequestWrong):
    """Files inside the spec's scopes are not committed, so a run would not see them."""

    def __init__(self, paths: tuple[str, ...], root: str) -> None:
        shown = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
        super().__init__(
            f"{len(paths)} file(s) in scope are not committed: {shown}",
            root,
            "commit or stash them (a harness file that must stay uncommitted goes under measurement.harness_files)",
        )
        self.args = (paths, root)


@dataclass(frozen=True)
class RunFacts:
    """What `run.json` holds: the run's identity and where it started."""

    run_id: str
    spec: str
    base: str
    created_at: str
    spec_folder: str
    harness_files: Mapping[str, str]

    def to_json(self) -> bytes:
        """Give the file's bytes."""
        return json.dumps(self.__dict__ | {"harness_files": dict(self.harness_files)}, indent=1).encode() + b"\n"


def refuse_unsupported(spec: Spec, path: str) -> None:
    """Refuse what this version cannot carry out. Raises: SpecRefused, naming all of it."""
    found = tuple((p.path, p.what, p.mend) for p in refusals(spec))
    if found:
        raise SpecRefused(found, path)


def refuse_dirty(user: UserRepository, spec: Spec) -> None:
    """Refuse uncommitted changes in scope. Raises: ScopeDirty, naming them."""
    entries = (*spec.scope.mutable, *spec.scope.immutable)
    left_out = set(spec.measurement.harness_files)
    dirty = tuple(p for p in user.dirty_paths() if scope.matches(p, entries) and p not in left_out)
    if dirty:
        raise ScopeDirty(dirty, str(user.root))


def refuse_unusable_base(user: UserRepository) -> None:
    """Refuse a base commit that a plain tree cannot hold. Raises: RequestWrong."""
    submodules = user.has_submodules(user.head)
    if submodules:
        raise RequestWrong(
            f"the commit has submodules, which this version cannot set up: {', '.join(submodules[:5])}",
            str(user.root),
            "commit what the measurement needs as plain files, or name a copy in an ignored folder under "
            "parallel.shared_files",
        )
    pointers = user.lfs_pointers(user.head)
    if pointers:
        raise RequestWrong(
            f"files are git-lfs pointers and there is no lfs filter here: {', '.join(pointers[:5])}",
            str(user.root),
            "install git-lfs and run `git lfs install && git lfs pull`",
        )


def refuse_start(user: UserRepository, spec: Spec) -> None:
    """Refuse a repository that a run of this spec cannot start from. Raises: ScopeDirty, RequestWrong."""
    refuse_unusable_base(user)
    refuse_dirty(user, spec)


def freeze(state: StateRoot, loaded: LoadedSpec, spec_path: Path, user: UserRepository) -> RunFacts:
    """CP-0: take a run id and write the frozen spec; give the run's facts.

    Raises: ScopeDirty and RequestWrong, before anything is written.
    """
    refuse_start(user, loaded.spec)
    prepare_state_root(state.root)
    run_id = new_run_id(state, datetime.now(UTC))
    ensure_folder(state.run(run_id).folder)
    facts = RunFacts(
        run_id=run_id,
        spec=loaded.spec.name,
        base=user.head,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        spec_folder=os.path.relpath(spec_path.resolve().parent, state.root.resolve()),
        harness_files=_freeze_harness(state, loaded.spec, user),
    )
    write_atomic(state.run(run_id).run_json, facts.to_json())
    write_atomic(state.spec, loaded.text)
    return facts


def _freeze_harness(state: StateRoot, spec: Spec, user: UserRepository) -> dict[str, str]:
    """Copy the uncommitted harness files beside the frozen spec; give their hashes."""
    found: dict[str, str] = {}
    for path in spec.measurement.harness_files:
        source = user.root / path
        if not source.is_file():
            raise RequestWrong(
                "a harness file is missing", f"measurement.harness_files: {path}", "put the file there, or take it out"
            )
        target = harness_folder(state) / path
        ensure_folder(target.parent)
        shutil.copy2(source, target)
        found[path] = hashlib.sha256(target.read_bytes()).hexdigest()
    return found


def is_as_frozen(state: StateRoot, facts: RunFacts, loaded: LoadedSpec, user: UserRepository) -> bool:
    """Say whether spec, commit and uncommitted harness files are still those that a run froze."""
    files = {path: user.root / path for path in facts.harness_files}
    return (
        loaded.text == state.spec.read_bytes()
        and facts.base == user.head
        and all(
            file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == facts.harness_files[path]
            for path, file in files.items()
        )
    )


def harness_folder(state: StateRoot) -> Path:
    """Give the folder of the frozen harness files."""
    return state.root / "harness"


def read_facts(state: StateRoot, run_id: str) -> RunFacts:
    """Read a run's facts. Raises: DataDamaged when the file is missing or no such mapping."""
    path = state.run(run_id).run_json
    try:
        content = json.loads(path.read_bytes())
        return RunFacts(**{name: content[name] for name in RunFacts.__dataclass_fields__})
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataDamaged(
            "the run's own file is missing or damaged",
            str(path),
            "put it back from a copy, or begin anew with `headway run SPEC --fresh`",
        ) from problem


def newest_run(state: StateRoot) -> str | None:
    """Give the newest run of a state root that got past CP-0, by its name."""
    try:
        names = sorted(p.name for p in state.runs.iterdir() if state.run(p.name).run_json.is_file())
    except FileNotFoundError:
        return None
    return names[-1] if names else None


def run_of(state: StateRoot) -> str:
    """Give the id of the run that a state root holds, whatever of it is missing or damaged; a new one for none."""
    with suppress(HeadwayError):
        run_id = str(LogFile.open(state.log).section("run_id"))
        if state.run(run_id).folder.parent == state.runs:
            return run_id
    return newest_run(state) or new_run_id(state, datetime.now(UTC))


def move_into(archive: Path, *paths: Path) -> None:
    """Move what is there of some files and folders into an archive. Raises: DiskFailed."""
    for path in paths:
        try:
            path.replace(archive / path.name)
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise disk_failure(problem, path) from problem


def take_up_parked(state: StateRoot, tell: Callable[[str], None]) -> None:
    """Carry out the change that an earlier process could not write to the log; a damaged log is left to the command.

    Raises: DiskFailed, when the disk still refuses.
    """
    if not is_parked_beside(state.log) or not state.log.is_file():
        return
    with suppress(DataDamaged):
        tell(take_up(LogFile.open(state.log)))


def refuse_lost_log(state: StateRoot) -> None:
    """Refuse a state root whose log is gone although experiments were carried out. Raises: DataDamaged."""
    run_id = newest_run(state)
    folders = state.run(run_id).experiments.glob("exp*") if run_id is not None else ()
    if any(iteration_of(folder.name) for folder in folders):
        raise DataDamaged(
            "the experiment log is gone, although experiments were carried out",
            str(state.log),
            "put it back from a copy, or begin anew with `headway run SPEC --fresh`: the experiments' folders stay",
        )


def frozen_spec(state: StateRoot) -> LoadedSpec:
    """Read the frozen spec. Raises: DataDamaged when it is missing, or no spec any more."""
    try:
        return load_spec(state.spec)
    except OutsideFailed:
        raise
    except RequestWrong as problem:
        raise DataDamaged(
            f"the frozen spec cannot be read: {problem.what}",
            str(state.spec),
            "`headway run SPEC` with the spec that was approved puts it back; `headway run SPEC --fresh` begins anew",
        ) from problem


def cache_root(environment: Mapping[str, str]) -> Path:
    """Give headway's cache folder of this user."""
    home = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".cache")
    return Path(home) / "headway"


def trees_of(state: StateRoot, run_id: str, environment: Mapping[str, str]) -> Path:
    """Give the folder of a run's trees, outside the user's repository."""
    digest = hashlib.sha256(f"{state.root.resolve()}\0{run_id}".encode("utf-8", "surrogateescape")).hexdigest()
    return cache_root(environment) / digest[:12]


def ground_of(
    state: StateRoot,
    loaded: LoadedSpec,
    facts: RunFacts,
    user: UserRepository,
    environment: Mapping[str, str],
    timeout_seconds: float | None = None,
) -> Ground:
    """Put the concrete parts of a run together.

    Args:
        state: the state root.
        loaded: the frozen spec.
        facts: of the run.
        user: the user's repository.
        environment: the process's own environment; jobs see an allowed part of it.
        timeout_seconds: limit of one measurement as the log has it; None before the calibration.
    Raises: SpecRefused; RequestWrong for an adapter that is not there.
    """
    spec = loaded.spec
    refuse_unsupported(spec, str(state.spec))
    private = PrivateRepository.open_or_create(state.private_repo, user)
    pool = TreePool(trees_of(state, facts.run_id, environment), private)
    run = state.run(facts.run_id)
    jobs = Jobs(ensure_folder(run.folder))
    allowed = base_environment(environment)
    spec_folder = (state.root / facts.spec_folder).resolve()
    lock = cache_root(environment) / "machine.lock" if spec.measurement.exclusive == "machine" else None
    if lock is not None:
        ensure_folder(lock.parent)
    measuring = Measuring(spec, pool, jobs, allowed, user.root, harness_folder(state), lock)
    ground = Ground(
        spec=spec,
        spec_sha256=loaded.sha256,
        spec_folder=spec_folder,
        state=state,
        run_id=facts.run_id,
        base=facts.base,
        user=user,
        private=private,
        pool=pool,
        jobs=jobs,
        measuring=measuring,
        agent=_agent(spec),
        proposer=registry.find("proposer", proposer_type(spec))(spec, spec_folder),
        environment=allowed,
        agent_environment={n: environment[n] for n in (spec.agent.env if spec.agent else ()) if n in environment},
        workload=workload_of(spec, facts.harness_files),
        instructions=_instructions(state, spec, user),
    )
    measuring.relative = ground.relative
    if timeout_seconds is not None:
        measuring.timeout_seconds = timeout_seconds
    elif spec.measurement.timeout_seconds is not None:
        measuring.timeout_seconds = float(spec.measurement.timeout_seconds)
    return ground


def _agent(spec: Spec) -> Agent | None:
    if spec.agent is None:
        return None
    agent: Agent = registry.find("agent", spec.agent.type)(spec.agent)
    return agent


def proposer_type(spec: Spec) -> str:
    """Give who proposes: as the spec says, else patches for the agent `patches`, else the user's own list."""
    if spec.proposer is not None:
        return str(spec.proposer.type)
    return "patches" if spec.agent is not None and spec.agent.type == "patches" else "list"


def workload_of(spec: Spec, harness_files: Mapping[str, str]) -> str:
    """Give the identity of what measures: the command and its declared inputs, as a short hash."""
    measurement = spec.measurement
    parts: list[Any] = [measurement.command, measurement.working_directory, measurement.output_format]
    parts += [measurement.build_command, measurement.setup_command, measurement.metrics_file]
    parts += [dict(measurement.extract), dict(harness_files), list(spec.scope.immutable)]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"selection:{digest[:12]}"


def _instructions(state: StateRoot, spec: Spec, user: UserRepository) -> str:
    """Give the agent's instructions as they were frozen; frozen now if they were not yet."""
    name = spec.agent.instructions_file if spec.agent else None
    if name is None:
        return ""
    frozen = state.root / "instructions.md"
    if not frozen.is_file():
        source = user.root / name
        if not source.is_file():
            raise RequestWrong(
                "the agent's instructions are missing",
                f"agent.instructions_file: {name}",
                "put the file there, or take the line out of the spec",
            )
        write_atomic(frozen, source.read_bytes())
    text = frozen.read_text("utf-8", "replace")
    return text if len(text) <= INSTRUCTIONS_CHARACTERS else text[:INSTRUCTIONS_CHARACTERS] + "\n(cut for length)"
