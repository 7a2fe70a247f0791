"""Whole runs, answered at random: whatever the world says, a run ends, and its log adds up."""

from collections.abc import Mapping
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.core.actions import Author, BuildCandidate, Measure, PrepareCheckout
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
from tests.core.heart import Simulation, Story, a_run_spec, committed, open_iterations, paired

E = TypeVar("E", bound=ExperimentEvent)

SPECS: Mapping[str, Spec] = {
    "one sample": a_run_spec(max_runner_up_merges_per_batch=2, execution={"max_concurrent": 3}),
    "any that applies": a_run_spec(runner_up="hunks", execution={"max_concurrent": 4}),
    "pairs": a_run_spec(**paired(), tamper_policy="revert"),
    "repeats, side by side": a_run_spec(
        measurement={"exclusive": "none", "stability": {"mode": "repeat", "repeat_count": 3}}
    ),
    "one by one": a_run_spec(execution={"mode": "serial"}, stopping={"max_iterations": 5}),
}
SEEDS = st.integers(min_value=0, max_value=10_000)
KINDS = st.sampled_from(sorted(SPECS))
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def a_simulation(kind: str, seed: int, restarts: int = 0) -> Simulation:
    """Give a run of one kind that was never given hypotheses."""
    return Simulation(Story(SPECS[kind], backlog=None), Random(seed), restarts)


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
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    story = simulation.story
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
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    numbers = [e.iteration for e in told(simulation.story, HypothesisDispatched)]
    batches = [row["batch"] for row in simulation.story.rows]
    assert numbers == sorted(set(numbers))
    assert batches == sorted(batches)


@SLOW
@given(KINDS, SEEDS)
def test_only_an_integrated_candidate_is_kept_and_best_names_the_last(kind: str, seed: int) -> None:
    """`kept` and `runner_up_kept` follow from the branch having moved, and `best` is what it moved to."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    story = simulation.story
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

    simulation = a_simulation(kind, seed)
    simulation.watch = watch
    simulation.to_the_end()


@SLOW
@given(KINDS, SEEDS, st.integers(min_value=0, max_value=3))
def test_the_log_of_any_run_passes_its_own_check_and_its_totals_are_a_recount(
    kind: str, seed: int, restarts: int
) -> None:
    """At the end of a run, restarted or not, `log check` finds no error and counting anew gives the totals."""
    simulation = a_simulation(kind, seed, restarts)
    simulation.to_the_end()
    story = simulation.story
    assert findings_of(story) == []
    totals = totals_of(story.log)
    assert totals == recount([Entry.model_validate(row) for row in story.rows], totals)


@SLOW
@given(KINDS, SEEDS)
def test_sessions_are_numbered_one_by_one(kind: str, seed: int) -> None:
    """Every session that could be decided has a number of its own, from 1 to k; no other has one."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    numbers: list[int] = []
    for row in simulation.story.rows:
        entry = Entry.model_validate(row)
        numbers += [entry.headway.k] if entry.headway and entry.headway.k is not None else []
        numbers += [c.headway.k for c in entry.comparisons if c.headway and c.headway.k is not None]
    assert sorted(numbers) == list(range(1, totals_of(simulation.story.log).k + 1))


@SLOW
@given(KINDS, SEEDS)
def test_one_measurement_at_a_time_and_no_author_beside_it(kind: str, seed: int) -> None:
    """Never is more than one harness run planned; with `exclusive: machine` no author stands beside it."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    exclusive = SPECS[kind].measurement.exclusive == "machine"
    for actions in simulation.looked:
        measuring = [a for a in actions if isinstance(a, Measure | PrepareCheckout)]
        authors = [a for a in actions if isinstance(a, Author | BuildCandidate)]
        assert len(measuring) <= 1
        assert len(authors) <= SPECS[kind].effective_concurrency
        assert not (exclusive and measuring and authors)


@SLOW
@given(KINDS, SEEDS)
def test_nothing_is_done_twice(kind: str, seed: int) -> None:
    """No action whose result is known is asked for again."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    names = [a.id for a in simulation.started if a.id != "propose"]
    assert len(names) == len(set(names))


@SLOW
@given(KINDS, SEEDS)
def test_an_event_told_a_second_time_changes_nothing(kind: str, seed: int) -> None:
    """Applied again, at once or once more has happened, a fact gives no edits."""

    def twice(story: Story, event: Event) -> None:
        assert apply(story.log, event, story.world) == ()
        for earlier in story.told:
            if isinstance(earlier, ExperimentEvent) and earlier.iteration in open_iterations(story.log):
                assert apply(story.log, earlier, story.world) == (), f"{earlier.key} after {event.kind}"

    Simulation(Story(SPECS[kind], backlog=None, on_told=twice), Random(seed)).to_the_end()


@SLOW
@given(KINDS, SEEDS, st.floats(min_value=0, max_value=1))
def test_a_run_taken_up_anywhere_has_the_log_that_it_had(kind: str, seed: int, where: float) -> None:
    """Reading the log back and going through the open batch's records again changes nothing."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    events = simulation.story.told
    story = Story(SPECS[kind], backlog=None).tell(*events[: round(where * len(events))])
    again = story.resumed()
    assert (again.document, again.rows) == (story.document, story.rows)
    assert again.log == story.log


@SLOW
@given(KINDS, SEEDS, st.floats(min_value=0, max_value=1))
def test_events_in_two_parts_give_what_they_give_whole(kind: str, seed: int, where: float) -> None:
    """A log that is written, read back, and gone on with ends as the one that was never put down."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    events = simulation.story.told
    cut = round(where * len(events))
    story = Story(SPECS[kind], backlog=None).tell(*events[:cut])
    story.log = log_of(story.document, story.rows, len(story.rows))
    story.tell(*events[cut:])
    assert (story.document, story.rows) == (simulation.story.document, simulation.story.rows)


@SLOW
@given(KINDS, SEEDS)
def test_one_commit_for_many_facts_is_many_commits(kind: str, seed: int) -> None:
    """Edits put together, at most one for each place, give the same log."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    story = Story(SPECS[kind], backlog=None)
    before = story.log
    story.tell(*simulation.story.told)
    assert committed(before, story.edits) == story.log


@SLOW
@given(KINDS, SEEDS)
def test_rows_read_back_as_they_were_written(kind: str, seed: int) -> None:
    """What the loop writes is a row of the log's own model, and the same row again."""
    simulation = a_simulation(kind, seed)
    simulation.to_the_end()
    for row in simulation.story.rows:
        assert to_row(Entry.model_validate(row)) == row


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_the_simulation_reaches_every_outcome_that_its_kind_of_run_can_have(kind: str) -> None:
    """The runs drawn above are not all the same dull one: over a few dozen seeds all outcomes come up."""
    seen: set[str] = set()
    for seed in range(40):
        simulation = a_simulation(kind, seed)
        simulation.to_the_end()
        seen |= set(simulation.story.outcomes().values())
    runners_up = {"runner_up_kept", "runner_up_reverted", "not_selected"}
    expected = {o.value for o in Outcome} - {"measured", "promising", "censored"}
    assert seen >= expected - (runners_up if kind == "one by one" else set())
