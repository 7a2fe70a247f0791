"""A run in this process, on a real repository and a real log, that can be made to die at any edge.

An edge is the moment before or behind one effect: a write to the store, a ref, a commit, an agent's turn, a
measurement. The agent and the harness are objects here, so that every run takes the same walk; nothing runs beside
the main thread.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, Self

from headway.adapters.private_repository import Conflict, PrivateRepository
from headway.adapters.user_repository import UserRepository, find_repository
from headway.adapters.workspaces.candidate import CandidateBuilt, NoChange, TreeGone
from headway.adapters.workspaces.worktree import Tree, TreePool
from headway.core.approval import caps_of
from headway.core.edits import Edit, SetSection
from headway.core.events import RunStopped, SampleStatus, Stage, TurnStatus
from headway.core.output import Sample
from headway.core.records import Approval, Caps, to_row
from headway.core.validity import Waivers
from headway.orchestrator.exemplars import plan_exemplars
from headway.orchestrator.first import baseline_probes, create_log, measure_baseline
from headway.orchestrator.ground import Ground
from headway.orchestrator.loop import Loop
from headway.orchestrator.measuring import Measuring, Prepared, Reading
from headway.orchestrator.start import freeze, frozen_spec, ground_of, newest_run, read_facts
from headway.orchestrator.validity import run_gate
from headway.protocols import Attempt, Turn, TurnTools
from headway.store.atomic import write_derived
from headway.store.log import LogFile
from headway.store.paths import StateRoot
from headway.store.records import RecordFile
from headway.store.spec_file import load_spec
from tests.builders import a_spec_text, merged
from tests.repositories import Repository, a_repository, write_files


class Crash(BaseException):
    """The process dies here: no handler may swallow it."""


@dataclass
class Edges:
    """Counts the edges that a process passes, and ends it at one of them.

    Attributes:
        dies_at: number of the edge, from 1, or its name, the first time that it comes; 0 is never.
        names: what was passed, in order.
        unsynced: files of records that were written to since they were last synced, and how long they were then.
    """

    dies_at: int | str = 0
    names: list[str] = field(default_factory=list)
    is_dead: bool = False
    unsynced: dict[Path, int] = field(default_factory=dict)

    def edge(self, name: str) -> None:
        """Pass an edge, or die there; the dead do nothing more."""
        if not self.is_dead:
            self.names.append(name)
            self.is_dead = self.dies_at in (len(self.names), name)
        if self.is_dead:
            raise Crash(name)

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        """Pass the edges before and behind an effect."""
        self.edge(f"before {name}")
        yield
        self.edge(f"behind {name}")


class DyingLog(LogFile):
    """The real log; its process may die before or behind a commit."""

    edges: Edges

    def commit(self, edits: Sequence[Edit]) -> None:
        """Commit, between two edges; nothing to commit is no effect."""
        if not edits:
            return
        with self.edges.around("commit"):
            super().commit(edits)


class DyingRecords(RecordFile):
    """The real records."""

    def __init__(self, edges: Edges, path: Path) -> None:
        self.edges = edges
        super().__init__(path)

    def write(self, record: Mapping[str, Any]) -> bool:
        """Write, between two edges; what a failing machine would leave of the file is noted."""
        self.edges.unsynced.setdefault(self.path, self.path.stat().st_size)
        with self.edges.around(f"record {record['kind']}"):
            return super().write(record)

    def sync(self) -> None:
        """Make durable, between two edges; nothing new is no effect."""
        if self.path in self.edges.unsynced:
            with self.edges.around("sync"):
                super().sync()
                del self.edges.unsynced[self.path]


class DyingPrivate(PrivateRepository):
    """The real private repository."""

    edges: Edges

    def set_ref(self, ref: str, commit: str) -> None:
        """Set a ref, between two edges."""
        with self.edges.around("set_ref"):
            super().set_ref(ref, commit)

    def cherry_pick(
        self, onto: str, before: str, after: str, message: str, when: str | None = None
    ) -> "str | Conflict":
        """Combine, between two edges."""
        with self.edges.around("cherry_pick"):
            return super().cherry_pick(onto, before, after, message, when)

    def publish(self, tip: str, exclude: Sequence[str], ref: str, old: str | None) -> None:
        """Move the branch, between two edges; one more lies between objects and ref."""
        with self.edges.around("publish"):
            super().publish(tip, exclude, ref, old)

    def copy_objects(self, tip: str, exclude: Sequence[str]) -> None:
        """Copy objects to the user's repository, between two edges."""
        with self.edges.around("copy_objects"):
            super().copy_objects(tip, exclude)


