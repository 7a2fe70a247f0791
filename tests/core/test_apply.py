"""The only way in which the log changes: each fact's own entry and sections, once."""

from typing import Any

import pytest

from headway.core.apply import apply
from headway.core.edits import AppendExperiment, SetSection
from headway.core.events import (
    BacklogExtended,
    BatchEnded,
    CandidateIntegrated,
    Event,
    ExperimentEnded,
    GateReached,
    HypothesisDropped,
    IntegrationStarted,
    NoticeGiven,
    RunnerUpCombined,
    RunResumed,
    RunStopped,
    SampleStatus,
    SessionEnded,
    Side,
    TurnStatus,
)
from headway.core.records import RunState, RunStateHeadway, Totals
from headway.core.stopping import totals_of
from tests.core.heart import (
    BASE,
    INTEGRATED,
    STANDALONE,
    Story,
    a_log,
    a_run_spec,
    a_waiting_item,
    a_world,
    an_item,
    built,
    dispatched,
    facts_until_measured,
    nothing_built,
    paired,
    prepared,
    sample,
    strayed,
    turn,
)

ITEM = an_item("one")
STOP = RunStopped(reason="plateau", detail="d", continue_with="c", status="final")


def a_story(**fields: Any) -> Story:
    """Give a story in which experiment 1 is dispatched, another hypothesis waiting."""
    return Story(**{"backlog": (ITEM, an_item("two")), **fields}).tell(dispatched(1, ITEM))


def state_of(story: Story) -> RunState:
    """Give the run's state."""
    assert story.log.run_state is not None
    return story.log.run_state


def extension_of(story: Story) -> RunStateHeadway:
    """Give what headway adds to the run's state."""
    found = state_of(story).headway
    assert found is not None
    return found


def ended(outcome: str, iteration: int = 1, **facts: Any) -> ExperimentEnded:
    """Give an experiment's end."""
    return ExperimentEnded(iteration=iteration, outcome=outcome, **facts)


def decision(answer: str = "keep", **facts: Any) -> SessionEnded:
    """Give a decision that says that the primary got better by a fifth."""
    change = {"seconds": {"verdict": "improved", "delta": 2.0, "relative": 0.2}}
    said = {
        "decision": answer,
        "reason": "why",
        "primary_delta": 2.0,
        "comparisons": change,
        "next_measurement": "none",
    }
    return SessionEnded(iteration=1, session=STANDALONE, answer={**said, **facts})


KEPT = CandidateIntegrated(iteration=1, session=STANDALONE, commit="commit-1-1", reference=BASE)


# Dispatch


def test_a_dispatch_moves_the_hypothesis_whole_from_the_backlog_into_a_wait() -> None:
    """One commit: out of the backlog, and where no crash can lose it; the wait says what arrives where."""
    story = a_story()
    (wait,) = story.log.waits
    assert (wait.item, wait.arrives_as, wait.wake, wait.on_arrival) == (
        "exp 1 author 1",
        "jobs/author-1",
        "1@2",
        "collect",
    )
    assert wait.headway is not None and (wait.headway.iteration, wait.headway.hypothesis) == (1, ITEM)
    assert [item.description for item in story.log.backlog or ()] == ["two"]
    assert story.rows == []


def test_phase_three_begins_once_at_the_first_dispatch() -> None:
    """Later dispatches leave the clock's start alone, and a dispatch clears the reason of an earlier stop."""
    story = a_story()
    started = state_of(story).phase3_started_at
    story.tell(ended("error"), BatchEnded(batch=1), STOP, dispatched(2, an_item("two"), batch=2))
    assert started is not None
    assert state_of(story).phase3_started_at == started
    assert (state_of(story).status, extension_of(story).stop) == ("running", None)


# Samples and decisions


