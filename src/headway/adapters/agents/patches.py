"""The `patches` agent: carries out a hypothesis that is a patch, three-way onto the current reference.

Source: DESIGN section 8 (one that conflicts ends as `error` with the conflict named).
"""

from headway.core.events import TurnStatus
from headway.core.spec import Agent as AgentSpec
from headway.protocols import Attempt, Turn, TurnTools


class PatchesAgent:
    """Applies the patch that the hypothesis' payload names."""

    can_retry = False

    def attempt(self, turn: Turn, tools: TurnTools) -> Attempt:
        """Apply the patch in the tree; see `Agent.attempt`."""
        payload = (turn.item.headway.payload if turn.item.headway else None) or {}
        sha256 = payload.get("sha256")
        if not isinstance(sha256, str):
            return _refused("this hypothesis has no patch, and the agent `patches` can do nothing else")
        conflict = tools.apply_patch(tools.payload(sha256))
        if conflict is not None:
            return _refused(f"patch {payload.get('patch', sha256[:12])} does not apply to the current best: {conflict}")
        return Attempt(TurnStatus.COMPLETED, tokens=0, usd=0.0)


def _refused(reason: str) -> Attempt:
    return Attempt(TurnStatus.REFUSED, reason=reason, tokens=0, usd=0.0)


def make(spec: AgentSpec) -> PatchesAgent:
    """Build the agent; what it applies comes with each hypothesis."""
    return PatchesAgent()