class DyingPool(TreePool):
    """The real trees."""

    edges: Edges

    def prepare_for_agent(self, tree: Tree, commit: str, keep: Sequence[str] = ()) -> None:
        """Make the agent's tree, between two edges."""
        with self.edges.around("prepare_for_agent"):
            super().prepare_for_agent(tree, commit, keep)

    def candidate(self, tree: Tree, base_commit: str, **how: Any) -> CandidateBuilt | NoChange | TreeGone:
        """Make the candidate's commit, between two edges."""
        with self.edges.around("candidate"):
            return super().candidate(tree, base_commit, **how)


class ByContent(Measuring):
    """A harness that reads its value from the commit's files: `seconds` is the sum of their first numbers.

    With `noise`, a share, each measurement has its own error, and its folder keeps what was measured as a job's does.
    """

    edges: Edges
    counted: dict[str, int]
    noise: float

    def prepare(self, name: str, commit: str, jobs_folder: Path, label: str, checks: bool) -> Prepared:
        """Fail the checks where a file says so, between two edges."""
        with self.edges.around("prepare"):
            bad = "fails" in "".join(self._texts(commit))
        return Prepared(Stage.CHECKS, False, "a check fails") if bad and checks else Prepared(Stage.READY, True)

    def sample(self, name: str, commit: str, folder: Path, job_id: str, seed: int) -> Reading:
        """Give the commit's value, between two edges; text that is no number is no measurement."""
        with self.edges.around("sample"):
            kept = folder / "text"
            if not (self.noise and kept.exists()):
                self.counted[job_id] = self.counted.get(job_id, 0) + 1
                if self.noise:
                    write_files(folder, {"text": "".join(self._texts(commit))})
            text = kept.read_text() if self.noise else "".join(self._texts(commit))
            return self._reading(text, 1 + self.noise * Random(job_id).gauss())

    def _reading(self, text: str, error: float) -> Reading:
        if "nonsense" in text:
            return Reading(SampleStatus.INVALID, "it printed no JSON", elapsed_seconds=1.0)
        seconds = error * sum(float(number) for number in re.findall(r": ([0-9.]+)", text))
        gates = {"sorted": 0 if "unsorted" in text else 1}
        return Reading(SampleStatus.VALID, sample=Sample(gates, {"seconds": seconds}, {}), elapsed_seconds=1.0)

    def _texts(self, commit: str) -> list[str]:
        files = [self.pool.private.read_file(commit, f"src/{name}.txt") for name in "ab"]
        return [(text or b"").decode() for text in files]


