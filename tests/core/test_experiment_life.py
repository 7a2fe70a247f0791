"""One experiment's next step, from its facts: what is known is never asked for again."""

from typing import Any

import pytest

from headway.core.actions import (
    Author,
    BuildCandidate,
    Conclude,
    Integrate,
    Measure,
    MergeRunnerUp,
    PrepareCheckout,
)
from headway.core.agent_health import AgentHealth
from headway.core.agent_turns import AgentSession, TokenUsage, Trouble
from headway.core.events import (
    CandidateBuilt,
    ExperimentEnded,
    ExperimentEvent,
    HypothesisDropped,
    RunnerUpCombined,
    SampleStatus,
    SessionEnded,
    Side,
    Stage,
    TurnStatus,
)
from headway.core.experiment_life import (
    Broken,
    Decided,
    Experiment,
    Step,
    experiment_of,
    next_step_of,
    runner_up_step,
)
from headway.core.plan import stored_reference
from headway.core.records import BacklogItem
from headway.core.spec import Spec
from headway.core.world import MeasuredPair
from tests.core.heart import (
    BASE,
    INTEGRATED,
    STANDALONE,
    a_log,
    a_run_spec,
    a_world,
    an_item,
    built,
    dispatched,
    nothing_built,
    paired,
    prepared,
    sample,
    strayed,
    turn,
)

ITEM = an_item()
TWICE = {"measurement": {"stability": {"mode": "repeat", "repeat_count": 2}}}


def step(*facts: ExperimentEvent, spec: Spec | None = None, item: BacklogItem = ITEM, **world: Any) -> Step:
    """Ask what experiment 1 needs next when these facts are known."""
    return next_step_of(Experiment(1, item, BASE), a_world(*facts, spec=spec, **world), stored_reference(a_log()))


def ended(found: object) -> ExperimentEnded:
    """Give the end that a step concludes with."""
    assert isinstance(found, Conclude) and isinstance(found.event, ExperimentEnded), found
    return found.event


def dropped(found: object) -> HypothesisDropped:
    """Give the drop that a step concludes with."""
    assert isinstance(found, Conclude) and isinstance(found.event, HypothesisDropped), found
    return found.event


def answer(found: object) -> dict[str, Any]:
    """Give the decision that a step writes down."""
    assert isinstance(found, Conclude) and isinstance(found.event, SessionEnded), found
    return found.event.answer


def decided(decision: str = "keep", iteration: int = 1) -> SessionEnded:
    """Give a decision that is written down."""
    return SessionEnded(iteration=iteration, session=STANDALONE, answer={"decision": decision, "reason": "why"})


INVALID = sample(status=SampleStatus.INVALID, reason="no JSON")


# The straight walk


def test_the_steps_follow_from_each_other() -> None:
    """Author, build, prepare, measure, decide: each once its predecessor's fact is there."""
    assert step() == Author(1, 1, ITEM, BASE)
    assert step(turn()) == BuildCandidate(1, 1, ITEM, BASE, "agent-1")
    assert step(turn(), built()) == PrepareCheckout(1, 1, STANDALONE, "commit-1-1")
    until_ready = (turn(), built(), prepared())
    assert step(*until_ready) == Measure(1, 1, STANDALONE, Side.CANDIDATE, 1, "commit-1-1")
    assert answer(step(*until_ready, sample(seconds=8.0)))["decision"] == "keep"
    assert step(*until_ready, sample(seconds=8.0), decided()) == Decided(decided().answer, 1, built())


@pytest.mark.parametrize(("seconds", "decision"), [(8.0, "keep"), (10.01, "inconclusive"), (12.0, "revert")])
def test_a_decision_follows_from_the_sample_and_the_stored_reference(seconds: float, decision: str) -> None:
    """The candidate alone is measured; what it is compared with is what the log holds of the best."""
    assert answer(step(turn(), built(), prepared(), sample(seconds=seconds)))["decision"] == decision


def test_repeats_are_measured_one_after_the_other() -> None:
    """As many samples as the spec wants, each with its own number."""
    known = (turn(), built(), prepared(), sample(seconds=8.0))
    assert step(*known, spec=a_run_spec(**TWICE)) == Measure(1, 1, STANDALONE, Side.CANDIDATE, 2, "commit-1-1")
    assert answer(step(*known, sample(seconds=8.2, index=2), spec=a_run_spec(**TWICE)))["decision"] == "keep"


