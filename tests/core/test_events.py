"""Facts: each has a name of its own that is the same after a resume, and reads back from its record."""

from typing import get_args

import pytest

from headway.core import events
from headway.core.actions import Author, BuildCandidate, Dispatch, Integrate, Measure, MergeRunnerUp, PrepareCheckout
from headway.core.events import (
    BatchEnded,
    CandidateIntegrated,
    EffortChosen,
    EnvironmentSeen,
    Event,
    ExperimentEnded,
    ExperimentEvent,
    GateReached,
    HypothesisDeferred,
    HypothesisDropped,
    IntegrationStarted,
    NoticeGiven,
    RunnerUpCombined,
    RunResumed,
    RunStopped,
    SessionEnded,
    SessionKind,
    Side,
    from_record,
    measure_key,
    to_record,
)
from tests.core.heart import (
    INTEGRATED,
    STANDALONE,
    a_waiting_item,
    an_item,
    dispatched,
    nothing_built,
    prepared,
    strayed,
    turn,
)
from tests.core.heart import sample as a_sample

COMBINED = {"iteration": 3, "onto": "c1", "merged_with": 1}
EVENTS: tuple[Event, ...] = (
    dispatched(3),
    turn(3, 2, deferred_deps=("numpy",), learnings="a ü\n"),
    strayed(3),
    nothing_built(3, strays=("bench.py",)),
    prepared(3, 2, INTEGRATED, events.Stage.BUILD, "last lines"),
    a_sample(3, 9.5, index=2, side=Side.REFERENCE, cases={"a": True}, worst_cases=[{"case_id": "a"}]),
    a_sample(3, status=events.SampleStatus.TIMEOUT, reason="too long"),
    SessionEnded(iteration=3, session=STANDALONE, answer={"decision": "keep", "rank_score": 1.5}),
    events.FinalCheckEnded(iteration=0, number=2, commit="c3", verdict="better", pairs=3, gain={"estimate": 0.1}),
    ExperimentEnded(iteration=3, outcome="reverted", learnings="no", repeat_of=2),
    HypothesisDropped(iteration=3, reason="nothing", returns_to_backlog=True),
    HypothesisDeferred(iteration=3, batch=1, item=a_waiting_item(), reason="numpy"),
    IntegrationStarted(iteration=3, session=STANDALONE, commit="c3", reference="b"),
    CandidateIntegrated(iteration=3, session=INTEGRATED, commit="c3", reference="b", merged_with=1),
    RunnerUpCombined(commit=None, conflict="src/sort.py", **COMBINED),
    events.BacklogExtended(items=(an_item(),)),
    BatchEnded(batch=4),
    GateReached(),
    RunStopped(reason="plateau", detail="d", continue_with="c", status="final"),
    RunResumed(notices=("a",)),
    NoticeGiven(text="t"),
    EffortChosen(effort="standard", share=1.0, reason="r", since_k=5),
    EnvironmentSeen(environment={"cpu": "c"}, moved="m"),
)


def kinds() -> set[type]:
    """Give every class of event that there is."""
    return set(get_args(get_args(Event)[0]))


def test_there_is_an_example_here_of_every_kind() -> None:
    """A new kind of fact gets its tests."""
    assert {type(event) for event in EVENTS} == kinds()


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_a_fact_reads_back_from_its_record_as_it_was(event: Event) -> None:
    """Nothing is lost on the way through `events.jsonl`, its time included."""
    timed = event.model_copy(update={"at": "2026-11-30T15:00:00.123Z", "active_seconds": 12.5})
    assert from_record(to_record(timed, "20261130_150000", 3, 7)) == timed


def test_a_record_of_a_kind_that_this_version_does_not_know_is_passed_over() -> None:
    """A newer version's records do not stop an older one from reading the rest."""
    record = to_record(dispatched(), "r", 1, 1)
    assert from_record({**record, "kind": "moon_phase_noted"}) is None
    assert from_record({}) is None


def test_every_kind_of_event_is_known_to_the_reader() -> None:
    """No kind is written that would be passed over at a resume."""
    assert all(from_record(to_record(event, "r", 3, 1)) is not None for event in EVENTS)


def test_a_record_names_its_experiment_and_the_same_fact_has_the_same_id() -> None:
    """A repeat after a resume is recognised by its id, whatever its number in the file and its time."""
    first = to_record(dispatched(3).model_copy(update={"at": "a"}), "20261130_150000", 3, 1)
    again = to_record(dispatched(3).model_copy(update={"at": "b"}), "20261130_150000", 3, 9)
    assert first["execution_id"] == "20261130_150000_exp0003"
    assert first["event_id"] == again["event_id"] == "exp0003/dispatch"


def test_facts_of_one_experiment_have_names_of_their_own_but_for_its_one_end() -> None:
    """Two ways to end share a name, for only one of them can be."""
    keys = [e.key for e in EVENTS if isinstance(e, ExperimentEvent)]
    ends = [e for e in EVENTS if isinstance(e, ExperimentEnded | HypothesisDropped)]
    doubled = {key for key in keys if keys.count(key) > 1}
    assert {e.key for e in ends} == {"exp0003/end"}
    assert doubled == {"exp0003/end", "exp0003/build/1"}  # the two candidates above are the same attempt


def test_an_order_and_the_fact_that_answers_it_share_their_name() -> None:
    """That is how a result is found again."""
    item = an_item()
    assert Dispatch(3, 1, item, "b").id == dispatched(3).key
    assert Author(3, 2, item, "b").id == turn(3, 2).key
    assert BuildCandidate(3, 1, item, "b", "t").id == strayed(3).key
    assert PrepareCheckout(3, 2, INTEGRATED, "c").id == prepared(3, 2, INTEGRATED).key
    sample = a_sample(3, index=2, attempt=2, session=INTEGRATED, side=Side.REFERENCE)
    assert Measure(3, 2, INTEGRATED, Side.REFERENCE, 2, "c").id == sample.key
    started = CandidateIntegrated(iteration=3, session=INTEGRATED, commit="c", reference="b")
    assert Integrate(3, INTEGRATED, "c", "b").id == started.key
    assert MergeRunnerUp(3, item, "b", "c", "c1", 1).id == RunnerUpCombined(commit="c", **COMBINED).key


@pytest.mark.parametrize(
    ("attempt", "session", "name"),
    [
        (1, STANDALONE, "exp0003/measure/cand/2"),
        (2, STANDALONE, "exp0003/measure.2/cand/2"),
        (1, INTEGRATED, "exp0003/integrated/cand/2"),
        (2, INTEGRATED, "exp0003/integrated.2/cand/2"),
    ],
)
def test_samples_of_repaired_attempts_and_integrated_sessions_say_so(
    attempt: int, session: SessionKind, name: str
) -> None:
    """No sample of one session can be taken for another's."""
    assert measure_key(3, attempt, session, Side.CANDIDATE, 2) == name
