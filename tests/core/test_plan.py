"""What to do next, from the log and the world: gate, backlog, batch, phases, integration, stop."""

from typing import Any

import pytest

from headway.core.actions import (
    Author,
    AwaitApproval,
    BuildCandidate,
    Conclude,
    Dispatch,
    Integrate,
    Measure,
    MergeRunnerUp,
    PrepareCheckout,
    Propose,
    Stop,
    Wait,
)
from headway.core.agent_health import REST_SECONDS, AgentHealth
from headway.core.agent_turns import Trouble
from headway.core.events import (
    BatchEnded,
    CandidateIntegrated,
    Event,
    ExperimentEnded,
    HypothesisDeferred,
    HypothesisDispatched,
    RunnerUpCombined,
    RunResumed,
    SampleStatus,
    SessionEnded,
    SessionKind,
    Side,
    TurnStatus,
)
from headway.core.plan import OUTCOME_OF_DECISION, iterations_used, plan
from headway.core.session_words import OUTCOMES
from headway.core.spec import Spec
from headway.core.world import StopAsked
from tests.core.heart import (
    BASE,
    INTEGRATED,
    STANDALONE,
    Story,
    a_log,
    a_row,
    a_run_spec,
    a_waiting_item,
    a_world,
    an_item,
    built,
    facts_until_measured,
    nothing_built,
    paired,
    prepared,
    sample,
    turn,
)

ONE, TWO, THREE = (an_item(name, category=name) for name in ("one", "two", "three"))


def a_story(*items: Any, spec: Spec | None = None, **fields: Any) -> Story:
    """Give a story whose first batch is dispatched."""
    story = Story(spec or a_run_spec(), backlog=items or (ONE, TWO), **fields)
    story.settle()
    return story


def kinds(actions: tuple[Any, ...]) -> list[str]:
    """Give what the actions are, in order."""
    return [type(action).__name__ for action in actions]


def names(actions: tuple[Any, ...]) -> list[str]:
    """Give the actions' ids, in order."""
    return [action.id for action in actions]


def measured(story: Story, *seconds: float, **files: Any) -> Story:
    """Bring a batch to the end of its measurements: experiment i takes `seconds[i - 1]`."""
    for iteration, value in enumerate(seconds, 1):
        story.tell(
            *facts_until_measured(iteration, value, files=files.get(f"files{iteration}", (f"src/{iteration}.py",)))
        )
    story.settle()
    return story


def integrated(iteration: int, commit: str, session: SessionKind = STANDALONE, onto: str = BASE) -> CandidateIntegrated:
    """Give the branch's move."""
    other = None if session is STANDALONE else 1
    return CandidateIntegrated(iteration=iteration, session=session, commit=commit, reference=onto, merged_with=other)


def combined(iteration: int, onto: str, commit: str | None = "both", merged_with: int = 1) -> RunnerUpCombined:
    """Give a runner-up on top of the winner."""
    return RunnerUpCombined(
        iteration=iteration, onto=onto, merged_with=merged_with, commit=commit, conflict="" if commit else "conflict"
    )


# Before the first batch


def test_nothing_is_done_before_the_gate_is_cleared() -> None:
    """Not even hypotheses are asked for: no agent is paid."""
    for backlog in (None, (), (ONE,)):
        assert plan(a_log(backlog=backlog), a_world(approved=False), 0.0) == (AwaitApproval(),)


def test_a_log_that_has_no_backlog_asks_the_proposer() -> None:
    """Absent: nobody was asked yet. Empty: there is nothing left."""
    assert plan(a_log(backlog=None), a_world(), 0.0) == (Propose(),)
    assert isinstance(plan(a_log(backlog=()), a_world(), 0.0)[0], Stop)


# The batch


def test_a_batch_takes_numbers_behind_the_highest_that_was_ever_taken() -> None:
    """Folders and refs of a crashed process count: no number is used again."""
    actions = plan(a_log(backlog=(ONE, TWO)), a_world(highest_iteration=7), 0.0)
    assert actions == (Dispatch(8, 1, ONE, BASE), Dispatch(9, 1, TWO, BASE))


