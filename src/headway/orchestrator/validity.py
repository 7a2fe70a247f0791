"""The metric validity gate of CP-1: every probe is a commit, measured in a clean checkout as any candidate is.

What one probe came to is on disk before the next begins (`exp0000/probes/`), and each of its measurements is a job of
its own (`exp0000/jobs/`): a gate that was killed goes on where it was.

Source: CONTRACTS sections 5 and 9; DESIGN section 6.
"""

import json
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from headway.core import gates
from headway.core.actions import Measure
from headway.core.events import SampleStatus, SampleTaken, SessionKind, Side, Stage
from headway.core.probes import (
    MOST_ROUNDS,
    Came,
    Probed,
    ProbeKind,
    executed,
    fixed_seconds,
    is_clear,
    samples_a_probe,
)
from headway.core.records import HarnessValidation, Probe, to_row
from headway.core.self_test import FalseKeeps, estimate_false_keeps
from headway.core.spec import Spec
from headway.core.validity import Measured, Waivers, judge_harness, unwaived
from headway.core.validity_words import failure_lines
from headway.errors import OutsideFailed
from headway.orchestrator.exemplars import (
    Planned,
    claim_for,
    clear_marks,
    marked,
    mutable_code,
    plan_forgery,
)
from headway.orchestrator.first import set_aside
from headway.orchestrator.ground import Ground
from headway.orchestrator.loop import now
from headway.orchestrator.measuring import Measuring, seed_of
from headway.orchestrator.perform import CANDIDATE_TREE, sample_event
from headway.store.atomic import write_atomic
from headway.store.paths import ensure_folder

HUNG_FACTOR = 5.0
LEAST_HUNG_SECONDS = 10.0
PROBES_FOLDER = "probes"


class HarnessInvalid(OutsideFailed):
    """The harness fails its validity gate; no log is written and no agent is paid."""

    def __init__(self, probes: tuple[str, ...], file: str, names: tuple[str, ...]) -> None:
        super().__init__(
            "\n".join(("the harness fails its validity gate:", *(f"  {line}" for line in probes))),
            file,
            "mend the harness or the exemplars, then `headway run SPEC`; or go on all the same with "
            + " ".join(f"--waive-validity {name}" for name in names),
        )
        self.args = (probes, file, names)


def run_gate(
    ground: Ground,
    samples: Sequence[SampleTaken],
    exemplars: Sequence[Planned],
    others: Sequence[Probe],
    waivers: Waivers,
    tell: Callable[[str], None],
) -> HarnessValidation:
    """Run the gate as far as it has not run, and write `harness-validation.json`.

    Args:
        ground: the run's parts; its time limit is that of the calibration.
        samples: the baseline's.
        exemplars: from `plan_exemplars`.
        others: probes about the baseline.
        waivers: what a person waives; what an earlier start was told holds too.
        tell: is told what is going on.
    Raises: HarnessInvalid, when a probe that stops the run failed and nobody waived it; the file is there then.
    """
    file = ground.run.harness_validation
    waivers = _with_earlier(waivers, earlier_validation(file))
    measured = measure_gate(ground, samples, exemplars, tell)
    validation = judge_harness(ground.spec, measured, others, waivers, now())
    text = json.dumps(to_row(validation), ensure_ascii=False, indent=1) + "\n"
    write_atomic(file, text.encode("utf-8", "surrogatepass"))
    failed = unwaived(validation)
    if failed:
        raise HarnessInvalid(tuple(failure_lines(failed)), str(file), tuple(p.name for p in failed))
    return validation


def earlier_validation(file: Path) -> HarnessValidation | None:
    """Give what an earlier start of this run found; None where it did not come so far."""
    try:
        return HarnessValidation.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def forget_failed_gate(ground: Ground, waivers: Waivers) -> None:
    """Set aside what a gate measured that failed, unless it is waived now: its cause may have been mended since."""
    earlier = earlier_validation(ground.run.harness_validation)
    if earlier is None:
        return
    if any(waivers.of(probe.name) is None for probe in unwaived(earlier)):
        paths = ground.run.experiment(0)
        for folder in (paths.jobs, paths.folder / PROBES_FOLDER):
            if folder.is_dir():
                set_aside(folder)


