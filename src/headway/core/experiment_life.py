"""One experiment's next step, from what is known of it.

Every step has a stable id, and a step whose result is known is never asked for again. That makes a
resumed run the same walk as an undisturbed one.

Source: DESIGN section 6 (an experiment's life); CONTRACTS sections 4 to 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.core.actions import (
    Action,
    Author,
    BuildCandidate,
    Conclude,
    Integrate,
    Measure,
    MergeRunnerUp,
    PrepareCheckout,
)
from headway.core.agent_health import MAX_AGENT_FAILURES
from headway.core.agent_turns import AgentSession
from headway.core.events import (
    AgentTurnEnded,
    CandidateBuilt,
    CheckoutPrepared,
    Event,
    ExperimentEnded,
    HypothesisDispatched,
    HypothesisDropped,
    RunnerUpCombined,
    SampleStatus,
    SampleTaken,
    SessionEnded,
    SessionKind,
    Side,
    Stage,
    TurnStatus,
    experiment_key,
    measure_key,
)
from headway.core.records import BacklogItem, Outcome
from headway.core.samples import taken
from headway.core.session import next_step
from headway.core.session_words import Ended, ReferenceBroken, Session, Take
from headway.core.world import MeasuredPair, World

MAX_NO_CHANGE_TURNS = 3
TREE_GONE = "the folder that the agent worked in is gone: the agent, or somebody else, removed it"


@dataclass(frozen=True)
class Experiment:
    """What identifies an experiment in the open batch."""

    iteration: int
    item: BacklogItem
    base: str
    tree: str = ""


@dataclass(frozen=True)
class Decided:
    """The session is over and its decision written down."""

    answer: Mapping[str, Any]
    attempt: int
    candidate: CandidateBuilt


@dataclass(frozen=True)
class Broken:
    """The reference itself fails: the run should stop; `end` sets its experiment back, for a measurement anew."""

    reason: str
    end: Conclude | None = None


Step = Author | BuildCandidate | PrepareCheckout | Measure | Conclude | Decided | Broken


def next_step_of(experiment: Experiment, world: World, stored: Mapping[str, Any]) -> Step:
    """Say what this experiment needs next, up to the decision on its own session.

    Args:
        experiment: number, hypothesis and reference commit.
        world: results so far and the spec.
        stored: the reference's stored snapshot, `{"metrics": ..., "gates": ..., "diagnostics": ...}`.
    Returns: an action that has no result yet, or `Decided`, or what stops the run.
    """
    results = world.results
    repair: str | None = None
    unrepaired: Conclude | None = None
    session: AgentSession | None = None
    usd_left = _usd_left(experiment, world)
    no_changes = repairs = 0
    attempt = 1
    while True:
        turn = results.get(f"{experiment_key(experiment.iteration)}/author/{attempt}")
        if not isinstance(turn, AgentTurnEnded):
            if usd_left is not None and usd_left <= 0 and attempt > 1:
                return unrepaired or _dropped(experiment, "the money for one hypothesis is spent")
            if world.agent.failures >= MAX_AGENT_FAILURES:
                return unrepaired or _dropped(experiment, world.agent.trouble, returns=True)
            return Author(
                experiment.iteration,
                attempt,
                experiment.item,
                experiment.base,
                repair,
                experiment.tree,
                session if repair is not None else None,
                usd_left,
            )
        if turn.status in (TurnStatus.FAILED, TurnStatus.TIMED_OUT):
            return unrepaired or _turn_failed(experiment, turn, world)
        if turn.status is TurnStatus.NEEDS_DEPENDENCY:
            return _ended_by_turn(experiment, turn)
        if turn.status is not TurnStatus.COMPLETED:
            return unrepaired or _ended_by_turn(experiment, turn)
        session = _session_after(session, turn)
        built = results.get(f"{experiment_key(experiment.iteration)}/build/{attempt}")
        if not isinstance(built, CandidateBuilt):
            return BuildCandidate(experiment.iteration, attempt, experiment.item, experiment.base, turn.tree)
        if built.commit is None:
            if unrepaired is not None:
                return unrepaired
            if built.tree_gone:
                return _agent_failed(experiment, TREE_GONE, world)
            no_changes += 1
            if built.strays or not world.agent_can_retry or no_changes >= MAX_NO_CHANGE_TURNS:
                return _without_candidate(experiment, built, no_changes, turn.denials)
            attempt += 1
            continue
        refused = _refused(experiment, built, world)
        if refused is not None:
            return refused
        step = _measured(experiment, world, attempt, built, stored)
        if isinstance(step, _Repairable):
            if repairs < _max_repairs(world):
                repairs, repair, attempt, unrepaired = repairs + 1, step.detail, attempt + 1, step.otherwise
                continue
            return step.otherwise
        return step


@dataclass(frozen=True)
class _Repairable:
    """A failure that the same agent may mend in one more turn."""

    detail: str
    otherwise: Conclude


def _max_repairs(world: World) -> int:
    return world.spec.agent.max_repairs if world.agent_can_retry and world.spec.agent else 0


def _ended(experiment: Experiment, outcome: Outcome, **facts: Any) -> Conclude:
    return Conclude(ExperimentEnded(iteration=experiment.iteration, outcome=outcome.value, **facts))


def _ended_by_turn(experiment: Experiment, turn: AgentTurnEnded) -> Conclude:
    if turn.status is TurnStatus.NEEDS_DEPENDENCY:
        needed = ", ".join(turn.deferred_deps) or "unnamed"
        return _ended(
            experiment, Outcome.DEFERRED_NEEDS_APPROVAL, deferred_reason=f"needs an unapproved dependency: {needed}"
        )
    return _ended(experiment, Outcome.ERROR, error_message=turn.reason, learnings=turn.learnings)


def _without_candidate(experiment: Experiment, built: CandidateBuilt, turns: int, denials: tuple[str, ...]) -> Conclude:
    if built.strays:
        paths = ", ".join(s.path for s in built.strays[:5])
        return _ended(
            experiment,
            Outcome.ERROR,
            error_message=f"no change inside the mutable scope; changed outside it: {paths}",
            learnings="Only files outside the mutable scope were changed; nothing was measured.",
        )
    reason = "the turn changed nothing" if turns == 1 else f"{turns} turns changed nothing"
    refused = f"; the agent was not permitted: {', '.join(denials)}" if denials else ""
    return _dropped(experiment, reason + refused)


def _dropped(experiment: Experiment, reason: str, returns: bool = False) -> Conclude:
    return Conclude(HypothesisDropped(iteration=experiment.iteration, reason=reason, returns_to_backlog=returns))


def _turn_failed(experiment: Experiment, turn: AgentTurnEnded, world: World) -> Conclude:
    """Give a hypothesis back whose turn came to nothing; what a model's service does is no fault of the hypothesis."""
    if turn.trouble is not None and turn.trouble.is_passing:
        return _dropped(experiment, turn.reason, returns=True)
    return _agent_failed(experiment, turn.reason, world)


