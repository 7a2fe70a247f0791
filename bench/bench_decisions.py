"""What headway's own decision functions keep, miss and cost, simulated on machines whose truth is known.

`make bench-decisions`: for each noise model 300 runs of 100 candidates that change nothing (any keep is false), 300
runs with a mixture of good and bad candidates, and the power at known gains; then `lean` at budgets of 83, 300 and
1,000 measurements. The last line is one JSON object. Bars: DECISIONS sections 3 and 5.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final

from decision_models import MODELS, TRAINING, Machine, Model, mixed, mixed_training, no_op

from headway.core.sequential.candidate import Decision, decide_candidate
from headway.core.sequential.history import Repeats, RunHistory
from headway.core.sequential.lean import LeanRun
from headway.core.sequential.lean_words import GroupEnded, Measured, Promising
from headway.core.sequential.rules import BOUNDS, Objective, Rules, RunState, spending_of
from headway.core.sequential.sight import Taken
from headway.core.spec_parts import Effort, ErrorControl

CANDIDATES: Final = 100
CALIBRATION: Final = 8
TICKS_BETWEEN: Final = 5
BUDGETS: Final = (83, 300, 1000)
GAINS: Final = (0.02, 0.05, 0.10)
PAIR_UNITS: Final = (1.0, 1.2, 1.4, 1.75, 2.0, 2.3)
LEAN_POWER_BUDGET: Final = 150
GAIN_AT: Final = 30
"""Under `lean` one candidate of a long run of no-ops is a gain: this one."""
QUIET: Final = ("g0.5", "g1", "g3", "g0.06", "g0.1", "train", "train0.1")
"""Models of at most 3% noise, whose claims must be true."""
MORE_RUNS: Final = 6
"""Times more runs where two efforts are divided by each other: 300 would tell the ratio to 6% only."""
METRIC: Final = "metric"
ALL: Final = {**MODELS, **TRAINING}
EFFORTS: Final = (Effort.STANDARD, Effort.THOROUGH)


def rules_of(effort: Effort, sign: int) -> Rules:
    """Give an effort's rules for one objective, with its default error control."""
    control = ErrorControl.NONE if effort is Effort.QUICK else ErrorControl.RUN
    return Rules((Objective(METRIC, sign),), BOUNDS[effort], spending_of(effort, control, None))


@dataclass
class Kept:
    """A keep: what was claimed and what is true, both as log gains."""

    claimed: float
    true: float


class Run:
    """One run of candidates, decided one by one."""

    def __init__(self, model: Model, effort: Effort, seed: int) -> None:
        self.chance = Random(seed)
        self.machine = Machine(model, self.chance)
        self.rules = rules_of(effort, model.sign)
        self.gain, self.spent, self.k = 0.0, 0, 0
        self.keeps: list[int] = []
        self.kept: list[Kept] = []
        start = tuple(self.measure(0.0) for _ in range(CALIBRATION))
        self.history = RunHistory().plus(Repeats("0", {METRIC: start}))
        self.incumbent = "0"

    def measure(self, gain: float) -> float:
        self.spent += 1
        return self.machine.measure(gain)

    def candidate(self, gain: float, *, adopt: bool = True) -> bool:
        """Try a candidate of a known gain over the current best. Returns: whether it was kept."""
        self.k += 1
        self.machine.passes(TICKS_BETWEEN)
        state = RunState(self.k, self.incumbent, tuple(self.keeps), CANDIDATES)
        b: list[float] = [self.measure(self.gain + gain)]
        a: list[float] = []
        while True:
            session = {METRIC: Taken(tuple(a), tuple(b))}
            decision = decide_candidate(session, self.history, self.rules, state)
            if decision.next_measurement == "none":
                break
            if not a:
                a.append(self.measure(self.gain))
            elif len(a) % 2:
                a.append(self.measure(self.gain))
                b.append(self.measure(self.gain + gain))
            else:
                b.append(self.measure(self.gain + gain))
                a.append(self.measure(self.gain))
        self._note(a, b, gain, decision, adopt=adopt)
        return decision.is_keep

    def _note(self, a: list[float], b: list[float], gain: float, decision: Decision, *, adopt: bool) -> None:
        moves = decision.is_keep and adopt
        if a:
            self.history = self.history.plus(Repeats(self.incumbent, {METRIC: tuple(a)}, self.k))
        made = Repeats(f"c{self.k}", {METRIC: tuple(b)}, self.k, is_reference=False, was_kept=moves)
        self.history = self.history.plus(made)
        if decision.is_keep:
            self.kept.append(Kept(self._claim(decision), gain))
        if moves:
            self.keeps.append(self.k)
            self.gain += gain
            self.incumbent = made.code

    def _claim(self, decision: Decision) -> float:
        estimate, sight = decision.gains()[METRIC].estimate, decision.sights[0]
        if sight.history.is_log:
            return estimate
        return as_log_gain(estimate, self.machine.true_value(self.gain), sight.objective.sign)