def _with_earlier(waivers: Waivers, earlier: HarnessValidation | None) -> Waivers:
    if earlier is None:
        return waivers
    names = [probe.waiver for probe in earlier.probes or () if probe.waiver is not None]
    calibration = waivers.calibration if waivers.calibration is not None else earlier.waiver
    return Waivers(tuple(dict.fromkeys((*waivers.validity, *names))), calibration)


def measure_gate(
    ground: Ground, samples: Sequence[SampleTaken], exemplars: Sequence[Planned], tell: Callable[[str], None]
) -> Measured:
    """Measure all probes, within the time that a run's fixed costs may take; see `run_gate`."""
    gate = _Gate(ground, samples, tell)
    each = samples_a_probe(ground.spec, gate.one_seconds, len(exemplars), gate.left_seconds)
    probed = tuple(gate.probed(planned, each) for planned in exemplars)
    rounds, note = gate.forgeries()
    return Measured(gate.baseline, probed, rounds, note, false_keeps_of(ground.spec, samples, ground.run_id))


def false_keeps_of(spec: Spec, samples: Sequence[SampleTaken], seed: str) -> FalseKeeps | None:
    """Estimate by resampling how many no-ops the decision keeps; the same samples give the same count."""
    common = set.intersection(*(set(s.metrics) for s in samples))
    rows = [{name: value for name, value in s.metrics.items() if name in common} for s in samples]
    return estimate_false_keeps(spec, rows, samples[-1].gates, random.Random(f"{seed}/false-keeps").randrange)