def test_the_first_valid_sample_appends_the_entry() -> None:
    """CP-3: hypothesis verbatim, candidate, base, changes, gates, metrics, cost; the wait is over."""
    story = a_story().tell(turn(usd=1.5, tokens=9), built(), prepared())
    assert story.rows == []
    story.tell(sample(seconds=8.0, diagnostics={"size": 3}, cost={"usd": 0.5}))
    entry = story.entry(1)
    assert (entry.hypothesis, entry.category, entry.outcome, entry.batch) == ("one", "algorithm", "measured", 1)
    assert (entry.gates, entry.gates_passed, entry.diagnostics) == ({"sorted": 1}, True, {"size": 3})
    assert story.rows[0]["metrics"] == {"seconds": {"aggregate": 8.0, "samples": [8.0]}}
    assert story.rows[0]["headway"] == {
        "hypothesis_id": ITEM.headway.id if ITEM.headway else None,
        "base": BASE, "candidate": "commit-1-1", "agent": "command", "k": 1, "usage": {"tokens": 9, "usd": 1.5},
    }  # fmt: skip
    assert [c.file for c in entry.changes] == ["src/sort.py"]
    assert story.log.waits == ()


def test_later_samples_extend_the_entry_in_place() -> None:
    """The number of the session stays; aggregate and count follow."""
    spec = a_run_spec(measurement={"stability": {"mode": "repeat", "repeat_count": 3}})
    story = a_story(spec=spec).tell(*facts_until_measured(1, 8.0), sample(seconds=6.0, index=2))
    assert len(story.rows) == 1
    assert story.rows[0]["metrics"] == {"seconds": {"aggregate": 7.0, "samples": [8.0, 6.0]}}
    assert (story.entry(1).sample_count, story.rows[0]["headway"]["k"]) == (2, 1)


@pytest.mark.parametrize("status", [SampleStatus.INVALID, SampleStatus.TIMEOUT, SampleStatus.LOST])
def test_a_sample_that_is_no_value_appends_nothing(status: SampleStatus) -> None:
    """What follows from it is said by the experiment's end, which counts it."""
    story = a_story().tell(turn(), built(), prepared(), sample(status=status, reason="boom"))
    assert story.rows == []
    story.tell(ended("error", error_message="boom"))
    assert (story.entry(1).outcome, story.entry(1).sample_count, story.entry(1).metrics) == ("error", 1, None)


def test_a_failed_gate_is_written_with_the_value_that_failed() -> None:
    """And no session number: it cannot be decided."""
    story = a_story().tell(turn(), built(), prepared(), sample(seconds=8.0, gates={"sorted": 0}))
    assert (story.entry(1).gates, story.entry(1).gates_passed) == ({"sorted": 0}, False)
    assert "k" not in story.rows[0]["headway"]
    assert totals_of(story.log).k == 0


def test_pairs_stand_in_one_comparison_with_the_conditions_of_both_sides() -> None:
    """Sample i of either side is pair i; order, seeds and times say how they were taken."""
    story = a_story(spec=a_run_spec(**paired())).tell(turn(), built(), prepared())
    for side, seconds, index in (("cand", 8.0, 1), ("ref", 10.0, 1), ("ref", 10.2, 2), ("cand", 8.2, 2)):
        story.tell(sample(seconds=seconds, index=index, side=Side(side), seed=index))
    (pairing,) = story.rows[0]["comparisons"]
    assert (pairing["kind"], pairing["reference_revision"], pairing["candidate_revision"]) == (
        "standalone", BASE, "commit-1-1",
    )  # fmt: skip
    assert pairing["reference"]["metrics"]["seconds"]["samples"] == [10.0, 10.2]
    assert pairing["candidate"]["metrics"]["seconds"]["samples"] == [8.0, 8.2]
    for side in ("reference", "candidate"):
        assert (pairing[side]["headway"]["order"], pairing[side]["headway"]["seeds"]) == ("B A A B", [1, 2])


def test_a_lone_first_sample_of_the_candidate_is_no_comparison_yet() -> None:
    """It stands in the entry's own metrics only."""
    story = a_story(spec=a_run_spec(**paired())).tell(*facts_until_measured(1, 8.0))
    assert "comparisons" not in story.rows[0]


