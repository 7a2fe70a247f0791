"""Effort `lean`: probation on a tip, group confirmation, and a state that follows from what it was told."""

import math
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequential.lean import LeanRun, replayed
from headway.core.sequential.lean_ledger import Ledger
from headway.core.sequential.lean_proof import alpha_of_group, claim_of
from headway.core.sequential.lean_words import (
    Died,
    Ended,
    Event,
    GroupEnded,
    LeftTold,
    Measured,
    Order,
    Promising,
    Told,
    Vetoed,
)
from headway.core.sequential.noise import Noise
from headway.core.sequential.rules import Objective
from headway.core.sequential.scale import Threshold
from tests.core.sequential.sessions import TIME

SIZE = Objective("size", -1)


class Played:
    """A run under `lean` on a machine whose truth is known: candidate k changes the log of the time by -gain(k)."""

    def __init__(
        self,
        gain: Callable[[int], float],
        left: int | None = 83,
        deviation: float = 0.001,
        seed: int = 1,
        objectives: Sequence[Objective] = (TIME,),
        size: Callable[[int], float] = lambda k: 0.0,
        speed: Callable[[int], float] = lambda k: 0.0,
    ) -> None:
        self.run = LeanRun(objectives, left)
        self.start, self.left = left, left
        self.speed = speed
        self.gain, self.size, self.deviation, self.chance = gain, size, deviation, Random(seed)
        self.confirmed = self.tip = (0.0, 0.0)
        self.told: list[Told] = []
        self.events: list[Event] = []
        self.orders: list[Order] = []
        self.drifted: list[int] = []

    def value(self, order: Order) -> dict[str, float]:
        at = self.confirmed if order.role == "confirmed" else self.tip
        if order.role == "candidate":
            at = (at[0] + self.gain(order.k), at[1] + self.size(order.k))
        noise = [math.exp(self.deviation * self.chance.gauss(0, 1)) for _ in range(2)]
        speed = math.exp(self.speed(order.k or self.run.candidates))
        return {"time": 10 * speed * math.exp(-at[0]) * noise[0], "size": 100 * math.exp(-at[1]) * noise[1]}

    def tell(self, told: Told) -> None:
        self.told.append(told)
        for event in self.run.tell(told):
            self.events.append(event)
            if isinstance(event, Promising):
                self.tip = (self.tip[0] + self.gain(event.k), self.tip[1] + self.size(event.k))
            elif isinstance(event, GroupEnded):
                self.move(event)

    def move(self, event: GroupEnded) -> None:
        if event.how == "kept":
            gains = [(self.gain(k), self.size(k)) for k in event.members]
            self.tip = tuple(c + sum(g) for c, g in zip(self.confirmed, zip(*gains, strict=True), strict=True))
            self.confirmed = self.tip
        self.tip = self.confirmed

    def step(self) -> bool:
        order = self.run.order
        if order is None:
            return False
        self.orders.append(order)
        if order.k > self.run.candidates and self.run.drifts:
            self.drifted.append(order.k)
        self.left = None if self.left is None else self.left - 1
        self.tell(Measured(self.value(order), self.left))
        return True

    def to_the_end(self, most: int = 500) -> "Played":
        while len(self.orders) < most and self.step():
            pass
        return self

    def groups(self, how: str) -> list[GroupEnded]:
        return [event for event in self.events if isinstance(event, GroupEnded) and event.how == how]

    def ends(self, how: str) -> list[int]:
        return [event.k for event in self.events if isinstance(event, Ended) and event.how == how]


def test_a_run_begins_with_three_samples_of_the_untouched_code() -> None:
    """Then it asks for a candidate."""
    played = Played(lambda k: 0.0)
    for _ in range(4):
        played.step()
    assert [(order.role, order.k, order.kind) for order in played.orders] == [
        ("confirmed", 0, "calibration"),
        ("confirmed", 0, "calibration"),
        ("confirmed", 0, "calibration"),
        ("candidate", 1, "exploratory"),
    ]


def test_five_on_probation_are_proven_together() -> None:
    """Each takes two samples, the group two pairs in alternating order; the claim is what it gained."""
    played = Played(lambda k: 0.02)
    while not played.groups("kept"):
        assert played.step()
    (group,) = played.groups("kept")
    assert group.members == (1, 2, 3, 4, 5)
    assert [order.role for order in played.orders[-4:]] == ["confirmed", "tip", "tip", "confirmed"]
    assert group.gains["time"] == pytest.approx(0.1, abs=0.005)
    assert (group.j, group.alpha) == (1, 0.025)
    assert group.boundary == pytest.approx(2.69, abs=0.01)
    assert played.run.on_probation == ()