def test_pairs_are_measured_in_the_order_b_a_a_b() -> None:
    """The reference side measures the reference's commit."""
    spec = a_run_spec(**paired())
    known: list[ExperimentEvent] = [turn(), built(), prepared()]
    order = []
    for _ in range(4):
        found = step(*known, spec=spec)
        assert isinstance(found, Measure)
        order.append((found.side.value, found.index, found.commit))
        seconds = 8.0 if found.side is Side.CANDIDATE else 10.0
        known.append(sample(seconds=seconds, index=found.index, side=found.side))
    assert order == [("cand", 1, "commit-1-1"), ("ref", 1, BASE), ("ref", 2, BASE), ("cand", 2, "commit-1-1")]
    assert answer(step(*known, spec=spec))["decision"] == "keep"


def test_a_failed_gate_on_any_sample_decides_at_once() -> None:
    """One failure is degenerate; nothing more is measured."""
    known = (turn(), built(), prepared(), sample(seconds=8.0, gates={"sorted": 0}))
    assert answer(step(*known, spec=a_run_spec(**TWICE)))["decision"] == "degenerate"


# What the agent says


def test_a_hypothesis_that_the_agent_refuses_is_an_error() -> None:
    """With the agent's reason and what it learned; no second turn."""
    found = ended(step(turn(status=TurnStatus.REFUSED, reason="conflict in src/sort.py", learnings="too late")))
    assert (found.outcome, found.error_message, found.learnings) == ("error", "conflict in src/sort.py", "too late")


def test_a_need_found_midway_defers_the_experiment_and_names_the_dependency() -> None:
    """The need is for a person to approve."""
    found = ended(step(turn(status=TurnStatus.NEEDS_DEPENDENCY, deferred_deps=("numpy", "scipy"))))
    assert found.outcome == "deferred_needs_approval"
    assert found.deferred_reason == "needs an unapproved dependency: numpy, scipy"


@pytest.mark.parametrize("status", [TurnStatus.FAILED, TurnStatus.TIMED_OUT])
@pytest.mark.parametrize(("attempts", "returns"), [(None, True), (1, True), (2, False)])
def test_an_agents_failure_gives_the_hypothesis_back_until_the_third(
    attempts: int | None, returns: bool, status: TurnStatus
) -> None:
    """A crash, a missing login or a limit is no experiment; after three tries it is dropped for good."""
    item = an_item(headway={} if attempts is None else {"attempts": attempts})
    found = dropped(step(turn(status=status, reason="no login"), item=item))
    assert found.returns_to_backlog is returns
    assert "no login" in found.reason


def test_an_agent_that_fails_whatever_it_is_asked_costs_no_hypothesis() -> None:
    """Three failures in a row block the run; the hypothesis that was asked for last goes back, whatever its tries."""
    item = an_item(headway={"attempts": 2})
    found = dropped(step(turn(status=TurnStatus.FAILED, reason="not found"), item=item, agent=AgentHealth(3)))
    assert (found.reason, found.returns_to_backlog) == ("not found", True)


def test_an_agent_that_fails_on_everything_costs_no_hypothesis_its_place() -> None:
    """While the run is about to be blocked for it, the third failure is no fault of the hypothesis."""
    item = an_item(headway={"attempts": 2})
    failed = turn(status=TurnStatus.FAILED, reason="no login")
    assert dropped(step(failed, item=item, agent=AgentHealth(3))).returns_to_backlog
    assert not dropped(step(failed, item=item, agent=AgentHealth(2))).returns_to_backlog


def test_a_tree_that_is_gone_when_its_turn_is_over_is_the_turns_failure() -> None:
    """Nobody can say what was changed: the hypothesis goes back, and no empty candidate is taken for its answer."""
    gone = nothing_built().model_copy(update={"tree_gone": True})
    assert dropped(step(turn(), gone)).returns_to_backlog
    assert not dropped(step(turn(), gone, item=an_item(headway={"attempts": 2}))).returns_to_backlog


def test_what_a_models_service_does_is_no_fault_of_the_hypothesis() -> None:
    """A rate limit gives it back, however often it met one."""
    failed = turn(status=TurnStatus.FAILED, reason="429", trouble=Trouble.RATE_LIMITED)
    assert dropped(step(failed, item=an_item(headway={"attempts": 9}))).returns_to_backlog


