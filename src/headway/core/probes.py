"""What the validity gate measures, and what came of it: one value for each probe, before anyone judges it.

Source: DESIGN section 6 (Trust in the harness); seed 004 (`harness_validation.probes`).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from headway.core.spec import Exemplars, Spec, StabilityMode
from headway.core.statistics import aggregate, mean

FIXED_SHARE: Final = 0.15
"""Most of a run's time that calibration, probes and the final check may take together (CONTRACTS section 9)."""
SLOW_SECONDS: Final = 60.0
PROBE_SAMPLES: Final = 3
CLEAR_WIDTHS: Final = 2.0
"""Ranges of the baseline that a probe's samples must lie beyond it for no more of them to be taken."""
MOST_ROUNDS: Final = 4
"""Most measurements that the search for a forgeable file takes."""


class ProbeKind(StrEnum):
    """What a probe's code is known to be."""

    KNOWN_GOOD = "known_good"
    KNOWN_BAD = "known_bad"
    TRIVIAL = "trivial"
    FORGED = "forged"


class Came(StrEnum):
    """What measuring a probe came to."""

    VALUE = "value"
    REJECTED = "rejected"  # a gate, the checks or the smoke test turned it down
    FAILED = "failed"  # it does not build or run, or takes too long: no value
    SKIPPED = "skipped"  # not measured: no time, or killed from outside


class Probed(BaseModel):
    """One probe and what it came to; `exp0000/probes/<name>.json` holds it once it is over.

    Attributes:
        name: `known_bad-1`, `forged-2`.
        source: the patch or commit of the spec; empty for code that headway wrote.
        commit: what was measured.
        left_out: paths that the exemplar changes outside the mutable scope, as a candidate's would be left out.
        values: of the primary, one a sample.
        reason: why there is no value, or why it was turned down.
        elapsed_seconds: what its measurements took together.
        files: paths that a forgery was put into; `ran` are those of them that were executed while the harness ran.
        claimed: the value that the forgery printed.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    kind: ProbeKind
    commit: str
    came: Came
    source: str = ""
    note: str = ""
    left_out: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    reason: str = ""
    elapsed_seconds: float = 0.0
    files: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    claimed: float | None = None

    def value(self, aggregation: str) -> float | None:
        """Give its one value; None where it has none."""
        return aggregate(self.values, aggregation) if self.came is Came.VALUE else None

    @property
    def is_taken(self) -> bool:
        """Say whether the harness handed a forged value on as its own."""
        return self.came is Came.VALUE and self.claimed is not None and _is_close(self.values[0], self.claimed)


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other))


def exemplar_names(exemplars: Exemplars) -> tuple[tuple[str, ProbeKind, int], ...]:
    """Give every exemplar's name, kind and place in its list, in the order in which they are measured."""
    kinds = ((k, getattr(exemplars, k.value)) for k in (ProbeKind.KNOWN_GOOD, ProbeKind.KNOWN_BAD, ProbeKind.TRIVIAL))
    return tuple((f"{kind}-{n + 1}", kind, n) for kind, listed in kinds for n in range(len(listed)))


def fixed_seconds(spec: Spec) -> float:
    """Give how long calibration, probes and final check may take together, in seconds."""
    hours = min(spec.stopping.max_hours, spec.stopping.max_wall_hours or spec.stopping.max_hours)
    return FIXED_SHARE * hours * 3600


def samples_a_probe(spec: Spec, seconds: float, probes: int, left_seconds: float) -> int:
    """Say how often each exemplar is measured: once where the spec says that once is enough, or time is short.

    Args:
        spec: the spec.
        seconds: what one measurement takes.
        probes: how many exemplars there are.
        left_seconds: what of the fixed costs is left.
    """
    if spec.measurement.stability.mode is StabilityMode.STABLE or seconds > SLOW_SECONDS:
        return 1
    return PROBE_SAMPLES if probes * PROBE_SAMPLES * seconds <= left_seconds / 2 else 1


def lies_apart(values: Sequence[float], baseline: Sequence[float]) -> bool:
    """Say whether a probe's values do not overlap the untouched code's, and differ by more than those among themselves.

    Args:
        values, baseline: of the primary, each at least one.
    """
    gap = max(min(values) - max(baseline), min(baseline) - max(values))
    middle = abs(mean(values) - mean(baseline))
    return gap > 0 and middle > max(baseline) - min(baseline)


def is_clear(values: Sequence[float], baseline: Sequence[float]) -> bool:
    """Say whether a further sample of a probe would tell nothing new: they lie far beyond the untouched code's range.

    Args:
        values, baseline: of the primary, each at least one.
    """
    gap = max(min(values) - max(baseline), min(baseline) - max(values))
    return gap > CLEAR_WIDTHS * (max(baseline) - min(baseline))


def executed(rounds: Sequence[Probed]) -> tuple[str, ...]:
    """Name the forged files that ran in any round, each once."""
    return tuple(dict.fromkeys(path for one in rounds for path in one.ran))


def forged_values_taken(rounds: Sequence[Probed]) -> bool | None:
    """Say whether the harness can be forged; None where none of the forged files ever ran."""
    if any(one.is_taken for one in rounds):
        return True
    return False if executed(rounds) else None
