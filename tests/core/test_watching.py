"""What effort `auto` chooses by: turns and measurements of the first experiments, in whatever order they are told."""

from random import Random

from headway.core.events import SampleStatus, TurnStatus
from headway.core.sequential.auto import Watched
from headway.core.watching import MOST_KEPT, Watch
from tests.core.heart import built, sample, turn


def a_watch(*facts: object) -> Watch:
    watch = Watch()
    for fact in facts:
        watch = watch.plus(fact)  # type: ignore[arg-type]
    return watch


def experiments(*numbers: int) -> list[object]:
    return [
        fact
        for n in numbers
        for fact in (turn(n, elapsed_seconds=100.0 * n, usd=float(n)), sample(n, elapsed_seconds=float(n)))
    ]


def test_only_completed_turns_and_valid_samples_count() -> None:
    """A turn that failed or a measurement that did says nothing of what they take."""
    nothing = [
        turn(1, status=TurnStatus.FAILED, elapsed_seconds=5.0),
        built(1),
        sample(1, status=SampleStatus.INVALID, elapsed_seconds=5.0),
    ]
    assert a_watch(*nothing) == Watch()
    assert a_watch(turn(1)).first == Watched()


def test_the_first_five_experiments_count_whatever_the_order_of_their_facts() -> None:
    """A resumed process reads them experiment by experiment, and comes to the same."""
    facts = experiments(1, 2, 3, 4, 5, 6, 7)
    first = a_watch(*facts).first
    assert first.turn_seconds == (100.0, 200.0, 300.0, 400.0, 500.0)
    assert first.measurement_seconds == (1.0, 2.0, 3.0, 4.0, 5.0)
    for seed in range(20):
        mixed = list(facts)
        Random(seed).shuffle(mixed)
        assert a_watch(*mixed).first == first


def test_several_turns_are_one_and_every_sample_counts() -> None:
    """A repair is part of what a candidate takes."""
    first = a_watch(
        turn(1, elapsed_seconds=3.0), turn(1, 2, elapsed_seconds=4.0), *(sample(1, index=i) for i in (1, 2))
    )
    assert first.first.turn_seconds == (7.0,)
    assert first.first.measurement_seconds == (1.0, 1.0)


def test_money_counts_where_every_part_is_known() -> None:
    """Else time alone does."""
    known = a_watch(turn(1, usd=2.0), sample(1, cost={"usd": 0.5}))
    assert (known.first.turn_usd, known.first.measurement_usd) == ((2.0,), (0.5,))
    partly = a_watch(turn(1, usd=None), sample(1, cost={"usd": 0.5}))
    assert (partly.first.turn_usd, partly.first.measurement_usd) == ((), ())


def test_it_is_full_after_five_and_never_grows_without_end() -> None:
    """Experiments without a measurement are remembered up to a bound."""
    assert not a_watch(*experiments(1, 2, 3, 4)).is_full
    assert a_watch(*experiments(1, 2, 3, 4, 5)).is_full
    assert len(a_watch(*(turn(n) for n in range(1, 500))).seen) == MOST_KEPT