def test_a_batch_is_as_large_as_the_concurrency_allows() -> None:
    """The rest waits for the next one."""
    assert len(plan(a_log(backlog=(ONE, TWO, THREE)), a_world(), 0.0)) == 2
    serial = a_run_spec(execution={"mode": "serial"})
    assert len(plan(a_log(backlog=(ONE, TWO, THREE)), a_world(spec=serial), 0.0)) == 1


def test_a_batch_holds_no_more_than_max_iterations_leaves() -> None:
    """One experiment of three is left, so one is dispatched; deferred ones are not counted."""
    counts = {"kept": 1, "error": 1, "deferred_needs_approval": 5}
    state = {"status": "running", "tick": 2, "headway": {"totals": {"counts": counts}}}
    log = a_log(backlog=(ONE, TWO), run_state=state)
    spec = a_run_spec(stopping={"max_iterations": 3})
    assert iterations_used(log) == 2
    assert names(plan(log, a_world(spec=spec), 0.0)) == ["exp0001/dispatch"]


def test_a_hypothesis_that_needs_approval_is_never_dispatched() -> None:
    """Whatever its place and priority."""
    backlog = (a_waiting_item("waits", priority="high"), ONE)
    assert plan(a_log(backlog=backlog), a_world(), 0.0) == (Dispatch(1, 1, ONE, BASE),)


def test_a_leftover_that_comes_back_goes_first() -> None:
    """Before what is new, with its patch in its payload."""
    leftover = an_item("left", priority="low", headway={"retry_of": 1, "payload": {"retry_commit": "c"}})
    actions = plan(a_log(backlog=(ONE, leftover)), a_world(), 0.0)
    assert actions[0] == Dispatch(1, 1, leftover, BASE)


# The author phase


def test_all_authors_of_a_batch_start_at_once_from_the_same_reference() -> None:
    """Each from the commit that was the reference at dispatch."""
    assert a_story().plan() == (Author(1, 1, ONE, BASE), Author(2, 1, TWO, BASE))


def test_authoring_is_over_before_anything_is_measured_on_an_exclusive_machine() -> None:
    """A measurement beside a working agent would measure the agent too."""
    story = a_story().tell(turn(1), built(1))
    assert names(story.plan()) == ["exp0002/author/1"]
    story.tell(turn(2))
    assert names(story.plan()) == ["exp0002/build/1"]
    story.tell(built(2))
    assert names(story.plan()) == ["exp0001/setup/standalone/1"]


def test_with_exclusive_none_measuring_starts_while_others_author() -> None:
    """Both phases may overlap where the spec says so."""
    story = a_story(spec=a_run_spec(measurement={"exclusive": "none"})).tell(turn(1), built(1))
    assert names(story.plan()) == ["exp0002/author/1", "exp0001/setup/standalone/1"]


def test_a_session_goes_on_to_its_end_before_a_lower_number_begins() -> None:
    """With overlap the later experiment may be ready first; its session is not interrupted for the other."""
    spec = a_run_spec(measurement={"exclusive": "none", "stability": {"mode": "repeat", "repeat_count": 2}})
    story = a_story(spec=spec).tell(turn(2), built(2), prepared(2), turn(1), built(1))
    assert names(story.plan()) == ["exp0002/measure/cand/1"]
    story.tell(sample(2, 8.0))
    assert names(story.plan()) == ["exp0002/measure/cand/2"]
    story.tell(sample(2, 8.0, index=2))
    story.settle()
    assert names(story.plan()) == ["exp0001/setup/standalone/1"]


def test_candidates_are_measured_one_at_a_time_in_the_order_of_their_numbers() -> None:
    """Each one a whole session to its decision."""
    story = a_story().tell(turn(2), built(2), turn(1), built(1))
    seen = []
    while isinstance(action := story.settle()[0], PrepareCheckout | Measure):
        seen.append(action.id)
        iteration = action.iteration
        story.tell(prepared(iteration) if isinstance(action, PrepareCheckout) else sample(iteration, 8.0))
    assert seen == [
        "exp0001/setup/standalone/1", "exp0001/measure/cand/1", "exp0002/setup/standalone/1", "exp0002/measure/cand/1",
    ]  # fmt: skip


