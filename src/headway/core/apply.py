"""`apply(log, event, world) -> edits`: the only way in which the log changes.

An event changes its own experiment's entry or a section, nothing else. Applying an event a second time
(after a crash between record and commit) gives no edits.

Source: STYLE section 3; CONTRACTS sections 2, 5 and 6.
"""

from collections.abc import Sequence
from typing import Any

from headway.core import entries
from headway.core.backlog import without
from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.core.events import (
    AgentTurnEnded,
    BacklogExtended,
    BatchEnded,
    CandidateBuilt,
    CandidateIntegrated,
    CheckoutPrepared,
    EffortChosen,
    EnvironmentSeen,
    Event,
    ExperimentEnded,
    FinalCheckEnded,
    GateReached,
    HypothesisDeferred,
    HypothesisDispatched,
    HypothesisDropped,
    IntegrationStarted,
    NoticeGiven,
    RunnerUpCombined,
    RunResumed,
    RunStopped,
    SampleTaken,
    SessionEnded,
    SessionKind,
)
from headway.core.final_checking import edits_of_end, edits_of_sample
from headway.core.log_view import Log, edited
from headway.core.records import (
    BacklogHeadway,
    BacklogItem,
    DepStatus,
    Dropped,
    EffortRow,
    Entry,
    Notice,
    Outcome,
    PendingWait,
    RunState,
    RunStateHeadway,
    RunStatus,
    Stop,
    Totals,
    WaitHeadway,
    to_row,
)
from headway.core.totals import totals_after
from headway.core.world import World


def apply(log: Log, event: Event, world: World) -> tuple[Edit, ...]:
    """Say how the log changes because of this fact.

    Args:
        log: the log as it is.
        event: the fact; its own result need not be in `world` yet.
        world: results so far, for what an entry draws from earlier facts of its experiment.
    Returns: edits for one commit; empty when the log holds the fact already, or need not hold it.
    """
    match event:
        case HypothesisDispatched():
            return _dispatched(log, event)
        case SampleTaken(session=SessionKind.FINAL):
            return _final_sample(log, event, world)
        case FinalCheckEnded():
            return edits_of_end(log, event)
        case SampleTaken() | SessionEnded():
            edits = _entry_edits(log, event, world, entries.entry_after(log, event, world))
            return (*edits, *_moved(edited(log, edits), event)) if edits else ()
        case ExperimentEnded():
            return _experiment_ended(log, event, world)
        case CandidateIntegrated():
            return _integrated(log, event, world)
        case HypothesisDropped():
            return _dropped(log, event, world)
        case HypothesisDeferred():
            return _deferred(log, event)
        case BacklogExtended():
            return _extended(log, event)
        case BatchEnded():
            return _batch_ended(log, event)
        case RunStopped():
            return stopped_edits(log, event)
        case RunResumed():
            return _resumed(log, event)
        case NoticeGiven():
            return _state(log, event, _noticed(log, event.at, (event.text,)))
        case EffortChosen():
            return _effort_chosen(log, event)
        case EnvironmentSeen():
            return _environment_seen(log, event)
        case GateReached():
            return _at_gate(log, event)
        case AgentTurnEnded() | CandidateBuilt() | CheckoutPrepared() | IntegrationStarted() | RunnerUpCombined():
            return ()


def _extension(log: Log) -> RunStateHeadway:
    return (log.run_state.headway if log.run_state else None) or RunStateHeadway()


def _state(log: Log, event: Event, extension: RunStateHeadway, **changes: Any) -> tuple[Edit, ...]:
    """Give the edit that sets `run_state`, with the active clock moved on; none when nothing changes."""
    before = log.run_state
    clock = max(event.active_seconds, log.active_seconds)
    seconds = int(clock) if clock == int(clock) else round(clock, 3)
    base: dict[str, Any] = {
        "status": before.status if before else RunStatus.RUNNING,
        "tick": (before.tick or 0) if before else 0,
        **({"phase3_started_at": before.phase3_started_at} if before and before.phase3_started_at else {}),
        "active_seconds": seconds,
        "pending_waits": before.pending_waits if before else (),
    }
    after = RunState(**{**base, **changes}, headway=extension)
    if before is not None and after == before.model_copy(update={"active_seconds": after.active_seconds}):
        return ()
    return (SetSection("run_state", to_row(after)),)


