"""One short line for each notable fact of a run; empty for what is not worth one."""

from headway.cli.screen import counted, gain_text, one_line, values
from headway.core import events as ev
from headway.core.log_view import Log

SIDES = {ev.Side.CANDIDATE: "candidate", ev.Side.REFERENCE: "reference"}


def line_of(event: ev.Event, log: Log) -> str:
    """Give a fact's line; empty for what is not worth one.

    Args:
        event: the fact.
        log: the log with the fact in it.
    """
    if isinstance(event, ev.FinalCheckEnded):
        return f"final check  {_of_check(event)}"
    if isinstance(event, ev.SampleTaken) and event.session is ev.SessionKind.FINAL:
        who = "best" if event.side is ev.Side.CANDIDATE else "untouched code"
        return f"final check  {_of_sample(event, who)}"
    if isinstance(event, ev.ExperimentEvent):
        words = _of_experiment(event, log)
        return f"exp {event.iteration}  {words}" if words else ""
    return _of_run(event, log)


def _of_run(event: ev.Event, log: Log) -> str:
    match event:
        case ev.BacklogExtended(items=items):
            return f"backlog: {len(items)} more" if items else "backlog: the proposer has no more"
        case ev.BatchEnded(batch=batch):
            best = f"experiment {log.best.iteration}" if log.best.iteration else "the baseline"
            return f"batch {batch} ended: {counted(log.count, 'experiment')} so far, best is {best}"
        case ev.RunStopped(reason=reason, detail=detail):
            return f"stopped ({reason}): {detail}"
        case ev.RunResumed(notices=notices):
            return "; ".join(("resumed", *notices))
        case ev.NoticeGiven(text=text):
            return f"notice: {text}"
        case ev.EffortChosen(effort=effort, reason=reason):
            return f"effort {effort}: {reason}"
        case ev.EnvironmentSeen(moved=moved):
            return f"notice: {moved}" if moved else ""
        case _:
            return ""


def _of_experiment(event: ev.ExperimentEvent, log: Log) -> str:
    match event:
        case ev.HypothesisDispatched(item=item, agent=agent):
            return f"dispatched to {agent}: {one_line(item.description)}"
        case ev.AgentTurnEnded():
            return _of_turn(event)
        case ev.CandidateBuilt():
            return _of_candidate(event)
        case ev.CheckoutPrepared(ok=ok, stage=stage, detail=detail):
            return "" if ok else f"{stage} failed: {one_line(detail)}"
        case ev.SampleTaken():
            return _of_sample(event)
        case ev.SessionEnded(answer=answer):
            return f"decision: {answer.get('decision')}, {one_line(str(answer.get('reason', '')))}"
        case ev.ExperimentEnded(outcome=outcome):
            why = event.error_message or event.deferred_reason or event.learnings
            return f"{outcome}: {one_line(why)}" if why else str(outcome)
        case ev.CandidateIntegrated():
            return _of_keep(event, log)
        case ev.HypothesisDropped(reason=reason, returns_to_backlog=returns):
            return f"{'back to the backlog' if returns else 'dropped'}: {one_line(reason)}"
        case ev.HypothesisDeferred(reason=reason):
            return f"deferred: {one_line(reason)}"
        case ev.RunnerUpCombined(conflict=conflict, merged_with=winner):
            fits = f"does not combine with experiment {winner}: {one_line(conflict)}"
            return fits if conflict else f"combined with experiment {winner}, measured anew"
        case _:
            return ""


def _of_turn(event: ev.AgentTurnEnded) -> str:
    if event.status is ev.TurnStatus.COMPLETED:
        return f"turn {event.attempt} of {event.agent} ended after {event.elapsed_seconds:.0f} s"
    why = one_line(event.reason or "no reason given")
    later = "; the next hypothesis waits a while" if event.trouble and event.trouble.is_passing else ""
    return f"turn {event.attempt} of {event.agent}: {event.status}, {why}{later}"


def _of_candidate(event: ev.CandidateBuilt) -> str:
    strays = (
        f"; {counted(len(event.strays), 'edit')} outside its scope, left out and kept as evidence"
        if event.strays
        else ""
    )
    if event.tree_gone:
        return "no change to measure: the agent's folder is gone"
    if event.commit is None:
        return f"no change to measure{strays}"
    size = f"+{event.lines_added} -{event.lines_removed} lines in {counted(len(event.changes), 'file')}"
    return f"candidate {event.commit[:10]}: {size}{strays}"


def _of_check(event: ev.FinalCheckEnded) -> str:
    verdict = event.verdict.replace("_", " ")
    if event.gain is None:
        return f"{verdict}: {one_line(event.reason or 'no number')}"
    words = gain_text(event.gain.get("estimate"), event.gain.get("low"), event.gain.get("high"))
    return f"{verdict}, {words} in {counted(event.pairs, 'pair')}"


def _of_sample(event: ev.SampleTaken, who: str = "") -> str:
    where = f"{who or SIDES[event.side]} sample {event.index}"
    if event.status is ev.SampleStatus.VALID:
        return "; ".join((f"{where}: {values(event.metrics)}", *map(one_line, event.notes)))
    return "; ".join((f"{where}: {event.status}, {one_line(event.reason)}", *map(one_line, event.notes)))


def _of_keep(event: ev.CandidateIntegrated, log: Log) -> str:
    if event.merged_with is not None:
        return f"kept, combined with experiment {event.merged_with}: {event.commit[:10]}"
    entry = log.recent.get(event.iteration)
    gain = entry.headway.gain if entry and entry.headway else None
    words = gain_text(gain.estimate, gain.low, gain.high) if gain else "gain not recorded"
    return f"kept, {words}: {event.commit[:10]}"
