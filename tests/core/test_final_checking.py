"""The final check, driven sample by sample: its order, its end, and what the log holds of it at any moment."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from headway.core.actions import Conclude, Measure, Stop
from headway.core.apply import apply
from headway.core.deciding import closed_history, deciding_of
from headway.core.events import FinalCheckEnded, SampleStatus, SampleTaken, SessionKind, Side
from headway.core.final_checking import final_step, finished_check, most_pairs, reserved_seconds
from headway.core.log_view import Log, edited, reference_of
from headway.core.plan import plan
from headway.core.records import FinalCheckRow
from headway.core.sequential.settings import settings_of
from headway.core.watching import Watch
from headway.core.world import StopAsked, World
from tests.core.heart import BASE, a_log, a_row, a_run_spec, a_world, sequential

SPEC: Final = a_run_spec(**sequential(effort="standard"))
CALIBRATION: Final = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0, 10.1, 9.9]
Harness = Callable[[str, int], float | SampleStatus]


def a_kept_log(**changes: Any) -> Log:
    """Give the log of a run that kept one experiment."""
    samples = {"seconds": {"aggregate": 10.0, "samples": CALIBRATION}}
    return a_log(
        a_row(1, "kept", commit="c1", headway={"k": 1, "candidate": "c1"}),
        baseline={"metrics": samples, "headway": {"commit": BASE, "median_seconds": 1.0}},
        best={"iteration": 1, "metrics": {"seconds": 9.0}},
        run_state={
            "status": "running",
            "tick": 1,
            "headway": {"totals": {"k": 1, "keeps": [1], "counts": {"kept": 1}}},
        },
        **changes,
    )


@dataclass
class Checking:
    """Carries out what the final check asks for, on a harness that says what each side measures (B best, A base)."""

    harness: Harness
    log: Log = field(default_factory=a_kept_log)
    check_from: int = 1
    order: str = ""
    pairs: list[int] = field(default_factory=list)

    @property
    def world(self) -> World:
        deciding = deciding_of(
            settings_of(SPEC), self.log, closed_history(self.log.baseline, (), ["seconds"], BASE), Watch(), BASE
        )
        return a_world(spec=SPEC, reference=reference_of(self.log, BASE), deciding=deciding, check_from=self.check_from)

    def step(self) -> Measure | Conclude | None:
        """Say what comes next, and carry it out."""
        action = final_step(self.log, self.world)
        if isinstance(action, Measure):
            self.tell(self.measured(action))
        elif action is not None:
            self.tell(action.event)
        return action

    def tell(self, event: Any) -> None:
        timed = event.model_copy(update={"at": "2026-11-30T18:00:00Z"})
        self.log = edited(self.log, apply(self.log, timed, self.world))
        assert apply(self.log, timed, self.world) == (), "told a second time it changes nothing"

    def measured(self, action: Measure) -> SampleTaken:
        letter = "B" if action.side is Side.CANDIDATE else "A"
        self.order, self.pairs = self.order + letter, [*self.pairs, action.pair]
        found = self.harness(letter, action.index)
        values: dict[str, Any] = {"status": found, "reason": "it printed no JSON"}
        if isinstance(found, float):
            values = {"status": SampleStatus.VALID, "metrics": {"seconds": found}, "gates": {"sorted": 1}}
        return SampleTaken(
            iteration=0, attempt=action.attempt, session=action.session, side=action.side, index=action.index,
            seed=action.seed_number, **values,
        )  # fmt: skip

    def to_the_end(self) -> FinalCheckRow:
        while self.step() is not None:
            assert len(self.order) < 40
        found = finished_check(self.log)
        assert found is not None
        return found


def steady(best: float, base: float = 10.0) -> Harness:
    """Each side as it is, with differences of half a per cent."""
    return lambda letter, index: (best if letter == "B" else base) * (1.005 if index % 2 else 1.0)


def test_a_clear_gain_is_proven_in_two_pairs_in_alternating_order() -> None:
    """B A A B, both halves of a pair under one seed, each sample with its side in the log."""
    checking = Checking(steady(8.0))
    row = checking.to_the_end()
    assert (row.verdict, row.pairs, checking.order, checking.pairs) == ("better", 2, "BAAB", [1, 1, 2, 2])
    assert row.gain is not None
    assert row.gain.estimate == pytest.approx(0.2, rel=0.02)
    assert row.gain.low is not None
    assert row.gain.low > 0.15
    assert [sample.side for sample in row.samples] == ["candidate", "reference", "reference", "candidate"]
    assert (row.commit, row.base) == ("c1", BASE)


def test_no_gain_is_looked_for_in_ten_pairs_and_not_claimed() -> None:
    """Not proven; the estimate's interval holds 0."""
    row = Checking(lambda letter, index: 10.0 + (0.1 if (index + (letter == "B")) % 2 else 0.0)).to_the_end()
    assert (row.verdict, row.pairs) == ("not_proven", 10)
    assert row.gain is not None
    assert row.gain.low is not None and row.gain.high is not None
    assert row.gain.low < 0 < row.gain.high


