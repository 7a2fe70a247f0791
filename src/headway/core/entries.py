"""An experiment's row in the log, built from the facts of its experiment.

Every function gives the same row for the same facts, so that a fact applied twice changes nothing.
Source: seed 004 (experiment_entry); CONTRACTS sections 2, 5 and 6.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.core.edits import Edit, SetSection
from headway.core.events import (
    AgentTurnEnded,
    CandidateBuilt,
    CandidateIntegrated,
    Event,
    ExperimentEnded,
    HypothesisDeferred,
    HypothesisDispatched,
    RunnerUpCombined,
    SampleStatus,
    SampleTaken,
    SessionEnded,
    SessionKind,
    Side,
    experiment_key,
)
from headway.core.gates import check
from headway.core.log_view import Log
from headway.core.output import required_metrics
from headway.core.records import (
    BacklogItem,
    Best,
    Comparison,
    ComparisonHeadway,
    ComparisonKind,
    Cost,
    Entry,
    EntryHeadway,
    Gain,
    MeasuredBy,
    NextMeasurement,
    ObjectiveResult,
    Outcome,
    SideHeadway,
    Snapshot,
    Tamper,
    TotalCost,
    Totals,
    Usage,
    WorstCase,
)
from headway.core.records import Side as SideRow
from headway.core.samples import taken
from headway.core.sequential_session import whole_pairs
from headway.core.session_payload import snapshot
from headway.core.spec import Aggregation, ComparisonMethod, Spec
from headway.core.statistics import aggregate
from headway.core.totals import NOT_DECIDED
from headway.core.world import World


def item_of(iteration: int, world: World) -> BacklogItem | None:
    """Give the hypothesis that an experiment was dispatched with, from its dispatch record."""
    event = world.results.get(f"{experiment_key(iteration)}/dispatch")
    return event.item if isinstance(event, HypothesisDispatched) else None


def base_of(iteration: int, world: World) -> str:
    """Give the reference commit that an experiment started from."""
    event = world.results.get(f"{experiment_key(iteration)}/dispatch")
    return event.base if isinstance(event, HypothesisDispatched) else world.reference


def candidate_of(iteration: int, world: World) -> CandidateBuilt | None:
    """Give the last candidate that was built for an experiment."""
    built = [e for e in world.results.values() if isinstance(e, CandidateBuilt) and e.iteration == iteration]
    return max(built, key=lambda e: e.attempt, default=None)


def usage_of(iteration: int, world: World) -> Usage | None:
    """Give what the agent's turns on one experiment cost; `unknown` where a turn did not say."""
    turns = [e for e in world.results.values() if isinstance(e, AgentTurnEnded) and e.iteration == iteration]
    if not turns:
        return None
    tokens = [t.tokens for t in turns]
    dollars = [t.usd for t in turns]
    return Usage(
        tokens="unknown" if None in tokens else sum(t for t in tokens if t is not None),
        usd="unknown" if None in dollars else round(sum(d for d in dollars if d is not None), 6),
    )


def _samples(
    world: World, iteration: int, kind: SessionKind, side: Side, extra: Event | None = None
) -> tuple[SampleTaken, ...]:
    """Give one side's samples of the newest attempt, in order, `extra` among them."""
    every = [*world.results.values(), *([extra] if extra is not None else [])]
    found = {
        e.key: e
        for e in every
        if isinstance(e, SampleTaken) and (e.iteration, e.session, e.side) == (iteration, kind, side)
    }
    newest = max((e.attempt for e in found.values()), default=1)
    return tuple(sorted((e for e in found.values() if e.attempt == newest), key=lambda e: e.index))


def _valid(samples: Iterable[SampleTaken]) -> tuple[SampleTaken, ...]:
    return tuple(s for s in samples if s.status is SampleStatus.VALID)


def metrics_of(samples: Sequence[SampleTaken], aggregation: Aggregation) -> dict[str, Snapshot]:
    """Give the snapshots of all valid samples: `{name: {aggregate, samples}}`."""
    values = snapshot([taken(s) for s in _valid(samples)], aggregation)
    return {name: Snapshot.model_validate(value) for name, value in values.items()}