def test_a_decision_is_written_with_its_evidence() -> None:
    """Signed delta (positive is better, also when minimizing), verdicts, gain, what was and was not verified."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision(regressions=["case b"]))
    row = story.rows[0]
    assert (row["primary_delta"], row["next_measurement"], row["outcome"]) == ("+2", "none", "measured")
    assert row["objective_results"] == {"seconds": {"verdict": "improved", "delta": 2.0, "relative": 0.2}}
    assert row["regressions"] == ["case b"]
    assert row["headway"]["gain"] == {"estimate": 0.2, "low": None, "high": None}
    (pairing,) = row["comparisons"]
    assert pairing["headway"] == {"decision": "keep"}
    assert pairing["reference"]["metrics"] == {"seconds": {"aggregate": 10.0, "samples": [10.0]}}
    assert "sorted == 1" in pairing["correctness"] and "not verified" in pairing["correctness"]
    assert "n=1" in pairing["uncertainty"] and "not measured again" in pairing["uncertainty"]


def test_the_bounds_of_a_gain_are_the_worst_and_the_best_pair() -> None:
    """Where both sides were measured in pairs."""
    story = a_story(spec=a_run_spec(**paired())).tell(turn(), built(), prepared())
    for side, seconds, index in (("cand", 8.0, 1), ("ref", 10.0, 1), ("ref", 10.0, 2), ("cand", 9.0, 2)):
        story.tell(sample(seconds=seconds, index=index, side=Side(side)))
    story.tell(decision())
    assert story.rows[0]["headway"]["gain"] == {"estimate": 0.2, "low": 0.1, "high": 0.2}


# Ends


@pytest.mark.parametrize(
    "outcome", ["reverted", "inconclusive", "censored", "degenerate", "error", "timeout", "not_selected"]
)
def test_an_end_sets_the_outcome_and_the_totals_in_one_commit(outcome: str) -> None:
    """Counted where it changes; the wait is gone."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision(), ended(outcome, learnings="so"))
    assert (story.entry(1).outcome, story.entry(1).learnings) == (outcome, "so")
    assert {str(k): v for k, v in totals_of(story.log).counts.items()} == {outcome: 1}
    assert story.log.waits == ()


def test_an_experiment_that_was_never_measured_gets_its_entry_at_its_end() -> None:
    """A candidate that does not build is an experiment all the same."""
    story = a_story().tell(turn(), built(), ended("error", error_message="build failed"))
    assert (story.entry(1).outcome, story.entry(1).error_message) == ("error", "build failed")
    assert story.entry(1).sample_count is None and story.entry(1).metrics is None


@pytest.mark.parametrize("outcome", ["error", "timeout", "degenerate"])
def test_a_session_that_could_not_be_decided_gives_its_number_to_the_next(outcome: str) -> None:
    """No two sessions of a log have the same number."""
    spec = a_run_spec(measurement={"stability": {"mode": "repeat", "repeat_count": 2}})
    story = a_story(spec=spec).tell(*facts_until_measured(1, 8.0), ended(outcome, error_message="x"))
    assert "k" not in story.rows[0]["headway"]
    assert totals_of(story.log).k == 0
    story.tell(dispatched(2, an_item("two")), *facts_until_measured(2, 8.0))
    assert story.rows[1]["headway"]["k"] == 1


def test_a_repeat_names_what_it_repeats_and_has_no_number() -> None:
    """It counts as an experiment, not as a session."""
    story = a_story().tell(turn(), built(), ended("inconclusive", repeat_of=7))
    assert story.rows[0]["headway"]["repeat_of"] == 7
    assert (totals_of(story.log).k, totals_of(story.log).measured_since_keep) == (0, 0)


@pytest.mark.parametrize(("policy", "action"), [("drop", "dropped"), ("revert", "not measured")])
def test_tampering_leaves_its_evidence_in_the_entry(policy: str, action: str) -> None:
    """Path, kind, hashes, and what was done about it."""
    story = a_story(spec=a_run_spec(tamper_policy=policy)).tell(turn(), strayed(), ended("reverted"))
    (evidence,) = story.rows[0]["headway"]["tamper"]
    assert (evidence["path"], evidence["kind"], evidence["action"]) == ("bench.py", "out_of_scope", action)
    assert evidence["found_sha256"] is None


def test_leftovers_stand_at_the_head_by_their_numbers_whoever_is_told_first() -> None:
    """A resumed process goes through a batch's facts in another order, and gets the same backlog."""
    heads = []
    for order in ((1, 2), (2, 1)):
        story = a_story().tell(dispatched(2, an_item("two")), turn(1), built(1), turn(2), built(2))
        story.tell(*(ended("not_selected", n, returns_to_backlog=True) for n in order))
        heads.append([item.description for item in story.log.backlog or ()])
    assert heads == [["one", "two"], ["one", "two"]]