def _agent_failed(experiment: Experiment, reason: str, world: World) -> Conclude:
    """Give a hypothesis back whose agent failed: that is no experiment; after three tries it is dropped for good.

    While the agent fails in a row and the run is about to be blocked, that is no fault of the hypothesis: it stays.
    """
    tries = ((experiment.item.headway.attempts if experiment.item.headway else 0) or 0) + 1
    if tries >= MAX_AGENT_FAILURES and world.agent.failures < MAX_AGENT_FAILURES:
        return _dropped(experiment, f"the agent failed {tries} times on it: {reason}")
    return _dropped(experiment, reason, returns=True)


def _usd_left(experiment: Experiment, world: World) -> float | None:
    """Give what the turns on one hypothesis may still cost of `agent.max_cost_usd`; None where there is no limit.

    A turn whose cost is unknown leaves nothing: it may have cost all of it.
    """
    limit = world.spec.agent.max_cost_usd if world.spec.agent else None
    if limit is None:
        return None
    turns = [e for e in world.results.values() if isinstance(e, AgentTurnEnded) and e.iteration == experiment.iteration]
    costs = [t.usd for t in turns]
    if None in costs:
        return 0.0
    return max(limit - sum(usd for usd in costs if usd is not None), 0.0)


def _session_after(before: AgentSession | None, turn: AgentTurnEnded) -> AgentSession | None:
    """Give the conversation that a turn left, with what all its turns spent; None where the agent has none."""
    if not turn.session:
        return None
    if before is None or before.id != turn.session:
        return AgentSession(id=turn.session, spent=turn.usage)
    if before.spent is None or turn.usage is None:
        return AgentSession(id=turn.session)
    return AgentSession(id=turn.session, spent=before.spent.plus(turn.usage))