def _fresh(iteration: int, batch: int, item: BacklogItem | None, world: World) -> dict[str, Any]:
    """Give the first fields of an entry, from its dispatch and its candidate."""
    built = candidate_of(iteration, world)
    extension: dict[str, Any] = {}
    if item is not None and item.headway and item.headway.id:
        extension["hypothesis_id"] = item.headway.id
    extension["base"] = base_of(iteration, world)
    if built is not None and built.commit:
        extension["candidate"] = built.commit
    dispatched = world.results.get(f"{experiment_key(iteration)}/dispatch")
    if isinstance(dispatched, HypothesisDispatched):
        extension["agent"] = dispatched.agent
    usage = usage_of(iteration, world)
    if usage is not None:
        extension["usage"] = usage
    if built is not None and built.strays:
        action = "not measured" if world.spec.tamper_policy == "revert" else "dropped"
        extension["tamper"] = tuple(
            Tamper(
                path=s.path,
                kind=s.kind,
                expected_sha256=s.expected_sha256,
                found_sha256=s.found_sha256,
                action=action,
            )
            for s in built.strays
        )
    facts: dict[str, Any] = {
        "iteration": iteration,
        "batch": batch,
        "hypothesis": item.description if item else "(hypothesis not recorded)",
        "category": (item.category if item else None) or "general",
        "outcome": Outcome.MEASURED,
        "headway": EntryHeadway(**extension),
    }
    if item is not None and item.opportunity is not None:
        facts["opportunity"] = item.opportunity
    if built is not None and built.changes:
        facts["changes"] = built.changes
    return facts


def _batch_of(log: Log, iteration: int) -> int:
    for wait in log.dispatched:
        if wait.headway and wait.headway.iteration == iteration and wait.headway.batch is not None:
            return wait.headway.batch
    return log.ticks + 1


def _entry_of(log: Log, iteration: int, world: World) -> Entry:
    existing = log.recent.get(iteration)
    return existing or Entry(**_fresh(iteration, _batch_of(log, iteration), item_of(iteration, world), world))


def entry_after(log: Log, event: SampleTaken | SessionEnded, world: World) -> Entry | None:
    """Give an experiment's row after one more sample or a decision; None where the row does not change.

    Args:
        log: the log before.
        event: a sample (an invalid one leaves the row alone: what follows from it is said by `ExperimentEnded`),
            or the decision on a session.
        world: earlier facts of the experiment.
    """
    entry = log.recent.get(event.iteration)
    if entry is not None and (Outcome(entry.outcome).is_final or _is_decided(entry, event.session)):
        return None
    if isinstance(event, SessionEnded):
        return None if entry is None else _decided(log, entry, event, world)
    if event.status is not SampleStatus.VALID:
        return None
    if event.session is SessionKind.INTEGRATED:
        return None if entry is None else _with_comparison(log, entry, event.session, world, event)
    if entry is None and event.side is Side.REFERENCE:
        return None
    return _with_samples(log, entry or _entry_of(log, event.iteration, world), world, event)


def _is_decided(entry: Entry, kind: SessionKind) -> bool:
    """Say whether a row holds the decision on one of its sessions: that stays, whatever is the reference now."""
    wanted = ComparisonKind.STANDALONE if kind is SessionKind.STANDALONE else ComparisonKind.INTEGRATED
    return any(c.kind == wanted and c.headway is not None and c.headway.decision is not None for c in entry.comparisons)


def _with_samples(log: Log, entry: Entry, world: World, event: Event | None) -> Entry:
    """Give a row with all valid samples of its standalone session."""
    spec = world.spec
    samples = _samples(world, entry.iteration, SessionKind.STANDALONE, Side.CANDIDATE, event)
    reference = _samples(world, entry.iteration, SessionKind.STANDALONE, Side.REFERENCE, event)
    valid = _valid(samples)
    update: dict[str, Any] = {"sample_count": len(samples) + len(reference)}
    if valid:
        last = valid[-1]
        passed = all(check(spec.metric.degenerate_gates, s.gates).passed for s in valid)
        update |= {"gates": last.gates, "gates_passed": passed}
        if last.diagnostics:
            update["diagnostics"] = last.diagnostics
        update["metrics"] = metrics_of(valid, spec.measurement.stability.aggregation)
        if last.cost:
            update["cost"] = Cost.model_validate(last.cost)
        if last.worst_cases:
            update["worst_cases"] = tuple(WorstCase.model_validate(w) for w in last.worst_cases)
        extension = entry.headway or EntryHeadway()
        if passed and extension.k is None:
            effort = world.deciding.choice.effort.value if world.deciding is not None else None
            extension = extension.model_copy(
                update={"k": _next_k(log), **({} if effort is None else {"effort": effort})}
            )
        update["headway"] = extension
    changed = entry.model_copy(update=update)
    if _valid(reference) and not (_is_sequential(spec) and not _pairs(spec, samples, reference)[0]):
        changed = _with_comparison(log, changed, SessionKind.STANDALONE, world, event)
    return changed


