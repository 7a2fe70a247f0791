"""All that an outsider has to read to write an adapter: who proposes, who carries out, and the tools they are handed.

An adapter lies in `adapters/<kind>s/<name>.py` with `make(...)`, or in another package under the entry point group
`headway.<kind>s`. What agents, proposers and repositories say is data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from headway.core.agent_turns import AgentSession, CostBasis, TokenUsage, Trouble
from headway.core.events import TurnStatus
from headway.core.records import BacklogItem
from headway.core.spec import Agent as AgentSpec


@dataclass(frozen=True)
class ProgramEnd:
    """How a program that ran in an agent's tree ended.

    Args:
        ended: `exited`, `timeout`, `idle_timeout`, `signaled`, or `lost` when it was killed again and again.
        code: exit code, None where there is none.
        output: standard output, bounded head and tail.
        last_words: the last lines of standard error, else of standard output.
        result: what the program wrote to the file that `HEADWAY_RESULT` names, when that is a JSON object.
        elapsed_seconds: wall time.
        stdout: file with all of standard output; None where the program never started.
        stderr: the last lines of standard error alone.
    """

    ended: str
    code: int | None
    output: str
    last_words: str
    result: Mapping[str, Any] = field(default_factory=dict)
    elapsed_seconds: float = 0.0
    stdout: Path | None = None
    stderr: str = ""


class TurnTools(Protocol):
    """What an agent may use to do its turn; everything it starts is supervised and ended with it."""

    @property
    def tree(self) -> Path:
        """Give the folder to edit: the reference's files, nothing else."""
        ...

    @property
    def folder(self) -> Path:
        """Give a folder of this turn's own, outside the tree, for files that the program is to read or to leave."""
        ...

    def run_program(
        self, command: str | Sequence[str], stdin: str, env: Mapping[str, str], label: str = ""
    ) -> ProgramEnd:
        """Run a program in the tree, in its own process group, with the turn's idle and total limits.

        Args:
            command: a shell command, or a program and its arguments, which no shell sees.
            stdin: all that it may read.
            env: variables beside those that every agent gets.
            label: tells a turn's programs apart, where it runs more than one: the result of one that ended before a
                crash of headway is taken up by it.
        """
        ...

    def apply_patch(self, patch: bytes) -> str | None:
        """Apply a patch three-way onto the reference in the tree; give what stands in the way, or None."""
        ...

    def payload(self, sha256: str) -> bytes:
        """Give the stored bytes of a proposal by their hash."""
        ...


@dataclass(frozen=True)
class Turn:
    """What one turn is about.

    Args:
        iteration: number of the experiment.
        attempt: of the turn within it, from 1.
        item: the hypothesis.
        brief: what the agent is told.
        is_repair: it is to mend what it left in the attempt before.
        session: the conversation to go on with, for a repair; the brief says all that is needed without it, too.
        usd_left: what the hypothesis may still cost; None: no limit.
    """

    iteration: int
    attempt: int
    item: BacklogItem
    brief: str
    is_repair: bool
    session: AgentSession | None = None
    usd_left: float | None = None


@dataclass(frozen=True)
class Attempt:
    """What a turn came to. Whether there is a candidate is told by the tree, never by prose.

    Args:
        status: by the agent's structured status.
        reason: why, where the status is not `completed`.
        learnings: what the agent says it learned, for the log.
        deferred_deps: dependencies it needs, with status `needs_dependency`.
        tokens: spent, None when unknown.
        usd: spent, None when unknown; 0 only when it is known to be nothing.
        elapsed_seconds: wall time of its program.
        trouble: what kept it from its end, for a turn that failed or ran into a limit.
        usage: `tokens` by kind.
        cost_basis: where `usd` comes from.
        session: id of the conversation, for a repair to go on with.
        turns: how often the model was asked.
        denials: what the program was not permitted to do.
    """

    status: TurnStatus
    reason: str = ""
    final_text: str = ""
    learnings: str = ""
    deferred_deps: tuple[str, ...] = ()
    tokens: int | None = None
    usd: float | None = None
    elapsed_seconds: float = 0.0
    trouble: Trouble | None = None
    usage: TokenUsage | None = None
    cost_basis: CostBasis = CostBasis.UNKNOWN
    session: str = ""
    turns: int | None = None
    denials: tuple[str, ...] = ()


class Agent(Protocol):
    """Turns a hypothesis into changed files, inside a tree that the caller owns."""

    can_retry: bool
    """May be asked again after a turn without a change, and for a repair."""

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Change files under `tools.tree` so that they carry out the hypothesis.

        Promises: writes only under the tree; leaves no process behind; may be called again after a crash, on a tree
        reset to the reference. Never raises for what went wrong in the turn: the attempt's status says it.
        """
        ...


@dataclass(frozen=True)
class Proposal:
    """Hypotheses for the backlog, and the bytes that their payloads name by hash."""

    items: tuple[BacklogItem, ...]
    payloads: Mapping[str, bytes] = field(default_factory=dict)


class ProposerTools(Protocol):
    """What a proposer may look at."""

    def branch_patch(self, name: str) -> tuple[str, bytes]:
        """Give a branch's last subject line, and its difference to where it left the base."""
        ...


class Proposer(Protocol):
    """Gives hypotheses for the backlog."""

    def propose(self, tools: ProposerTools) -> Proposal:
        """Give all hypotheses that there are now; the same ones again at a second call.

        Raises: RequestWrong when what the spec names cannot be read.
        """
        ...


class AgentMaker(Protocol):
    """`make` of an agent's adapter."""

    def __call__(self, spec: AgentSpec) -> Agent:
        """Build the agent from its part of the spec."""
        ...


__all__: Sequence[str] = (
    "Agent",
    "AgentMaker",
    "Attempt",
    "ProgramEnd",
    "Proposal",
    "Proposer",
    "ProposerTools",
    "Turn",
    "TurnTools",
)