def test_a_need_found_midway_puts_the_hypothesis_back_with_what_it_needs() -> None:
    """It waits for that approval and for nothing else."""
    story = a_story().tell(
        turn(status=TurnStatus.NEEDS_DEPENDENCY, deferred_deps=("numpy",)),
        ended("deferred_needs_approval", deferred_reason="needs an unapproved dependency: numpy, scipy"),
    )
    item = (story.log.backlog or ())[-1]
    assert (item.description, item.dep_status, item.required_deps) == ("one", "needs_approval", ("numpy", "scipy"))


# Drops


def test_a_dropped_hypothesis_leaves_its_reason_and_no_entry() -> None:
    """The number stays taken, the hypothesis is gone, and the log says why and what it cost."""
    story = a_story().tell(turn(usd=0.5, tokens=3), nothing_built())
    story.tell(HypothesisDropped(iteration=1, reason="3 turns changed nothing"))
    (dropped,) = extension_of(story).dropped
    assert (dropped.description, dropped.reason) == ("one", "3 turns changed nothing")
    assert dropped.usage is not None and (dropped.usage.tokens, dropped.usage.usd) == (3, 0.5)
    assert story.rows == [] and story.log.waits == ()
    assert [item.description for item in story.log.backlog or ()] == ["two"]


def test_a_hypothesis_that_is_given_back_stands_at_the_end_with_one_try_more() -> None:
    """The agent's failure was not its own."""
    story = a_story().tell(turn(status=TurnStatus.FAILED, reason="x"))
    story.tell(HypothesisDropped(iteration=1, reason="x", returns_to_backlog=True))
    last = (story.log.backlog or ())[-1]
    assert last.description == "one" and last.headway is not None and last.headway.attempts == 1
    assert extension_of(story).dropped == ()


@pytest.mark.parametrize("returns", [True, False])
def test_turns_on_a_hypothesis_without_a_candidate_are_spent_money(returns: bool) -> None:
    """The run's cost counts them, so that a cap holds; an unknown part is named."""
    drop = HypothesisDropped(iteration=1, reason="x", returns_to_backlog=returns)
    story = a_story().tell(turn(usd=0.5), turn(attempt=2, usd=0.25), drop)
    assert story.log.best.total_run_cost_usd == 0.75
    cost = totals_of(story.log).cost
    assert cost is not None and (cost.agents_usd, cost.unknown) == (0.75, ())
    unknown = a_story().tell(turn(usd=None), drop)
    cost = totals_of(unknown.log).cost
    assert cost is not None and (cost.agents_usd, cost.unknown) == (None, ("agents",))


def test_money_is_counted_once_by_whom_it_was_spent() -> None:
    """Agents with the entry, the harness as it reports."""
    story = a_story().tell(turn(usd=1.5), built(), prepared(), sample(seconds=8.0, cost={"usd": 0.25}), decision())
    story.tell(ended("reverted"))
    cost = totals_of(story.log).cost
    assert cost is not None and (cost.agents_usd, cost.harness_usd) == (1.5, 0.25)
    assert story.log.best.total_run_cost_usd == 1.75


# Integration


def test_a_keep_sets_the_commit_and_the_best_at_once() -> None:
    """What the branch stands at is the best, with the values that it was measured with."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision(), KEPT)
    entry = story.entry(1)
    assert (entry.outcome, entry.commit) == ("kept", "commit-1-1")
    assert "20.0%" in (entry.learnings or "")
    assert story.document["best"]["iteration"] == 1
    assert story.document["best"]["metrics"] == {"seconds": {"aggregate": 8.0, "samples": [8.0]}}
    assert totals_of(story.log).keeps == (1,)


def test_an_announced_integration_changes_nothing_yet() -> None:
    """`IntegrationStarted` and a combined commit are records; the log says kept when the branch has moved."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision())
    started = IntegrationStarted(iteration=1, session=STANDALONE, commit="commit-1-1", reference=BASE)
    combined = RunnerUpCombined(iteration=1, onto="x", merged_with=2, commit="c")
    for event in (started, combined, turn(), built(), prepared()):
        assert apply(story.log, event, story.world) == ()


