"""What a session of the method `sequential` rests on: its number, its history, its effort and its plan."""

from dataclasses import replace
from typing import Any, Final

from headway.core.actions import Author, Measure, Stop
from headway.core.apply import apply
from headway.core.deciding import (
    NOTHING_STALE,
    Deciding,
    choice_of,
    closed_history,
    deciding_of,
    first_part,
    planned_of,
    planned_of_budget,
)
from headway.core.events import EffortChosen, EnvironmentSeen, SampleStatus, SessionEnded, SessionKind, Side
from headway.core.experiment_life import half_measured, session_step
from headway.core.records import Entry, Snapshot
from headway.core.sequential.log_history import history_of
from headway.core.sequential.settings import settings_of
from headway.core.spec_parts import Effort
from headway.core.watching import Watch
from tests.core.heart import (
    BASE,
    INTEGRATED,
    STANDALONE,
    Story,
    a_log,
    a_run_spec,
    a_world,
    an_item,
    built,
    dispatched,
    prepared,
    sample,
    sequential,
    turn,
)

SPEC: Final = a_run_spec(**sequential(effort="standard"))
AUTO: Final = a_run_spec(**sequential())
NAMES: Final = ("seconds",)
CALIBRATION: Final = (10.0, 10.1, 9.9, 10.05, 9.95, 10.0, 10.1, 9.9)


def a_row(n: int, k: int, *seconds: float, batch: int = 1, outcome: str = "measured", **more: Any) -> dict[str, Any]:
    """Give an entry with a candidate's samples; `reference` adds those of whole pairs."""
    row: dict[str, Any] = {"iteration": n, "batch": batch, "hypothesis": f"way {n}", "category": "c"}
    row |= {"outcome": outcome, "metrics": metrics(*seconds), "headway": {"k": k, "candidate": f"c{n}"}}
    if "reference" in more:
        pair = {"kind": "standalone", "reference_revision": BASE, "candidate_revision": f"c{n}"}
        row["comparisons"] = [
            {**pair, "reference": {"metrics": metrics(*more["reference"]), "headway": {"order": "B A"}}}
        ]
    return row


def metrics(*seconds: float) -> dict[str, Any]:
    return {"seconds": {"aggregate": seconds[0], "samples": list(seconds)}}


def log_of(*rows: dict[str, Any], k: int = 0, **changes: Any) -> Any:
    state = {"status": "running", "tick": 0, "headway": {"totals": {"k": k}, **changes.pop("headway", {})}}
    return a_log(
        *rows, baseline={"metrics": metrics(*CALIBRATION), "headway": {"median_seconds": 1.0}}, run_state=state
    )


def deciding(*rows: dict[str, Any], k: int = 0, since: int = NOTHING_STALE, ground_k: int = 0) -> Deciding:
    log = log_of(*rows, k=k)
    closed = closed_history(log.baseline, (), NAMES, BASE, ground_k)
    return deciding_of(settings_of(SPEC), log, closed, Watch(), BASE, since, ground_k)


def test_a_sessions_number_is_its_own_once_it_has_one_else_the_next() -> None:
    """Given with the first timed measurement; an integrated session has one of its own."""
    found = deciding(a_row(1, 1, 9.0), k=1)
    assert found.number_of(1, STANDALONE) == 1
    assert found.number_of(2, STANDALONE) == 2
    assert found.number_of(1, INTEGRATED) == 2


def test_a_session_never_counts_its_own_samples_or_later_ones_as_history() -> None:
    """History of closed batches and of the open one's earlier sessions equals the one rebuilt from the whole log."""
    rows = [
        a_row(1, 1, 9.0, 9.1, reference=(10.0, 10.1)),
        a_row(2, 2, 10.2),
        a_row(3, 3, 9.5, 9.4, reference=(10.0, 9.9)),
    ]
    found = deciding(*rows, k=3)
    log = log_of(*rows)
    entries = [Entry.model_validate(row) for row in rows]
    for k in (1, 2, 3, 4):
        assert found.before(k) == history_of(log.baseline, entries, NAMES, BASE, before_k=k)
    grown = history_of(log.baseline, entries[:2], NAMES, BASE)
    assert found.before(3) == grown


def test_what_an_earlier_process_measured_is_stale_until_the_reference_is_measured_anew() -> None:
    """Also the calibration, where a person took the night to approve."""
    rows = [a_row(1, 1, 9.9, 9.9, reference=(10.0, 10.0)), a_row(2, 2, 10.3, batch=1)]
    assert deciding(*rows, k=2).before(3).is_fresh(3)
    assert not deciding(*rows, k=2, since=2).before(3).is_fresh(3)
    assert not deciding(since=0).before(1).is_fresh(1)
    assert deciding().before(1).is_fresh(1)
    measured_anew = [*rows, a_row(3, 3, 9.9, 9.9, reference=(10.0, 10.0))]
    assert deciding(*measured_anew, k=3, since=2).before(4).is_fresh(4)