def _backlog_rows(items: Sequence[BacklogItem]) -> SetSection:
    return SetSection("hypothesis_backlog", [to_row(item) for item in items])


def _dispatched(log: Log, event: HypothesisDispatched) -> tuple[Edit, ...]:
    if any(w.headway and w.headway.iteration == event.iteration for w in log.waits) or event.iteration in log.recent:
        return ()
    wait = PendingWait(
        item=f"exp {event.iteration} author 1",
        arrives_as=event.arrives_as,
        wake=event.wake,
        on_arrival="collect",
        headway=WaitHeadway(hypothesis=event.item, iteration=event.iteration, batch=event.batch),
    )
    started = log.run_state.phase3_started_at if log.run_state else None
    extension = _extension(log)
    return (
        *_state(
            log,
            event,
            extension.model_copy(update={"stop": None, "totals": extension.totals or Totals()}),
            status=RunStatus.RUNNING,
            phase3_started_at=started or event.at,
            pending_waits=(*log.waits, wait),
        ),
        _backlog_rows(without(log.backlog or (), event.item)),
    )


def _entry_edits(
    log: Log, event: Event, world: World, after: Entry | None, backlog: Sequence[BacklogItem] | None = None
) -> tuple[Edit, ...]:
    """Give the edits that put one entry's new row in its place, with totals, waits and backlog that follow from it."""
    if after is None:
        return ()
    before = log.recent.get(after.iteration)
    if before is not None and after == before:
        return ()
    row = to_row(after)
    change = AppendExperiment(row) if before is None else ReplaceExperiment(after.iteration, row)
    extension = _extension(log)
    totals = totals_after(extension.totals or Totals(), before, after)
    totals = totals.model_copy(update={"cost": entries.cost_after(totals.cost, before, after)})
    waits = tuple(w for w in log.waits if not (w.headway and w.headway.iteration == after.iteration))
    state = _state(log, event, extension.model_copy(update={"totals": totals}), pending_waits=waits)
    if not state and Outcome(after.outcome).is_final is False:
        state = _clock(log, event)
    edits: tuple[Edit, ...] = (change, *_spend(log, totals), *state)
    return edits if backlog is None else (*edits, _backlog_rows(backlog))


def _clock(log: Log, event: Event) -> tuple[Edit, ...]:
    """Give the edit that only moves the active clock: every CP-3 commit carries it."""
    if log.run_state is None or event.active_seconds <= log.active_seconds:
        return ()
    moved = log.run_state.model_copy(update={"active_seconds": round(event.active_seconds, 3)})
    return (SetSection("run_state", to_row(moved)),)


def _spend(log: Log, totals: Totals) -> tuple[Edit, ...]:
    """Give the edit that carries the spend so far into `best`; none when it did not change."""
    best = entries.with_spend(log.best, totals)
    return () if best == log.best else (SetSection("best", to_row(best)),)


def _experiment_ended(log: Log, event: ExperimentEnded, world: World) -> tuple[Edit, ...]:
    before = log.recent.get(event.iteration)
    if before is not None and Outcome(before.outcome).is_final:
        return ()
    after = entries.ended(log, event, world)
    if after is None:
        return ()
    backlog = None
    item = entries.item_of(event.iteration, world)
    if event.returns_to_backlog and item is not None:
        backlog = _returned(log, item, event.iteration, world)
    if event.outcome == Outcome.DEFERRED_NEEDS_APPROVAL and item is not None:
        backlog = _needs_approval(log, item, event)
    return _entry_edits(log, event, world, after, backlog)


def _returned(log: Log, item: BacklogItem, iteration: int, world: World) -> Sequence[BacklogItem] | None:
    """Give the backlog with an eligible leftover at its head, once, with its patch."""
    extension = item.headway or BacklogHeadway()
    if "retry_base" in (extension.payload or {}):
        return None
    built = entries.candidate_of(iteration, world)
    payload = {**(extension.payload or {}), "retry_base": entries.base_of(iteration, world)}
    if built is not None and built.commit:
        payload["retry_commit"] = built.commit
    back = extension.model_copy(
        update={"retry_of": iteration, "payload": payload, "attempts": (extension.attempts or 0) + 1}
    )
    return _at_head(log.backlog or (), BacklogItem.model_validate({**to_row(item), "headway": to_row(back)}), iteration)