def as_log_gain(gain: float, value: float, sign: int) -> float:
    """Turn a gain in the metric's unit into a log gain, within what a logarithm can bear."""
    share = max(-0.9, min(0.9, gain / abs(value))) if value else 0.0
    return math.log1p(share) if sign > 0 else -math.log1p(-share)


def null_run(model: Model, effort: Effort, seed: int) -> dict[str, float]:
    run = Run(model, effort, seed)
    start = run.spent
    kept = sum(run.candidate(0.0) for _ in range(CANDIDATES))
    return {"any_false": float(kept > 0), "false": float(kept), "noop_cost": (run.spent - start) / CANDIDATES}


def mixture_run(model: Model, effort: Effort, seed: int) -> dict[str, float]:
    run, chance = Run(model, effort, seed), Random(seed + 1)
    mixture = mixture_of(model)
    possible = 0.0
    for _ in range(CANDIDATES):
        gain = mixture(chance)
        possible += max(gain, 0.0)
        run.candidate(gain)
    return {
        "gain": run.gain,
        "possible": possible,
        "claimed": sum(kept.claimed for kept in run.kept),
        "false": float(sum(kept.true <= 0 for kept in run.kept)),
        "spent": float(run.spent),
    }


def power_run(model: Model, effort: Effort, seed: int, gains: tuple[float, ...], each: int = 6) -> dict[str, float]:
    """Give how often known gains are kept, after 15 candidates that change nothing; nothing is adopted."""
    run, chance = Run(model, effort, seed), Random(seed + 1)
    for _ in range(15):
        run.candidate(0.0, adopt=False)
    order = [gain for gain in gains for _ in range(each)]
    chance.shuffle(order)
    kept = dict.fromkeys(gains, 0)
    for gain in order:
        true = math.log1p(gain) if model.sign > 0 else -math.log1p(-gain)
        kept[gain] += run.candidate(true, adopt=False)
    return {f"{gain:.6g}": count / each for gain, count in kept.items()}


def mixture_of(model: Model) -> Callable[[Random], float]:
    return mixed_training if model.name in TRAINING else mixed


def lean_run(model: Model, budget: int, seed: int, mixture: Callable[[Random], float]) -> dict[str, float]:
    """One run under `lean` with a budget of measurements."""
    machine, chance = Machine(model, Random(seed)), Random(seed + 1)
    run = LeanRun((Objective(METRIC, model.sign),), budget)
    confirmed = tip = candidate = claimed = 0.0
    members: list[float] = []
    kept = false = spent = begun = 0
    while (order := run.order) is not None:
        if order.k > begun:
            begun = order.k
            candidate = mixture(chance)
            machine.passes(TICKS_BETWEEN)
        at = {"confirmed": confirmed, "tip": tip, "candidate": tip + candidate}[order.role]
        spent += 1
        for event in run.tell(Measured({METRIC: machine.measure(at)}, budget - spent)):
            if isinstance(event, Promising):
                members.append(candidate)
                tip += candidate
            elif isinstance(event, GroupEnded) and event.how == "kept":
                members = members or [candidate]
                kept, false = kept + len(members), false + sum(gain <= 0 for gain in members)
                claim = event.gains[METRIC]
                is_log = event.scales[METRIC]
                claimed += claim if is_log else as_log_gain(claim, machine.true_value(confirmed), model.sign)
                confirmed += sum(members)
                tip, members = confirmed, []
            elif isinstance(event, GroupEnded):
                tip, members = confirmed, []
    return {
        "any_keep": float(kept > 0),
        "kept": float(kept),
        "false": float(false),
        "gain": confirmed,
        "claimed": claimed,
        "candidates": float(begun),
    }