def _is_sequential(spec: Spec) -> bool:
    return spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL


def _pairs(
    spec: Spec, candidate: Sequence[SampleTaken], reference: Sequence[SampleTaken]
) -> tuple[tuple[SampleTaken, ...], tuple[SampleTaken, ...], str]:
    """Give a session's samples as its comparison shows them, and the order in which they were taken.

    Under `sequential` these are whole pairs: one of which a half failed is dropped on both sides.
    """
    if not _is_sequential(spec):
        return tuple(candidate), tuple(reference), _order(candidate, reference)
    found = whole_pairs(required_metrics(spec), [taken(s) for s in candidate], [taken(s) for s in reference])
    mine = tuple(candidate[c] for c, _ in found.pairs)
    theirs = tuple(reference[r] for _, r in found.pairs)
    return mine, theirs, " ".join("B" if side == "candidate" else "A" for side in found.order)


def _next_k(log: Log) -> int:
    extension = log.run_state.headway if log.run_state else None
    return ((extension.totals.k if extension and extension.totals else 0) or 0) + 1


def _side(samples: Sequence[SampleTaken], spec: Spec, order: str) -> SideRow:
    valid = _valid(samples)
    return SideRow(
        gates=valid[-1].gates,
        metrics=metrics_of(valid, spec.measurement.stability.aggregation),
        headway=SideHeadway(
            order=order, started_at=tuple(s.started_at for s in valid), seeds=tuple(s.seed for s in valid)
        ),
    )


def _with_comparison(log: Log, entry: Entry, kind: SessionKind, world: World, event: Event | None) -> Entry:
    """Give a row whose comparison of this session holds all valid samples of both sides so far."""
    candidate, reference, order = _pairs(
        world.spec,
        _samples(world, entry.iteration, kind, Side.CANDIDATE, event),
        _samples(world, entry.iteration, kind, Side.REFERENCE, event),
    )
    revision, against = _revisions(entry, kind, world)
    wanted = ComparisonKind.STANDALONE if kind is SessionKind.STANDALONE else ComparisonKind.INTEGRATED
    facts: dict[str, Any] = {
        "kind": wanted,
        "reference_revision": against,
        "candidate_revision": revision,
        "workload": world.workload,
        "measured_by": MeasuredBy.ORCHESTRATOR,
    }
    if _valid(reference):
        facts["reference"] = _side(reference, world.spec, order)
    else:
        facts["reference"] = SideRow(metrics=log.best.metrics or {})
    if _valid(candidate):
        facts["candidate"] = _side(candidate, world.spec, order)
    others = tuple(c for c in entry.comparisons if c.kind != wanted)
    earlier = next((c for c in entry.comparisons if c.kind == wanted), None)
    if kind is SessionKind.INTEGRATED:
        k = earlier.headway.k if earlier and earlier.headway else _next_k(log)
        facts["headway"] = ComparisonHeadway(k=k)
    return entry.model_copy(update={"comparisons": (*others, Comparison(**facts))})


def _order(candidate: Sequence[SampleTaken], reference: Sequence[SampleTaken]) -> str:
    """Give the order in which a session's samples were taken: `B A A B`, B the candidate, A the reference."""
    if not reference:
        return " ".join("B" for _ in candidate)
    letters: list[str] = []
    for i in range(max(len(candidate), len(reference))):
        pair = ["B"] * (i < len(candidate)) + ["A"] * (i < len(reference))
        letters += pair if i % 2 == 0 else pair[::-1]
    return " ".join(letters)


def _revisions(entry: Entry, kind: SessionKind, world: World) -> tuple[str, str]:
    """Give the commits of candidate and reference of a session."""
    if kind is SessionKind.INTEGRATED:
        combined = world.results.get(f"{experiment_key(entry.iteration)}/combine")
        if isinstance(combined, RunnerUpCombined) and combined.commit:
            return combined.commit, combined.onto
    built = candidate_of(entry.iteration, world)
    recorded = entry.headway.candidate if entry.headway else None
    return (built.commit if built and built.commit else recorded) or "", base_of(entry.iteration, world)


