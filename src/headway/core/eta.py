"""How much longer a run may take: an estimate from its own pace, bounded by its caps.

Never a promise: the next agent's turn may be longer than all before. Source: issue 9 (what is running, with ETA).
"""

from dataclasses import dataclass

from headway.core.report import Status


@dataclass(frozen=True)
class Eta:
    """An estimate.

    Args:
        typical_seconds: active time of one experiment so far, on average; None before the first has ended.
        at_most_seconds: active time until the nearest cap; None where no cap bounds it, or the pace is not known.
        bound: the cap that it is, in words; empty where there is none.
    """

    typical_seconds: float | None
    at_most_seconds: float | None
    bound: str


def eta_of(status: Status) -> Eta:
    """Estimate how much longer a run may take.

    Args:
        status: where it stands.
    """
    budget = {limit.name: limit for limit in status.budget}
    active = status.figures.active_seconds if status.figures else 0.0
    experiments, hours = budget.get("experiments"), budget.get("active hours")
    ended = experiments.used if experiments else None
    typical = active / ended if ended and active else None
    bounds: list[tuple[float, str]] = []
    if typical is not None and experiments and experiments.cap is not None and ended is not None:
        left = max(0.0, experiments.cap - ended)
        bounds.append((left * typical, f"{left:.0f} experiments are left"))
    if hours and hours.cap is not None:
        bounds.append((max(0.0, hours.cap * 3600 - active), f"{hours.cap:g} hours are the cap"))
    seconds, bound = min(bounds, default=(None, ""))
    return Eta(typical, seconds, bound)