@dataclass
class _Gate:
    """Measures probes one at a time; what is on disk already is not measured again."""

    ground: Ground
    samples: Sequence[SampleTaken]
    tell: Callable[[str], None]
    _spent: float = field(init=False)

    def __post_init__(self) -> None:
        self._spent = sum(s.elapsed_seconds for s in self.samples)

    @property
    def baseline(self) -> tuple[float, ...]:
        """Give the primary's values of the untouched code."""
        return tuple(s.metrics[self.ground.spec.metric.primary.name] for s in self.samples)

    @property
    def one_seconds(self) -> float:
        """Give what one measurement takes."""
        return statistics.median(s.elapsed_seconds for s in self.samples)

    @property
    def left_seconds(self) -> float:
        """Give what is left of the time for fixed costs."""
        return fixed_seconds(self.ground.spec) - self._spent

    def forgeries(self) -> tuple[tuple[Probed, ...], str]:
        """Try to forge: all mutable code at once, then what is left when those that ran are left as they were."""
        tree = self._tree
        sources = mutable_code(self.ground)
        if not sources.texts:
            return (), "no mutable file is code in a language that a forgery can be written in"
        claim = claim_for(self.ground, self.samples, tree)
        if claim is None:
            return (), "no output of this format can be made up"
        rounds: list[Probed] = []
        for number in range(1, MOST_ROUNDS + 1):
            planned = plan_forgery(self.ground, sources, claim, number, executed(rounds), tree)
            if planned is None:
                break
            rounds.append(self.probed(planned, 1))
            if rounds[-1].is_taken or not rounds[-1].ran:
                break
        else:
            return tuple(rounds), f"the search ended after {MOST_ROUNDS} measurements"
        note = f"{sources.not_looked_at} further files were not tried" if sources.not_looked_at else ""
        return tuple(rounds), note

    def probed(self, planned: Planned, count: int) -> Probed:
        """Measure one probe, or give what it came to before."""
        file = self.ground.run.experiment(0).folder / PROBES_FOLDER / f"{planned.name}.json"
        known = _stored(file, planned.commit)
        if known is None and self.left_seconds < self.one_seconds:
            return self._result(planned, Came.SKIPPED, reason="no time was left within the fixed costs")
        found = known or self._measured(planned, count)
        if known is None and found.came is not Came.SKIPPED:
            ensure_folder(file.parent)
            write_atomic(file, found.model_dump_json(indent=1).encode() + b"\n")
        self._spent += found.elapsed_seconds
        self.tell(f"probe {planned.name}: {_words(found)}")
        return found

    def _measured(self, planned: Planned, count: int) -> Probed:
        is_forged = planned.kind is ProbeKind.FORGED
        measuring = self.ground.measuring
        before = measuring.timeout_seconds
        if is_forged:
            hung = max(LEAST_HUNG_SECONDS, HUNG_FACTOR * max(s.elapsed_seconds for s in self.samples))
            measuring.timeout_seconds = min(before, hung)
        try:
            return self._session(planned, count, measuring)
        finally:
            measuring.timeout_seconds = before

    def _session(self, planned: Planned, count: int, measuring: Measuring) -> Probed:
        """Take a probe's samples. A forgery skips the checks: the code of a cheat would pass them."""
        jobs = ensure_folder(self.ground.run.experiment(0).jobs)
        label = f"probe-{planned.name}-{planned.commit[:8]}"
        is_forged = planned.kind is ProbeKind.FORGED
        if not (jobs / f"{label}-1").exists():
            prepared = measuring.prepare(CANDIDATE_TREE, planned.commit, jobs, label, checks=not is_forged)
            clear_marks(self._tree, planned.files)
            if not prepared.ok:
                turned_down = prepared.stage in (Stage.CHECKS, Stage.SMOKE)
                came = Came.REJECTED if turned_down else Came.FAILED
                return self._result(planned, came, reason=f"{prepared.stage}: {prepared.detail}"[:2000])
        values: list[float] = []
        seconds = 0.0
        for index in range(1, count + 1):
            event = self._sample(planned, jobs / f"{label}-{index}", index)
            seconds += event.elapsed_seconds
            came, reason = self._came(event)
            if came is not Came.VALUE:
                return self._result(planned, came, tuple(values), reason, seconds)
            values.append(event.metrics[self.ground.spec.metric.primary.name])
            if is_clear(values, self.baseline):
                break
        return self._result(planned, Came.VALUE, tuple(values), "", seconds)

    def _sample(self, planned: Planned, folder: Path, index: int) -> SampleTaken:
        seed = seed_of(self.ground.run_id, 0, SessionKind.STANDALONE, index)
        action = Measure(0, 1, SessionKind.STANDALONE, Side.CANDIDATE, index, planned.commit)
        job = f"exp0000/{planned.name}/{index}"
        reading = self.ground.measuring.sample(CANDIDATE_TREE, planned.commit, folder, job, seed)
        return sample_event(action, reading, seed, self.ground.relative)

    def _came(self, event: SampleTaken) -> tuple[Came, str]:
        if event.status is SampleStatus.LOST:
            return Came.SKIPPED, event.reason
        if event.status is not SampleStatus.VALID:
            return Came.FAILED, event.reason[:2000]
        failed = gates.check(self.ground.spec.metric.degenerate_gates, event.gates).failed
        return (Came.REJECTED, f"gate failed: {', '.join(failed)}") if failed else (Came.VALUE, "")

    def _result(
        self, planned: Planned, came: Came, values: tuple[float, ...] = (), reason: str = "", seconds: float = 0.0
    ) -> Probed:
        return Probed(
            name=planned.name,
            kind=planned.kind,
            commit=planned.commit,
            came=came,
            source=planned.source,
            note=planned.note,
            left_out=planned.left_out,
            values=values,
            reason=reason,
            elapsed_seconds=round(seconds, 3),
            files=planned.files,
            ran=marked(self._tree, planned.files) if came is not Came.SKIPPED else (),
            claimed=planned.claimed,
        )

    @property
    def _tree(self) -> Path:
        return self.ground.pool.tree(CANDIDATE_TREE).path


def _stored(file: Path, commit: str) -> Probed | None:
    """Give what a probe came to in an earlier process; None where it is not over, or the code is another."""
    try:
        found = Probed.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.commit == commit else None


def _words(found: Probed) -> str:
    if found.kind is ProbeKind.FORGED and found.came is not Came.SKIPPED:
        end = "believed" if found.is_taken else "not believed" if found.ran else "none of them ran"
        shown = ", ".join(found.files[:3]) + (" and others" if len(found.files) > 3 else "")
        return f"{found.claimed:g} claimed by {shown}: {end}"
    if found.came is Came.VALUE:
        return ", ".join(f"{value:g}" for value in found.values)
    first = (found.reason.splitlines() or [""])[0].removesuffix(" Traceback (most recent call last):")
    return f"{found.came}: {first}"