def test_a_repair_turn_goes_before_the_next_measurement() -> None:
    """A failed build is mended while nothing is measured."""
    story = a_story().tell(turn(1), built(1), turn(2), built(2), prepared(1).model_copy(update={"ok": False}))
    actions = story.plan()
    assert names(actions) == ["exp0001/author/2"]
    assert isinstance(actions[0], Author) and actions[0].repair is not None


def test_what_runs_already_stays_among_the_actions() -> None:
    """The caller starts only those whose name it does not carry."""
    story = a_story()
    for action in story.plan():
        story.jobs[action.id] = a_world(running=[action.id]).jobs[0]
    assert names(story.plan()) == ["exp0001/author/1", "exp0002/author/1"]


# Ends


@pytest.mark.parametrize(("seconds", "outcome"), [(10.01, "inconclusive"), (12.0, "reverted")])
def test_a_decision_that_is_no_keep_ends_the_experiment_with_its_reason(seconds: float, outcome: str) -> None:
    """The outcome follows from the decision alone."""
    story = measured(a_story(ONE), seconds)
    entry = story.entry(1)
    assert entry.outcome == outcome
    assert (entry.learnings or "").startswith("Decision: ")


def test_every_decision_that_ends_a_session_has_an_outcome() -> None:
    """No decision of the engine is left without an end: `keep` and `promising` end none."""
    assert set(OUTCOME_OF_DECISION) == set(OUTCOMES) - {"keep", "promising"}


def test_a_batch_ends_once_all_its_experiments_have_their_outcome() -> None:
    """Then, and only then, stopping is looked at and the next batch is dispatched."""
    story = measured(a_story(ONE, TWO, THREE), 12.0, 12.0)
    assert [type(event) for event in story.told].count(BatchEnded) == 1
    assert story.log.ticks == 1
    assert names(story.plan()) == ["exp0003/author/1"]
    assert story.entry(1).batch == story.entry(2).batch == 1


def test_a_batch_whose_hypotheses_were_all_dropped_is_no_batch() -> None:
    """Without an entry no tick is counted, and the run goes on with what is left."""
    story = a_story(ONE, can_retry=False).tell(turn(1), nothing_built(1))
    actions = story.settle()
    assert isinstance(actions[0], Stop) and actions[0].event.reason == "nothing_runnable"
    assert story.rows == [] and story.log.ticks == 0


def test_three_failures_of_the_agent_in_a_row_block_the_run() -> None:
    """No experiment, no plateau: the hypotheses go back and the stop says what the agent said."""
    story = a_story(ONE, TWO, THREE)
    for iteration in (1, 2, 3):
        story.tell(turn(iteration, status=TurnStatus.FAILED, reason="no login"))
        last = story.settle()
    assert isinstance(last[-1], Stop)
    assert (last[-1].event.reason, last[-1].event.status) == ("agent_unavailable", "blocked")
    assert last[-1].event.detail == "no login"
    assert story.rows == []
    assert {item.description for item in story.log.backlog or ()} == {"one", "two", "three"}


def test_a_hypothesis_on_which_the_agent_failed_three_times_is_dropped_for_good() -> None:
    """Successes of the agent in between do not count for it."""
    story = a_story(ONE)
    for iteration in (1, 2, 3):
        story.tell(turn(iteration, status=TurnStatus.FAILED, reason="crash"))
        story.agent = AgentHealth()
        story.settle()
    extension = story.log.run_state.headway if story.log.run_state else None
    assert extension is not None and [d.description for d in extension.dropped] == ["one"]
    assert story.log.backlog == ()


def test_nothing_is_dispatched_while_an_agent_rests_from_its_models_service() -> None:
    """After a rate limit the next hypothesis waits, then goes on; what is asked for is done at once."""
    story = a_story(ONE).tell(turn(1, status=TurnStatus.FAILED, reason="429", trouble=Trouble.RATE_LIMITED))
    story.settle()
    assert story.plan(REST_SECONDS[0] - 1) == (Wait(()),)
    assert [type(action) for action in story.plan(REST_SECONDS[0])] == [Dispatch]
    story.stop = StopAsked("stop", "by hand")
    assert [type(action) for action in story.plan(1)] == [Stop]