def test_nothing_is_kept_where_nothing_changes() -> None:
    """A hundred runs of no-ops: five may keep something, and it takes chance to keep any."""
    kept = [bool(Played(lambda k: 0.0, deviation=0.01, seed=seed).to_the_end().groups("kept")) for seed in range(100)]
    assert sum(kept) <= 9


def test_a_no_op_costs_less_than_two_measurements() -> None:
    """Most are screened out by their first sample."""
    played = Played(lambda k: 0.0, left=300, deviation=0.01).to_the_end()
    assert 300 / played.run.candidates < 2


def test_the_chance_of_a_group_falls_with_every_confirmation_that_failed() -> None:
    """And all chances together are five percent."""
    assert [alpha_of_group(j) for j in (1, 2, 3)] == pytest.approx([0.025, 0.05 / 6, 0.05 / 12])
    assert sum(alpha_of_group(j) for j in range(1, 5000)) < 0.05
    assert alpha_of_group(1, share=0.5) == 0.0125


def test_a_group_that_is_not_confirmed_is_dropped_whole() -> None:
    """Candidates that only looked good: the tip goes back, the next candidate stands on the confirmed commit."""
    played = Played(lambda k: 0.0, deviation=0.01)
    shown = iter([10.0, 10.05, 9.95])
    while not played.groups("unconfirmed"):
        order = played.run.order
        assert order is not None
        value = next(shown, 9.8 if order.role == "candidate" else 10.0 + 0.05 * (len(played.told) % 2))
        played.tell(Measured({"time": value, "size": 1.0}, 60))
    (group,) = played.groups("unconfirmed")
    assert len(group.members) == 5
    assert group.gains == {}
    assert played.run.on_probation == ()


def test_the_reserve_proves_what_is_on_probation() -> None:
    """With fewer than eighteen measurements left a group of one is proven rather than forgotten."""
    played = Played(lambda k: 0.02 if k == 1 else -0.5, left=40).to_the_end()
    assert [group.members for group in played.groups("kept")] == [(1,)]
    assert len(played.orders) == 40
    assert played.orders[-1].kind == "repeat"


def test_probation_at_the_end_of_an_unknown_budget_is_proven_when_the_run_wraps_up() -> None:
    """Without a known budget there is no reserve; `LeftTold` says what is left for the proof."""
    played = Played(lambda k: 0.02 if k == 1 else -0.5, left=None).to_the_end(most=12)
    assert played.run.on_probation == (1,)
    played.left = 16
    played.tell(LeftTold(16))
    played.to_the_end()
    assert [group.members for group in played.groups("kept")] == [(1,)]


def test_probation_without_a_budget_for_its_proof_waits_for_the_next_run() -> None:
    """It stays promising, and raised caps prove it."""
    played = Played(lambda k: 0.02, left=7).to_the_end()
    assert played.run.on_probation == ()  # six measurements are needed to begin, and four were left
    played = Played(lambda k: 0.02 if k == 1 else -0.5, left=None).to_the_end(most=8)
    played.left = 3
    played.tell(LeftTold(3))
    played.to_the_end()
    assert played.run.on_probation == (1,)
    played.left = 20
    played.tell(LeftTold(20))
    assert played.to_the_end().groups("kept")


def test_an_open_half_of_a_pair_is_worth_nothing_after_a_pause() -> None:
    """The machine may be another one by then."""
    played = Played(lambda k: 0.02)
    while played.run.on_probation != (1, 2, 3, 4, 5):
        played.step()
    played.step()
    assert played.run.order == Order("tip", 0, "confirm")
    played.tell(LeftTold(played.left))
    assert played.run.order == Order("confirmed", 0, "confirm")


def test_whole_pairs_outlive_a_pause() -> None:
    """Only the open half is measured again."""
    played = Played(lambda k: 0.0005)
    while not (played.orders and played.orders[-1].kind == "confirm"):
        assert played.step()
    for _ in range(2):  # one more of the first pair, and half of the second
        played.step()
    first = played.run.order
    played.tell(LeftTold(played.left))
    again = played.run.order
    assert (first, again) == (Order("confirmed", 0, "confirm"), Order("tip", 0, "confirm"))


def test_no_candidate_is_begun_that_could_not_be_proven() -> None:
    """Below six measurements left the confirmed commit is repeated."""
    assert Played(lambda k: 0.0, left=8).to_the_end().run.candidates == 0
    assert Played(lambda k: 0.0, left=9).to_the_end().run.candidates >= 1


def looked_at(*values: float) -> LeanRun:
    """Give a run whose calibration is 10, 10.1, 10, after these values of its first candidate."""
    run = LeanRun((TIME,), 60)
    for value in (10.0, 10.1, 10.0, *values):
        run.tell(Measured({"time": value}, 50))
    return run