def _decided(log: Log, entry: Entry, event: SessionEnded, world: World) -> Entry:
    """Give a row with the decision on one of its sessions."""
    if not _is_lone_look(entry, event, world):
        entry = _with_comparison(log, entry, event.session, world, None)
    kind = ComparisonKind.STANDALONE if event.session is SessionKind.STANDALONE else ComparisonKind.INTEGRATED
    decided: dict[str, Any] = {"decision": str(event.answer["decision"])}
    if kind is ComparisonKind.INTEGRATED and event.answer.get("gain") is not None:
        decided["gain"] = Gain.model_validate(event.answer["gain"])
    comparisons = tuple(
        c.model_copy(
            update={
                "uncertainty": _uncertainty(world, c, event.answer),
                "correctness": _correctness(world, entry.gates_passed, event.answer),
                "headway": (c.headway or ComparisonHeadway()).model_copy(update=decided),
            }
        )
        if c.kind == kind
        else c
        for c in entry.comparisons
    )
    if event.session is SessionKind.INTEGRATED:
        return entry.model_copy(update={"comparisons": comparisons})
    return entry.model_copy(
        update={"comparisons": comparisons, **_decision_fields(entry, event.answer, comparisons, world)}
    )


def _is_lone_look(entry: Entry, event: SessionEnded, world: World) -> bool:
    """Say whether a candidate was decided on without a whole pair: its samples stand in its metrics alone."""
    if not _is_sequential(world.spec) or event.answer["decision"] == "keep":
        return False
    sides = (_samples(world, entry.iteration, event.session, side) for side in (Side.CANDIDATE, Side.REFERENCE))
    return not _pairs(world.spec, *sides)[0]


def _decision_fields(
    entry: Entry, answer: Mapping[str, Any], comparisons: Sequence[Comparison], world: World
) -> dict[str, Any]:
    update: dict[str, Any] = {"next_measurement": NextMeasurement(answer.get("next_measurement") or "none")}
    delta = answer.get("primary_delta")
    if delta is not None:
        update["primary_delta"] = f"{delta:+.6g}"
    results = answer.get("comparisons") or {}
    if results:
        update["objective_results"] = {
            name: ObjectiveResult(verdict=r["verdict"], delta=r.get("delta"), relative=r.get("relative"))
            for name, r in results.items()
        }
    if answer.get("regressions"):
        update["regressions"] = tuple(str(case) for case in answer["regressions"])
    gain = _gain(answer, comparisons, world.spec)
    if gain is not None:
        update["headway"] = (entry.headway or EntryHeadway()).model_copy(update={"gain": gain})
    return update


def _gain(answer: Mapping[str, Any], comparisons: Sequence[Comparison], spec: Spec) -> Gain | None:
    """Give the relative gain of the primary; its bounds are the worst and best pair, null without pairs."""
    if answer.get("gain") is not None:
        return Gain.model_validate(answer["gain"])
    primary = spec.metric.primary
    result = (answer.get("comparisons") or {}).get(primary.name)
    if not result or result.get("relative") is None:
        return None
    pairs = _pair_gains(comparisons, primary.name, primary.direction.sign)
    bounds = {"low": min(pairs), "high": max(pairs)} if len(pairs) > 1 else {"low": None, "high": None}
    return Gain(estimate=result["relative"], **bounds)


def _pair_gains(comparisons: Sequence[Comparison], name: str, sign: int) -> list[float]:
    own = next((c for c in comparisons if c.kind == ComparisonKind.STANDALONE and c.reference and c.candidate), None)
    if own is None or own.reference is None or own.candidate is None or own.reference.headway is None:
        return []
    a, b = (own.reference.metrics or {}).get(name), (own.candidate.metrics or {}).get(name)
    if not isinstance(a, Snapshot) or not isinstance(b, Snapshot):
        return []
    return [sign * (y - x) / abs(x) for x, y in zip(a.samples or (), b.samples or (), strict=False) if x]


