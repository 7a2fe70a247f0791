"""Whole runs, answered at random: whatever the world says, a run ends, and its log adds up."""

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.core.apply import apply
from headway.core.events import (
    CandidateBuilt,
    CandidateIntegrated,
    Event,
    ExperimentEvent,
    HypothesisDispatched,
    HypothesisDropped,
    SessionKind,
)
from headway.core.log_check import check_log
from headway.core.log_findings import Severity
from headway.core.log_view import log_of
from headway.core.records import Entry, Outcome, to_row
from headway.core.spec import Spec
from headway.core.stopping import totals_of
from headway.core.totals import recount
from tests.core.heart import Simulation, Story, a_run_spec, committed, paired, sequential

E = TypeVar("E", bound=ExperimentEvent)

SPECS: Mapping[str, Spec] = {
    "one sample": a_run_spec(max_runner_up_merges_per_batch=2, execution={"max_concurrent": 3}),
    "any that applies": a_run_spec(runner_up="hunks", execution={"max_concurrent": 4}),
    "pairs": a_run_spec(**paired(), tamper_policy="revert"),
    "repeats, side by side": a_run_spec(
        measurement={"exclusive": "none", "stability": {"mode": "repeat", "repeat_count": 3}}
    ),
    "sequential": a_run_spec(**sequential(), runner_up="hunks", execution={"max_concurrent": 3}),
    "one by one": a_run_spec(execution={"mode": "serial"}, stopping={"max_iterations": 5}),
}
NOISE: Mapping[str, float] = {"sequential": 0.01}
SEEDS = st.integers(min_value=0, max_value=39)
KINDS = st.sampled_from(sorted(SPECS))
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(SLOW, max_examples=30)


@cache
def a_finished_run(kind: str, seed: int, restarts: int = 0) -> Story:
    """Give the story of a run that began without hypotheses, at its end; read it, change nothing."""
    simulation = Simulation(
        Story(SPECS[kind], backlog=None), Random(seed), restarts, luck=seed, noise=NOISE.get(kind, 0)
    )
    simulation.to_the_end()
    return simulation.story


def watched(kind: str, seed: int, look: Callable[[Story], None]) -> None:
    """Run to the end, and look at the story at every step."""
    story = Story(SPECS[kind], backlog=None)
    Simulation(story, Random(seed), watch=look, luck=seed, noise=NOISE.get(kind, 0)).to_the_end()


def told_to(kind: str, seed: int, on_told: Callable[[Story, Event], None]) -> None:
    """Run to the end, and look at the story behind every fact."""
    story = Story(SPECS[kind], backlog=None, on_told=on_told)
    Simulation(story, Random(seed), luck=seed, noise=NOISE.get(kind, 0)).to_the_end()


def findings_of(story: Story) -> list[str]:
    """Give what `log check` calls an error in a story's log."""
    found = check_log(story.document, [(None, row) for row in story.rows])
    return [f"{f.where}: {f.what}" for f in found if f.severity is Severity.ERROR]


def told(story: Story, kind: type[E]) -> list[E]:
    """Give the facts of one kind."""
    return [event for event in story.told if isinstance(event, kind)]


@SLOW
@given(KINDS, SEEDS)
def test_every_run_ends_and_every_dispatched_experiment_has_its_end(kind: str, seed: int) -> None:
    """Whatever agents, harness and git answer, the plan comes to a stop and leaves nothing open."""
    story = a_finished_run(kind, seed)
    dropped = {e.iteration for e in told(story, HypothesisDropped)}
    for iteration in (e.iteration for e in told(story, HypothesisDispatched)):
        assert (iteration in dropped) != (iteration in story.outcomes())
        assert iteration in dropped or Outcome(story.outcomes()[iteration]).is_final
    assert not story.log.dispatched
    assert not dropped & {e.iteration for e in told(story, CandidateBuilt) if e.commit is not None}


@SLOW
@given(KINDS, SEEDS)
def test_no_number_is_used_twice_and_entries_stand_in_the_order_of_their_first_commit(kind: str, seed: int) -> None:
    """Iterations rise from dispatch to dispatch, and a batch's entries lie together."""
    whole = a_finished_run(kind, seed)
    numbers = [e.iteration for e in told(whole, HypothesisDispatched)]
    batches = [row["batch"] for row in whole.rows]
    assert numbers == sorted(set(numbers))
    assert batches == sorted(batches)


@SLOW
@given(KINDS, SEEDS)
def test_only_an_integrated_candidate_is_kept_and_best_names_the_last(kind: str, seed: int) -> None:
    """`kept` and `runner_up_kept` follow from the branch having moved, and `best` is what it moved to."""
    story = a_finished_run(kind, seed)
    integrated = {e.iteration: e for e in told(story, CandidateIntegrated)}
    keeps = {n for n, outcome in story.outcomes().items() if Outcome(outcome).is_keep}
    assert keeps == set(integrated)
    assert story.log.best.iteration == (list(integrated)[-1] if integrated else 0)
    for iteration, event in integrated.items():
        wanted = Outcome.KEPT if event.session is SessionKind.STANDALONE else Outcome.RUNNER_UP_KEPT
        assert (story.entry(iteration).outcome, story.entry(iteration).commit) == (wanted, event.commit)


