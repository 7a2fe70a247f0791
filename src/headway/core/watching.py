"""What agents' turns and measurements of the first experiments took: what effort `auto` chooses by.

Kept by experiment, so that the order in which facts came in, before or after a crash, changes nothing.
Source: DECISIONS 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.core.events import AgentTurnEnded, ExperimentEvent, SampleStatus, SampleTaken, TurnStatus
from headway.core.sequential.auto import CANDIDATES_WATCHED, Watched

MOST_KEPT = 8 * CANDIDATES_WATCHED
"""Experiments that are remembered: the first ones count, and some of those give no measurement."""


@dataclass(frozen=True)
class _One:
    turns: tuple[float, ...] = ()
    turns_usd: tuple[float, ...] = ()
    measurements: tuple[float, ...] = ()
    measurements_usd: tuple[float, ...] = ()


@dataclass(frozen=True)
class Watch:
    """What was seen so far, by number of the experiment."""

    seen: Mapping[int, _One] = field(default_factory=dict)

    def plus(self, event: ExperimentEvent) -> "Watch":
        """Give the watch with one more fact: a completed turn or a valid sample; anything else changes nothing."""
        one = self.seen.get(event.iteration, _One())
        if not event.iteration or (event.iteration not in self.seen and len(self.seen) >= MOST_KEPT):
            return self
        if isinstance(event, AgentTurnEnded) and event.status is TurnStatus.COMPLETED:
            dollars = () if event.usd is None else (event.usd,)
            one = replace(one, turns=(*one.turns, event.elapsed_seconds), turns_usd=(*one.turns_usd, *dollars))
        elif isinstance(event, SampleTaken) and event.status is SampleStatus.VALID:
            spent = event.cost.get("usd")
            dollars = (float(spent),) if isinstance(spent, int | float) else ()
            one = replace(
                one,
                measurements=(*one.measurements, event.elapsed_seconds),
                measurements_usd=(*one.measurements_usd, *dollars),
            )
        else:
            return self
        return Watch({**self.seen, event.iteration: one})

    @property
    def first(self) -> Watched:
        """Give what the first five experiments took that had a turn and a measurement; fewer while there are not five.

        Dollars count where every one of them says what it cost.
        """
        whole = [one for _, one in sorted(self.seen.items()) if one.turns and one.measurements][:CANDIDATES_WATCHED]
        known = all(one.turns_usd and one.measurements_usd for one in whole)
        return Watched(
            turn_seconds=tuple(sum(one.turns) for one in whole),
            measurement_seconds=tuple(value for one in whole for value in one.measurements),
            turn_usd=tuple(sum(one.turns_usd) for one in whole) if known else (),
            measurement_usd=tuple(value for one in whole for value in one.measurements_usd) if known else (),
        )

    @property
    def is_full(self) -> bool:
        """Say whether later experiments can change nothing any more."""
        return len(self.first.turn_seconds) == CANDIDATES_WATCHED
