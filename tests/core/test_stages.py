"""How far an open experiment has come."""

import pytest

from headway.core import events as ev
from headway.core.stages import stage_of

TURN = ev.AgentTurnEnded(iteration=1, attempt=1, agent="a", status=ev.TurnStatus.COMPLETED, tree="t")
BUILT = ev.CandidateBuilt(iteration=1, attempt=1, commit="c" * 40)
READY = ev.CheckoutPrepared(
    iteration=1, attempt=1, session=ev.SessionKind.STANDALONE, commit="c" * 40, stage=ev.Stage.READY, ok=True
)
SAMPLE = ev.SampleTaken(
    iteration=1,
    attempt=1,
    session=ev.SessionKind.STANDALONE,
    side=ev.Side.CANDIDATE,
    index=1,
    status=ev.SampleStatus.VALID,
    seed=1,
)
DECIDED = ev.SessionEnded(iteration=1, session=ev.SessionKind.STANDALONE, answer={"decision": "keep"})
BEGUN = ev.IntegrationStarted(iteration=1, session=ev.SessionKind.STANDALONE, commit="c" * 40, reference="r" * 40)
WALK: tuple[ev.Event, ...] = (TURN, BUILT, READY, SAMPLE, DECIDED, BEGUN)
WORDS = (
    "turn has not ended",
    "no candidate",
    "a candidate is built",
    "is ready",
    "1 sample taken",
    "decided: keep",
    "has begun",
)


@pytest.mark.parametrize("length", range(len(WORDS)))
def test_every_point_of_the_walk_has_words_of_its_own(length: int) -> None:
    """BR-18: edits that are no commit, a commit without a measurement, a measurement without a decision."""
    said = stage_of(WALK[:length], has_unrecorded=False)
    assert [word for word in WORDS if word in said] == [WORDS[length]]


def test_a_measurement_that_no_fact_tells_of_comes_first() -> None:
    """BR-18: a measured value that the log does not hold is never called unmeasured."""
    assert "the log does not hold yet" in stage_of((TURN, BUILT, READY), has_unrecorded=True)
