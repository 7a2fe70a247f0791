"""The `list` proposer: the hypotheses that the user wrote into the spec.

Source: DESIGN section 3 (`hypotheses[]`; without dependencies they are runnable at once).
"""

from pathlib import Path

from headway.core.backlog import dep_status, hypothesis_id
from headway.core.records import BacklogHeadway, BacklogItem, HypothesisSource
from headway.core.records import Priority as RowPriority
from headway.core.spec import Hypothesis, Spec
from headway.protocols import Proposal, ProposerTools


class ListProposer:
    """Gives the spec's own hypotheses."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def propose(self, tools: ProposerTools) -> Proposal:
        """Give them all, in the spec's order; see `Proposer.propose`."""
        return Proposal(own_hypotheses(self._spec))


def own_hypotheses(spec: Spec) -> tuple[BacklogItem, ...]:
    """Give the user's hypotheses as backlog items."""
    approved = frozenset(spec.dependencies.approved)
    return tuple(_item(h, approved) for h in spec.hypotheses)


def _item(hypothesis: Hypothesis, approved: frozenset[str]) -> BacklogItem:
    return BacklogItem(
        description=hypothesis.description,
        category=hypothesis.category,
        priority=RowPriority(hypothesis.priority),
        dep_status=dep_status(hypothesis.required_deps, approved),
        required_deps=tuple(hypothesis.required_deps),
        headway=BacklogHeadway(id=hypothesis_id(hypothesis.description), source=HypothesisSource.USER),
    )


def make(spec: Spec, spec_folder: Path) -> ListProposer:
    """Build the proposer from the spec."""
    return ListProposer(spec)
