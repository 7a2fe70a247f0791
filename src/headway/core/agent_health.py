"""How an agent fares over a run's turns: failures in a row, and how long it is left alone after one that may pass.

Source: DESIGN section 8 (waited out or retried; three in a row disable the agent); ADR 0003 and its successor.
"""

from dataclasses import dataclass
from typing import Final

from headway.core.events import AgentTurnEnded, TurnStatus

MAX_AGENT_FAILURES: Final = 3
REST_SECONDS: Final = (60.0, 600.0)
"""How long nothing is dispatched after the first and the second failure in a row of a model's service."""


@dataclass(frozen=True)
class AgentHealth:
    """What is known of an agent in this process.

    Args:
        failures: turns in a row in which it failed; at `MAX_AGENT_FAILURES` it is asked no more.
        trouble: how the last one failed, in words.
        rests_until: until when no new hypothesis is dispatched, seconds since the epoch.
    """

    failures: int = 0
    trouble: str = ""
    rests_until: float = 0.0

    def after(self, turn: AgentTurnEnded, now: float) -> "AgentHealth":
        """Give the agent's health after one more turn.

        Failures of the model's service that come in while the agent rests count once: turns side by side meet the same
        one. What fails until a person mends it counts as the last of them at once.

        Args:
            turn: how it ended.
            now: seconds since the epoch.
        """
        if turn.status not in (TurnStatus.FAILED, TurnStatus.TIMED_OUT):
            return AgentHealth()
        if turn.trouble is not None and turn.trouble.is_standing:
            return AgentHealth(MAX_AGENT_FAILURES, turn.reason)
        if turn.trouble is None or not turn.trouble.is_passing:
            return AgentHealth(self.failures + 1, turn.reason, self.rests_until)
        if now < self.rests_until:
            return AgentHealth(self.failures, turn.reason, self.rests_until)
        rest = REST_SECONDS[min(self.failures, len(REST_SECONDS) - 1)]
        return AgentHealth(self.failures + 1, turn.reason, now + rest)
