"""One turn of a native agent: run its program, hear what it says, and judge what that comes to.

The order of what is believed: the program's last word; without one, headway's own limits; then its exit code. A program
that ended without its last word crashed, even with exit code 0.

Source: AGENT-CLIS section 8 (the adapter contract); DESIGN section 8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from headway.adapters.agent_programs.answers import Closing, closing_of
from headway.adapters.agent_programs.prices import price_of
from headway.adapters.agent_programs.said import Complaint, Said, events_of
from headway.adapters.agent_programs.troubles import code_in, complaint_of, trouble_in, trouble_in_place_of_an_answer
from headway.core.agent_turns import AgentSession, CostBasis, TokenUsage, Trouble
from headway.core.events import TurnStatus
from headway.protocols import Attempt, ProgramEnd, Turn, TurnTools

FINAL_TEXT_CHARACTERS: Final = 4000
NOT_FOUND_CODE: Final = 127
AGAIN: Final = "again"


@dataclass(frozen=True)
class Order:
    """How a program is called: its arguments, what it may read, and the variables that it needs."""

    argv: tuple[str, ...]
    stdin: str
    env: Mapping[str, str]


class AgentProgram(Protocol):
    """One program: how it is called, and what its stream means."""

    @property
    def name(self) -> str:
        """Give the program's name, for messages."""
        ...

    @property
    def model(self) -> str:
        """Give the model that was asked for; empty: the program's own choice."""
        ...

    @property
    def provider(self) -> str | None:
        """Give who serves its models, as the price list spells it; None: any."""
        ...

    def order(self, turn: Turn, tools: TurnTools, session: AgentSession | None) -> Order:
        """Say how to call it for a turn, in a conversation that is there or in a new one."""
        ...

    def read(self, events: Iterable[Mapping[str, Any]], session: AgentSession | None) -> Said:
        """Read its stream; `session` is the conversation that was gone on with."""
        ...


def carry_out(program: AgentProgram, turn: Turn, tools: TurnTools) -> Attempt:
    """Do one turn with a program; see `Agent.attempt`.

    A conversation that the program does not know any more is begun anew: the brief says all that is needed.
    """
    if turn.usd_left is not None and turn.usd_left <= 0:
        reason = "the money for this hypothesis is spent (agent.max_cost_usd)"
        return Attempt(TurnStatus.TIMED_OUT, reason, tokens=0, usd=0.0, trouble=Trouble.LIMIT)
    session = turn.session
    end, said = _run(program, turn, tools, session, "")
    if session is not None and _knew_nothing(end, said):
        session = None
        end, said = _run(program, turn, tools, session, AGAIN)
    return _judged(program, end, said)


def _run(
    program: AgentProgram, turn: Turn, tools: TurnTools, session: AgentSession | None, label: str
) -> tuple[ProgramEnd, Said]:
    order = program.order(turn, tools, session)
    end = tools.run_program(order.argv, order.stdin, order.env, label)
    return end, program.read(events_of(end.stdout), session)


def _knew_nothing(end: ProgramEnd, said: Said) -> bool:
    """Say whether a resumed program gave up before it asked a model anything: its conversation is not there."""
    return end.ended == "exited" and end.code != 0 and not said.was_answered and said.complaint is None


def _judged(program: AgentProgram, end: ProgramEnd, said: Said) -> Attempt:
    """Put together what the turn came to."""
    closing = closing_of(said.answer, said.final_text)
    status, trouble, reason = _status(program, end, said, closing)
    usage = said.usage
    if usage is None and trouble is not None and not said.was_answered and _was_turned_away(trouble):
        usage = TokenUsage()  # no answer was given, so none was paid
    usd, basis = _cost(program, said, usage)
    return Attempt(
        status=status,
        reason=reason,
        final_text=said.final_text[-FINAL_TEXT_CHARACTERS:],
        learnings=closing.learnings,
        deferred_deps=closing.dependencies if status is TurnStatus.NEEDS_DEPENDENCY else (),
        tokens=None if usage is None else usage.total,
        usd=usd,
        elapsed_seconds=end.elapsed_seconds,
        trouble=trouble,
        usage=usage,
        cost_basis=basis,
        session=said.session,
        turns=said.turns,
        denials=said.denials,
    )


def _was_turned_away(trouble: Trouble) -> bool:
    return trouble in (Trouble.AUTH, Trouble.RATE_LIMITED, Trouble.BAD_REQUEST, Trouble.NO_PROGRAM)


