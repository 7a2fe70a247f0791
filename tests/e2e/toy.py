"""A toy repository whose metric is a number in a file, and the real command run on it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.builders import merged
from tests.repositories import Repository, a_repository, fingerprint_of

HEADWAY = [sys.executable, "-c", "from headway.cli.main import entry; entry()"]
FILES = {
    "number.txt": "100\n",
    "other.txt": "1\n",
    "harness.sh": 'printf \'{"value": %s, "ok": 1}\\n\' "$(cat number.txt)"\n',
}
AGENT = 'cat > /dev/null; sh -c "$HEADWAY_HYPOTHESIS"'
"""Carries out a hypothesis that is a shell command."""

SPEC: Mapping[str, Any] = {
    "name": "toy",
    "metric": {
        "primary": {"type": "hard", "name": "value", "direction": "minimize"},
        "degenerate_gates": [{"name": "ok", "check": "== 1"}],
    },
    "measurement": {
        "command": "sh harness.sh",
        "timeout_seconds": 20,
        "stability": {"mode": "stable", "noise_threshold": 0.5},
    },
    "scope": {"mutable": ["number.txt", "other.txt"], "immutable": ["harness.sh"]},
    "execution": {"mode": "serial"},
    "sandbox": "none",
    "agent": {"type": "command", "command": AGENT},
    "stopping": {"plateau_iterations": "none"},
}


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Toy:
    """A repository with its spec beside it."""

    repository: Repository
    spec: Path
    environment: Mapping[str, str]

    @property
    def state(self) -> Path:
        """The state root."""
        return self.repository.root / ".headway" / "toy"

    def headway(self, *words: str, check: int | None = 0, cwd: Path | None = None, stdin: str = "") -> Said:
        """Run the command as a user would; a code other than `check` fails the test with what was printed."""
        done = subprocess.run(
            [*HEADWAY, *words],
            cwd=cwd or self.repository.root,
            env=dict(self.environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert check is None or done.returncode == check, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start the command and leave it running."""
        return subprocess.Popen(
            [*HEADWAY, *words],
            cwd=self.repository.root,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def write_spec(self, **changes: Any) -> None:
        """Write the spec anew with changes laid over it."""
        with self.spec.open("w") as file:
            YAML(typ="safe", pure=True).dump(merged(SPEC, changes), file)

    def log(self) -> dict[str, Any]:
        """Read the log with a loader that is not headway's."""
        return dict(YAML(typ="safe", pure=True).load(self.log_path))

    @property
    def log_path(self) -> Path:
        """Where the log lies."""
        return self.state / "experiment-log.yaml"

    def outcomes(self) -> list[str]:
        """The outcomes in the log's order."""
        return [str(e["outcome"]) for e in self.log()["experiments"]]

    def fingerprint(self) -> Mapping[str, str]:
        """What of the user's repository must stay byte for byte."""
        found = fingerprint_of(self.repository.root)
        return {path: value for path, value in found.items() if not path.startswith(".headway")}


def a_toy(
    folder: Path,
    hypotheses: Sequence[str | Mapping[str, Any]] = (),
    files: Mapping[str, str | bytes] = FILES,
    name: str = "repo",
    **changes: Any,
) -> Toy:
    """Build a toy whose hypotheses are shell commands that the agent runs in its tree."""
    repository = a_repository(folder / name, files)
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "HEADWAY_", "XDG_"))},
        "HOME": str(repository.home),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    toy = Toy(repository, folder / "toy.yaml", environment)
    items = [{"description": h, "category": f"c{i}"} if isinstance(h, str) else h for i, h in enumerate(hypotheses)]
    toy.write_spec(**({"hypotheses": items} if items else {}), **changes)
    return toy