def a_runner_up() -> Story:
    """Give a story in which experiment 2 was combined with the kept experiment 1 and measured anew."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision(), dispatched(2, an_item("two")))
    story.tell(*facts_until_measured(2, 9.0))
    story.tell(decision().model_copy(update={"iteration": 2}), KEPT)
    story.tell(RunnerUpCombined(iteration=2, onto="commit-1-1", merged_with=1, commit="both"))
    return story.tell(prepared(2, session=INTEGRATED), sample(2, 7.0, session=INTEGRATED))


def test_a_combined_session_goes_to_its_own_comparison_with_its_own_number() -> None:
    """The entry's own metrics stay those of its standalone session."""
    row = a_runner_up().rows[1]
    assert row["metrics"] == {"seconds": {"aggregate": 9.0, "samples": [9.0]}}
    alone, integrated = row["comparisons"]
    assert (alone["kind"], integrated["kind"], integrated["headway"]["k"]) == ("standalone", "integrated", 3)
    assert (integrated["reference_revision"], integrated["candidate_revision"]) == ("commit-1-1", "both")
    assert integrated["candidate"]["metrics"]["seconds"]["samples"] == [7.0]
    assert integrated["reference"]["metrics"] == {"seconds": {"aggregate": 8.0, "samples": [8.0]}}
    assert alone["reference"]["metrics"] == {"seconds": {"aggregate": 10.0, "samples": [10.0]}}


def test_a_kept_runner_up_becomes_the_best_with_the_values_of_the_combination() -> None:
    """And says with what it was combined."""
    story = a_runner_up().tell(
        SessionEnded(iteration=2, session=INTEGRATED, answer={"decision": "keep", "reason": "better"}),
        CandidateIntegrated(iteration=2, session=INTEGRATED, commit="both", reference="commit-1-1", merged_with=1),
    )
    entry = story.entry(2)
    assert (entry.outcome, entry.commit, entry.merged_with) == ("runner_up_kept", "both", 1)
    assert story.document["best"]["iteration"] == 2
    assert story.document["best"]["metrics"] == {"seconds": {"aggregate": 7.0, "samples": [7.0]}}
    assert totals_of(story.log).keeps == (1, 3)


# The run itself


def test_hypotheses_are_added_once_by_their_id() -> None:
    """A proposer that says the same again adds nothing; an empty answer to the first question is an empty backlog."""
    story = Story(backlog=None).tell(BacklogExtended(items=()))
    assert story.document["hypothesis_backlog"] == []
    story.tell(BacklogExtended(items=(ITEM,)), BacklogExtended(items=(ITEM, a_waiting_item())))
    assert [item.description for item in story.log.backlog or ()] == ["one", "use numpy"]


def test_a_batch_counts_once() -> None:
    """The tick is the batch's number, however often it is told; an earlier one does not turn it back."""
    story = a_story().tell(ended("error"), BatchEnded(batch=2), BatchEnded(batch=2), BatchEnded(batch=1))
    assert story.log.ticks == 2


def test_every_commit_moves_the_active_clock_and_never_back() -> None:
    """CP-3 carries it; a process whose clock begins anew does not turn it back."""
    story = a_story().tell(turn(), built(), prepared())
    story.tell(sample(seconds=8.0).model_copy(update={"at": "x", "active_seconds": 90.0}))
    assert story.log.active_seconds == 90.0
    story.tell(ended("reverted").model_copy(update={"at": "y", "active_seconds": 12.0}))
    assert story.log.active_seconds == 90.0


@pytest.mark.parametrize(("status", "waits"), [("final", []), ("blocked", []), ("waiting", ["a person"])])
def test_a_stop_says_why_and_what_it_waits_for(status: str, waits: list[str]) -> None:
    """Reason, detail and continuation stand in the log; nothing can wake a run that waits for a person."""
    story = a_story().tell(ended("error"), STOP.model_copy(update={"status": status}))
    stop = extension_of(story).stop
    assert stop is not None and (stop.reason, stop.detail, stop.continue_with) == ("plateau", "d", "c")
    assert state_of(story).status == status
    assert [w.item for w in story.log.waits] == waits
    assert all(w.wake == "unavailable" for w in story.log.waits)


