"""Whole runs of the real command, with the real program of each native agent and a scripted model."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.adapters import supervisor
from headway.testing.model_server import ModelServer
from tests.agents.programs import CLAUDE, CODEX, PROGRAMS, Program
from tests.agents.scripts import LEFT_RUNNING
from tests.agents.test_turns import of
from tests.e2e.toy import Toy, a_toy

pytestmark = [pytest.mark.agents, pytest.mark.e2e]


def a_toy_for(program: Program, folder: Path, url: str, hypotheses: int = 1, **agent: Any) -> Toy:
    """Build a toy whose hypotheses are carried out by a program, in the user's home with its settings."""
    ways = [f"way {n} to a smaller number" for n in range(hypotheses)]
    toy = a_toy(folder, ways)
    variables = program.settle(toy.repository.home, url)
    options = {"program": str(program.path), **agent.pop("options", {})}
    if program is CODEX:  # whose own sandbox keeps a commit and a background process from being tried
        options = {"sandbox": "danger-full-access", **options}
    own = {"type": program.kind, "model": program.model, "options": options, "env": sorted(variables), **agent}
    items = [{"description": way, "category": f"c{n}"} for n, way in enumerate(ways)]
    toy.write_spec(hypotheses=items, agent={"command": None, **own})
    return replace(toy, environment={**toy.environment, **variables})


def turns_of(toy: Toy, iteration: int = 1) -> list[Mapping[str, Any]]:
    """Give the records of an experiment's turns."""
    (path,) = toy.state.glob(f"runs/*/experiments/exp{iteration:04d}/events.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [record["data"] for record in records if record["kind"] == "agent_turn_ended"]


@of(*PROGRAMS)
def test_a_run_keeps_what_an_agent_made_better(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The brief reaches the model; the log has the learnings, the tokens and the cost of the turn."""
    toy = a_toy_for(program, tmp_path, server.url("number"))
    before = toy.fingerprint()
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["outcome"] == "kept"
    usage = entry["headway"]["usage"]
    assert usage["tokens"] > 0 and usage["usd"] > 0
    (turn,) = turns_of(toy)
    assert turn["learnings"] == "The second digit hardly matters."
    assert "way 0 to a smaller number" in str(server.asked("number")[-1].body)
    assert toy.repository.git("show", "optimize/toy:number.txt").strip() == "40"
    assert toy.fingerprint() == before


@of(*PROGRAMS)
def test_what_an_agent_leaves_lying_about_reaches_no_candidate(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """Droppings, a commit and a branch of its own, a process: only the edit is measured, and nothing runs beside it."""
    toy = a_toy_for(program, tmp_path, server.url("mess"))
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    (entry,) = toy.log()["experiments"]
    assert entry["outcome"] == "kept"
    assert toy.repository.git("diff", "--name-only", "HEAD", "optimize/toy") == "number.txt"
    assert toy.repository.git("branch", "--list", "elsewhere") == ""
    assert not [p for p in supervisor.all_pids() if LEFT_RUNNING in supervisor.command_line(p)]


@of(CLAUDE, CODEX)
def test_a_repair_is_asked_of_the_same_conversation(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The first turn breaks the measurement; the second sees the first, and what failed."""
    toy = a_toy_for(program, tmp_path, server.url("mended"))
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
    first, second = turns_of(toy)
    assert first["session"] == second["session"]
    assert first["usage"] == second["usage"]
    assert "strict JSON" in str(server.asked("mended")[-1].body)
    assert toy.repository.git("show", "optimize/toy:number.txt").strip() == "50"


@of(*PROGRAMS)
def test_a_missing_login_blocks_a_run_after_one_turn_and_is_no_experiment(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """Exit code 4 with the program's own words; the hypotheses stay; a mended login goes on with them."""
    toy = a_toy_for(program, tmp_path, server.url("no-login"), hypotheses=2)
    said = toy.headway("run", str(toy.spec), "--approve-as", "me", "--json", check=4)
    assert said.json["reason"] == "agent_unavailable"
    assert "401" in said.json["detail"]
    log = toy.log()
    assert log["experiments"] == []
    assert len(log["hypothesis_backlog"]) == 2
    assert turns_of(toy)[0]["trouble"] == "auth"
    program.settle(toy.repository.home, server.url("number"))
    mended = replace(toy, environment={**toy.environment, **program.settle(toy.repository.home, server.url("number"))})
    mended.headway("resume", "--max-ticks", "1")
    assert toy.outcomes() == ["kept"]


@of(CLAUDE)
def test_turns_that_ran_into_a_limit_are_no_experiments(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """Three in a row block the run; what they cost is counted."""
    toy = a_toy_for(program, tmp_path, server.url("loop"), max_turns=3)
    toy.headway("run", str(toy.spec), "--approve-as", "me", check=4)
    log = toy.log()
    assert log["experiments"] == []
    assert len(log["hypothesis_backlog"]) == 1
    assert [turns_of(toy, n)[0]["status"] for n in (1, 2, 3)] == ["timed_out"] * 3
    assert log["best"]["total_run_cost_usd"] == pytest.approx(3 * turns_of(toy)[0]["usd"])