def _refused(experiment: Experiment, built: CandidateBuilt, world: World) -> Conclude | None:
    """Give the end of a candidate that is not to be measured: tampering under `revert`, or a repeat."""
    if built.strays and world.spec.tamper_policy == "revert":
        paths = ", ".join(s.path for s in built.strays[:5])
        return _ended(
            experiment, Outcome.REVERTED, learnings=f"Tampering (policy revert): changed {paths}; not measured."
        )
    if samples_of(experiment.iteration, built.attempt, SessionKind.STANDALONE, Side.CANDIDATE, world.results):
        return None  # its own measurement has begun: what another measured since makes no repeat of it
    earlier = world.measured.get((built.base_tree or "", built.tree or "")) or _eligible_twin(built, world)
    if earlier is None or earlier.iteration == experiment.iteration:
        return None
    bad = earlier.outcome in (Outcome.DEGENERATE, Outcome.ERROR, Outcome.TIMEOUT)
    facts: dict[str, Any] = {
        "repeat_of": earlier.iteration,
        "learnings": f"Same code as experiment {earlier.iteration}.",
    }
    if earlier.outcome in (Outcome.ERROR, Outcome.TIMEOUT):
        facts["error_message"] = f"same code as experiment {earlier.iteration}, which ended as {earlier.outcome}"
    return _ended(experiment, Outcome(earlier.outcome) if bad else Outcome.INCONCLUSIVE, **facts)


def _eligible_twin(built: CandidateBuilt, world: World) -> MeasuredPair | None:
    """Give the experiment of the open batch that has measured the same code already and waits for integration."""
    for other in world.results.values():
        if not isinstance(other, CandidateBuilt) or other.iteration == built.iteration or other.commit is None:
            continue
        key = experiment_key(other.iteration)
        is_decided = f"{key}/decide/{SessionKind.STANDALONE}" in world.results
        is_last = f"{key}/build/{other.attempt + 1}" not in world.results
        if is_decided and is_last and (other.base_tree, other.tree) == (built.base_tree, built.tree):
            return MeasuredPair(other.iteration, Outcome.MEASURED)
    return None


def _measured(
    experiment: Experiment, world: World, attempt: int, built: CandidateBuilt, stored: Mapping[str, Any]
) -> PrepareCheckout | Measure | Conclude | Decided | Broken | _Repairable:
    commit = built.commit or ""
    results = world.results
    ready = results.get(f"{experiment_key(experiment.iteration)}/setup/{SessionKind.STANDALONE}/{attempt}")
    if not isinstance(ready, CheckoutPrepared):
        return PrepareCheckout(experiment.iteration, attempt, SessionKind.STANDALONE, commit)
    if not ready.ok:
        return _Repairable(f"{ready.stage} failed:\n{ready.detail}", _preparation_failed(experiment, ready))
    decided = results.get(f"{experiment_key(experiment.iteration)}/decide/{SessionKind.STANDALONE}")
    is_last = f"{experiment_key(experiment.iteration)}/author/{attempt + 1}" not in results
    if isinstance(decided, SessionEnded) and is_last:  # what was decided is the repaired candidate, if there was one
        return Decided(decided.answer, attempt, built)
    step = session_step(experiment.iteration, attempt, SessionKind.STANDALONE, commit, world, stored)
    if (
        isinstance(step, Conclude)
        and isinstance(step.event, ExperimentEnded)
        and _crashed_at_once(experiment, attempt, results)
    ):
        return _Repairable(f"the measurement failed:\n{step.event.error_message}", step)
    return step


def _preparation_failed(experiment: Experiment, ready: CheckoutPrepared) -> Conclude:
    if ready.stage in (Stage.CHECKS, Stage.SMOKE):
        return _ended(experiment, Outcome.DEGENERATE, learnings=f"{ready.stage} failed: {_first_line(ready.detail)}")
    return _ended(experiment, Outcome.ERROR, error_message=f"{ready.stage} failed: {ready.detail}")


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no output"


