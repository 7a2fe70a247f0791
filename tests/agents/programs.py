"""The real programs of the native agents: where they are, and a fresh home in which they speak to a local server."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".agents" / "bin"
KEY = "sk-dummy"
UNREACHED = "http://127.0.0.1:9"
"""An address at which nobody listens."""


@dataclass(frozen=True)
class Program:
    """One program.

    Args:
        kind: the agent's type.
        file: its file in `.agents/bin`.
        model: that the tests ask for.
        target: of the Makefile, that installs it.
        settle: writes its settings into a home and gives its variables.
    """

    kind: str
    file: str
    model: str
    target: str
    settle: Callable[[Path, str], Mapping[str, str]]

    @property
    def path(self) -> Path:
        """Give the program's path."""
        return FOLDER / self.file

    @property
    def is_installed(self) -> bool:
        """Say whether it can be run."""
        return self.path.exists()

    @property
    def why_not(self) -> str:
        """Say why it is not tested."""
        return f"{self.kind} is NOT TESTED on its real program: `make {self.target}` installs it into .agents/"


def _claude(home: Path, url: str) -> Mapping[str, str]:
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


def _codex(home: Path, url: str) -> Mapping[str, str]:
    provider = f'name = "mock"\nbase_url = "{url}/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n'
    retries = "request_max_retries = 1\nstream_max_retries = 1\n"
    text = f'model_provider = "mock"\n[model_providers.mock]\n{provider}{retries}'
    _write(home / ".codex" / "config.toml", text)
    return {"MOCK_KEY": KEY}


def _gemini(home: Path, url: str) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}


def _opencode(home: Path, url: str) -> Mapping[str, str]:
    cost = {"input": 1, "output": 10, "cache_read": 0.1}
    model = {"cost": cost, "limit": {"context": 200_000, "output": 8192}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"mock-model": model},
    }
    settings = {"enabled_providers": ["mock"], "provider": {"mock": provider}}
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


CLAUDE = Program("claude-code", "claude", "claude-sonnet-4-5", "agents", _claude)
CODEX = Program("codex", "codex", "gpt-5.5", "agents", _codex)
GEMINI = Program("gemini", "gemini", "gemini-2.5-pro", "agents-npm", _gemini)
OPENCODE = Program("opencode", "opencode", "mock/mock-model", "agents-npm", _opencode)
PROGRAMS = (CLAUDE, CODEX, GEMINI, OPENCODE)


def environment_for(program: Program, home: Path, url: str) -> dict[str, str]:
    """Give a whole environment for a program: a fresh home, a dummy key, nothing of this process but the path."""
    home.mkdir(parents=True, exist_ok=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
    return {**own, **program.settle(home, url)}
