"""What decisions of the method `sequential` rest on besides a session's own samples, rebuilt from the log.

Source: DECISIONS 2.3, 2.6 and 6; CONTRACTS section 2 (noise windows are rebuilt from the log).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headway.core.approval import planned_candidates
from headway.core.events import CandidateBuilt, SessionKind
from headway.core.log_view import Log
from headway.core.records import Baseline, ComparisonKind, EffortRow, Entry, Snapshot
from headway.core.sequential.auto import Choice, choose, first_choice
from headway.core.sequential.history import REFRESH, RunHistory, run_history
from headway.core.sequential.log_history import repeats_of
from headway.core.sequential.rules import RunState
from headway.core.sequential.settings import Settings, rules_for, settings_of
from headway.core.sequential.simpler import LINES_NET, is_simpler
from headway.core.sequential.told import EXPECTED
from headway.core.session_words import RunPart
from headway.core.spec import Spec
from headway.core.spec_parts import ComparisonMethod, Effort
from headway.core.watching import Watch

NOTHING_STALE: Final = -1
"""Where no session, not even the calibration, was measured by an earlier process."""

LEAN_IS_OPEN: Final = False
"""Effort `lean` decides over groups of candidates; the loop of this version decides one by one (ADR 0010)."""


@dataclass(frozen=True)
class Deciding:
    """Where a run stands for the method `sequential`.

    `closed` is the history up to the open batch, `open_batch` that batch's entries; `choice` is the effort in force,
    `found` what `auto` has come to and the log does not say yet: it takes over between two batches, never within a
    session. `measured` and `keeps` are the totals' k and keeps; `planned` is what the first approval admitted; sessions
    up to number `since` (0: the calibration) were measured by an earlier process: the reference is measured anew before
    it is trusted; those up to number `ground_k` on other ground: they count for nothing. `base` is the commit that the
    run began from.
    """

    settings: Settings
    base: str
    closed: RunHistory
    choice: Choice
    found: Choice | None = None
    open_batch: tuple[Entry, ...] = ()
    measured: int = 0
    keeps: tuple[int, ...] = ()
    planned: int | None = None
    since: int = NOTHING_STALE
    ground_k: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Give the required objectives."""
        return tuple(objective.name for objective in self.settings.objectives)

    def number_of(self, iteration: int, kind: SessionKind) -> int:
        """Give the number of a session: its own where it has one, else the next."""
        entry = next((e for e in self.open_batch if e.iteration == iteration), None)
        own = None
        if entry is not None and kind is SessionKind.STANDALONE:
            own = entry.headway.k if entry.headway else None
        elif entry is not None:
            found = [c for c in entry.comparisons if c.kind == ComparisonKind.INTEGRATED and c.headway]
            own = found[-1].headway.k if found and found[-1].headway else None
        return own or self.measured + 1

    def before(self, k: int) -> RunHistory:
        """Give the history that session k is decided on."""
        history = self.closed
        for repeats in repeats_of(Baseline(), self.open_batch, self.names, self.base):
            if self.ground_k < repeats.k < k:
                history = history.plus(repeats)
        if history.reference_k <= self.since:
            return replace(history, reference_k=k - REFRESH)
        return history

    def part_for(self, reference: str, iteration: int, kind: SessionKind, built: CandidateBuilt | None) -> RunPart:
        """Give the part of one session.

        Args:
            reference: commit of the current best.
            iteration: the experiment's number.
            kind: alone, or combined with the winner.
            built: its candidate, for how simple it is; None where that does not matter.
        """
        k = self.number_of(iteration, kind)
        rules = rules_for(self.settings, self.choice.effort, self.planned, is_simpler=self._is_simpler(built))
        state = RunState(k, reference, self.keeps, self.planned, self.choice.share)
        return RunPart(self.before(k), rules, state)

    def _is_simpler(self, built: CandidateBuilt | None) -> bool:
        simpler = self.settings.simpler
        if simpler is None or built is None:
            return False
        sizes = {LINES_NET: built.lines_added - built.lines_removed, **built.sizes}
        return is_simpler(simpler.metric, built.base_sizes, sizes)