def _crashed_at_once(experiment: Experiment, attempt: int, results: Mapping[str, Event]) -> bool:
    """Say whether the candidate's very first sample of this attempt was invalid: a repair may mend it."""
    first = results.get(measure_key(experiment.iteration, attempt, SessionKind.STANDALONE, Side.CANDIDATE, 1))
    return isinstance(first, SampleTaken) and first.status is SampleStatus.INVALID


def session_step(
    iteration: int, attempt: int, kind: SessionKind, commit: str, world: World, stored: Mapping[str, Any]
) -> Measure | Conclude | Broken:
    """Say what a measuring session needs next: one more sample, or the decision written down.

    Args:
        iteration: the experiment's number.
        attempt: which of its candidates.
        kind: alone, or combined with the winner.
        commit: the commit under measurement.
        world: results so far, the reference and the spec.
        stored: the reference's stored snapshot.
    Returns: the next sample's order, or the conclusion, or `Broken` when the reference itself fails.
    """
    candidate = samples_of(iteration, attempt, kind, Side.CANDIDATE, world.results)
    reference = samples_of(iteration, attempt, kind, Side.REFERENCE, world.results)
    for taken_so_far in (candidate, reference):
        if taken_so_far and taken_so_far[-1].status is SampleStatus.LOST:
            return Conclude(
                ExperimentEnded(
                    iteration=iteration,
                    outcome=(Outcome.ERROR if kind is SessionKind.STANDALONE else Outcome.RUNNER_UP_REVERTED).value,
                    error_message=taken_so_far[-1].reason,
                )
            )
    smoke = True if world.spec.measurement.stability.ladder.smoke_command else None
    built = world.results.get(f"{experiment_key(iteration)}/build/{attempt}")
    run = None
    if world.deciding is not None:
        own = built if isinstance(built, CandidateBuilt) and kind is SessionKind.STANDALONE else None
        run = world.deciding.part_for(world.reference, iteration, kind, own)
    step = next_step(
        Session(
            spec=world.spec,
            reference=stored,
            smoke_passed=smoke,
            candidate=tuple(taken(s) for s in candidate),
            reference_samples=tuple(taken(s) for s in reference),
            elapsed_seconds=sum(s.elapsed_seconds for s in candidate),
            run=run,
        )
    )
    if isinstance(step, ReferenceBroken):
        said = f"not decided, for the reference failed: {step.reason}"
        return Broken(step.reason, Conclude(_set_back(iteration, kind, said)) if reference else None)
    if isinstance(step, Take):
        side = Side.CANDIDATE if step.side == "candidate" else Side.REFERENCE
        index = len(candidate if side is Side.CANDIDATE else reference) + 1
        measured = commit if side is Side.CANDIDATE else world.reference
        return Measure(iteration, attempt, kind, side, index, measured, step.pair)
    return _conclusion(iteration, kind, step, candidate)


def _set_back(iteration: int, kind: SessionKind, said: str) -> ExperimentEnded:
    """Give the end of an experiment that could not be decided through no fault of its own: it comes back as it is."""
    outcome = Outcome.ERROR if kind is SessionKind.STANDALONE else Outcome.NOT_SELECTED
    words = {"error_message": said} if outcome is Outcome.ERROR else {"learnings": said}
    return ExperimentEnded.model_validate(
        {"iteration": iteration, "outcome": outcome.value, "returns_to_backlog": True, **words}
    )


def half_measured(world: World) -> tuple[ExperimentEnded, ...]:
    """Give the ends of experiments that a move to other ground caught in the middle of a session.

    Samples of two machines make no pair, so they come back and are measured anew; what was decided stays.

    Args:
        world: the facts of the open batch.
    """
    taken_of = {(e.iteration, e.session) for e in world.results.values() if isinstance(e, SampleTaken) and e.iteration}
    decided = {(e.iteration, e.session) for e in world.results.values() if isinstance(e, SessionEnded)}
    ended = {e.iteration for e in world.results.values() if isinstance(e, ExperimentEnded)}
    return tuple(
        _set_back(
            iteration, kind, "not decided, for it was measured in part on another machine or with another harness"
        )
        for iteration, kind in sorted(taken_of - decided)
        if iteration not in ended
    )


