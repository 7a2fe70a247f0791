"""Each native agent on its real program: one turn, with all that can go wrong between it and its model.

Offline, with dummy keys and fresh homes, against `headway.testing.model_server`. Programs that are not installed are
skipped, and named below the results.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.adapters import registry, supervisor
from headway.adapters.job_folder import job_name
from headway.core.agent_turns import AgentSession, CostBasis, TokenUsage, Trouble
from headway.core.events import TurnStatus
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Agent, Attempt
from headway.testing.model_server import ModelServer
from headway.testing.turns import LocalTools, a_turn, turn_about
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, PROGRAMS, UNREACHED, Program, environment_for
from tests.agents.scripts import LEFT_RUNNING

pytestmark = pytest.mark.agents

FILES = {"target.txt": "1\n"}
TIMEOUT_SECONDS = 60.0
IDLE_SECONDS = 45.0
GRACE_SECONDS = 10.0
"""What a turn may take beyond headway's limits."""


def of(*programs: Program) -> pytest.MarkDecorator:
    """Run a test for some of the programs, as far as they are installed."""
    skips = [pytest.mark.skipif(not p.is_installed, reason=p.why_not) for p in programs]
    return pytest.mark.parametrize(
        "program", [pytest.param(p, id=p.kind, marks=skip) for p, skip in zip(programs, skips, strict=True)]
    )


of_each = of(*PROGRAMS)
of_each_adapter = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.kind)
"""For tests in which another program stands in for the real one."""


def an_agent(program: Program, **changes: Any) -> Agent:
    """Build the agent as a spec would."""
    options = {"program": str(program.path), **changes.pop("options", {})}
    spec = AgentSpec(type=program.kind, model=program.model, options=options, **changes)
    agent: Agent = registry.find("agent", program.kind)(spec)
    return agent


@contextmanager
def tools_for(
    program: Program, root: Path, url: str, timeout: float = TIMEOUT_SECONDS, idle: float = IDLE_SECONDS
) -> Iterator[LocalTools]:
    """Give the tools of a turn with a fresh home; nothing of it may be left when the block ends."""
    with a_turn(root, FILES, environment_for(program, root / "home", url), timeout, idle) as tools:
        yield tools
        assert all(end.elapsed_seconds <= timeout + GRACE_SECONDS for end in tools.ends)
        assert not supervisor.marked([job_name(end.folder) for end in tools.ends])


def one_turn(
    program: Program,
    root: Path,
    url: str,
    timeout: float = TIMEOUT_SECONDS,
    idle: float = IDLE_SECONDS,
    **changes: Any,
) -> tuple[Attempt, str]:
    """Do one turn; give what it came to, and what stands in the file that it is about."""
    with tools_for(program, root, url, timeout, idle) as tools:
        attempt = an_agent(program, **changes).attempt(turn_about("Set the value to 2."), tools)
        return attempt, (tools.tree / "target.txt").read_text()


def spent_in(program: Program, answers: int) -> TokenUsage:
    """Give the tokens of so many answers, as far as the program's protocol tells them apart."""
    written = 200 if program is CLAUDE else 0
    return TokenUsage(
        uncached=1000 * answers, cache_read=400 * answers, cache_write=written * answers, output=100 * answers
    )


