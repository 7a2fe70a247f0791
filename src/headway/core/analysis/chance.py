"""How many keeps chance alone would have made, and what that number rests on.

Sources: DECISIONS section 2.6 (what `alpha` bounds under each error control); CONTRACTS section 9 (the A/A probe).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.analysis.tried import Fate, Tried
from headway.core.log_reading import ReadLog
from headway.core.spec import Spec
from headway.core.spec_parts import ComparisonMethod, Effort, ErrorControl

PROBE = "false_keeps"
QUICK_ALPHA = 0.02
"""Chance of a false keep for each candidate where `error_control: none` goes with no `alpha` of its own."""


@dataclass(frozen=True)
class Chance:
    """Keeps that chance would have made among as many candidates that change nothing.

    Args:
        compared: candidates that a decision was made on, repeats aside.
        kept: of them.
        expected: None where it is not known; an upper bound where `is_bound`.
        basis: what the number rests on, in words, or why there is none.
    """

    compared: int
    kept: int
    expected: float | None
    is_bound: bool
    basis: str


def chance_of(log: ReadLog, spec: Spec | None, experiments: Sequence[Tried]) -> Chance:
    """Say how many keeps chance would have made.

    Args:
        log: the whole log: what the gate found of the harness.
        spec: says how decisions were made; None where there is none.
        experiments: all of them.
    """
    compared = [one for one in experiments if one.fate.is_compared and one.repeat_of is None]
    kept = sum(one.fate is Fate.KEPT for one in compared)
    probe = _probe(log)
    if spec is not None and spec.measurement.stability.comparison.method is ComparisonMethod.SEQUENTIAL:
        expected, basis = _by_design(spec, len(compared), kept)
        return Chance(len(compared), kept, expected, True, basis)
    if probe is not None:
        share, words = probe
        return Chance(len(compared), kept, share * len(compared), False, words)
    why = (
        "not known: this log has no check of the decision on code that changes nothing (`headway check --aa N`)"
        if compared
        else "nothing was compared"
    )
    return Chance(len(compared), kept, None if compared else 0.0, False, why)


def _by_design(spec: Spec, compared: int, kept: int) -> tuple[float, str]:
    rule = spec.measurement.stability.comparison
    control = rule.error_control
    if control is None:
        many = spec.stopping.max_iterations is None or spec.stopping.max_iterations > 100
        control = ErrorControl.FDR if many else ErrorControl.RUN
        control = ErrorControl.NONE if rule.effort is Effort.QUICK else control
    alpha = rule.alpha
    match control:
        case ErrorControl.RUN:
            return alpha, f"at most {alpha:g} in the whole run: `sequential` with error control `run`"
        case ErrorControl.FDR:
            return alpha * kept, f"at most {alpha:.0%} of the keeps: `sequential` with error control `fdr`"
        case ErrorControl.NONE:
            each = alpha if "alpha" in rule.model_fields_set else QUICK_ALPHA
            return each * compared, f"{each:g} for each candidate: `sequential` without error control"


def _probe(log: ReadLog) -> tuple[float, str] | None:
    """Give the share of no-ops that the decision kept at the gate, and what that share is; None where not tried."""
    probes = (log.harness_validation.probes if log.harness_validation else None) or ()
    found = next((probe for probe in probes if probe.name == PROBE), None)
    seen = found.observed if found else None
    share = seen.get("share") if isinstance(seen, dict) else None
    if not isinstance(share, int | float):
        return None
    how = "resampling the baseline's samples" if isinstance(seen, dict) and seen.get("estimated") else "measured no-ops"
    return float(share), f"{share:.1%} of candidates that change nothing were kept at the gate ({how})"