@dataclass
class Scripted:
    """An agent that carries a hypothesis out as its description says: `a.first = 7`, several with a semicolon.

    `refuses`, `needs NAME`, `nothing` and `outside` do what they say; `shaky` fails at its first try.
    """

    edges: Edges
    can_retry: bool = True

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Edit the tree, between two edges."""
        with self.edges.around("attempt"):
            return self._attempt(turn, tools)

    def _attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        text = turn.item.description
        tries = (turn.item.headway.attempts if turn.item.headway else 0) or 0
        if "shaky" in text and not tries:
            return self._said(TurnStatus.FAILED, "the agent crashed")
        if "refuses" in text:
            return self._said(TurnStatus.REFUSED, "it will not")
        for path, line, value in re.findall(r"(\w)\.(\w+) = (\S+)", text):
            file = tools.tree / "src" / f"{path}.txt"
            file.write_text(re.sub(rf"^{line}: .*$", f"{line}: {value}", file.read_text(), flags=re.M))
        if "outside" in text:
            (tools.tree / "bench.py").write_text("print('forged')\n")
        elif "nothing" in text:
            assert tools.tree.is_dir()
        return self._said(TurnStatus.COMPLETED)

    def _said(self, status: TurnStatus, reason: str = "") -> Attempt:
        return Attempt(status, reason=reason, tokens=10, usd=0.25)


LINES = "".join(f"line {n}\n" for n in range(6))
FILES = {
    "src/a.txt": f"first: 10\n{LINES}second: 10\n",
    "src/b.txt": f"first: 10\n{LINES}second: 10\n",
    "bench.py": "print('measure')\n",
}

HYPOTHESES: Sequence[Mapping[str, Any]] = (
    {"description": "wins: a.first = 7"},
    {"description": "combines: b.first = 8"},
    {"description": "comes back: a.second = 9"},
    {"description": "wins on the same file: a.first = 5"},
    {"description": "worse: b.second = 12"},
    {"description": "shaky: b.second = 11.99; a.second = 9.01"},
    {"description": "prints nonsense: a.first = nonsense"},
    {"description": "same again, worse: b.second = 12"},
    {"description": "changes nothing"},
    {"description": "fails its gate: b.first = 1; b.second = unsorted"},
    {"description": "refuses"},
    {"description": "and again: b.second = 12"},
    {"description": "wins and tampers outside: b.second = 7"},
    {"description": "needs approval: a.first = 1", "required_deps": ["numpy"]},
)

SPEC: Mapping[str, Any] = {
    "name": "edges",
    "measurement": {"command": "python bench.py", "timeout_seconds": 60},
    "scope": {"mutable": ["src/"], "immutable": ["bench.py"]},
    "execution": {"max_concurrent": 2},
    "agent": {"type": "command", "command": "true", "max_repairs": 1},
    "stopping": {"plateau_iterations": "none"},
    "hypotheses": [{"category": f"kind {n}", **h} for n, h in enumerate(HYPOTHESES)],
}


IN_PAIRS: Mapping[str, Any] = {
    "measurement": {
        "stability": {
            "mode": "repeat",
            "repeat_count": 2,
            "comparison": {"method": "paired", "relative_threshold": 0.01},
        }
    },
}
SEQUENTIAL: Mapping[str, Any] = {
    "measurement": {
        "stability": {"mode": "ladder", "comparison": {"method": "sequential", "effort": "standard"}},
    },
}
THREE_AT_ONCE: Mapping[str, Any] = {"execution": {"max_concurrent": 3}, "max_runner_up_merges_per_batch": 0}


@dataclass
class EdgeRun:
    """One run in a folder, as often taken up as it is asked for.

    Attributes:
        edges: those of the newest process.
        counted: how often each sample was measured, over all processes.
        power_fails: a death takes the records with it that were not synced yet, as that of a machine does.
        noise: of one measurement, a share.
        parts: what processes of the run share, for it only reads.
    """

    folder: Path
    repository: Repository
    edges: Edges = field(default_factory=Edges)
    counted: dict[str, int] = field(default_factory=dict)
    power_fails: bool = False
    noise: float = 0.0
    parts: Ground | None = None

    @property
    def state(self) -> StateRoot:
        """The run's state root."""
        return StateRoot(self.folder / "state")

    def to_the_end(self, dies_at: int | str = 0, max_ticks: int | None = None) -> RunStopped | None:
        """Take the run up in a new process, that may die at an edge. Raises: Crash, when it does."""
        self.edges = Edges(dies_at)
        ground = self._ground()
        log = DyingLog.open(self.state.log)
        log.edges = self.edges
        try:
            return Loop(ground, log, max_ticks=max_ticks, start_worker=lambda work, _: work()).run()
        except Crash:
            if self.power_fails:
                self._lose_unsynced()
            raise

    def _lose_unsynced(self) -> None:
        for path, size in self.edges.unsynced.items():
            os.truncate(path, size)

    def begin(self) -> Self:
        """Bring the run past CP-1 and its gate, undisturbed."""
        path = self.folder / "spec.yaml"
        loaded = load_spec(path)
        facts = freeze(self.state, loaded, path, self._user)
        ground = self._ground()
        samples = measure_baseline(ground, lambda _: None)
        probes = baseline_probes(ground.spec, samples)
        validation = run_gate(ground, samples, plan_exemplars(ground), probes, Waivers(), lambda _: None)
        file = create_log(ground, samples, facts.created_at, validation)
        approval = Approval(
            approved_at=facts.created_at,
            spec_sha256=loaded.sha256,
            caps=Caps.model_validate(caps_of(loaded.spec)),
        )
        file.commit([SetSection("approval", to_row(approval))])
        ground.user.update_ref(ground.branch, ground.base, None)
        return self

    @property
    def _user(self) -> UserRepository:
        return find_repository(self.repository.root)

    def _ground(self) -> Ground:
        """Give the parts of a new process: none remembers anything; what only reads a repository's facts is shared."""
        self.parts = self.parts or self._first_parts()
        private = DyingPrivate(self.state.private_repo, self.parts.user)
        pool = DyingPool(self.parts.pool.cache_root, private)
        given = {name: getattr(self.parts.measuring, name) for name in _MEASURING}
        measuring = ByContent(**{**given, "pool": pool})
        for part in (private, pool, measuring):
            part.edges = self.edges
        measuring.counted, measuring.noise = self.counted, self.noise
        return replace(
            self.parts,
            private=private,
            pool=pool,
            measuring=measuring,
            agent=Scripted(self.edges),
            closing=Event(),
            open_records=partial(DyingRecords, self.edges),
            write_derived=self._write_derived,
        )

    def _first_parts(self) -> Ground:
        run_id = newest_run(self.state)
        assert run_id is not None, "the run has begun"
        environment = {"HOME": str(self.repository.home), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return ground_of(self.state, frozen_spec(self.state), read_facts(self.state, run_id), self._user, environment)

    def _write_derived(self, path: Path, data: bytes) -> None:
        with self.edges.around(f"write {path.name}"):
            write_derived(path, data)

    # What came of it

    def outcomes(self) -> list[tuple[str, str]]:
        """Give the hypotheses with their outcomes, in the log's order."""
        return [(row["hypothesis"], row["outcome"]) for row in LogFile.open(self.state.log).rows()]

    def result(self) -> dict[str, Any]:
        """Give all that a run leaves, without times, hashes and free numbers: what two runs can be compared by."""
        file = LogFile.open(self.state.log)
        rows = list(file.rows())
        plain = _Plain({row["iteration"]: n for n, row in enumerate(rows, 1)})
        branch = self.repository.git("rev-list", "--reverse", "HEAD..optimize/edges").split()
        texts = [self.repository.git("show", f"optimize/edges:src/{name}.txt") for name in "ab"]
        return {
            "rows": plain(rows),
            "sections": plain(file.sections()),
            "branch": plain(branch),
            "texts": texts,
            "digest": plain(self.state.digest.read_text()),
            "files": plain([self._experiment_file(row["iteration"]) for row in rows]),
        }

    def _experiment_file(self, iteration: int) -> Any:
        run_id = newest_run(self.state)
        assert run_id is not None
        return json.loads(self.state.run(run_id).experiment(iteration).experiment_json.read_bytes())["row"]


_MEASURING = ("spec", "pool", "jobs", "environment", "user_root", "harness_files", "machine_lock", "timeout_seconds")
_CLOCKS = frozenset(
    {"at", "started_at", "timestamp", "approved_at", "phase3_started_at", "active_seconds", "wake", "seeds", "run_id"}
)
_NUMBERS = frozenset({"iteration", "repeat_of", "retry_of", "merged_with", "success"})


@dataclass
class _Plain:
    """Takes out of plain data what differs between two equal runs: times, hashes by their order, free numbers."""

    ranks: Mapping[int, int]
    hashes: dict[str, str] = field(default_factory=dict)

    def __call__(self, value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {k: self(v, k) for k, v in value.items() if k not in _CLOCKS and v != []}
        if isinstance(value, list):
            return [self(v, key) for v in value]
        if isinstance(value, str):
            return re.sub(
                r"\b[0-9a-f]{40}\b",
                self._hash,
                re.sub(r"experiment (\d+)|^- (\d+)(?=:)", self._number, value, flags=re.M),
            )
        if isinstance(value, int) and key in (*_NUMBERS, "failing"):
            return self.ranks.get(value, 0 if value == 0 else -1)
        return value

    def _hash(self, found: re.Match[str]) -> str:
        return self.hashes.setdefault(found[0], f"commit {len(self.hashes) + 1}")

    def _number(self, found: re.Match[str]) -> str:
        return f"experiment {self.ranks.get(int(found[1] or found[2]), -1)}"


def an_edge_run(folder: Path, noise: float = 0.0, **changes: Any) -> EdgeRun:
    """Build a repository and a run that stands behind its gate, with changes laid over its spec."""
    folder.mkdir(parents=True)
    repository = a_repository(folder / "repository", FILES)
    write_files(folder, {"spec.yaml": a_spec_text(**merged(SPEC, changes))})
    return EdgeRun(folder, repository, noise=noise).begin()