def test_what_the_agent_was_not_permitted_stands_beside_its_empty_turn() -> None:
    """Whoever reads why a hypothesis was dropped sees what would have to be allowed."""
    found = dropped(step(turn(denials=("Bash",)), nothing_built(), agent_can_retry=False))
    assert found.reason == "the turn changed nothing; the agent was not permitted: Bash"


def test_no_further_turn_is_asked_of_an_agent_that_failed_three_times_in_a_row() -> None:
    """The hypothesis goes back as it is."""
    found = dropped(step(agent=AgentHealth(3, "rate limit")))
    assert (found.reason, found.returns_to_backlog) == ("rate limit", True)


def test_a_turn_happens_in_the_tree_that_was_given_at_the_dispatch() -> None:
    """Whatever `max_concurrent` became since: two of one batch never share one."""
    world = a_world(dispatched(tree="agent-5"), spec=a_run_spec(execution={"mode": "serial"}))
    found = next_step_of(experiment_of(1, ITEM, world), world, stored_reference(a_log()))
    assert isinstance(found, Author)
    assert found.tree == "agent-5"


# Turns without a change


def test_three_turns_without_a_change_drop_the_hypothesis() -> None:
    """Asked again twice; the third time is the last."""
    known: list[ExperimentEvent] = []
    for attempt in (1, 2, 3):
        assert step(*known) == Author(1, attempt, ITEM, BASE)
        known += [turn(attempt=attempt), nothing_built(attempt=attempt)]
    found = dropped(step(*known))
    assert (found.reason, found.returns_to_backlog) == ("3 turns changed nothing", False)


def test_an_agent_that_cannot_be_asked_again_has_one_turn() -> None:
    """A patch that changes nothing changes nothing the second time either."""
    assert dropped(step(turn(), nothing_built(), agent_can_retry=False)).reason == "the turn changed nothing"


def test_a_turn_that_only_changed_what_it_must_not_is_an_error_that_names_the_paths() -> None:
    """Not another try: the agent was told its scope."""
    found = ended(step(turn(), nothing_built(strays=["bench.py", "conf.yaml"])))
    assert found.outcome == "error"
    assert "bench.py, conf.yaml" in found.error_message


def test_the_money_for_one_hypothesis_ends_its_turns() -> None:
    """`agent.max_cost_usd` is over all turns of one hypothesis."""
    spec = a_run_spec(agent={"max_cost_usd": 1.0})
    assert isinstance(step(turn(usd=0.9), nothing_built(), spec=spec), Author)
    assert "money" in dropped(step(turn(usd=1.0), nothing_built(), spec=spec)).reason


# Repairs


@pytest.mark.parametrize("stage", [Stage.SETUP, Stage.BUILD, Stage.CHECKS, Stage.SMOKE])
def test_a_checkout_that_fails_gets_one_repair_turn_with_what_failed(stage: Stage) -> None:
    """Attempt 2 is told the stage and its last lines."""
    found = step(turn(), built(), prepared(stage=stage, detail="boom at line 3"))
    assert isinstance(found, Author)
    assert (found.attempt, found.repair) == (2, f"{stage} failed:\nboom at line 3")


@pytest.mark.parametrize(
    ("stage", "outcome"),
    [(Stage.SETUP, "error"), (Stage.BUILD, "error"), (Stage.CHECKS, "degenerate"), (Stage.SMOKE, "degenerate")],
)
def test_a_repair_that_fails_too_is_the_end(stage: Stage, outcome: str) -> None:
    """One repair turn: set-up and build end as error, checks and smoke as degenerate."""
    known = (turn(), built(), prepared(stage=stage, detail="first"), turn(attempt=2), built(attempt=2))
    found = ended(step(*known, prepared(attempt=2, stage=stage, detail="second")))
    assert found.outcome == outcome
    assert "second" in found.error_message + found.learnings


def test_a_crash_of_the_first_sample_gets_a_repair_turn() -> None:
    """The measurement's own words go to the agent."""
    found = step(turn(), built(), prepared(), INVALID)
    assert isinstance(found, Author)
    assert found.repair == "the measurement failed:\nno JSON"