@of_each
def test_an_edit_is_made_learned_from_and_paid(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The tree holds the edit; tokens by kind, a cost with its origin, a session, the learnings."""
    attempt, value = one_turn(program, tmp_path, server.url("learned"))
    assert (attempt.status, attempt.trouble, value) == (TurnStatus.COMPLETED, None, "2\n")
    assert attempt.learnings == "The second digit hardly matters."
    assert attempt.usage == spent_in(program, 3)
    assert attempt.tokens == attempt.usage.total
    assert attempt.usd is not None and attempt.usd > 0
    assert attempt.cost_basis is (CostBasis.PRICED if program in (CODEX, GEMINI) else CostBasis.REPORTED)
    assert attempt.session


@of(CLAUDE, CODEX)
def test_a_typed_answer_may_name_a_dependency(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The status comes from the structured answer, never from prose."""
    attempt, _ = one_turn(program, tmp_path, server.url("needing"))
    assert (attempt.status, attempt.deferred_deps) == (TurnStatus.NEEDS_DEPENDENCY, ("numpy",))
    assert attempt.reason == "there is no array library"


@of_each
def test_a_repair_goes_on_with_the_conversation_and_pays_only_itself(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """The model sees the first turn again; tokens of the whole conversation are not counted twice."""
    agent = an_agent(program)
    with tools_for(program, tmp_path, server.url("edit")) as tools:
        first = agent.attempt(turn_about("Set the value to 2, said the first turn."), tools)
        session = AgentSession(id=first.session, spent=first.usage)
        second = agent.attempt(turn_about("Mend it.", session), tools)
    assert (second.status, second.session) == (TurnStatus.COMPLETED, first.session)
    assert "said the first turn" in str(server.asked("edit")[-1].body)
    assert second.usage == first.usage
    assert second.usd == pytest.approx(first.usd)


@of_each
def test_a_conversation_that_is_gone_is_begun_anew(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The brief says all that is needed."""
    lost = AgentSession(id="ses_0" if program is OPENCODE else "01a22e5d-7e23-7883-a7cf-fa366fa42f81")
    with tools_for(program, tmp_path, server.url("edit")) as tools:
        attempt = an_agent(program).attempt(turn_about("Mend it.", lost), tools)
        assert (tools.tree / "target.txt").read_text() == "2\n"
    assert attempt.status is TurnStatus.COMPLETED
    assert attempt.session != lost.id


FAILURES: Mapping[str, tuple[str, Trouble]] = {
    "401": ("no-login", Trouble.AUTH),
    "404": ("no-model", Trouble.BAD_REQUEST),
    "429": ("limited", Trouble.RATE_LIMITED),
    "429 for an hour": ("limited-for-an-hour", Trouble.RATE_LIMITED),
    "500": ("broken", Trouble.UNAVAILABLE),
    "cut stream": ("cut", Trouble.UNAVAILABLE),
    "refused": ("", Trouble.UNAVAILABLE),
}


@of_each
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_service_is_the_agents_failure(
    program: Program, failure: str, tmp_path: Path, server: ModelServer
) -> None:
    """By its kind where the program tells it; never a turn that came to something, within headway's limits."""
    script, trouble = FAILURES[failure]
    timeout, idle = TIMEOUT_SECONDS, IDLE_SECONDS
    if program in (GEMINI, OPENCODE):  # they ask again for minutes
        timeout, idle = 30.0, 15.0
    elif failure in ("refused", "429 for an hour"):  # Codex waits for ever
        timeout, idle = 15.0, 8.0
    attempt, _ = one_turn(program, tmp_path, server.url(script) if script else UNREACHED, timeout, idle)
    assert attempt.status is TurnStatus.FAILED
    silent = program is OPENCODE and trouble is Trouble.RATE_LIMITED  # it asks again without a word
    assert attempt.trouble is (Trouble.UNAVAILABLE if silent else trouble), attempt.reason


@of_each
@pytest.mark.parametrize("failure", ["silent", "stall"])
def test_a_service_that_says_nothing_more_is_waited_for_no_longer_than_the_idle_limit(
    program: Program, failure: str, tmp_path: Path, server: ModelServer
) -> None:
    """Without an answer and in the midst of one; what it cost is unknown, not nothing."""
    attempt, _ = one_turn(program, tmp_path, server.url(failure), idle=30.0 if program in (GEMINI, OPENCODE) else 8.0)
    assert (attempt.status, attempt.trouble) == (TurnStatus.FAILED, Trouble.UNAVAILABLE)
    assert (attempt.usd, attempt.cost_basis) == (None, CostBasis.UNKNOWN)


@of_each
@pytest.mark.parametrize("script", ["limited-twice", "broken-twice", "cut-once"])
def test_what_passes_is_got_over_by_the_program_itself(
    program: Program, script: str, tmp_path: Path, server: ModelServer
) -> None:
    """Twice a limit or an error, or one cut stream, and the edit is there."""
    if program is CODEX and script != "cut-once":
        pytest.skip("its retries are set to one in these tests")
    own = f"{script}-{program.kind}"
    server.scripts[own] = server.scripts[script]  # whose requests are counted from the first
    attempt, value = one_turn(program, tmp_path, server.url(own))
    assert (attempt.status, value) == (TurnStatus.COMPLETED, "2\n"), attempt.reason


@of_each
def test_a_model_that_never_stops_is_stopped(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """By headway's limit of time, or by the program itself; the turn ran into a limit, and what it cost counts."""
    timeout = 10.0 if program in (CLAUDE, CODEX) else 30.0
    attempt, _ = one_turn(program, tmp_path, server.url("loop"), timeout=timeout)
    assert (attempt.status, attempt.trouble) == (TurnStatus.TIMED_OUT, Trouble.LIMIT)
    assert attempt.usd is None or attempt.usd > 0


@of(CLAUDE)
def test_limits_of_turns_and_of_money_are_the_programs_own(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """The reason names the limit of the spec."""
    attempt, _ = one_turn(program, tmp_path / "turns", server.url("loop"), max_turns=4)
    assert (attempt.status, attempt.trouble) == (TurnStatus.TIMED_OUT, Trouble.LIMIT)
    assert "agent.max_turns" in attempt.reason
    with tools_for(program, tmp_path / "money", server.url("loop")) as tools:
        attempt = an_agent(program).attempt(turn_about("Set it.", usd_left=0.02), tools)
    assert "agent.max_cost_usd" in attempt.reason
    assert attempt.usd is not None and 0.02 <= attempt.usd < 0.03


@of_each
def test_a_hypothesis_without_money_begins_no_program(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """Nothing is started, and nothing spent."""
    with tools_for(program, tmp_path, server.url("edit")) as tools:
        attempt = an_agent(program).attempt(turn_about("Set it.", usd_left=0.0), tools)
        assert tools.ends == []
    assert (attempt.status, attempt.usd) == (TurnStatus.TIMED_OUT, 0.0)


@of_each
def test_an_answer_without_an_edit_and_an_edit_without_an_answer_both_end_well(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """Whether there is a candidate is told by the tree; no turn fails for a missing word."""
    attempt, value = one_turn(program, tmp_path / "talk", server.url("talk"))
    assert (attempt.status, value) == (TurnStatus.COMPLETED, "1\n")
    if program is GEMINI:
        return  # it takes an empty answer for a broken one and asks again
    attempt, value = one_turn(program, tmp_path / "wordless", server.url("wordless"))
    assert (attempt.status, attempt.learnings, value) == (TurnStatus.COMPLETED, "", "2\n"), attempt.reason


@of_each
def test_a_success_that_says_rate_limit_is_none(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """The program ends well and its answer is the notice of a limit (BR-83)."""
    attempt, _ = one_turn(program, tmp_path, server.url("limited-in-words"))
    assert (attempt.status, attempt.trouble) == (TurnStatus.FAILED, Trouble.RATE_LIMITED)


@of_each
@pytest.mark.parametrize("script", ["leaves-running", "long-tool"])
def test_nothing_that_a_program_started_outlives_its_turn(
    program: Program, script: str, tmp_path: Path, server: ModelServer
) -> None:
    """Neither what it left in the background, nor a command at which headway's limit found it."""
    idle = 30.0 if program in (GEMINI, OPENCODE) else 8.0
    attempt, _ = one_turn(program, tmp_path, server.url(script), idle=idle if script == "long-tool" else IDLE_SECONDS)
    expected = TurnStatus.TIMED_OUT if script == "long-tool" else TurnStatus.COMPLETED
    if script == "long-tool" and program is OPENCODE:  # its stream does not tell a silent tool from a silent model
        expected = TurnStatus.FAILED
    assert attempt.status is expected, attempt.reason
    lines = [supervisor.command_line(pid) for pid in supervisor.all_pids()]
    assert not [line for line in lines if LEFT_RUNNING in line or "time.sleep(4128)" in line]


@of(CLAUDE)
def test_what_was_not_permitted_is_told_and_is_no_success(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """The program itself says that all went well; the mend names the place of the permissions."""
    options = {"permission_mode": "dontAsk", "allowed_tools": ["Read"]}
    attempt, value = one_turn(program, tmp_path, server.url("not-permitted"), options=options)
    assert (attempt.status, attempt.trouble, value) == (TurnStatus.FAILED, Trouble.DENIED, "1\n")
    assert attempt.denials == ("Write",)
    assert "docs/agents.md" in attempt.reason


@of_each_adapter
def test_a_program_that_is_not_there_is_named(program: Program, tmp_path: Path, server: ModelServer) -> None:
    """With the option that names another one."""
    attempt, _ = one_turn(program, tmp_path, server.url("edit"), options={"program": str(tmp_path / "none")})
    assert (attempt.status, attempt.trouble) == (TurnStatus.FAILED, Trouble.NO_PROGRAM)
    assert "agent.options.program" in attempt.reason
    assert attempt.usd == 0.0


@of_each_adapter
def test_a_program_that_dies_without_its_last_word_crashed(
    program: Program, tmp_path: Path, server: ModelServer
) -> None:
    """Exit code 0 makes no success of it."""
    quiet = tmp_path / "quiet"
    quiet.write_text("#!/bin/sh\ncat > /dev/null\necho not json\nexit 0\n")
    quiet.chmod(0o755)
    attempt, _ = one_turn(program, tmp_path / "run", server.url("edit"), options={"program": str(quiet)})
    assert (attempt.status, attempt.trouble) == (TurnStatus.FAILED, Trouble.CRASHED)
    assert (attempt.usd, attempt.tokens) == (None, None)


@of_each_adapter
def test_only_what_is_allowed_reaches_the_program(
    program: Program, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of this process, such as that of a client that it runs in, does not."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SECRET_OF_THE_USER", "s3cret")
    shown = tmp_path / "shown"
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\nenv > {shown}\n")
    spy.chmod(0o755)
    one_turn(program, tmp_path / "run", server.url("edit"), options={"program": str(spy)})
    names = {line.partition("=")[0] for line in shown.read_text().splitlines()}
    assert not names & {"CLAUDECODE", "SECRET_OF_THE_USER"}
    assert "HEADWAY_JOB" in names
    assert os.environ["SECRET_OF_THE_USER"] not in shown.read_text()