def _cost(program: AgentProgram, said: Said, usage: TokenUsage | None) -> tuple[float | None, CostBasis]:
    """Give the turn's cost: as reported, else by list prices, else unknown; a report of 0 for work is no report."""
    if usage is not None and usage.total == 0 and not said.was_answered:
        return 0.0, CostBasis.REPORTED
    if said.usd:
        return said.usd, CostBasis.REPORTED if said.is_over else CostBasis.AT_LEAST
    if usage is None:
        return None, CostBasis.UNKNOWN
    priced = price_of(usage, said.model or program.model, program.provider)
    if priced is None:
        return None, CostBasis.UNKNOWN
    return priced, CostBasis.PRICED if said.is_over else CostBasis.AT_LEAST


def _status(
    program: AgentProgram, end: ProgramEnd, said: Said, closing: Closing
) -> tuple[TurnStatus, Trouble | None, str]:
    """Say how the turn ended, what troubled it, and why in words."""
    if not said.is_over:
        return _without_last_word(program, end, said)
    if said.end is not None:
        status = TurnStatus.TIMED_OUT if said.end.trouble is Trouble.LIMIT else TurnStatus.FAILED
        return status, said.end.trouble, f"{program.name}: {said.end.words}"
    notice = None if said.answer else trouble_in_place_of_an_answer(said.final_text)
    if notice is not None:
        return TurnStatus.FAILED, notice, f"{program.name} answered only: {said.final_text.strip()}"
    if said.was_kept_from_editing:
        refused = ", ".join(said.denials)
        reason = f"{program.name} was not permitted to edit ({refused}): see docs/agents.md for its permissions"
        return TurnStatus.FAILED, Trouble.DENIED, reason
    return closing.status, None, closing.reason


def _without_last_word(program: AgentProgram, end: ProgramEnd, said: Said) -> tuple[TurnStatus, Trouble, str]:
    if end.ended == "lost":
        how = f"the agent's turn was killed from outside, or headway with it, {end.last_words}"
        return TurnStatus.REFUSED, Trouble.CRASHED, how
    if end.ended in ("timeout", "idle_timeout"):
        return _cut_short(program, end, said)
    if end.ended == "exited" and end.code == NOT_FOUND_CODE:
        mend = "install it, or name it in agent.options.program"
        return TurnStatus.FAILED, Trouble.NO_PROGRAM, f"{program.name} could not be started: {end.last_words}; {mend}"
    how = f"exit code {end.code}" if end.ended == "exited" else "ended by a signal"
    if said.complaint is not None:
        trouble, words = said.complaint.trouble, said.complaint.words
    else:  # what stands on standard error after an answer may be anything
        told = None if said.was_answered else trouble_in(end.stderr)
        trouble, words = told or Trouble.CRASHED, end.last_words or "it said nothing"
    return TurnStatus.FAILED, trouble, f"{program.name} ended without its last word ({how}): {words}"


def _cut_short(program: AgentProgram, end: ProgramEnd, said: Said) -> tuple[TurnStatus, Trouble, str]:
    """Judge a turn that headway's own limit ended: was the model's service at fault, or the work too long?"""
    after = f"after {end.elapsed_seconds:.0f} s"
    if said.complaint is None and not said.is_tool_running:
        said = replace(said, complaint=_complaint_beside(end, said))
    if said.complaint is not None:
        reason = f"{program.name} was still waiting {after}: {said.complaint.words}"
        return TurnStatus.FAILED, said.complaint.trouble, reason
    if end.ended == "idle_timeout":
        if said.is_tool_running:
            reason = f"a command that {program.name} ran was silent beyond agent.idle_timeout_seconds; ended {after}"
            return TurnStatus.TIMED_OUT, Trouble.LIMIT, reason
        reason = f"the model of {program.name} gave no answer within agent.idle_timeout_seconds; ended {after}"
        return TurnStatus.FAILED, Trouble.UNAVAILABLE, reason
    if not said.was_answered:
        reason = f"the model of {program.name} gave no answer within agent.timeout_seconds; ended {after}"
        return TurnStatus.FAILED, Trouble.UNAVAILABLE, reason
    return TurnStatus.TIMED_OUT, Trouble.LIMIT, f"{program.name} ran into agent.timeout_seconds; ended {after}"


def _complaint_beside(end: ProgramEnd, said: Said) -> Complaint | None:
    """Give what a program said on standard error of a service that it was asking again; None: nothing of the kind.

    Once the model answered, only an HTTP status counts: words about a network may be a tool's.
    """
    if code_in(end.stderr) is not None or (not said.was_answered and trouble_in(end.stderr) is not None):
        return complaint_of(end.stderr)
    return None