def test_what_is_kept_after_a_repair_is_the_candidate_that_was_decided() -> None:
    """Never the one before it, whose own first sample crashed: the decision has one key for all attempts."""
    known = (turn(), built(), prepared(), INVALID, turn(attempt=2), built(attempt=2), prepared(attempt=2))
    found = step(*known, sample(seconds=8.0, attempt=2), decided())
    assert isinstance(found, Decided)
    assert (found.attempt, found.candidate.commit) == (2, "commit-1-2")


def test_no_repair_after_a_valid_value() -> None:
    """A candidate that gave a value once is not mended to give a better one."""
    bad = sample(index=2, status=SampleStatus.INVALID, reason="flaky")
    found = ended(step(turn(), built(), prepared(), sample(seconds=8.0), bad, spec=a_run_spec(**TWICE)))
    assert (found.outcome, found.error_message) == ("error", "flaky")


@pytest.mark.parametrize("status", [SampleStatus.TIMEOUT, SampleStatus.LOST])
def test_no_repair_after_a_timeout_or_a_lost_measurement(status: SampleStatus) -> None:
    """Neither is a crash that the code could mend; each is final at once."""
    found = ended(step(turn(), built(), prepared(), sample(status=status, reason="why")))
    outcome = "timeout" if status is SampleStatus.TIMEOUT else "error"
    assert (found.outcome, found.error_message) == (outcome, "why")


@pytest.mark.parametrize(
    "second",
    [
        (turn(attempt=2, status=TurnStatus.FAILED),),
        (turn(attempt=2, status=TurnStatus.REFUSED),),
        (turn(attempt=2, status=TurnStatus.TIMED_OUT),),
        (turn(attempt=2), nothing_built(attempt=2)),
        (turn(attempt=2), nothing_built(attempt=2, strays=["bench.py"])),
    ],
)
def test_a_repair_turn_that_leaves_no_candidate_leaves_the_first_ones_end(second: tuple[ExperimentEvent, ...]) -> None:
    """What was measured stays said: the experiment ends with what needed the repair."""
    found = ended(step(turn(), built(), prepared(), INVALID, *second))
    assert (found.outcome, found.error_message) == ("error", "no JSON")


def test_a_repair_goes_on_with_the_conversation_and_what_it_spent() -> None:
    """Of a program that tells its tokens for the whole conversation, the next turn's are the difference."""
    spent = TokenUsage(uncached=10, cache_read=4, cache_write=2, output=1)
    failed = prepared(stage=Stage.BUILD, detail="boom")
    found = step(turn(session="s-1", usage=spent), built(), failed)
    assert isinstance(found, Author)
    assert found.session == AgentSession(id="s-1", spent=spent)
    twice = (turn(session="s-1", usage=spent), nothing_built(), turn(attempt=2, session="s-1", usage=spent))
    again = step(*twice, built(attempt=2), failed.model_copy(update={"attempt": 2}))
    assert isinstance(again, Author) and again.session == AgentSession(id="s-1", spent=spent.plus(spent))


def test_a_turn_after_an_empty_one_begins_a_new_conversation() -> None:
    """Only a repair goes on with what was said."""
    found = step(turn(session="s-1"), nothing_built())
    assert isinstance(found, Author) and found.session is None


def test_a_turn_is_told_what_its_hypothesis_may_still_cost() -> None:
    """The limit less what the turns before cost; a cost that is unknown leaves nothing."""
    spec = a_run_spec(agent={"max_cost_usd": 1.0})
    first = step(spec=spec)
    assert isinstance(first, Author) and first.usd_left == 1.0
    second = step(turn(usd=0.25), nothing_built(), spec=spec)
    assert isinstance(second, Author) and second.usd_left == 0.75
    assert dropped(step(turn(usd=None), nothing_built(), spec=spec)).reason == "the money for one hypothesis is spent"


def test_a_repair_for_which_there_is_no_money_or_no_agent_is_not_begun() -> None:
    """The end is that of the first attempt."""
    known = (turn(usd=2.0), built(), prepared(stage=Stage.BUILD, detail="boom"))
    assert ended(step(*known, spec=a_run_spec(agent={"max_cost_usd": 1.0}))).outcome == "error"
    assert ended(step(*known, agent_can_retry=False)).outcome == "error"
    assert ended(step(*known, spec=a_run_spec(agent={"max_repairs": 0}))).outcome == "error"
    assert ended(step(*known, agent=AgentHealth(3))).outcome == "error"


