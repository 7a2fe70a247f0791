"""How far an experiment has come that is not over, in words, from its recorded facts.

Source: BR-18 (after a crash, status and resume name the state that they found).
"""

from collections.abc import Sequence

from headway.core import events as ev


def stage_of(facts: Sequence[ev.Event], has_unrecorded: bool) -> str:
    """Say how far an open experiment has come.

    Args:
        facts: its records, in order.
        has_unrecorded: a measurement of it has ended that no record tells of.
    """
    if has_unrecorded:
        return "a measurement has ended that the log does not hold yet; it is taken up, not taken again"
    match facts[-1] if facts else None:
        case ev.AgentTurnEnded():
            return "the agent's turn has ended, no candidate is built yet"
        case ev.CandidateBuilt(commit=commit):
            return "a candidate is built, not measured yet" if commit else "the agent's turn changed nothing"
        case ev.CheckoutPrepared(ok=ok, stage=stage):
            return "its checkout is ready, not measured yet" if ok else f"{stage} failed"
        case ev.SampleTaken():
            count = sum(isinstance(fact, ev.SampleTaken) for fact in facts)
            return f"{count} sample{'' if count == 1 else 's'} taken, not decided yet"
        case ev.SessionEnded(answer=answer):
            return f"decided: {answer.get('decision')}, not carried out yet"
        case ev.RunnerUpCombined(merged_with=winner):
            return f"combined with experiment {winner}, not measured yet"
        case ev.IntegrationStarted():
            return "its integration has begun; the branch says whether it has moved"
        case ev.CandidateIntegrated() | ev.ExperimentEnded() | ev.HypothesisDropped():
            return "over, and the log does not say so yet"
        case _:
            return "dispatched, the agent's turn has not ended"