def _uncertainty(world: World, comparison: Comparison, answer: Mapping[str, Any]) -> str:
    stability = world.spec.measurement.stability
    if _is_sequential(world.spec):
        effort = f", effort {world.deciding.choice.effort}" if world.deciding is not None else ""
        return f"method sequential, mode {stability.mode}{effort}: {answer.get('evidence') or answer['reason']}"
    n = 0
    if comparison.candidate and comparison.candidate.metrics:
        value = comparison.candidate.metrics.get(world.spec.metric.primary.name)
        n = len(value.samples or ()) if isinstance(value, Snapshot) else 1
    fresh = comparison.reference is not None and comparison.reference.headway is not None
    against = "measured now, in pairs" if fresh else "as stored when it became best, not measured again"
    return (
        f"method {stability.comparison.method}, mode {stability.mode}, n={n}; reference {against}; "
        "no significance test: the rule compares with fixed thresholds"
    )


def _correctness(world: World, passed: bool | None, answer: Mapping[str, Any]) -> str:
    measurement = world.spec.measurement
    gates = ", ".join(f"{g.name} {g.check}" for g in world.spec.metric.degenerate_gates)
    if answer["decision"] == "degenerate" or passed is False:
        done = [f"a gate failed: {', '.join(answer.get('violated_objectives') or ()) or answer['reason']}"]
    else:
        done = [f"gates passed on every sample: {gates}"] if gates else ["no gates"]
    if measurement.checks_command:
        done.append("checks_command passed")
    if measurement.stability.ladder.smoke_command:
        done.append("smoke_command passed")
    return "; ".join([*done, "not verified: holdout, constraints of the spec"])


def ended(log: Log, event: ExperimentEnded, world: World) -> Entry | None:
    """Give a row with its final outcome, built anew for an experiment that never gave a valid sample."""
    entry = _entry_of(log, event.iteration, world)
    count = sum(
        len(_samples(world, event.iteration, SessionKind.STANDALONE, side)) for side in (Side.CANDIDATE, Side.REFERENCE)
    )
    update: dict[str, Any] = {"outcome": Outcome(event.outcome)}
    if count:
        update["sample_count"] = count
    for name in ("error_message", "learnings", "deferred_reason"):
        if getattr(event, name):
            update[name] = getattr(event, name)
    if event.merged_with is not None:
        update["merged_with"] = event.merged_with
    extension: dict[str, Any] = {}
    if event.repeat_of is not None:
        extension["repeat_of"] = event.repeat_of
    if Outcome(event.outcome) in NOT_DECIDED and entry.headway and entry.headway.k is not None:
        extension["k"] = None  # the number goes to the next session: this one could not be decided
    if extension:
        update["headway"] = (entry.headway or EntryHeadway()).model_copy(update=extension)
    return entry.model_copy(update=update)


def deferred(event: HypothesisDeferred) -> Entry:
    """Give the row of a hypothesis that is set aside for a dependency's approval."""
    extension = {"hypothesis_id": event.item.headway.id} if event.item.headway and event.item.headway.id else {}
    return Entry(
        iteration=event.iteration,
        batch=event.batch,
        hypothesis=event.item.description,
        category=event.item.category or "general",
        outcome=Outcome.DEFERRED_NEEDS_APPROVAL,
        deferred_reason=event.reason,
        **({"headway": EntryHeadway(**extension)} if extension else {}),
    )


def dependencies_asked(item: BacklogItem, reason: str) -> tuple[str, ...]:
    """Give the dependencies that a turn asked for, as its deferred reason names them."""
    _, _, named = reason.partition(": ")
    return tuple(n.strip() for n in named.split(",") if n.strip() and n.strip() != "unnamed")


def integrated(entry: Entry, event: CandidateIntegrated) -> Entry:
    """Give the row of an experiment whose commit is on the branch."""
    if event.session is SessionKind.STANDALONE:
        return entry.model_copy(
            update={"outcome": Outcome.KEPT, "commit": event.commit, "learnings": _kept_words(entry)}
        )
    return entry.model_copy(
        update={
            "outcome": Outcome.RUNNER_UP_KEPT,
            "commit": event.commit,
            "merged_with": event.merged_with,
            "learnings": f"Combined with experiment {event.merged_with} and measured anew: better again.",
        }
    )


def _kept_words(entry: Entry) -> str:
    gain = entry.headway.gain if entry.headway else None
    if gain is None:
        return f"Kept: primary changed by {entry.primary_delta or 'an unrecorded amount'} (positive is better)."
    if gain.low is None or gain.high is None:
        return f"Kept: gain {gain.estimate:.1%}."
    return f"Kept: gain {gain.estimate:.1%}, from {gain.low:.1%} to {gain.high:.1%}."


