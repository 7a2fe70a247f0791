"""From the record of a sample to what the session driver reads.

Source: DESIGN section 6 (measurement contract).
"""

from headway.core.events import SampleStatus, SampleTaken
from headway.core.output import InvalidSample, Sample
from headway.core.session_words import TakenSample, TimedOut


def taken(event: SampleTaken) -> TakenSample:
    """Give the session's view of one recorded sample: a value, an invalid one, or a timeout."""
    if event.status is SampleStatus.TIMEOUT:
        return TimedOut(event.reason)
    if event.status is not SampleStatus.VALID:
        return InvalidSample(event.reason)
    return Sample(
        gates=event.gates,
        metrics=event.metrics,
        diagnostics=event.diagnostics,
        cases=event.cases,
        worst_cases=tuple(event.worst_cases),
        cost=event.cost,
    )