# Integration


def test_the_winner_is_the_one_with_the_highest_rank() -> None:
    """More gain wins, whatever the number."""
    story = measured(a_story(), 9.0, 8.0)
    assert story.plan() == (Integrate(2, STANDALONE, "commit-2-1", BASE),)


def test_a_tie_goes_to_the_lower_number() -> None:
    """The same gain twice: the first one."""
    story = measured(a_story(), 8.0, 8.0)
    assert story.plan() == (Integrate(1, STANDALONE, "commit-1-1", BASE),)


def test_a_runner_up_on_other_files_is_combined_with_the_winner() -> None:
    """File-disjoint, within the cap: put onto the winner and measured anew."""
    story = measured(a_story(), 8.0, 9.0)
    story.tell(integrated(1, "commit-1-1"))
    assert story.plan() == (MergeRunnerUp(2, story.plan()[0].item, BASE, "commit-2-1", "commit-1-1", 1),)  # type: ignore[union-attr]


def kept_both(story: Story) -> Story:
    """Let experiment 2 be kept on top of experiment 1."""
    story.tell(combined(2, "commit-1-1"), prepared(2, session=INTEGRATED), sample(2, 6.0, session=INTEGRATED))
    story.settle()
    return story.tell(integrated(2, "both", INTEGRATED, "commit-1-1"))


def test_a_combination_that_is_better_again_is_kept_and_becomes_the_best() -> None:
    """The new reference is the commit that holds both."""
    story = measured(a_story(), 8.0, 9.0).tell(integrated(1, "commit-1-1"))
    kept_both(story).settle()
    assert story.outcomes() == {1: "kept", 2: "runner_up_kept"}
    assert story.log.best.iteration == 2
    assert story.world.reference == "both"


@pytest.mark.parametrize(("runner_up", "combines"), [("files", False), ("hunks", True)])
def test_a_runner_up_that_shares_a_file_waits_under_files_and_is_tried_under_hunks(
    runner_up: str, combines: bool
) -> None:
    """The family's rule, or whatever applies cleanly."""
    shared = ("src/sort.py",)
    story = measured(a_story(spec=a_run_spec(runner_up=runner_up)), 8.0, 9.0, files1=shared, files2=shared)
    story.tell(integrated(1, "commit-1-1"))
    actions = story.settle()
    assert isinstance(actions[0], MergeRunnerUp) is combines
    assert (story.outcomes()[2] == "not_selected") is not combines


def three(merges: int, *seconds: float) -> Story:
    """Give a batch of three eligible candidates on three files, the first one integrated."""
    spec = a_run_spec(max_runner_up_merges_per_batch=merges, execution={"max_concurrent": 3})
    story = measured(a_story(ONE, TWO, THREE, spec=spec), *seconds)
    return story.tell(integrated(1, "commit-1-1"))


@pytest.mark.parametrize("merges", [0, 1, 2])
def test_no_more_runners_up_are_tried_than_the_cap_allows(merges: int) -> None:
    """In the order of their rank; the rest is not selected."""
    story = three(merges, 7.0, 9.0, 8.0)
    tried = []
    onto = "commit-1-1"
    while isinstance(action := story.settle()[0], MergeRunnerUp):
        tried.append(action.iteration)
        story.tell(combined(action.iteration, onto, f"with-{action.iteration}", action.merged_with))
        story.tell(prepared(action.iteration, session=INTEGRATED))
        story.tell(sample(action.iteration, 6.0 - len(tried), session=INTEGRATED))
        story.settle()
        onto = f"with-{action.iteration}"
        story.tell(integrated(action.iteration, onto, INTEGRATED, action.onto))
    assert tried == [3, 2][:merges]
    assert list(story.outcomes().values()).count("not_selected") == 2 - merges