def one_gain(gain: float) -> Callable[[Random], float]:
    """Give candidates that change nothing but for one."""
    numbers = count(1)
    return lambda chance: gain if next(numbers) == GAIN_AT else 0.0


def lean_power_run(model: Model, seed: int) -> dict[str, float]:
    """Give how often the one gain among no-ops ends up kept."""
    found: dict[str, float] = {}
    for unit in PAIR_UNITS:
        true = -math.log1p(-0.01 * math.sqrt(2) * unit)
        row = lean_run(model, LEAN_POWER_BUDGET, seed, one_gain(true))
        found[f"{unit:g}"] = float(row["gain"] > 0)
    return found


def standard_on_a_budget(model: Model, budget: int, seed: int, mixture: Callable[[Random], float]) -> dict[str, float]:
    run, chance = Run(model, Effort.STANDARD, seed), Random(seed + 1)
    while run.spent < budget:
        run.candidate(mixture(chance))
    return {"gain": run.gain, "claimed": sum(kept.claimed for kept in run.kept), "candidates": float(run.k)}


@dataclass(frozen=True)
class Job:
    """A part of the simulation: one model, some of its runs."""

    part: str
    model: str
    effort: str
    budget: int
    runs: int
    seed: int


def carried_out(job: Job) -> tuple[Job, dict[str, float]]:
    """Give the means over a job's runs."""
    model = ALL[job.model]
    base = 1_000_003 * job.seed + 7919 * sum(map(ord, job.model))  # parts and efforts see the same machines
    found = [_one(job, model, base + 17 * at) for at in range(job.runs)]
    return job, {name: statistics.fmean(row[name] for row in found) for name in found[0]}


def _one(job: Job, model: Model, seed: int) -> dict[str, float]:
    effort = Effort(job.effort)
    match job.part:
        case "null":
            return null_run(model, effort, seed)
        case "mixture":
            return mixture_run(model, effort, seed)
        case "power":
            return power_run(model, effort, seed, GAINS)
        case "units":
            return power_run(model, effort, seed, tuple(0.01 * math.sqrt(2) * unit for unit in PAIR_UNITS))
        case "lean_units":
            return lean_power_run(model, seed)
        case "lean_null":
            return lean_run(model, job.budget, seed, no_op)
        case "lean_mixture":
            return lean_run(model, job.budget, seed, mixture_of(model))
        case _:
            return standard_on_a_budget(model, job.budget, seed, mixture_of(model))


