"""All concrete parts of one run, as the performers use them. Built by `app`, decides nothing.

Source: STYLE section 1 (app is the one place where concrete parts meet).
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.adapters.private_repository import PrivateRepository
from headway.adapters.processes import Jobs
from headway.adapters.user_repository import UserRepository
from headway.adapters.workspaces.worktree import TreePool
from headway.core.spec import Spec
from headway.orchestrator.measuring import Measuring
from headway.protocols import Agent, Proposer
from headway.store.atomic import write_derived
from headway.store.paths import RunPaths, StateRoot
from headway.store.records import RecordFile


@dataclass
class Ground:
    """Where a run happens and with what.

    Args:
        spec: the frozen spec.
        spec_sha256: of its bytes.
        spec_folder: the folder that relative paths of the spec start from.
        state: the state root.
        run_id: of the run.
        base: commit that the run started from.
        user: the user's repository.
        private: headway's own.
        pool: trees of both kinds.
        jobs: the supervisor's client.
        measuring: prepares checkouts and runs the harness.
        agent: who carries out hypotheses; None where the spec names none.
        proposer: who gives them.
        environment: what of the user's environment jobs may see.
        agent_environment: the variables that `agent.env` lets through, for agents alone.
        workload: identity of the harness command and its declared inputs.
        closing: set when the process is about to end; workers then report nothing.
        open_records: opens a file of records.
        write_derived: writes a file that can be made anew from durable ones.
    """

    spec: Spec
    spec_sha256: str
    spec_folder: Path
    state: StateRoot
    run_id: str
    base: str
    user: UserRepository
    private: PrivateRepository
    pool: TreePool
    jobs: Jobs
    measuring: Measuring
    agent: Agent | None
    proposer: Proposer
    environment: Mapping[str, str]
    agent_environment: Mapping[str, str]
    workload: str
    instructions: str = ""
    closing: threading.Event = field(default_factory=threading.Event)
    open_records: Callable[[Path], RecordFile] = RecordFile
    write_derived: Callable[[Path, bytes], None] = write_derived

    @property
    def run(self) -> RunPaths:
        """Give the run's own folders."""
        return self.state.run(self.run_id)

    @property
    def branch(self) -> str:
        """Give the ref of the optimization branch."""
        return f"refs/heads/optimize/{self.spec.name}"

    def experiment_ref(self, iteration: int) -> str:
        """Give the private ref that keeps an experiment's commit."""
        return f"refs/headway/{self.spec.name}/exp-{iteration:03d}"

    def relative(self, path: Path) -> str:
        """Give a path as records name it: below the state root, without what is particular to this machine."""
        return os.path.relpath(path, self.state.root)

    def payload_path(self, sha256: str) -> Path:
        """Give where a proposal's bytes lie."""
        return self.run.folder / "proposals" / sha256
