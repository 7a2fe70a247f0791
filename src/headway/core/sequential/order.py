"""The order in which one session measures, and what its readings come to: whole pairs, and who is next.

`B` | `A` | `A B` | `B A` | `A B` ..., B the candidate and A the current best: the order alternates, so that a linear
drift of the machine cancels out. A reading without a value takes its whole pair with it, which is measured once more.
Source: DECISIONS 2.1 and 2.9; CONTRACTS section 5 (invalid samples).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from headway.core.sequential.sight import Taken

Side = Literal["candidate", "reference"]
MOST_FAILURES: Final = 2
"""Failed measurements of a candidate that make it an error."""


@dataclass(frozen=True)
class Reading:
    """One measurement: its side, and the raw value of each metric; None where it gave none, or not in time."""

    side: Side
    values: Mapping[str, float] | None
    reason: str = ""
    timed_out: bool = False


@dataclass(frozen=True)
class Readings:
    """What a session's readings come to.

    `taken` has each objective's values by whole pair, the candidate's lone first one among them; `following` is the
    side to measure next; `ended` says why the candidate is over (`error`, `timeout`), `broken` why the run is; both
    are empty while the session can go on. `is_between` says that the last pair is whole, or that there is only the
    candidate's first value: the moments to decide at. `number` counts the pairs that were begun, failed ones among
    them, up to the one that `following` belongs to.
    """

    taken: Mapping[str, Taken]
    following: Side
    is_between: bool
    ended: Literal["", "error", "timeout"] = ""
    broken: str = ""
    reason: str = ""
    number: int = 1


def first_side(pair: int) -> Side:
    """Give the side that opens a pair, counted from 0."""
    return "candidate" if pair % 2 == 0 else "reference"


def readings_of(names: Sequence[str], readings: Iterable[Reading]) -> Readings:
    """Put a session's readings together.

    Args:
        names: the required objectives.
        readings: in the order of measurement, each of the side that was asked for.
    Returns: pairs by the measurement that belonged together, never by position in a list of valid ones.
    Raises: ValueError, for a reading of a side that was not asked for.
    """
    whole: list[dict[Side, Mapping[str, float]]] = []
    open_pair: dict[Side, Mapping[str, float]] = {}
    failures = 0
    for reading in readings:
        if reading.side != _following(len(whole), open_pair):
            raise ValueError(f"a reading of the {reading.side} was not asked for")
        trouble = _trouble(names, reading)
        if trouble and reading.side == "reference":
            return _result(names, whole, open_pair, broken=f"the current best cannot be measured: {trouble}")
        if trouble and reading.timed_out:
            return _result(names, whole, open_pair, ended="timeout", reason=trouble)
        if trouble:
            failures += 1
            if failures == MOST_FAILURES:
                return _result(names, whole, open_pair, ended="error", reason=trouble)
            open_pair = {}
            continue
        open_pair[reading.side] = reading.values or {}
        if len(open_pair) == 2:
            whole.append(open_pair)
            open_pair = {}
    return replace(_result(names, whole, open_pair), number=len(whole) + failures + 1)


def _following(pair: int, open_pair: Mapping[Side, object]) -> Side:
    if not open_pair:
        return first_side(pair)
    return "reference" if "candidate" in open_pair else "candidate"


def _trouble(names: Sequence[str], reading: Reading) -> str:
    if reading.timed_out:
        return reading.reason or "the measurement exceeded its time limit"
    if reading.values is None:
        return reading.reason or "the measurement gave no value"
    missing = [name for name in names if not math.isfinite(reading.values.get(name, math.nan))]
    return f"no finite value for {', '.join(missing)}" if missing else ""


def _result(
    names: Sequence[str],
    whole: Sequence[Mapping[Side, Mapping[str, float]]],
    open_pair: Mapping[Side, Mapping[str, float]],
    *,
    ended: Literal["", "error", "timeout"] = "",
    broken: str = "",
    reason: str = "",
) -> Readings:
    lone = open_pair.get("candidate") if not whole else None
    candidates = [pair["candidate"] for pair in whole] + ([lone] if lone is not None else [])
    taken = {
        name: Taken(tuple(pair["reference"][name] for pair in whole), tuple(values[name] for values in candidates))
        for name in names
    }
    is_between = (bool(whole) and not open_pair) or (not whole and lone is not None)
    return Readings(taken, _following(len(whole), open_pair), is_between, ended, broken, reason)
