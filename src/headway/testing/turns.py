"""One turn of an agent without a run: a tree, a folder, and the real supervisor with its limits.

    with a_turn(folder, {"target.txt": "1\\n"}, env=environment) as tools:
        attempt = my_agent.attempt(turn_about("set it to 2"), tools)

For testing an adapter of an agent's program, for example against `headway.testing.model_server`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headway.adapters.job_folder import JobExit, JobKind, JobOrder, last_lines
from headway.adapters.processes import Jobs
from headway.core.agent_turns import AgentSession
from headway.core.records import BacklogItem
from headway.protocols import ProgramEnd, Turn

OUTPUT_CHARACTERS = 64 << 10
LAST_LINES = 5


class LocalTools:
    """The tools of a turn (see `protocols.TurnTools`), over a plain folder.

    Args:
        root: where everything of the turn lies: `tree`, `turn` and the jobs' folders.
        jobs: runs its programs.
        env: the whole environment of a program, but for what the agent adds.
        timeout_seconds: limit of one program.
        idle_timeout_seconds: limit without output.
    """

    def __init__(
        self, root: Path, jobs: Jobs, env: Mapping[str, str], timeout_seconds: float, idle_timeout_seconds: float
    ) -> None:
        self.root = root
        self.ends: list[JobExit] = []
        self._jobs = jobs
        self._env = dict(env)
        self._limits = (timeout_seconds, idle_timeout_seconds)

    @property
    def tree(self) -> Path:
        """Give the folder to edit."""
        return self.root / "tree"

    @property
    def folder(self) -> Path:
        """Give a folder of the turn's own, outside the tree."""
        folder = self.root / "turn"
        folder.mkdir(exist_ok=True)
        return folder

    def run_program(
        self, command: str | Sequence[str], stdin: str, env: Mapping[str, str], label: str = ""
    ) -> ProgramEnd:
        """Run a program in the tree under the supervisor; see `TurnTools.run_program`."""
        folder = self.root / "jobs" / f"{len(self.ends) + 1}{label}"
        folder.mkdir(parents=True)
        brief, result = folder / "brief.md", folder / "result.json"
        brief.write_text(stdin, encoding="utf-8")
        timeout_seconds, idle_timeout_seconds = self._limits
        end = self._jobs.run(
            JobOrder(
                folder=folder,
                id=folder.name,
                kind=JobKind.AUTHOR,
                command=command if isinstance(command, str) else "",
                argv=() if isinstance(command, str) else tuple(command),
                cwd=self.tree,
                env={**self._env, **env, "HEADWAY_RESULT": str(result)},
                stdin=brief,
                timeout_seconds=timeout_seconds,
                idle_timeout_seconds=idle_timeout_seconds,
            )
        )
        self.ends.append(end)
        return _program_end(end, result)

    def apply_patch(self, patch: bytes) -> str | None:
        """Say that there is nothing to apply a patch to: a turn of this kind has no repository."""
        return "a turn without a run applies no patches"

    def payload(self, sha256: str) -> bytes:
        """Give no bytes: a turn of this kind has no proposals."""
        return b""


def _program_end(end: JobExit, result: Path) -> ProgramEnd:
    said = {}
    with suppress(OSError, ValueError):
        said = json.loads(result.read_bytes())
    files = [path for path in (end.stderr_path, end.stdout_path) if path.exists()]
    words = [text for text in (last_lines(path, LAST_LINES).strip() for path in files) if text]
    output = end.stdout_path.read_text("utf-8", "replace") if end.stdout_path.exists() else ""
    return ProgramEnd(
        ended=end.status.value,
        code=end.code,
        output=output[-OUTPUT_CHARACTERS:],
        last_words=words[0] if words else "it printed nothing",
        result=said if isinstance(said, dict) else {},
        elapsed_seconds=end.elapsed_seconds,
        stdout=end.stdout_path if end.stdout_path.exists() else None,
        stderr=last_lines(end.stderr_path, LAST_LINES).strip() if end.stderr_path.exists() else "",
    )


@contextmanager
def a_turn(
    root: Path,
    files: Mapping[str, str],
    env: Mapping[str, str],
    timeout_seconds: float = 60.0,
    idle_timeout_seconds: float = 60.0,
) -> Iterator[LocalTools]:
    """Give the tools of one turn; whatever it started has ended when the block is left.

    Args:
        root: an empty folder.
        files: what the tree holds.
        env: the whole environment of a program, but for what the agent adds: no variable of this process passes.
        timeout_seconds: limit of one program.
        idle_timeout_seconds: limit without output.
    """
    tree = root / "tree"
    tree.mkdir(parents=True)
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    jobs = Jobs(root)
    try:
        yield LocalTools(root, jobs, env, timeout_seconds, idle_timeout_seconds)
    finally:
        jobs.close(wait=True)


def turn_about(brief: str, session: AgentSession | None = None, usd_left: float | None = None) -> Turn:
    """Give a turn with a brief; with a conversation to go on with it is a repair."""
    item = BacklogItem(description=brief)
    return Turn(1, 1 if session is None else 2, item, brief, session is not None, session, usd_left)


__all__ = ["LocalTools", "a_turn", "turn_about"]
