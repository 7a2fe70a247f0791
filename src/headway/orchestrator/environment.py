"""What a run is measured on: noted in the log, so that values of another machine are never compared with it.

Two machines of one model count as one: their names say nothing (a container has a new one at every start).
Source: issue 4 item 4; CONTRACTS section 2 (`run_state.headway.environment`).
"""

import itertools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.core.events import EnvironmentSeen
from headway.core.log_view import Log
from headway.core.spec_parts import ComparisonMethod
from headway.core.stopping import totals_of
from headway.errors import RequestWrong

COMPARED = ("system", "machine", "cpu", "cores", "workload")
SINCE = "since_k"


def environment_now(workload: str) -> dict[str, Any]:
    """Give what measurements depend on here: system, kind of machine, processor, number of cores, the harness."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "kernel": platform.release(),
        "workload": workload,
    }


def _cpu() -> str:
    """Give the processor's name; where the system does not tell it, what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    named = (line.partition(":")[2].strip() for line in lines if line.lower().startswith("model name"))
    return next(named, platform.processor() or "unknown")


def environment_seen(log: Log, workload: str) -> EnvironmentSeen | None:
    """Give the fact that the run works on other ground than the log says, or on its first; None where it knows that."""
    now, last = environment_now(workload), _last(log)
    is_same = last is not None and _is_same(now, last)
    if is_same and _met(log):
        return None
    moved = "" if is_same or last is None else _words(last, now)
    return EnvironmentSeen(environment={**now, SINCE: totals_of(log).k if moved else 0}, moved=moved)


def moved_at_k(log: Log, workload: str) -> int | None:
    """Give the session after which all values were, or will be, measured on this ground; None: all of them were."""
    now, last = environment_now(workload), _last(log)
    if last is not None and not _is_same(now, last):
        return totals_of(log).k
    met = _all(log)
    moves = [after for before, after in itertools.pairwise(met) if not _is_same(before, after)]
    return int(moves[-1].get(SINCE) or 0) if moves else None


def refuse_other_ground(log: Log, workload: str, method: ComparisonMethod) -> None:
    """Refuse to go on where stored values of another machine would be compared with fresh ones.

    Raises: RequestWrong, for `absolute` and `relative` on a machine that did not measure the reference.
    """
    last = _last(log)
    if last is None or method not in (ComparisonMethod.ABSOLUTE, ComparisonMethod.RELATIVE):
        return
    now = environment_now(workload)
    if not _is_same(now, last):
        raise RequestWrong(
            _words(last, now),
            f"method {method}: the stored values of the reference were measured there",
            "go on where the run began, or use --fresh; methods `paired` and `sequential` measure both sides anew",
        )


def _met(log: Log) -> tuple[Mapping[str, Any], ...]:
    return log.run_state.headway.environment if log.run_state and log.run_state.headway else ()


def _all(log: Log) -> tuple[Mapping[str, Any], ...]:
    """Give all that the run was measured on, the baseline's first, as far as the log says."""
    own = log.baseline.headway.environment if log.baseline.headway else None
    return _met(log) if own is None else (own, *_met(log))


def _last(log: Log) -> Mapping[str, Any] | None:
    met = _all(log)
    return met[-1] if met else None


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in COMPARED)


def _words(last: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    changed = ", ".join(f"{n} was {last.get(n)}, is {now[n]}" for n in COMPARED if now[n] != last.get(n))
    return f"the run goes on on other ground ({changed}): values from before are not compared with new ones"