def jobs_of(runs: int, seed: int, parts: list[str], models: list[str]) -> Iterator[Job]:
    """Give all jobs, the long ones first."""
    wanted = {name: model for name, model in ALL.items() if not models or name in models}
    if "lean" in parts:
        for budget in sorted(BUDGETS, reverse=True):
            yield from (Job("lean_null", name, "lean", budget, runs, seed) for name in wanted)
        for name in wanted:
            many = MORE_RUNS * runs if name == "train" else runs
            yield Job("lean_mixture", name, "lean", BUDGETS[0], many, seed)
            yield Job("standard_budget", name, "standard", BUDGETS[0], many, seed)
    for part in ("mixture", "null", "power"):
        if part in parts:
            few = max(runs // 4, 10) if part == "power" else runs
            yield from (Job(part, m, effort, 0, few, seed) for m in wanted if m in MODELS for effort in EFFORTS)
    if "power" in parts and "g1" in wanted:
        for effort in (Effort.QUICK, *EFFORTS):
            yield Job("units", "g1", effort, 0, max(runs // 4, 10), seed)
        yield Job("lean_units", "g1", Effort.LEAN, LEAN_POWER_BUDGET, runs, seed)
    if "null" in parts and "g1" in wanted:
        yield Job("null", "g1", Effort.QUICK, 0, runs, seed)


Cells = dict[tuple[str, str, str, int], dict[str, float]]


def figures_of(cells: Cells) -> dict[str, Any]:
    """Give the figures of the last line, of what was simulated."""
    found: dict[str, Any] = {}
    for effort in EFFORTS:
        null = {model: row for (part, model, of, _), row in cells.items() if part == "null" and of == effort}
        if null:
            found[f"worst_any_false_keep_{effort}"] = round(max(row["any_false"] for row in null.values()), 4)
            mean = statistics.fmean(row["any_false"] for row in null.values())
            found[f"mean_any_false_keep_{effort}"] = round(mean, 4)
            noisy = [row["noop_cost"] for model, row in null.items() if model != "det"]
            found[f"worst_noop_cost_{effort}"] = round(max(noisy, default=0.0), 3)
            if "det" in null and effort is Effort.STANDARD:
                found["noop_cost_deterministic"] = round(null["det"]["noop_cost"], 3)
    return {**found, **_lean_figures(cells), **_by_model(cells)}


def _lean_figures(cells: Cells) -> dict[str, Any]:
    found: dict[str, Any] = {}
    lean = cells.get(("lean_mixture", "train", "lean", BUDGETS[0]))
    standard = cells.get(("standard_budget", "train", "standard", BUDGETS[0]))
    if lean and standard:
        found["lean_vs_standard_gain_83"] = round(lean["gain"] / standard["gain"], 3)
    null = [row["any_keep"] for (part, *_), row in cells.items() if part == "lean_null"]
    if null:
        found["lean_worst_any_keep"] = round(max(null), 4)
    claims = [
        row["claimed"] / row["gain"]
        for (part, model, *_), row in cells.items()
        if part == "lean_mixture" and model in QUIET and row["gain"] > 0
    ]
    if claims:
        found["lean_worst_claimed_to_true"] = round(max(claims), 3)
    return found


def _by_model(cells: Cells) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (part, model, effort, _), row in sorted(cells.items()):
        if part == "mixture":
            found.setdefault(f"gain_log_percent_{effort}", {})[model] = round(100 * row["gain"], 1)
            found.setdefault(f"measurements_{effort}", {})[model] = round(row["spent"] / CANDIDATES, 2)
        elif part == "power":
            found.setdefault(f"power_{effort}", {})[model] = {gain: round(share, 3) for gain, share in row.items()}
        elif part in ("units", "lean_units"):
            shares = dict(zip(PAIR_UNITS, row.values(), strict=True))
            found.setdefault("power_by_pair_deviations", {})[effort] = {
                str(unit): round(share, 3) for unit, share in shares.items()
            }
    return found


def show(job: Job, row: dict[str, float]) -> None:
    """Print one cell as it comes."""
    cell = f"{job.part:15s} {job.model:13s} {job.effort:9s} {job.budget or '':>5}"
    print(cell, " ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)


def main() -> None:
    """Print a line for each cell, then the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="runs of each model (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another 300 runs (default 1)")
    parser.add_argument("--parts", default="null,mixture,power,lean", help="comma separated (default: all)")
    parser.add_argument("--models", default="", help="comma separated names (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    given = parser.parse_args()
    began = time.monotonic()
    wanted = jobs_of(given.runs, given.seed, given.parts.split(","), [m for m in given.models.split(",") if m])
    cells: Cells = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for job, row in pool.map(carried_out, list(wanted)):
            show(job, row)
            cells[job.part, job.model, job.effort, job.budget] = row
    print(f"{len(cells)} cells in {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(json.dumps({**figures_of(cells), "runs": given.runs, "seed": given.seed}))


if __name__ == "__main__":
    main()