def test_values_of_other_ground_count_for_nothing() -> None:
    """Neither the calibration nor any session up to the move."""
    rows = [a_row(1, 1, 9.0, 9.1, reference=(10.0, 10.1)), a_row(2, 2, 4.5, 4.4, reference=(5.0, 5.1))]
    log = log_of(*rows, k=2)
    closed = closed_history(None, (), NAMES, BASE, 1)
    found = deciding_of(settings_of(SPEC), log, closed, Watch(), BASE, 1, ground_k=1).before(3)
    assert found.of("seconds").calibration == ()
    assert [values for _, values, _ in found.of("seconds").lists] == [(5.0, 5.1), (4.5, 4.4)]


# Effort


def watched(turns: float, measurements: float = 1.0, n: int = 5) -> Watch:
    watch = Watch()
    for number in range(1, n + 1):
        watch = watch.plus(turn(number, elapsed_seconds=turns)).plus(sample(number, elapsed_seconds=measurements))
    return watch


def test_auto_comes_to_a_choice_after_five_candidates_and_stays_as_it_is_until_that_is_on_record() -> None:
    """No session is decided by two efforts."""
    settings = settings_of(AUTO)
    four = deciding_of(settings, log_of(k=4), closed_history(None, (), NAMES, BASE), watched(100.0), BASE)
    five = deciding_of(settings, log_of(k=5), closed_history(None, (), NAMES, BASE), watched(100.0), BASE)
    assert four.found is None
    assert five.found is not None
    assert (five.choice.effort, five.choice.share) == (Effort.STANDARD, 0.5)
    assert (five.found.effort, five.found.share) == (Effort.THOROUGH, 0.5)


def test_the_effort_is_recorded_once_between_two_batches() -> None:
    """What is on record never changes again, whatever later turns take."""
    event = EffortChosen(effort="thorough", share=0.5, reason="turns are dear", since_k=5, at="2026-11-30T15:00:00Z")
    story = Story(AUTO).tell(dispatched())
    edits = apply(story.log, event, story.world)
    story.commit(edits)
    assert apply(story.log, event, story.world) == ()
    assert apply(story.log, event.model_copy(update={"effort": "quick"}), story.world) == ()
    found = deciding_of(settings_of(AUTO), story.log, closed_history(None, (), NAMES, BASE), watched(1.0), BASE)
    assert (found.choice.effort, found.found) == (Effort.THOROUGH, None)


def test_an_effort_that_the_spec_names_is_in_force_whole() -> None:
    """There is nothing to choose, and no share to spare."""
    choice = choice_of(settings_of(SPEC), log_of())
    assert (choice.effort, choice.share, choice.is_final) == (Effort.STANDARD, 1.0, True)


def test_the_choice_is_written_down_behind_the_fifth_session_and_counts_from_the_sixth_on() -> None:
    """Batches of two: the batch of the fifth and sixth is decided by what was in force at its start."""
    story = calibrated(Story(AUTO, backlog=[an_item(f"way {n}", category=f"c{n}") for n in range(8)]))
    while not isinstance((action := story.settle()[0]), Stop):
        if isinstance(action, Author):
            number = action.iteration
            story.tell(turn(number, elapsed_seconds=100.0), built(number), prepared(number))
        else:
            assert isinstance(action, Measure)
            seconds = 20.0 if action.side is B else 10.0
            story.tell(sample(action.iteration, seconds, side=action.side, index=action.index))
    (chosen,) = [event for event in story.told if isinstance(event, EffortChosen)]
    assert (chosen.effort, chosen.share, chosen.since_k) == ("thorough", 0.5, 6)
    efforts = [row["headway"]["effort"] for row in story.rows]
    assert efforts == ["standard"] * 6 + ["thorough"] * 2


# Plan


def test_the_first_approval_fixes_the_plan_of_the_error_budget() -> None:
    """The smaller of `max_iterations` and what the hours allow at the effort's usual cost."""
    log = log_of()
    many = a_run_spec(**sequential(effort="standard"), stopping={"max_iterations": 90, "max_hours": 8})
    short = a_run_spec(**sequential(effort="standard"), stopping={"max_iterations": 900, "max_hours": 0.1})
    assert planned_of_budget(many, log) == 90
    assert planned_of_budget(short, log) == int(360 / 4.6)
    approved = {"approved_at": "2026-11-30T15:00:00Z", "spec_sha256": "0" * 64, "caps": {}, "headway": {"planned": 40}}
    assert planned_of(a_log(approval=approved)) == 40
    assert planned_of(log) is None


def test_a_calibration_alone_decides_candidates_that_change_nothing() -> None:
    """The A/A self-test has a history, and its reference counts as measured just now; other methods have no part."""
    snapshot = {"seconds": Snapshot(aggregate=10.0, samples=CALIBRATION)}
    part = first_part(AUTO, snapshot, BASE, 7)
    assert part is not None
    assert part.state.k == 7
    assert part.history.is_fresh(7)
    assert first_part(a_run_spec(), snapshot, BASE, 7) is None


# What the log gets


def calibrated(story: Story) -> Story:
    """Give a story whose baseline was measured eight times."""
    story.document["baseline"]["metrics"] = metrics(*CALIBRATION)
    story.log = replace(story.log, baseline=story.log.baseline.model_validate(story.document["baseline"]))
    return story