def test_a_stop_and_a_resume_leave_the_open_batch_as_it_is() -> None:
    """The wait for a person goes, those for experiments stay; what was said goes into the notices."""
    story = a_story().tell(STOP.model_copy(update={"status": "waiting", "reason": "interrupt"}))
    assert [w.item for w in story.log.waits] == ["exp 1 author 1", "the next start"]
    story.tell(RunResumed(notices=("a measurement was taken up",)))
    assert [w.item for w in story.log.waits] == ["exp 1 author 1"]
    assert state_of(story).status == "running" and extension_of(story).stop is None
    assert [n.text for n in extension_of(story).notices] == ["a measurement was taken up"]


def test_a_run_at_its_gate_waits_once_it_has_begun_and_says_nothing_before() -> None:
    """Before the first dispatch `run_state` is absent: at the gate is derived."""
    assert apply(a_log(), GateReached(), a_world()) == ()
    story = a_story().tell(GateReached(), GateReached())
    assert [w.item for w in story.log.waits] == ["exp 1 author 1", "approval"]


def test_notices_are_bounded() -> None:
    """The newest fifty stay."""
    story = Story().tell(*(NoticeGiven(text=f"notice {n}") for n in range(60)))
    assert [n.text for n in extension_of(story).notices] == [f"notice {n}" for n in range(10, 60)]


@pytest.mark.parametrize(
    "event",
    [
        BacklogExtended(items=(a_waiting_item(),)), BatchEnded(batch=1), STOP, RunResumed(notices=("n",)),
        NoticeGiven(text="n"), GateReached(), ended("reverted"), KEPT,
        ended("not_selected", returns_to_backlog=True), ended("deferred_needs_approval", deferred_reason="x: numpy"),
        HypothesisDropped(iteration=1, reason="x"), HypothesisDropped(iteration=1, reason="x", returns_to_backlog=True),
        dispatched(1, ITEM),
    ],
    ids=lambda e: e.kind,
)  # fmt: skip
def test_a_fact_told_twice_is_told_once(event: Event) -> None:
    """Every kind, those of the run as those of an experiment: after a crash between record and commit."""
    story = a_story()
    if event.kind not in ("hypothesis_dropped", "hypothesis_dispatched"):
        story.tell(*facts_until_measured(1, 8.0), decision())
    timed = event.model_copy(update={"at": "2026-11-30T17:00:00Z", "active_seconds": 99.0})
    story.tell(timed)
    assert apply(story.log, timed, story.world) == ()


def test_an_experiment_that_is_over_is_not_changed_by_a_late_fact() -> None:
    """A sample or an end that comes after the outcome changes nothing."""
    story = a_story().tell(*facts_until_measured(1, 8.0), decision(), ended("reverted"))
    for late in (sample(seconds=1.0, index=2), decision(), ended("kept"), ended("error")):
        assert apply(story.log, late, story.world) == ()


def test_an_events_edits_touch_its_own_entry_alone() -> None:
    """Its row, and sections; no other experiment's row."""
    story = a_runner_up()
    before = dict(story.rows[0])
    edits = apply(story.log, ended("not_selected", 2), story.world)
    assert [e.iteration for e in edits if not isinstance(e, AppendExperiment | SetSection)] == [2]
    assert story.rows[0] == before


def test_an_entry_keeps_what_the_opportunity_said_before_the_work() -> None:
    """A copy of the record made before; never rebuilt from the result."""
    item = an_item("one", opportunity={"evidence": "80% of the time", "confidence": "high"})
    story = Story(backlog=(item,)).tell(dispatched(1, item), *facts_until_measured(1, 8.0))
    assert story.rows[0]["opportunity"] == {"evidence": "80% of the time", "confidence": "high"}


def test_unknown_spend_is_unknown_and_not_zero() -> None:
    """One turn that does not say makes the sum unknown."""
    story = a_story().tell(turn(usd=1.0), turn(attempt=2, usd=None, tokens=None), built(attempt=2), ended("error"))
    assert story.rows[0]["headway"]["usage"] == {"tokens": "unknown", "usd": "unknown"}
    assert story.log.best.run_cost_basis is not None and "unknown part: agents" in story.log.best.run_cost_basis


def test_totals_exist_from_the_first_dispatch_on() -> None:
    """Nothing counted is a count."""
    assert extension_of(a_story()).totals == Totals()