def _at_head(backlog: Sequence[BacklogItem], item: BacklogItem, iteration: int) -> Sequence[BacklogItem]:
    """Put a leftover at the head, by number behind those that are back already: no order of facts counts."""
    ahead = 0
    while ahead < len(backlog):
        own = backlog[ahead].headway
        if own is None or own.retry_of is None or own.retry_of > iteration:
            break
        ahead += 1
    return (*backlog[:ahead], item, *backlog[ahead:])


def _needs_approval(log: Log, item: BacklogItem, event: ExperimentEnded) -> Sequence[BacklogItem]:
    """Give the backlog with a hypothesis whose need of a dependency was found midway: it is shown once."""
    named = entries.dependencies_asked(item, event.deferred_reason)
    needed = tuple(dict.fromkeys((*item.required_deps, *named)))
    back = item.model_copy(
        update={
            "dep_status": DepStatus.NEEDS_APPROVAL,
            "required_deps": needed,
            "headway": (item.headway or BacklogHeadway()).model_copy(update={"retry_of": event.iteration}),
        }
    )
    return (*(log.backlog or ()), back)


def _integrated(log: Log, event: CandidateIntegrated, world: World) -> tuple[Edit, ...]:
    before = log.recent.get(event.iteration)
    if before is None or before.outcome in (Outcome.KEPT, Outcome.RUNNER_UP_KEPT):
        return ()
    after = entries.integrated(before, event)
    edits = _entry_edits(log, event, world, after)
    best = SetSection("best", to_row(entries.best_after(log, after, event, edits, world)))
    return (*(e for e in edits if not (isinstance(e, SetSection) and e.name == "best")), best)


def _dropped(log: Log, event: HypothesisDropped, world: World) -> tuple[Edit, ...]:
    wait = next((w for w in log.waits if w.headway and w.headway.iteration == event.iteration), None)
    if wait is None or wait.headway is None or wait.headway.hypothesis is None:
        return ()
    item = wait.headway.hypothesis
    waits = tuple(w for w in log.waits if w is not wait)
    extension = _extension(log)
    usage = entries.usage_of(event.iteration, world)
    totals = extension.totals or Totals()
    totals = totals.model_copy(update={"cost": entries.cost_with_turns(totals.cost, usage)})
    extension = extension.model_copy(update={"totals": totals})
    spend = _spend(log, totals)
    if event.returns_to_backlog:
        own = item.headway or BacklogHeadway()
        back = item.model_copy(update={"headway": own.model_copy(update={"attempts": (own.attempts or 0) + 1})})
        state = _state(log, event, extension, pending_waits=waits)
        return (*spend, *state, _backlog_rows((*(log.backlog or ()), back)))
    facts: dict[str, Any] = {"description": item.description, "reason": event.reason}
    if item.headway and item.headway.id:
        facts["hypothesis_id"] = item.headway.id
    if usage is not None:
        facts["usage"] = usage
    dropped = (*extension.dropped, Dropped(**facts))
    return (*spend, *_state(log, event, extension.model_copy(update={"dropped": dropped}), pending_waits=waits))


def _deferred(log: Log, event: HypothesisDeferred) -> tuple[Edit, ...]:
    if event.iteration in log.recent:
        return ()
    entry = entries.deferred(event)
    extension = _extension(log)
    totals = totals_after(extension.totals or Totals(), None, entry)
    shown = event.item.model_copy(
        update={
            "dep_status": DepStatus.NEEDS_APPROVAL,
            "headway": (event.item.headway or BacklogHeadway()).model_copy(update={"retry_of": event.iteration}),
        }
    )
    rest = without(log.backlog or (), event.item)
    return (
        AppendExperiment(to_row(entry)),
        *_state(log, event, extension.model_copy(update={"totals": totals})),
        _backlog_rows((*rest, shown)),
    )


def _extended(log: Log, event: BacklogExtended) -> tuple[Edit, ...]:
    known = {item.headway.id for item in log.backlog or () if item.headway}
    fresh = tuple(i for i in event.items if not (i.headway and i.headway.id in known))
    if log.backlog is not None and not fresh:
        return ()
    return (_backlog_rows((*(log.backlog or ()), *fresh)),)