def test_a_repaired_candidate_is_measured_under_its_own_attempt() -> None:
    """Its samples are told from those of the first."""
    known = (turn(), built(), prepared(), INVALID, turn(attempt=2), built(attempt=2), prepared(attempt=2))
    assert step(*known) == Measure(1, 2, STANDALONE, Side.CANDIDATE, 1, "commit-1-2")
    assert answer(step(*known, sample(seconds=8.0, attempt=2)))["decision"] == "keep"


# Tampering and repeats


def test_tampering_under_drop_is_measured_and_under_revert_is_not() -> None:
    """`tamper_policy: revert` ends the experiment, the paths named; `drop` measures what is left."""
    assert isinstance(step(turn(), strayed()), PrepareCheckout)
    found = ended(step(turn(), strayed(), spec=a_run_spec(tamper_policy="revert")))
    assert found.outcome == "reverted"
    assert "bench.py" in found.learnings


@pytest.mark.parametrize(
    ("earlier", "outcome", "has_message"),
    [
        ("kept", "inconclusive", False), ("reverted", "inconclusive", False), ("not_selected", "inconclusive", False),
        ("degenerate", "degenerate", False), ("error", "error", True), ("timeout", "timeout", True),
    ],
)  # fmt: skip
def test_code_that_was_measured_before_is_not_measured_again(earlier: str, outcome: str, has_message: bool) -> None:
    """The same two trees: the earlier outcome if that was a failure, else inconclusive, with its number."""
    measured = {("tree-base", "tree-1-1"): MeasuredPair(7, earlier)}
    found = ended(step(turn(), built(), measured=measured))
    assert (found.outcome, found.repeat_of) == (outcome, 7)
    assert bool(found.error_message) is has_message


@pytest.mark.parametrize("trees", [("tree-base", "other"), ("other", "tree-1-1")])
def test_another_reference_or_another_tree_is_no_repeat(trees: tuple[str, str]) -> None:
    """Both must be the same."""
    assert isinstance(step(turn(), built(), measured={trees: MeasuredPair(7, "kept")}), PrepareCheckout)


def test_an_experiment_is_no_repeat_of_itself() -> None:
    """After a resume its own trees are among those measured."""
    measured = {("tree-base", "tree-1-1"): MeasuredPair(1, "reverted")}
    assert isinstance(step(turn(), built(), measured=measured), PrepareCheckout)


def test_the_same_code_twice_in_a_batch_is_measured_once() -> None:
    """A twin that was decided and waits for integration makes the later one a repeat."""
    twin = built(2, tree="tree-1-1")
    assert isinstance(step(turn(), built(), twin), PrepareCheckout)
    found = ended(step(turn(), built(), twin, decided(iteration=2)))
    assert (found.outcome, found.repeat_of) == ("inconclusive", 2)


def test_an_experiment_whose_measurement_began_is_never_called_a_repeat() -> None:
    """What its twin comes to meanwhile does not take its own measurement away."""
    measured = {("tree-base", "tree-1-1"): MeasuredPair(2, "kept")}
    known = (turn(), built(), prepared(), sample(seconds=8.0))
    assert answer(step(*known, measured=measured))["decision"] == "keep"
    assert isinstance(step(*known, decided(), built(2, tree="tree-1-1"), decided(iteration=2)), Decided)


# The reference


def test_a_reference_that_fails_beside_a_candidate_breaks_the_run_and_sets_the_experiment_back() -> None:
    """Neither keep nor revert: the hypothesis comes back, for a resumed run to measure anew."""
    bad = sample(side=Side.REFERENCE, status=SampleStatus.INVALID, reason="no database")
    found = step(turn(), built(), prepared(), sample(seconds=8.0), bad, spec=a_run_spec(**paired()))
    assert isinstance(found, Broken)
    assert "no database" in found.reason
    end = ended(found.end)
    assert (end.outcome, end.returns_to_backlog) == ("error", True)


def test_a_stored_reference_without_the_primary_breaks_the_run() -> None:
    """There is nothing to compare with; the experiment itself stays as it is."""
    known = a_world(turn(), built(), prepared())
    found = next_step_of(Experiment(1, ITEM, BASE), known, {"metrics": {}})
    assert isinstance(found, Broken) and found.end is None
    assert "seconds" in found.reason


# Runners-up


KEEP = Decided(decided().answer, 1, built())