@pytest.mark.parametrize("failure", ["conflict", "worse", "broken"])
def test_the_first_combination_that_fails_is_the_last_that_is_tried(failure: str) -> None:
    """A conflict, a worse measurement, a failed build: the next runner-up is not tried."""
    story = three(2, 7.0, 9.0, 8.0)
    ready = prepared(3, session=INTEGRATED)
    facts: dict[str, tuple[Event, ...]] = {
        "conflict": (combined(3, "commit-1-1", None),),
        "worse": (combined(3, "commit-1-1"), ready, sample(3, 9.9, session=INTEGRATED)),
        "broken": (combined(3, "commit-1-1"), ready.model_copy(update={"ok": False})),
    }
    story.tell(*facts[failure])
    story.settle()
    outcome = "not_selected" if failure == "conflict" else "runner_up_reverted"
    assert story.outcomes() == {1: "kept", 2: "not_selected", 3: outcome}


def test_a_leftover_comes_back_once_at_the_head_with_its_patch() -> None:
    """With the number it comes from and the commit to carry over; a second time it is not selected for good."""
    story = measured(a_story(ONE, TWO, THREE, spec=a_run_spec(max_runner_up_merges_per_batch=0)), 8.0, 9.0)
    story.tell(integrated(1, "commit-1-1"))
    story.settle()
    item = next(e.item for e in story.told if isinstance(e, HypothesisDispatched) and e.iteration == 3)
    assert item.description == "two" and item.headway is not None and item.headway.retry_of == 2
    assert item.headway.payload == {"retry_base": BASE, "retry_commit": "commit-2-1"}
    story.tell(*facts_until_measured(3, 7.5), *facts_until_measured(4, 7.0))
    story.settle()
    story.tell(integrated(4, "commit-4-1", onto="commit-1-1"))
    assert isinstance(story.settle()[-1], Stop)
    assert story.outcomes()[3] == "not_selected"
    assert story.log.backlog == ()


def test_the_reference_of_a_batch_mate_stays_what_it_was_measured_against() -> None:
    """The winner's move does not change what is written of the others' own sessions."""
    story = measured(a_story(), 8.0, 9.0)
    before = story.entry(2).comparisons
    story.tell(integrated(1, "commit-1-1"))
    assert story.resumed().entry(2).comparisons == before


# Stops


def test_a_reference_that_fails_blocks_the_run_and_a_resumed_one_measures_anew() -> None:
    """The experiment is set back with its patch; after the mend the run goes on by itself."""
    story = a_story(ONE, spec=a_run_spec(**paired()))
    story.tell(*facts_until_measured(1, 8.0))
    story.tell(sample(1, side=Side.REFERENCE, status=SampleStatus.INVALID, reason="no database"))
    last = story.settle()
    assert isinstance(last[-1], Stop)
    assert (last[-1].event.reason, last[-1].event.status) == ("reference_broken", "blocked")
    again = story.resumed().tell(RunResumed())
    actions = again.settle()
    assert isinstance(actions[0], Author)
    assert actions[0].item.headway is not None and actions[0].item.headway.retry_of == 1


def test_a_stop_that_was_asked_for_waits_for_what_runs() -> None:
    """Nothing new is started; once all is quiet, the run stops, its open batch as it is."""
    story = a_story()
    running = a_world(running=["exp0002/author/1"]).jobs[0]
    story.jobs[running.id] = running
    story.stop = StopAsked("stop", "by hand")
    assert story.plan() == (Wait(("exp0002/author/1",)),)
    del story.jobs[running.id]
    actions = story.plan()
    assert isinstance(actions[0], Stop) and actions[0].event.reason == "stop"
    story.settle()
    assert [w.item for w in story.log.dispatched] == ["exp 1 author 1", "exp 2 author 1"]
    story = story.resumed().tell(RunResumed())
    assert names(story.plan()) == ["exp0001/author/1", "exp0002/author/1"]


def test_hypotheses_that_wait_for_approval_are_shown_once_at_the_end() -> None:
    """As entries with their reason; the hypotheses stay in the backlog, and a further end shows them no more."""
    story = measured(a_story(ONE, a_waiting_item("use numpy"), a_waiting_item("use scipy", "scipy")), 12.0)
    assert story.outcomes() == {1: "reverted", 2: "deferred_needs_approval", 3: "deferred_needs_approval"}
    assert story.entry(3).deferred_reason == "needs approval of: scipy"
    assert [item.description for item in story.log.backlog or ()] == ["use numpy", "use scipy"]
    assert story.log.run_state is not None and story.log.run_state.status == "waiting"
    again = story.resumed().tell(RunResumed())
    assert isinstance(again.settle()[0], Stop)
    assert len(again.rows) == 3