def _batch_ended(log: Log, event: BatchEnded) -> tuple[Edit, ...]:
    if log.ticks >= event.batch:
        return ()
    return _state(log, event, _extension(log), tick=event.batch)


def stopped_edits(log: Log, event: RunStopped) -> tuple[Edit, ...]:
    """Give the edits of a stop: the run's status, why, and what it waits for."""
    waits = tuple(w for w in log.waits if w.headway and w.headway.iteration is not None)
    if event.status == RunStatus.WAITING:
        waits += (
            PendingWait(
                item="a person" if event.reason not in ("interrupt", "max_ticks") else "the next start",
                arrives_as=event.continue_with,
                wake="unavailable",
                on_arrival="re-check stopping",
            ),
        )
    stop = Stop(reason=event.reason, detail=event.detail, continue_with=event.continue_with)
    extension = _extension(log).model_copy(update={"stop": stop})
    if extension.totals is None:
        extension = extension.model_copy(update={"totals": Totals()})
    return _state(log, event, extension, status=RunStatus(event.status), pending_waits=waits)


def _resumed(log: Log, event: RunResumed) -> tuple[Edit, ...]:
    if log.run_state is None:
        return ()
    waits = tuple(w for w in log.waits if w.headway and w.headway.iteration is not None)
    extension = _noticed(log, event.at, event.notices).model_copy(update={"stop": None})
    return _state(log, event, extension, status=RunStatus.RUNNING, pending_waits=waits)


def _final_sample(log: Log, event: SampleTaken, world: World) -> tuple[Edit, ...]:
    """Give the edits of one sample of the final check: its row, and what the harness reports having spent on it."""
    edits = edits_of_sample(log, event, world.spec, (world.reference, world.base))
    spent = event.cost.get("usd")
    extension = _extension(log)
    if not edits or not isinstance(spent, int | float) or extension.totals is None:
        return (*edits, *_clock(log, event)) if edits else ()
    cost = entries.cost_with_harness(extension.totals.cost, float(spent))
    totals = extension.totals.model_copy(update={"cost": cost})
    state = _state(log, event, extension.model_copy(update={"totals": totals}))
    return (*edits, *_spend(edited(log, edits), totals), *state)


def _moved(log: Log, event: SampleTaken | SessionEnded) -> tuple[Edit, ...]:
    """Give the notice that the reference measures differently now than when it was stored; none where it does not."""
    moved = event.answer.get("moved") if isinstance(event, SessionEnded) else None
    return _state(log, event, _noticed(log, event.at, (f"experiment {event.iteration}: {moved}",))) if moved else ()


def _effort_chosen(log: Log, event: EffortChosen) -> tuple[Edit, ...]:
    extension = _extension(log)
    if extension.effort is not None:
        return ()
    row = EffortRow(effort=event.effort, share=event.share, reason=event.reason, since_k=event.since_k)
    return _state(log, event, extension.model_copy(update={"effort": row}))


def _environment_seen(log: Log, event: EnvironmentSeen) -> tuple[Edit, ...]:
    extension = _extension(log)
    if extension.environment and extension.environment[-1] == event.environment:
        return ()
    extension = extension.model_copy(update={"environment": (*extension.environment, event.environment)})
    if event.moved:
        noticed = _noticed(log, event.at, (event.moved,))
        extension = extension.model_copy(update={"notices": noticed.notices})
    return _state(log, event, extension)


def _noticed(log: Log, at: str, texts: Sequence[str]) -> RunStateHeadway:
    extension = _extension(log)
    fresh = tuple(n for text in texts if (n := Notice(at=at, text=text)) not in extension.notices)
    notices = (*extension.notices, *fresh)[-50:]
    return extension.model_copy(update={"notices": notices})


def _at_gate(log: Log, event: GateReached) -> tuple[Edit, ...]:
    if log.run_state is None:
        return ()
    waits = tuple(w for w in log.waits if w.headway and w.headway.iteration is not None)
    gate = PendingWait(
        item="approval", arrives_as="headway approve", wake="unavailable", on_arrival="re-check stopping"
    )
    return _state(log, event, _extension(log), status=RunStatus.WAITING, pending_waits=(*waits, gate))