def test_second_and_third_looks() -> None:
    """Deviation of one value 0.0070, level 0.0033 above ln 10: a mean of two is known to 0.0064.

    1.0 of that asks for a third look, 0.5 rejects, 2.0 is promising; the third look ends it either way.
    """
    assert looked_at(9.969).order == Order("candidate", 1, "add_sample")
    assert looked_at(9.969, 9.969).order == Order("candidate", 1, "add_sample")
    assert looked_at(9.969, 10.035).order == Order("candidate", 2, "exploratory")
    assert looked_at(9.969, 10.035).on_probation == ()
    assert looked_at(9.905, 9.905).on_probation == (1,)
    assert looked_at(9.969, 9.969, 9.969).on_probation == ()
    assert looked_at(9.969, 9.969, 9.85).on_probation == (1,)


def test_the_first_sample_against_the_screen() -> None:
    """It takes 0.7 deviations: 0.0057."""
    assert looked_at(9.976).order == Order("candidate", 1, "add_sample")
    assert looked_at(9.978).order == Order("candidate", 2, "exploratory")


def test_the_tips_selected_first_value_is_not_stored() -> None:
    """Of two values one is left: too few, so that the tip is measured before the next second look."""
    run = looked_at(9.905, 9.905)
    run.tell(Measured({"time": 9.8}, 50))
    assert run.order == Order("tip", 2, "exploratory")


def test_a_candidate_that_dies_is_dropped_without_moving_the_tip() -> None:
    """Before or after its first sample."""
    played = Played(lambda k: 0.02)
    while played.run.order is None or played.run.order.k != 2:
        played.step()
    before = played.run.on_probation
    played.tell(Died())
    assert played.ends("died") == [2]
    assert played.run.on_probation == before
    played.step()
    assert played.orders[-1].k == 3
    played.tell(Died())
    assert played.ends("died") == [2, 3]
    assert played.run.order is not None
    assert played.run.order.k == 4


def test_only_a_candidate_can_die() -> None:
    """A failing confirmed commit or tip stops the run instead."""
    with pytest.raises(ValueError, match="no candidate"):
        LeanRun((TIME,), 83).tell(Died())


def test_a_veto_takes_the_last_group_back() -> None:
    """The holdout turned it down: the confirmed commit is the one before."""
    played = Played(lambda k: 0.02)
    while not played.groups("kept"):
        played.step()
    played.tell(Vetoed())
    assert [group.members for group in played.groups("vetoed")] == [(1, 2, 3, 4, 5)]
    assert played.run.order == Order("candidate", 6, "exploratory")
    with pytest.raises(ValueError, match="no group"):
        played.run.tell(Vetoed())


@given(st.integers(1, 10_000), st.sampled_from([0.0005, 0.02]), st.sampled_from([40, 83, None]), st.integers(0, 60))
def test_a_replay_of_what_was_told_is_the_run(seed: int, deviation: float, left: int | None, cut: int) -> None:
    """Killed after any measurement: told again in order, it wants the same and has said the same."""
    chance = Random(seed)
    gains = [chance.gauss(0, 0.01) for _ in range(200)]
    played = Played(lambda k: gains[k], left, deviation, seed).to_the_end(most=60)
    run, events = replayed((TIME,), played.told, left)
    assert list(events) == played.events
    assert run.order == played.run.order
    half, early = replayed((TIME,), played.told[:cut], left)
    assert list(early) == played.events[: len(early)]
    for told in played.told[cut:]:
        half.tell(told)
    assert half.order == played.run.order


@given(st.integers(1, 1000), st.sampled_from([1e-6, 3.0, 1e6]))
def test_the_unit_does_not_matter(seed: int, factor: float) -> None:
    """Nor does it for groups."""
    chance = Random(seed)
    played = Played(lambda k: chance.gauss(0, 0.002), deviation=0.01, seed=seed).to_the_end(most=50)
    scaled = [
        Measured({n: factor * v for n, v in told.values.items()}, told.left)
        for told in played.told
        if isinstance(told, Measured)
    ]
    run, events = replayed((TIME,), scaled, played.start)
    assert [type(event) for event in events] == [type(event) for event in played.events]
    assert run.order == played.run.order


def test_values_of_zero_and_below_are_compared_by_differences() -> None:
    """A loss that crosses zero."""
    run, wanted = LeanRun((TIME,), 83), 0
    chance = Random(5)
    while (order := run.order) is not None and wanted < 83:
        wanted += 1
        level = {"candidate": -0.5, "tip": 0.0, "confirmed": 0.0}[order.role]
        run.tell(Measured({"time": level + 0.01 * chance.gauss(0, 1)}, 83 - wanted))
    assert wanted == 83


# drift


def on_a_jumping_machine(gain: Callable[[int], float], seed: int) -> Played:
    """A machine that is up to 5% faster or slower from one candidate to the next, with noise of 0.5%."""
    chance = Random(seed)
    speeds = [chance.uniform(-0.05, 0.05) for _ in range(400)]
    return Played(gain, 300, 0.005, seed, speed=lambda k: speeds[k]).to_the_end()