@SLOW
@given(KINDS, SEEDS)
def test_a_final_outcome_never_changes(kind: str, seed: int) -> None:
    """An entry goes from measured to its outcome once."""
    seen: dict[int, dict[str, Any]] = {}

    def watch(story: Story) -> None:
        for row in story.rows:
            before = seen.get(row["iteration"])
            if before is not None and Outcome(before["outcome"]).is_final:
                assert row == before
            seen[row["iteration"]] = row

    watched(kind, seed, watch)


@SLOW
@given(KINDS, SEEDS, st.integers(min_value=0, max_value=3))
def test_the_log_of_any_run_passes_its_own_check_and_its_totals_are_a_recount(
    kind: str, seed: int, restarts: int
) -> None:
    """At the end of a run, restarted or not, `log check` finds no error and counting anew gives the totals."""
    story = a_finished_run(kind, seed, restarts)
    assert findings_of(story) == []
    totals = totals_of(story.log)
    assert totals == recount([Entry.model_validate(row) for row in story.rows], totals)


@SLOW
@given(KINDS, SEEDS)
def test_sessions_are_numbered_one_by_one(kind: str, seed: int) -> None:
    """Every session that could be decided has a number of its own, from 1 to k; no other has one."""
    whole = a_finished_run(kind, seed)
    numbers: list[int] = []
    for row in whole.rows:
        entry = Entry.model_validate(row)
        numbers += [entry.headway.k] if entry.headway and entry.headway.k is not None else []
        numbers += [c.headway.k for c in entry.comparisons if c.headway and c.headway.k is not None]
    assert sorted(numbers) == list(range(1, totals_of(whole.log).k + 1))


@SLOW
@given(KINDS, SEEDS)
def test_one_measurement_at_a_time_and_no_author_beside_it(kind: str, seed: int) -> None:
    """Never is more than one harness run planned; with `exclusive: machine` no author stands beside it."""
    exclusive = SPECS[kind].measurement.exclusive == "machine"

    def watch(story: Story) -> None:
        running = [name for name in story.world.running if name.count("/") > 1]
        authors = [name for name in running if name.split("/")[1] in ("author", "build")]
        measuring = [name for name in running if name not in authors and name.split("/")[1] != "integrate"]
        assert len(measuring) <= 1, measuring
        assert len(authors) <= SPECS[kind].effective_concurrency
        assert not (exclusive and measuring and authors)

    watched(kind, seed, watch)


@SLOW
@given(KINDS, SEEDS)
def test_nothing_is_done_twice(kind: str, seed: int) -> None:
    """No action whose result is known is asked for again."""
    names = [event.key for event in told(a_finished_run(kind, seed), ExperimentEvent)]
    assert len(names) == len(set(names))


@FEW
@given(KINDS, SEEDS)
def test_an_event_told_a_second_time_changes_nothing(kind: str, seed: int) -> None:
    """Applied again, a fact gives no edits."""

    def again(story: Story, event: Event) -> None:
        assert apply(story.log, event, story.world) == ()

    told_to(kind, seed, again)


@FEW
@given(KINDS, SEEDS)
def test_a_run_taken_up_anywhere_has_the_log_that_it_had(kind: str, seed: int) -> None:
    """Reading the log back and going through the open batch's records again changes nothing, after any fact."""

    def again(story: Story, event: Event) -> None:
        other = story.resumed()
        assert (other.document, other.rows) == (story.document, story.rows), event.kind
        assert other.log == story.log

    told_to(kind, seed, again)


@SLOW
@given(KINDS, SEEDS, st.floats(min_value=0, max_value=1))
def test_events_in_two_parts_give_what_they_give_whole(kind: str, seed: int, where: float) -> None:
    """A log that is written, read back, and gone on with ends as the one that was never put down."""
    whole = a_finished_run(kind, seed)
    events = whole.told
    cut = round(where * len(events))
    story = Story(SPECS[kind], backlog=None).tell(*events[:cut])
    story.log = log_of(story.document, story.rows, len(story.rows))
    story.tell(*events[cut:])
    assert (story.document, story.rows) == (whole.document, whole.rows)


@SLOW
@given(KINDS, SEEDS)
def test_one_commit_for_many_facts_is_many_commits(kind: str, seed: int) -> None:
    """Edits put together, at most one for each place, give the same log."""
    whole = a_finished_run(kind, seed)
    story = Story(SPECS[kind], backlog=None)
    before = story.log
    story.tell(*whole.told)
    assert committed(before, story.edits) == story.log


@SLOW
@given(KINDS, SEEDS)
def test_rows_read_back_as_they_were_written(kind: str, seed: int) -> None:
    """What the loop writes is a row of the log's own model, and the same row again."""
    whole = a_finished_run(kind, seed)
    for row in whole.rows:
        assert to_row(Entry.model_validate(row)) == row


def test_the_runs_drawn_here_reach_every_outcome() -> None:
    """The runs above are not all the same dull one: every outcome comes up, but the ladder's `censored`."""
    seen = {
        outcome for kind in SPECS for seed in range(20) for outcome in a_finished_run(kind, seed).outcomes().values()
    }
    assert seen == {o.value for o in Outcome if o.is_final} - {"censored"}