def runner_up(*facts: ExperimentEvent, spec: Spec | None = None) -> object:
    """Ask what the eligible experiment 1 needs on its way onto experiment 2."""
    world = a_world(*facts, spec=spec, reference="winner")
    return runner_up_step(Experiment(1, ITEM, BASE), KEEP, 2, world, stored_reference(a_log()))


def combined(commit: str | None = "both", conflict: str = "") -> RunnerUpCombined:
    """Give a runner-up that was put onto the winner, or would not go."""
    return RunnerUpCombined(iteration=1, onto="winner", merged_with=2, commit=commit, conflict=conflict)


def test_a_runner_up_is_combined_prepared_measured_anew_and_integrated() -> None:
    """A whole session of its own on top of the winner, from the commit that combines both."""
    assert runner_up() == MergeRunnerUp(1, ITEM, BASE, "commit-1-1", "winner", 2)
    assert runner_up(combined()) == PrepareCheckout(1, 1, INTEGRATED, "both")
    ready = (combined(), prepared(session=INTEGRATED))
    assert runner_up(*ready) == Measure(1, 1, INTEGRATED, Side.CANDIDATE, 1, "both")
    measured = (*ready, sample(seconds=8.0, session=INTEGRATED))
    assert answer(runner_up(*measured))["decision"] == "keep"
    verdict = SessionEnded(iteration=1, session=INTEGRATED, answer={"decision": "keep", "reason": "better"})
    assert runner_up(*measured, verdict) == Integrate(1, INTEGRATED, "both", "winner", 2)


@pytest.mark.parametrize("decision", ["revert", "inconclusive", "degenerate"])
def test_a_combination_that_is_not_better_is_reverted_and_says_with_what_it_was_combined(decision: str) -> None:
    """Only a keep moves the branch."""
    verdict = SessionEnded(iteration=1, session=INTEGRATED, answer={"decision": decision, "reason": "worse"})
    found = ended(runner_up(combined(), prepared(session=INTEGRATED), sample(session=INTEGRATED), verdict))
    assert (found.outcome, found.merged_with) == ("runner_up_reverted", 2)
    assert "worse" in found.learnings


def test_a_runner_up_that_does_not_combine_comes_back_with_its_patch() -> None:
    """A conflict is no verdict on it."""
    found = ended(runner_up(combined(None, "src/sort.py")))
    assert (found.outcome, found.returns_to_backlog, found.merged_with) == ("not_selected", True, None)
    assert "src/sort.py" in found.learnings


@pytest.mark.parametrize(
    "facts",
    [
        (prepared(session=INTEGRATED, stage=Stage.BUILD, detail="boom"),),
        (prepared(session=INTEGRATED), sample(session=INTEGRATED, status=SampleStatus.INVALID, reason="boom")),
        (prepared(session=INTEGRATED), sample(session=INTEGRATED, status=SampleStatus.TIMEOUT, reason="boom")),
        (prepared(session=INTEGRATED), sample(session=INTEGRATED, status=SampleStatus.LOST, reason="boom")),
    ],
)
def test_a_combination_that_cannot_be_measured_is_reverted_without_a_repair(facts: tuple[ExperimentEvent, ...]) -> None:
    """Its own standalone measurement stays what it was."""
    found = ended(runner_up(combined(), *facts))
    assert (found.outcome, found.merged_with) == ("runner_up_reverted", 2)
    assert "boom" in found.error_message + found.learnings


def test_a_reference_that_fails_beside_a_combination_sets_the_runner_up_back() -> None:
    """It was eligible, and is not judged by a broken reference."""
    bad = sample(session=INTEGRATED, side=Side.REFERENCE, status=SampleStatus.INVALID, reason="no database")
    facts = (combined(), prepared(session=INTEGRATED), sample(session=INTEGRATED, seconds=8.0), bad)
    found = runner_up(*facts, spec=a_run_spec(**paired()))
    assert isinstance(found, Broken)
    assert (ended(found.end).outcome, ended(found.end).returns_to_backlog) == ("not_selected", True)


def test_only_the_last_candidate_of_a_twin_counts() -> None:
    """A first attempt that crashed was never measured to a decision."""
    first, second = built(2, 1, tree="tree-1-1"), built(2, 2, tree="tree-other")
    assert isinstance(first, CandidateBuilt)
    assert isinstance(step(turn(), built(), first, second, decided(iteration=2)), PrepareCheckout)