def test_a_machine_that_drifts_is_noticed_and_candidates_are_compared_in_pairs() -> None:
    """Candidate, tip, tip, candidate, ...: two to four pairs of fresh values."""
    played = on_a_jumping_machine(lambda k: 0.005, seed=3)
    sessions: dict[int, str] = {}
    for order in played.orders:
        if order.k:
            sessions[order.k] = sessions.get(order.k, "") + order.role[0]
    in_pairs = [sessions[k] for k in played.drifted if len(sessions[k]) > 1]
    assert len(in_pairs) > 10
    assert all("cttcctt"[: len(letters)] == letters[:7] for letters in in_pairs)
    assert max(map(len, in_pairs)) >= 6


def test_drift_keeps_nothing_that_is_no_gain() -> None:
    """Only fresh pairs keep: of thirty runs with nothing to find at most a few keep anything."""
    kept = [bool(on_a_jumping_machine(lambda k: 0.0, seed).groups("kept")) for seed in range(30)]
    assert sum(kept) <= 4


# deterministic


def exactly(k_better: int = 1) -> Played:
    return Played(lambda k: 0.5 if k == k_better else 0.0, deviation=0.0)


def test_an_exact_no_op_costs_one() -> None:
    """B alone."""
    played = exactly(k_better=0).to_the_end()
    assert played.run.candidates == 80
    assert played.ends("screened") == list(range(1, 81))


def test_an_exact_gain_is_kept_by_itself_on_seven_equal_repeats() -> None:
    """Two from the calibration, two from every repeat of both: three repeats, and one for the next."""
    played = exactly().to_the_end(most=20)
    (group,) = played.groups("kept")
    assert (group.members, group.pairs) == ((1,), 3)
    assert group.gains["time"] == pytest.approx(0.5)
    assert [order.role[0] for order in played.orders[3:10]] == ["c", "c", "c", "c", "c", "c", "c"]
    assert played.orders[10].k == 2


def test_a_repeat_that_differs_leads_to_the_noisy_path_for_good() -> None:
    """The candidate goes on as a noisy one; the next one is screened against noise."""
    played = exactly()
    for _ in range(5):
        played.step()
    assert played.run.order == Order("candidate", 1, "confirm")
    played.tell(Measured({"time": 10 * math.exp(-0.5) * 1.01, "size": 1.0}, 78))
    assert played.run.order is not None
    assert (played.run.order.kind, played.run.order.k) in (("exploratory", 1), ("add_sample", 1))
    played.left = 78
    played.to_the_end()
    assert not played.run.candidates > 80


# several objectives and thresholds


def test_a_group_that_makes_another_objective_worse_is_not_kept() -> None:
    """None may be worse than it may be."""
    played = Played(lambda k: 0.02, objectives=(TIME, SIZE), size=lambda k: -0.02).to_the_end()
    assert played.groups("kept") == []
    bounded = Objective("size", -1, max_regression=Threshold(True, 0.5))
    played = Played(lambda k: 0.02, objectives=(TIME, bounded), size=lambda k: -0.02).to_the_end()
    assert played.groups("kept")


def test_a_group_must_reach_the_smallest_gain_worth_keeping() -> None:
    """Five times 1% is less than 20%."""
    asked = Objective("time", -1, Threshold(True, 0.20))
    assert Played(lambda k: 0.01, objectives=(asked,)).to_the_end().groups("kept") == []
    assert Played(lambda k: 0.08, objectives=(asked,)).to_the_end().groups("kept")


def test_two_pairs_far_apart_claim_the_smaller() -> None:
    """One of them may be an outlier."""
    noise = Noise(unit=1.0, deviation=1.0, freedom=10.0, count=20)
    assert claim_of([3.0, 9.0], noise) == pytest.approx(3 * (1 - 0.5 / 9))
    assert claim_of([3.0, 5.0], noise) == pytest.approx(4 * (1 - 0.5 / 16))
    assert claim_of([0.5, 0.5], noise) == 0.0


def test_a_level_is_the_clipped_mean_of_the_newest_eight() -> None:
    """On differences: noise unit 1.4826, so that 100 counts as median + 2.1 x 1.4826."""
    ledger = Ledger(TIME)
    ledger.note(-1.0)
    ledger.calibrated([0.0, 1.0, 0.0])
    assert list(ledger.level("tip")) == pytest.approx([1 / 3, 3])
    ledger.stored["tip"] = [50.0, 50.0, *[0.0] * 4, *[1.0] * 3, 100.0]
    assert list(ledger.level("tip")) == pytest.approx([(3 + 0.5 + 2.1 * 1.4826) / 8, 8])