def test_a_best_that_is_worse_is_called_worse() -> None:
    """A gain that was only the machine's."""
    row = Checking(steady(12.0)).to_the_end()
    assert row.verdict == "worse"
    assert row.gain is not None
    assert row.gain.estimate < 0


def test_a_failed_sample_takes_its_pair_with_it_and_two_end_the_check() -> None:
    """As in any session; of the untouched code one is enough, and the reason is in the log."""
    once = Checking(
        lambda letter, index: SampleStatus.INVALID if (letter, index) == ("B", 2) else steady(8.0)(letter, index)
    )
    assert once.to_the_end().verdict == "better"
    assert once.order == "BAABAB"
    assert once.pairs == [1, 1, 2, 2, 3, 3]
    twice = Checking(lambda letter, index: SampleStatus.INVALID if letter == "B" else 10.0).to_the_end()
    assert (twice.verdict, twice.reason) == ("failed", "it printed no JSON")
    base = Checking(lambda letter, index: SampleStatus.TIMEOUT if letter == "A" else 9.0).to_the_end()
    assert base.verdict == "failed"
    assert base.reason == "the untouched code cannot be measured: it printed no JSON"


def test_a_sample_that_fails_a_gate_is_no_value() -> None:
    """The check does not go by numbers of code that does not work."""
    checking = Checking(steady(8.0))
    action = final_step(checking.log, checking.world)
    assert isinstance(action, Measure)
    checking.tell(checking.measured(action).model_copy(update={"gates": {"sorted": 0}}))
    extension = checking.log.best.headway
    assert extension is not None
    assert extension.final_check is not None
    (sample,) = extension.final_check.samples
    assert (sample.metrics, sample.reason) == (None, "it fails the gate sorted")


def test_the_same_log_gives_the_same_next_sample() -> None:
    """A death between two samples costs none: what was taken is not asked for again."""
    whole, torn = Checking(steady(9.9)), Checking(steady(9.9))
    whole.to_the_end()
    while torn.step() is not None:
        torn = Checking(torn.harness, torn.log, order=torn.order, pairs=torn.pairs)
    assert finished_check(torn.log) == finished_check(whole.log)
    assert torn.order == whole.order


def test_a_check_counts_for_its_best_alone_and_a_fresh_one_can_be_asked_for() -> None:
    """Each has a number of its own, so that jobs are never mixed up."""
    checking = Checking(steady(8.0))
    first = checking.to_the_end()
    assert final_step(checking.log, checking.world) is None
    again = Checking(steady(8.0), checking.log, check_from=2).to_the_end()
    assert (first.number, again.number) == (1, 2)
    rows = {**checking.log.recent, 2: replace_entry(checking.log, 1, 2, "c2")}
    moved_on = replace(checking.log, recent=rows, best=checking.log.best.model_copy(update={"iteration": 2}))
    assert finished_check(moved_on) is None
    step = final_step(moved_on, Checking(steady(8.0), moved_on).world)
    assert isinstance(step, Measure)
    assert (step.attempt, step.commit, step.session) == (2, "c2", SessionKind.FINAL)


def replace_entry(log: Log, old: int, new: int, commit: str) -> Any:
    return log.recent[old].model_copy(update={"iteration": new, "commit": commit})