def deciding_of(
    settings: Settings,
    log: Log,
    closed: RunHistory,
    watch: Watch,
    base: str,
    since: int = NOTHING_STALE,
    ground_k: int = 0,
) -> Deciding:
    """Put together where a run stands.

    Args:
        settings: from the spec.
        log: as it is now.
        closed: the history up to the open batch: `closed_history`, grown with every batch that ended.
        watch: what turns and measurements took, for effort `auto`.
        base: commit that the run started from.
        since, ground_k: see `Deciding`.
    """
    extension = log.run_state.headway if log.run_state else None
    totals = extension.totals if extension else None
    return Deciding(
        settings=settings,
        base=base,
        closed=closed,
        choice=choice_of(settings, log),
        found=_found(settings, log, watch),
        open_batch=log.of_batch(log.ticks + 1),
        measured=(totals.k if totals else 0) or 0,
        keeps=tuple(totals.keeps) if totals else (),
        planned=planned_of(log),
        since=since,
        ground_k=ground_k,
    )


def planned_of_budget(spec: Spec, log: Log) -> int | None:
    """Give how many candidates the budget of a spec admits, as `approval.planned_candidates` counts them.

    Args:
        spec: whose caps are approved.
        log: with the calibration, which tells what a measurement takes.
    """
    seconds = log.baseline.headway.median_seconds if log.baseline.headway else None
    choice = choice_of(settings_of(spec), log)
    return planned_candidates(spec, seconds, EXPECTED[choice.effort])


def planned_of(log: Log) -> int | None:
    """Give how many candidates the first approval admitted; None where it set no bound."""
    return log.approval.headway.planned if log.approval and log.approval.headway else None


def first_part(spec: Spec, calibration: Mapping[str, Snapshot], base: str, k: int) -> RunPart | None:
    """Give the part of a session that is decided on the calibration alone; None under the older methods.

    Args:
        spec: the spec.
        calibration: samples of the untouched code, by metric.
        base: its commit.
        k: the session's number.
    """
    if spec.measurement.stability.comparison.method is not ComparisonMethod.SEQUENTIAL:
        return None
    settings = settings_of(spec)
    effort = Effort.STANDARD if settings.effort is Effort.AUTO else settings.effort
    names = [objective.name for objective in settings.objectives]
    history = closed_history(Baseline(metrics=dict(calibration)), (), names, base)
    history = replace(history, reference_k=k - 1)
    planned = spec.stopping.max_iterations
    return RunPart(history, rules_for(settings, effort, planned), RunState(k, base, (), planned))


def choice_of(settings: Settings, log: Log) -> Choice:
    """Give the effort in force: the spec's, the one on record, or what a measurement's time alone says."""
    if settings.effort is not Effort.AUTO:
        return Choice(settings.effort, 1.0, True, "as the spec says")
    row = _effort_row(log)
    if row is not None:
        return Choice(Effort(row.effort), row.share, True, row.reason or "")
    seconds = log.baseline.headway.median_seconds if log.baseline.headway else None
    return first_choice([] if seconds is None else [seconds], lean_is_open=LEAN_IS_OPEN)


def _found(settings: Settings, log: Log, watch: Watch) -> Choice | None:
    """Give what `auto` has come to, where the log does not hold it yet."""
    if settings.effort is not Effort.AUTO or _effort_row(log) is not None:
        return None
    extension = log.run_state.headway if log.run_state else None
    candidates = (extension.totals.k if extension and extension.totals else 0) or 0
    found = choose(choice_of(settings, log), watch.first, candidates, lean_is_open=LEAN_IS_OPEN)
    return found if found.is_final else None


def _effort_row(log: Log) -> EffortRow | None:
    extension = log.run_state.headway if log.run_state else None
    return extension.effort if extension else None


def closed_history(
    baseline: Baseline | None, entries: Iterable[Entry], names: Sequence[str], base: str, after_k: int = 0
) -> RunHistory:
    """Build the history of all ended batches.

    Args:
        baseline: the log's section, whose samples are the calibration; None where they were taken on other ground.
        entries: of ended batches, in any order; each may be let go of once it was read.
        names: the required objectives.
        base: commit that the run started from.
        after_k: sessions up to this number were measured on other ground, and are left out.
    """
    lists = repeats_of(baseline or Baseline(), entries, names, base)
    return run_history(each for each in lists if each.k > after_k or each.k == 0)
