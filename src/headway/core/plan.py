"""What to do next: `plan(log, world, now) -> actions`.

Source: CONTRACTS section 4 (a tick has three phases: author, measure, integrate); DESIGN section 1.
"""

from collections.abc import Mapping
from typing import Any

from headway.core.actions import (
    Action,
    Author,
    AwaitApproval,
    BuildCandidate,
    Conclude,
    Dispatch,
    Integrate,
    Measure,
    PrepareCheckout,
    Propose,
    Stop,
    Wait,
)
from headway.core.agent_health import MAX_AGENT_FAILURES
from headway.core.backlog import choose_batch, deferred
from headway.core.events import (
    BatchEnded,
    CandidateBuilt,
    CandidateIntegrated,
    EffortChosen,
    ExperimentEnded,
    HypothesisDeferred,
    RunnerUpCombined,
    RunStopped,
    SessionKind,
    experiment_key,
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
from headway.core.final_checking import final_step
from headway.core.log_view import Log
from headway.core.records import BacklogItem, Entry, Outcome
from headway.core.stopping import BY_HAND, blocked_by, reason_to_stop
from headway.core.world import World

OUTCOME_OF_DECISION: Mapping[str, Outcome] = {
    "revert": Outcome.REVERTED,
    "inconclusive": Outcome.INCONCLUSIVE,
    "censored": Outcome.CENSORED,
    "degenerate": Outcome.DEGENERATE,
    "error": Outcome.ERROR,
}
"""Where a decision that is no keep ends; `keep` stays `measured` until it is integrated."""


def plan(log: Log, world: World, now: float) -> tuple[Action, ...]:
    """Say every action that may start now.

    Args:
        log: the log, read back from disk.
        world: what else is known: the frozen spec, results so far, what was asked for.
        now: wall clock, seconds since the epoch.
    Returns: actions with stable ids; those that run already are among them, and the caller starts the others.
        nothing when the run is closing and the final check is over.
        `Wait` alone when all that can be done is under way, `Stop` alone when the loop is over.
    """
    if world.is_closing:
        step = final_step(log, world)
        return () if step is None else (step,)
    if not world.approved:
        return (AwaitApproval(),)
    if log.backlog is None:
        return (Propose(),)
    experiments = open_experiments(log, world)
    if experiments:
        if world.stop is not None:
            return _when_idle(world, Stop(_stop_asked(log, world)))
        return _open_batch(log, world, experiments)
    if log.of_batch(log.ticks + 1):
        return (Conclude(BatchEnded(batch=log.ticks + 1)),)
    stop = reason_to_stop(log, world, now)
    if stop is not None:
        return _final_check(log, world, stop) or _deferrals(log, world, stop) or _when_idle(world, Stop(stop))
    if world.agent.failures >= MAX_AGENT_FAILURES:
        return (Stop(blocked_by("agent_unavailable", world.agent.trouble)),)
    if now < world.agent.rests_until:
        return (Wait(()),)
    return _effort(world) or _new_batch(log, world)


def _effort(world: World) -> tuple[Action, ...]:
    """Give the record of the effort that `auto` has come to, once; between two batches, so that none is switched."""
    deciding = world.deciding
    if deciding is None or deciding.found is None:
        return ()
    found, since_k = deciding.found, deciding.measured
    return (Conclude(EffortChosen(effort=found.effort.value, share=found.share, reason=found.reason, since_k=since_k)),)


def _final_check(log: Log, world: World, stop: RunStopped) -> tuple[Action, ...]:
    """Give what the final check needs before a run stops for good; nothing where a person stops it."""
    step = None if stop.reason in BY_HAND else final_step(log, world)
    return () if step is None else (step,)


def _deferrals(log: Log, world: World, stop: RunStopped) -> tuple[Action, ...]:
    """Give the entries that show, at wrap-up, which hypotheses wait for a dependency; each is shown once."""
    if stop.reason in BY_HAND:
        return ()
    waiting = deferred(log.backlog or (), _approved_deps(log, world))
    fresh = [item for item in waiting if not (item.headway and item.headway.retry_of is not None)]
    return tuple(
        Conclude(
            HypothesisDeferred(
                iteration=world.highest_iteration + 1 + i,
                batch=max(log.ticks, 1),
                item=item,
                reason=f"needs approval of: {', '.join(item.required_deps) or 'a dependency that it does not name'}",
            )
        )
        for i, item in enumerate(fresh)
    )


def _stop_asked(log: Log, world: World) -> RunStopped:
    stop = reason_to_stop(log, world, 0.0)
    assert stop is not None, "a stop that was asked for is a reason to stop"
    return stop


def _when_idle(world: World, *actions: Action) -> tuple[Action, ...]:
    """Give the actions once nothing is under way; until then, wait."""
    return (Wait(tuple(sorted(world.running))),) if world.running else actions


def open_experiments(log: Log, world: World) -> tuple[Experiment, ...]:
    """Give what was dispatched in the open batch and has no final outcome yet, in order of numbers."""
    waiting = {
        w.headway.iteration: w.headway.hypothesis
        for w in log.dispatched
        if w.headway and w.headway.iteration is not None and w.headway.hypothesis is not None
    }
    entries = {e.iteration: _item_of(e) for e in log.of_batch(log.ticks + 1) if not Outcome(e.outcome).is_final}
    found = {**entries, **waiting}
    return tuple(experiment_of(n, item, world) for n, item in sorted(found.items()))


def _item_of(entry: Entry) -> BacklogItem:
    """Give the hypothesis of an entry; the dispatch record holds it whole, this is what briefs need of it."""
    return BacklogItem.model_validate(
        {
            "description": entry.hypothesis or "",
            "category": entry.category or "",
            "headway": {"id": entry.headway.hypothesis_id} if entry.headway and entry.headway.hypothesis_id else {},
        }
    )


def _new_batch(log: Log, world: World) -> tuple[Action, ...]:
    chosen = choose_batch(log.backlog or (), _room(log, world), _approved_deps(log, world))
    first = world.highest_iteration + 1
    return tuple(Dispatch(first + i, log.ticks + 1, item, world.reference) for i, item in enumerate(chosen))


def _room(log: Log, world: World) -> int:
    """Give how many hypotheses the next batch may hold: concurrency, and what `max_iterations` leaves."""
    limit = world.spec.stopping.max_iterations
    room = world.spec.effective_concurrency
    return room if limit is None else min(room, limit - iterations_used(log))


def iterations_used(log: Log) -> int:
    """Count what `max_iterations` counts: every experiment but the deferred ones."""
    totals = log.run_state.headway.totals if log.run_state and log.run_state.headway else None
    if totals is None:
        return 0
    return sum(n for outcome, n in (totals.counts or {}).items() if outcome != Outcome.DEFERRED_NEEDS_APPROVAL)


def _approved_deps(log: Log, world: World) -> frozenset[str]:
    extension = log.run_state.headway if log.run_state else None
    return frozenset(world.spec.dependencies.approved) | frozenset((extension.approved_deps or ()) if extension else ())


def _open_batch(log: Log, world: World, experiments: tuple[Experiment, ...]) -> tuple[Action, ...]:
    stored = stored_reference(log)
    steps = {e.iteration: next_step_of(e, world, stored) for e in experiments}
    for step in steps.values():
        if isinstance(step, Broken):
            return _blocked(world, step)
    ended = [s for s in steps.values() if isinstance(s, Conclude)]
    ended += [c for e in experiments if (c := _end_of_decision(e, steps[e.iteration])) is not None]
    if ended:
        return tuple(ended)
    return _phase(world, steps) or _integrate(log, world, experiments, steps, stored)


def _blocked(world: World, broken: Broken) -> tuple[Action, ...]:
    """Give the stop of a run whose reference fails, once nothing is under way; a resumed run measures anew."""
    stop = Stop(blocked_by("reference_broken", broken.reason))
    return _when_idle(world, *(() if broken.end is None else (broken.end,)), stop)


def _end_of_decision(experiment: Experiment, step: Step) -> Conclude | None:
    if not isinstance(step, Decided) or step.answer["decision"] == "keep":
        return None
    outcome = OUTCOME_OF_DECISION[step.answer["decision"]]
    message = step.answer["reason"] if outcome is Outcome.ERROR else ""
    return Conclude(
        ExperimentEnded(
            iteration=experiment.iteration,
            outcome=outcome.value,
            error_message=message,
            learnings=f"Decision: {step.answer['reason']}",
        )
    )


def _phase(world: World, steps: Mapping[int, Step]) -> tuple[Action, ...]:
    """Give the author phase's actions, or one candidate's next measuring step.

    With `exclusive: machine` no author works while something is measured; with `none` both may go on at once.
    """
    authors: list[Action] = [s for s in steps.values() if isinstance(s, Author | BuildCandidate)]
    measuring = [s for s in steps.values() if isinstance(s, PrepareCheckout | Measure)]
    measuring.sort(key=lambda s: (not _has_begun(s, world), s.iteration))
    authors = authors[: world.spec.effective_concurrency]
    if world.spec.measurement.exclusive == "none":
        return (*authors, *measuring[:1])
    busy = [s for s in measuring if s.id in world.running]
    if busy:
        return tuple(busy[:1])
    return tuple(authors) if authors else tuple(measuring[:1])


def _has_begun(step: PrepareCheckout | Measure, world: World) -> bool:
    """Say whether a candidate's session is under way: it goes on to its end before another one begins."""
    return isinstance(step, Measure) or step.id in world.running


def stored_reference(log: Log) -> Mapping[str, Any]:
    """Give the stored snapshot of the current best, as the family's rules compare with it."""
    metrics = log.best.model_dump(mode="json", exclude_unset=True).get("metrics") or {}
    baseline = log.baseline.model_dump(mode="json", exclude_unset=True)
    return {"metrics": metrics, "gates": baseline.get("gates") or {}, "diagnostics": baseline.get("diagnostics") or {}}


def _integrate(
    log: Log,
    world: World,
    experiments: tuple[Experiment, ...],
    steps: Mapping[int, Step],
    stored: Mapping[str, Any],
) -> tuple[Action, ...]:
    """Give the integration phase: the winner, then runners-up one by one, then the leftovers' end."""
    eligible = [(e, d) for e in experiments if isinstance(d := steps[e.iteration], Decided)]
    eligible.sort(key=lambda pair: (-float(pair[1].answer.get("rank_score") or 0.0), pair[0].iteration))
    winner = _winner_of(log)
    if winner is None:
        first, decided = eligible[0]
        return (Integrate(first.iteration, SessionKind.STANDALONE, decided.candidate.commit or "", world.reference),)
    return _runners_up(log, world, eligible, stored)


def _winner_of(log: Log) -> Entry | None:
    kept = [e for e in log.of_batch(log.ticks + 1) if e.outcome == Outcome.KEPT]
    return kept[0] if kept else None


def _runners_up(
    log: Log, world: World, eligible: list[tuple[Experiment, Decided]], stored: Mapping[str, Any]
) -> tuple[Action, ...]:
    tried = _combinations_tried(log, world)
    failed = any(isinstance(r, RunnerUpCombined) and r.commit is None for r in world.results.values()) or any(
        e.outcome == Outcome.RUNNER_UP_REVERTED for e in log.of_batch(log.ticks + 1)
    )
    for experiment, decided in eligible:
        begun = isinstance(world.results.get(f"{experiment_key(experiment.iteration)}/combine"), RunnerUpCombined)
        if begun or not (failed or tried >= world.spec.max_runner_up_merges_per_batch or _overlaps(world, decided)):
            step = runner_up_step(experiment, decided, log.best.iteration or 0, world, stored)
            return _blocked(world, step) if isinstance(step, Broken) else (step,)
    return tuple(
        Conclude(
            ExperimentEnded(
                iteration=e.iteration,
                outcome=Outcome.NOT_SELECTED.value,
                learnings="Eligible, but another of its batch was integrated; comes back once on the new reference.",
                returns_to_backlog=True,
            )
        )
        for e, _ in eligible
    )


def _combinations_tried(log: Log, world: World) -> int:
    return sum(1 for r in world.results.values() if isinstance(r, RunnerUpCombined))


def _overlaps(world: World, decided: Decided) -> bool:
    """Say whether a runner-up shares a file with what was integrated in this batch (`runner_up: files`)."""
    if world.spec.runner_up != "files":
        return False
    integrated = {r.iteration for r in world.results.values() if isinstance(r, CandidateIntegrated)}
    taken = {
        change.file
        for r in world.results.values()
        if isinstance(r, CandidateBuilt) and r.iteration in integrated
        for change in r.changes
    }
    return any(change.file in taken for change in decided.candidate.changes)