def a_session(story: Story, *facts: tuple[Side, float | SampleStatus]) -> Story:
    """Tell an experiment's facts up to these samples."""
    story.tell(dispatched(), turn(), built(), prepared())
    counts = {Side.CANDIDATE: 0, Side.REFERENCE: 0}
    for side, value in facts:
        counts[side] += 1
        if isinstance(value, SampleStatus):
            story.tell(sample(side=side, index=counts[side], status=value, reason="it printed no JSON"))
        else:
            story.tell(sample(1, value, side=side, index=counts[side], seed=100 + len(story.told)))
    return story


B, A = Side.CANDIDATE, Side.REFERENCE


def test_a_lone_first_look_stands_in_the_entrys_metrics_alone() -> None:
    """No comparison is written where no pair was measured, also when it is decided on."""
    story = a_session(calibrated(Story(SPEC)), (B, 20.0))
    assert story.entry(1).comparisons == ()
    story.settle()
    entry = story.entry(1)
    assert (entry.outcome, entry.comparisons, entry.sample_count) == ("reverted", (), 1)
    assert entry.metrics == {"seconds": Snapshot(aggregate=20.0, samples=(20.0,))}


def test_a_comparison_holds_whole_pairs_and_the_entry_every_valid_sample() -> None:
    """A half whose mate failed is dropped from the comparison, on both sides."""
    story = a_session(Story(SPEC), (B, 9.0), (A, 10.0), (A, 10.5), (B, SampleStatus.INVALID), (A, 10.25), (B, 9.25))
    entry = story.entry(1)
    (pair,) = entry.comparisons
    assert pair.reference is not None
    assert pair.candidate is not None
    assert pair.reference.metrics == {"seconds": Snapshot(aggregate=10.125, samples=(10.0, 10.25))}
    assert pair.candidate.metrics == {"seconds": Snapshot(aggregate=9.125, samples=(9.0, 9.25))}
    assert pair.candidate.headway is not None
    assert pair.candidate.headway.order == "B A A B"
    assert entry.metrics == {"seconds": Snapshot(aggregate=9.125, samples=(9.0, 9.25))}
    assert entry.sample_count == 6


def test_the_loop_measures_what_the_session_asks_for_with_one_seed_for_both_halves_of_a_pair() -> None:
    """A pair that is measured once more has a new one."""
    story = a_session(Story(SPEC), (B, SampleStatus.INVALID))
    step = session_step(1, 1, SessionKind.STANDALONE, "commit-1-1", story.world, {})
    assert (step.side, step.index, step.seed_number) == (B, 2, 2)  # type: ignore[union-attr]
    story.tell(sample(1, 9.0, index=2))
    step = session_step(1, 1, SessionKind.STANDALONE, "commit-1-1", story.world, {})
    assert (step.side, step.index, step.seed_number) == (A, 1, 2)  # type: ignore[union-attr]


def test_drift_of_the_reference_is_a_notice_in_the_log() -> None:
    """Once for the experiment that saw it."""
    story = calibrated(Story(SPEC))
    a_session(story, (B, 5.0), (A, 6.0), (A, 6.0), (B, 5.0), (B, 5.0), (A, 6.0)).settle()
    state = story.log.run_state
    assert state is not None
    assert state.headway is not None
    told = [notice.text for notice in state.headway.notices]
    assert len(told) == 1
    assert told[0].startswith("experiment 1: seconds of the reference is 6 now")


# Moved ground


def test_a_session_that_a_move_caught_half_way_is_set_back() -> None:
    """Samples of two machines make no pair; what was decided, or never measured, stays."""
    half = a_world(dispatched(), turn(), built(), prepared(), sample(1, 9.0))
    (end,) = half_measured(half)
    assert (end.outcome, end.returns_to_backlog) == ("error", True)
    assert half_measured(a_world(dispatched(), turn(), built(), prepared())) == ()
    decided = a_session(calibrated(Story(SPEC)), (B, 20.0))
    assert half_measured(decided.world) != ()
    decided.tell(SessionEnded(iteration=1, session=STANDALONE, answer={"decision": "revert", "reason": "worse"}))
    assert half_measured(decided.world) == ()
    combined = a_world(sample(1, 9.0, session=INTEGRATED))
    assert half_measured(combined)[0].outcome == "not_selected"


def test_a_new_machine_is_noted_once_with_what_moved() -> None:
    """The notice is what a person reads; the mapping is what later starts compare with."""
    seen = EnvironmentSeen(environment={"cpu": "b", "since_k": 3}, moved="cpu was a, is b", at="2026-11-30T15:00:00Z")
    story = Story(SPEC).tell(dispatched())
    story.commit(apply(story.log, seen, story.world))
    assert apply(story.log, seen, story.world) == ()
    state = story.log.run_state
    assert state is not None
    assert state.headway is not None
    assert [notice.text for notice in state.headway.notices] == ["cpu was a, is b"]
    assert state.headway.environment == ({"cpu": "b", "since_k": 3},)
