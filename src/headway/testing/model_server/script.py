"""What a scripted model does, turn by turn, and what goes wrong on the way to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Read:
    """Read a file with the client's own tool, else through its shell."""

    path: str


@dataclass(frozen=True)
class Write:
    """Make a file hold exactly this text."""

    path: str
    text: str


@dataclass(frozen=True)
class Replace:
    """Replace the first place in a file where `old` stands."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Shell:
    """Run a command with the client's shell tool."""

    command: str


@dataclass(frozen=True)
class Call:
    """Call one tool of the client by its name, with these arguments."""

    tool: str
    arguments: Mapping[str, Any]


Step = Read | Write | Replace | Shell | Call


class FaultKind(StrEnum):
    """How an answer goes wrong."""

    STATUS = "status"  # an HTTP error
    SILENT = "silent"  # the request is taken and never answered
    STALL = "stall"  # the stream begins and never goes on
    CUT = "cut"  # the connection ends inside the stream


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, and when.

    Args:
        kind: what.
        status: the HTTP status, for `FaultKind.STATUS`.
        retry_after: seconds that the header of that name says; None: no such header.
        message: text of the error; empty: one that names the status.
        after: how many requests of the script are answered well first.
        times: how many requests after those fail; None: all.
    """

    kind: FaultKind
    status: int = 500
    retry_after: float | None = None
    message: str = ""
    after: int = 0
    times: int | None = None

    def strikes(self, request: int) -> bool:
        """Say whether the request of this number, counted from 1 within the script, fails."""
        return request > self.after and (self.times is None or request <= self.after + self.times)


@dataclass(frozen=True)
class Spent:
    """Tokens that each answer claims to have cost, the four kinds apart.

    Args:
        uncached: read anew.
        cache_read: read from a cache.
        cache_write: written to a cache; protocols without that kind leave it out.
        output: written.
    """

    uncached: int = 1000
    cache_read: int = 400
    cache_write: int = 200
    output: int = 100


@dataclass(frozen=True)
class Script:
    """What the model does: one tool call an answer, in order, then a last word.

    Args:
        steps: the tool calls. How far the script has come is counted from the request itself, so that a client may
            be killed and resumed; the server keeps no conversation.
        says: the text that ends the client's turn.
        answer: object given where a structured answer is asked for; None: one made from the schema.
        is_plain: the last word is `says`, even where a structured answer is asked for.
        repeats: after the steps begin again, for ever.
        spent: what each answer claims to cost.
        fault: what goes wrong.
    """

    steps: tuple[Step, ...] = ()
    says: str = "Done."
    answer: Mapping[str, Any] | None = None
    is_plain: bool = False
    repeats: bool = False
    spent: Spent = Spent()
    fault: Fault | None = None


def status(code: int, retry_after: float | None = None, message: str = "", times: int | None = None) -> Fault:
    """Give the fault of an HTTP error, for ever or a number of times."""
    return Fault(FaultKind.STATUS, code, retry_after, message, times=times)


EDIT = (Read("target.txt"), Write("target.txt", "2\n"))
"""The smallest piece of work: look at a file and change it."""

SCRIPTS: Mapping[str, Script] = {
    "edit": Script(EDIT),
    "talk": Script(),
    "loop": Script((Shell("echo again"),), repeats=True),
    "no-login": Script(EDIT, fault=status(401)),
    "no-model": Script(EDIT, fault=status(404)),
    "limited": Script(EDIT, fault=status(429)),
    "limited-for-an-hour": Script(EDIT, fault=status(429, retry_after=3600)),
    "limited-twice": Script(EDIT, fault=status(429, retry_after=1, times=2)),
    "broken": Script(EDIT, fault=status(500)),
    "broken-twice": Script(EDIT, fault=status(500, times=2)),
    "overloaded": Script(EDIT, fault=status(529)),
    "silent": Script(EDIT, fault=Fault(FaultKind.SILENT)),
    "stall": Script(EDIT, fault=Fault(FaultKind.STALL)),
    "cut": Script(EDIT, fault=Fault(FaultKind.CUT)),
    "cut-once": Script(EDIT, fault=Fault(FaultKind.CUT, times=1)),
}
"""Scripts that every server knows."""