def _conclusion(iteration: int, kind: SessionKind, step: Ended, samples: tuple[SampleTaken, ...]) -> Conclude:
    if step.outcome in ("error", "timeout"):
        reason = samples[-1].reason if samples else str(step.answer.get("reason", ""))
        outcome = Outcome(step.outcome) if kind is SessionKind.STANDALONE else Outcome.RUNNER_UP_REVERTED
        return Conclude(ExperimentEnded(iteration=iteration, outcome=outcome.value, error_message=reason))
    return Conclude(SessionEnded(iteration=iteration, session=kind, answer=dict(step.answer)))


def samples_of(
    iteration: int, attempt: int, kind: SessionKind, side: Side, results: Mapping[str, Event]
) -> tuple[SampleTaken, ...]:
    """Give one side's samples of a session so far, in the order in which they were taken."""
    found: list[SampleTaken] = []
    while True:
        sample = results.get(measure_key(iteration, attempt, kind, side, len(found) + 1))
        if not isinstance(sample, SampleTaken):
            return tuple(found)
        found.append(sample)


def runner_up_step(
    experiment: Experiment, decided: Decided, merged_with: int, world: World, stored: Mapping[str, Any]
) -> Action | Broken:
    """Say what a runner-up needs next on its way onto the new reference.

    Args:
        experiment: the runner-up.
        decided: its own session's decision and candidate.
        merged_with: number of the experiment that is the reference now.
        world: results, and the new reference.
        stored: the new reference's stored snapshot.
    Returns: combine, prepare, measure, integrate, or the conclusion.
    Source: CONTRACTS section 6 (Winner).
    """
    results, key = world.results, experiment_key(experiment.iteration)
    combined = results.get(f"{key}/combine")
    if not isinstance(combined, RunnerUpCombined):
        commit = decided.candidate.commit or ""
        return MergeRunnerUp(
            experiment.iteration, experiment.item, experiment.base, commit, world.reference, merged_with
        )
    if combined.commit is None:
        return _ended(
            experiment,
            Outcome.NOT_SELECTED,
            learnings=f"Eligible, but does not combine with experiment {merged_with}: {combined.conflict}",
            returns_to_backlog=True,
        )
    ready = results.get(f"{key}/setup/{SessionKind.INTEGRATED}/{decided.attempt}")
    if not isinstance(ready, CheckoutPrepared):
        return PrepareCheckout(experiment.iteration, decided.attempt, SessionKind.INTEGRATED, combined.commit)
    if not ready.ok:
        return _ended(
            experiment,
            Outcome.RUNNER_UP_REVERTED,
            learnings=f"Combined with experiment {merged_with}: {ready.stage} failed: {_first_line(ready.detail)}",
            merged_with=merged_with,
        )
    verdict = results.get(f"{key}/decide/{SessionKind.INTEGRATED}")
    if not isinstance(verdict, SessionEnded):
        step = session_step(
            experiment.iteration, decided.attempt, SessionKind.INTEGRATED, combined.commit, world, stored
        )
        if isinstance(step, Conclude) and isinstance(step.event, ExperimentEnded):
            return Conclude(step.event.model_copy(update={"merged_with": merged_with}))
        return step
    if verdict.answer["decision"] == "keep":
        return Integrate(experiment.iteration, SessionKind.INTEGRATED, combined.commit, combined.onto, merged_with)
    return _ended(
        experiment,
        Outcome.RUNNER_UP_REVERTED,
        learnings=f"Combined with experiment {merged_with}: {verdict.answer['reason']}",
        merged_with=merged_with,
    )


def experiment_of(iteration: int, item: BacklogItem, world: World) -> Experiment:
    """Give an open experiment; its reference and its tree are those noted at its dispatch."""
    dispatched = world.results.get(f"{experiment_key(iteration)}/dispatch")
    if not isinstance(dispatched, HypothesisDispatched):
        return Experiment(iteration, item, world.reference)
    return Experiment(iteration, item, dispatched.base, dispatched.tree)
