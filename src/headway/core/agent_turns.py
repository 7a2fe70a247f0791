"""What is told of an agent's turn: what troubled it, what it spent, and the conversation that it left.

Source: DESIGN section 8 (status, usage, final text, learnings out of every turn).
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Trouble(StrEnum):
    """What kept an agent's turn from its end, as far as its program said."""

    AUTH = "auth"  # no login, or no right to the model
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"  # the model's service fails, is silent or cannot be reached
    BAD_REQUEST = "bad_request"  # the service refuses what it is asked: no such model, no such parameter
    DENIED = "denied"  # the program was not permitted to edit
    NO_PROGRAM = "no_program"  # it is not installed
    CRASHED = "crashed"  # it ended without its last word
    LIMIT = "limit"  # turns, money or time

    @property
    def is_standing(self) -> bool:
        """Say whether asking again gives the same until a person mends something."""
        return self in (Trouble.AUTH, Trouble.BAD_REQUEST, Trouble.DENIED, Trouble.NO_PROGRAM)

    @property
    def is_passing(self) -> bool:
        """Say whether asking again later may do: the model's service is at fault, for now."""
        return self in (Trouble.RATE_LIMITED, Trouble.UNAVAILABLE)


class CostBasis(StrEnum):
    """Where an agent's cost comes from."""

    REPORTED = "reported"  # by its program
    PRICED = "priced"  # from tokens and list prices
    AT_LEAST = "at_least"  # what was known when the turn was ended by force
    UNKNOWN = "unknown"


class TokenUsage(BaseModel):
    """Tokens by what they cost: `uncached` leaves out both kinds of cached ones."""

    model_config = ConfigDict(frozen=True)

    uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """Give all tokens, read and written."""
        return self.uncached + self.cache_read + self.cache_write + self.output

    def plus(self, other: "TokenUsage") -> "TokenUsage":
        """Add two uses."""
        return self._paired(other, 1)

    def minus(self, other: "TokenUsage") -> "TokenUsage":
        """Take away what was used before; no kind falls below 0."""
        return self._paired(other, -1)

    def _paired(self, other: "TokenUsage", sign: int) -> "TokenUsage":
        names = type(self).model_fields
        return TokenUsage(**{n: max(getattr(self, n) + sign * getattr(other, n), 0) for n in names})


class AgentSession(BaseModel):
    """A conversation of an agent's program that can be gone on with; `spent`: tokens in it so far, None: unknown."""

    model_config = ConfigDict(frozen=True)

    id: str
    spent: TokenUsage | None = None