@pytest.mark.parametrize("reason", ["stop", "interrupt", "max_ticks"])
def test_a_stop_by_hand_shows_nothing_as_deferred(reason: str) -> None:
    """It is no wrap-up: the run goes on."""
    log = a_log(backlog=(ONE, a_waiting_item()))
    assert kinds(plan(log, a_world(stop=StopAsked(reason, "by hand")), 0.0)) == ["Stop"]


def test_a_need_found_midway_is_shown_once_and_tried_once_it_is_approved() -> None:
    """The experiment's own entry says it; wrap-up adds none, and approval makes the hypothesis runnable."""
    story = a_story(ONE)
    story.tell(turn(1, status=TurnStatus.NEEDS_DEPENDENCY, deferred_deps=("numpy",)))
    story.settle()
    assert story.outcomes() == {1: "deferred_needs_approval"}
    assert [item.required_deps for item in story.log.backlog or ()] == [("numpy",)]
    approved = Story(a_run_spec(dependencies={"approved": ["numpy"]}), backlog=story.log.backlog)
    assert isinstance(approved.plan()[0], Dispatch)


def test_a_hypothesis_that_was_deferred_and_approved_may_come_back_as_a_leftover() -> None:
    """Having waited for approval is not having come back."""
    waited = an_item("one", dep_status="approved", required_deps=["numpy"], headway={"retry_of": 9})
    spec = a_run_spec(dependencies={"approved": ["numpy"]}, max_runner_up_merges_per_batch=0)
    story = measured(a_story(waited, TWO, spec=spec), 9.0, 8.0)
    story.tell(integrated(2, "commit-2-1"))
    story.settle()
    assert "exp0003/author/1" in names(story.plan())


def test_the_deferred_entry_of_a_run_that_tried_nothing_stands_in_its_first_batch() -> None:
    """A backlog that only waits ends at once, with what it waits for."""
    story = Story(backlog=(a_waiting_item(),))
    actions = story.settle()
    assert isinstance(actions[-1], Stop) and actions[-1].event.status == "waiting"
    assert isinstance(story.told[0], HypothesisDeferred) and story.told[0].batch == 1


def test_an_eligible_experiment_stays_measured_until_the_branch_has_moved() -> None:
    """A keep is a commit on the branch, not a decision."""
    story = measured(a_story(ONE), 8.0)
    assert story.outcomes() == {1: "measured"}
    story.tell(integrated(1, "commit-1-1"))
    assert story.outcomes() == {1: "kept"}


def test_nothing_is_planned_for_an_experiment_of_an_earlier_batch() -> None:
    """A row that another tool left open is not taken for one of this batch."""
    log = a_log(a_row(1, "measured"), backlog=(ONE,), run_state={"status": "running", "tick": 3})
    assert names(plan(log, a_world(highest_iteration=1), 0.0)) == ["exp0002/dispatch"]


def test_a_decision_is_written_down_before_it_is_acted_upon() -> None:
    """The conclusion comes first, then what follows from it."""
    story = a_story(ONE)
    story.tell(*facts_until_measured(1, 8.0))
    actions = story.plan()
    assert isinstance(actions[0], Conclude) and isinstance(actions[0].event, SessionEnded)
    story.tell(actions[0].event)
    assert kinds(story.plan()) == ["Integrate"]


def test_ends_are_concluded_together_and_before_any_effect() -> None:
    """What is over is written down before something new starts."""
    story = a_story().tell(turn(1, status=TurnStatus.REFUSED, reason="no"))
    actions = story.plan()
    assert len(actions) == 1
    assert isinstance(actions[0], Conclude) and isinstance(actions[0].event, ExperimentEnded)


def test_building_goes_on_while_the_other_agent_works() -> None:
    """The author phase is both."""
    assert [type(a) for a in a_story().tell(turn(1)).plan()] == [BuildCandidate, Author]