def test_a_check_that_goes_on_elsewhere_begins_anew_and_a_finished_one_stays() -> None:
    """Samples of two machines make no pair."""
    checking = Checking(steady(8.0))
    checking.step()
    elsewhere = checking.log.run_state.model_copy(  # type: ignore[union-attr]
        update={
            "headway": checking.log.run_state.headway.model_copy(  # type: ignore[union-attr]
                update={"environment": ({"cpu": "a"}, {"cpu": "b"})}
            )
        }
    )
    half = Checking(steady(8.0), replace(checking.log, run_state=elsewhere))
    assert half.to_the_end().number == 2
    assert half.order == "BAAB"
    checking.to_the_end()
    whole = replace(checking.log, run_state=elsewhere)
    assert final_step(whole, Checking(steady(8.0), whole).world) is None


def test_there_is_nothing_to_check_without_a_keep_or_under_another_method() -> None:
    """The plan then stops at once."""
    log = a_log(run_state={"status": "running"})
    assert final_step(log, a_world(spec=SPEC)) is None
    assert final_step(a_kept_log(), a_world(reference="c1")) is None


def test_a_run_that_stops_for_good_is_checked_first_and_one_that_a_person_stops_is_not() -> None:
    """The stop comes once the check is in the log."""
    checking = Checking(steady(8.0))
    (first,) = plan(checking.log, checking.world, 0.0)
    assert isinstance(first, Measure)
    (stopped,) = plan(checking.log, replace(checking.world, stop=StopAsked("stop", "by hand")), 0.0)
    assert isinstance(stopped, Stop)
    assert stopped.event.reason == "stop"
    checking.to_the_end()
    (last,) = plan(checking.log, checking.world, 0.0)
    assert isinstance(last, Stop)
    assert last.event.reason == "nothing_runnable"


def test_a_run_that_is_closing_does_nothing_else() -> None:
    """Whatever waits in its backlog, and whether or not it is approved."""
    checking = Checking(steady(8.0))
    closing = replace(checking.world, is_closing=True, approved=False)
    assert isinstance(plan(checking.log, closing, 0.0)[0], Measure)
    checking.to_the_end()
    assert plan(checking.log, replace(checking.world, is_closing=True), 0.0) == ()


@pytest.mark.parametrize(("seconds", "pairs"), [(1.0, 10), (100.0, 10), (150.0, 7), (3600.0, 2), (None, 10)])
def test_a_check_takes_at_most_half_of_the_fixed_costs_and_at_least_two_pairs(
    seconds: float | None, pairs: int
) -> None:
    """Of eight hours 15%, and half of that."""
    headway = {"commit": BASE} if seconds is None else {"commit": BASE, "median_seconds": seconds}
    log = a_log(baseline={"headway": headway}, best={"iteration": 1, "metrics": {}})
    assert most_pairs(log, SPEC) == pairs
    assert reserved_seconds(log, SPEC) == 2 * pairs * (seconds or 0.0)


def test_no_time_is_held_back_where_there_is_nothing_to_check() -> None:
    """Nothing kept, already checked, another method."""
    checking = Checking(steady(8.0))
    assert reserved_seconds(checking.log, SPEC) == 20.0
    assert reserved_seconds(checking.log, a_run_spec()) == 0.0
    assert reserved_seconds(a_log(baseline={"headway": {"median_seconds": 1.0}}), SPEC) == 0.0
    checking.to_the_end()
    assert reserved_seconds(checking.log, SPEC) == 0.0


def test_an_end_of_another_check_changes_nothing() -> None:
    """A late fact of a check that was given up."""
    checking = Checking(steady(8.0))
    checking.step()
    late = FinalCheckEnded(iteration=0, number=7, commit="c1", verdict="better", pairs=2)
    assert apply(checking.log, late, checking.world) == ()


def test_what_the_harness_reports_having_spent_on_it_is_part_of_the_runs_cost() -> None:
    """As of any measurement."""
    checking = Checking(steady(8.0))
    action = final_step(checking.log, checking.world)
    assert isinstance(action, Measure)
    checking.tell(checking.measured(action).model_copy(update={"cost": {"usd": 0.5}}))
    assert checking.log.best.total_run_cost_usd == 0.5
    assert checking.log.best.headway is not None