def _without_first(metrics: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    """Give a new best's values without the first, which the screen selected: it is no evidence of the level."""
    kept: dict[str, Any] = {}
    for name, value in metrics.items():
        samples = (value.samples or ()) if isinstance(value, Snapshot) else ()
        kept[name] = value
        if len(samples) > 1:
            how = spec.measurement.stability.aggregation
            kept[name] = Snapshot(aggregate=aggregate(samples[1:], how), samples=samples[1:])
    return kept


def best_after(log: Log, entry: Entry, event: CandidateIntegrated, edits: Sequence[Edit], world: World) -> Best:
    """Give `best` once this experiment's commit is on the branch."""
    spent = next((e.value for e in edits if isinstance(e, SetSection) and e.name == "best"), None)
    best = Best.model_validate(spent) if spent is not None else log.best
    metrics: Mapping[str, Any] = entry.metrics or {}
    if event.session is SessionKind.INTEGRATED:
        pair = next((c for c in entry.comparisons if c.kind == ComparisonKind.INTEGRATED), None)
        if pair is not None and pair.candidate is not None and pair.candidate.metrics:
            metrics = pair.candidate.metrics
    if _is_sequential(world.spec):
        metrics = _without_first(metrics, world.spec)
    return best.model_copy(update={"iteration": entry.iteration, "metrics": dict(metrics)})


def cost_after(cost: TotalCost | None, before: Entry | None, after: Entry) -> TotalCost:
    """Give the spend by who spent it, once `after` has taken the place of `before`."""
    cost = cost or TotalCost(agents_usd=0, judges_usd=0, harness_usd=0)
    agents = round((cost.agents_usd or 0) + _agent_dollars(after) - _agent_dollars(before), 6)
    harness = round((cost.harness_usd or 0) + _harness_dollars(after) - _harness_dollars(before), 6)
    unknown = cost.unknown
    if after.headway and after.headway.usage and after.headway.usage.usd == "unknown" and "agents" not in unknown:
        unknown = (*unknown, "agents")
    known = None if "agents" in unknown and not agents else agents
    return cost.model_copy(update={"agents_usd": known, "harness_usd": harness, "unknown": unknown})


def cost_with_harness(cost: TotalCost | None, dollars: float) -> TotalCost:
    """Give the spend by who spent it, with one more measurement that belongs to no experiment."""
    cost = cost or TotalCost(agents_usd=0, judges_usd=0, harness_usd=0)
    return cost.model_copy(update={"harness_usd": round((cost.harness_usd or 0) + dollars, 6)})


def cost_with_turns(cost: TotalCost | None, usage: Usage | None) -> TotalCost:
    """Give the spend by who spent it, with the turns on a hypothesis that came to no experiment."""
    cost = cost or TotalCost(agents_usd=0, judges_usd=0, harness_usd=0)
    if usage is None:
        return cost
    unknown = (*cost.unknown, "agents") if usage.usd == "unknown" and "agents" not in cost.unknown else cost.unknown
    spent = float(usage.usd) if isinstance(usage.usd, int | float) else 0.0
    agents = round((cost.agents_usd or 0) + spent, 6)
    known = None if "agents" in unknown and not agents else agents
    return cost.model_copy(update={"agents_usd": known, "unknown": unknown})


def _agent_dollars(entry: Entry | None) -> float:
    usage = entry.headway.usage if entry and entry.headway else None
    return float(usage.usd) if usage and isinstance(usage.usd, int | float) else 0.0


def _harness_dollars(entry: Entry | None) -> float:
    return float(entry.cost.usd) if entry and entry.cost and entry.cost.usd is not None else 0.0


def with_spend(best: Best, totals: Totals) -> Best:
    """Give `best` with the run's spend so far, and which parts of it are known."""
    cost = totals.cost
    if cost is None:
        return best
    total = round((cost.agents_usd or 0) + (cost.judges_usd or 0) + (cost.harness_usd or 0), 6)
    basis = "agents as they report; no judge; harness as it reports"
    if cost.unknown:
        basis = f"unknown part: {', '.join(cost.unknown)}; the rest as reported; no judge"
    same = best.total_run_cost_usd == total and best.run_cost_basis == basis
    return best if same else best.model_copy(update={"total_run_cost_usd": total, "run_cost_basis": basis})
