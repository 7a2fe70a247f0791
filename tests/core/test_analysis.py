"""What a log amounts to: rates, attribution, chance, near misses, what failures share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.analysis.commonalities import cause_of
from headway.core.analysis.facts import Facts, facts_of
from headway.core.analysis.proportions import chance_of_so_many, wilson
from headway.core.analysis.rates import By
from headway.core.analysis.tables import experiments_table, groups_table, keeps_table
from headway.core.analysis.tried import Fate
from headway.core.analysis.whole import Analysis, analyse, compared
from headway.core.log_reading import log_from
from headway.core.spec import Spec
from tests.builders import a_spec, merged
from tests.core.test_report import BASE, a_value, an_entry


def a_document(rows: Sequence[Mapping[str, Any]] = (), **sections: Any) -> dict[str, Any]:
    """Give a whole log whose baseline took 2 seconds."""
    base = {
        "spec": "faster-sort",
        "run_id": "20260101_000000",
        "started_at": "2026-01-01T00:00:00Z",
        "baseline": {"metrics": {"seconds": a_value(2.0, 1.9, 2.0, 2.1)}, "headway": {"commit": BASE}},
        "best": {"iteration": 0, "metrics": {"seconds": a_value(2.0)}},
    }
    return {**merged(base, sections), "experiments": [dict(row) for row in rows]}


def a_gain(estimate: float, low: float | None = None, high: float | None = None, **headway: Any) -> dict[str, Any]:
    """Give the extension of an entry with this gain."""
    return {"gain": {"estimate": estimate, "low": low, "high": high}, **headway}


def tried(iteration: int, outcome: str, gain: float | None = None, **changes: Any) -> dict[str, Any]:
    """Give an experiment, with its gain where it has one, that changed a file of its own."""
    ours = {} if gain is None else {"headway": a_gain(gain)}
    return an_entry(iteration, outcome, **merged({"changes": [{"file": f"f{iteration}.py"}], **ours}, changes))


def analysed(
    rows: Sequence[Mapping[str, Any]] = (),
    spec: Spec | None = None,
    facts: Mapping[int, Facts] | None = None,
    **sections: Any,
) -> Analysis:
    """Analyse a log of these rows."""
    return analyse(log_from(a_document(rows, **sections)), spec or a_spec(), facts)


# Rates


def test_a_keep_rate_leaves_out_what_was_not_tried_or_is_not_over() -> None:
    """Deferred and open experiments count in no rate."""
    outcomes = ["kept", "reverted", "error", "deferred_needs_approval", "measured"]
    rates = analysed([tried(n, outcome) for n, outcome in enumerate(outcomes, 1)]).rates
    assert (rates.experiments, rates.tried, rates.kept, rates.reverted, rates.failed) == (5, 3, 1, 1, 1)
    assert rates.keep_rate == pytest.approx(1 / 3)


def test_every_outcome_has_a_fate() -> None:
    """A new outcome is not forgotten."""
    from headway.core.analysis.tried import _FATES
    from headway.core.log_words import Outcome

    assert set(_FATES) == set(Outcome)
    assert {o for o, fate in _FATES.items() if fate is Fate.KEPT} == {o for o in Outcome if o.is_keep}
    assert {o for o, fate in _FATES.items() if fate is Fate.OPEN} == {o for o in Outcome if not o.is_final}


def test_a_cost_that_is_partly_unknown_gives_no_cost_per_keep() -> None:
    """Unknown is never zero."""
    paid: dict[str, Any] = {"headway": {"usage": {"usd": 2.0}}}
    unknown: dict[str, Any] = {"headway": {"usage": {"usd": "unknown"}}}
    half = analysed([tried(1, "kept", **paid), tried(2, "reverted", **unknown)]).rates
    assert (half.usd, half.usd_unknown, half.usd_per_keep) == (2.0, 1, None)
    whole = analysed([tried(1, "kept", **paid), tried(2, "reverted", **paid)]).rates
    assert whole.usd_per_keep == 4.0


def test_the_cost_of_an_experiment_holds_what_harness_and_judge_report() -> None:
    """The agent's part alone would be too little."""
    row = tried(1, "kept", headway={"usage": {"usd": 1.0}}, cost={"usd": 0.5}, judge={"judge_cost_usd": 0.25})
    assert analysed([row]).rates.usd == 1.75


def test_what_was_set_aside_untried_makes_no_cost_unknown() -> None:
    """Nothing was spent on it."""
    paid: dict[str, Any] = {"headway": {"usage": {"usd": 2.0}}}
    rates = analysed([tried(1, "kept", **paid), tried(2, "deferred_needs_approval")]).rates
    assert (rates.usd, rates.usd_unknown, rates.usd_per_keep) == (2.0, 0, 2.0)


def test_what_failed_or_is_not_decided_has_no_gain() -> None:
    """Whatever value it printed: it was compared with nothing."""
    good: dict[str, Any] = {"metrics": {"seconds": 0.1}}
    rows = [tried(1, "degenerate", 0.9, **good), tried(2, "error", **good), tried(3, "measured", **good)]
    assert [one.gain for one in analysed(rows).experiments] == [None, None, None]


def test_time_per_keep_comes_from_the_records() -> None:
    """Turns and measurements together, and unknown where an experiment has none on record."""
    facts = {1: Facts(author_seconds=60, measure_seconds=30), 2: Facts(measure_seconds=10)}
    rows = [tried(1, "kept"), tried(2, "reverted")]
    assert analysed(rows, facts=facts).rates.seconds_per_keep == 100
    assert analysed(rows, facts={1: facts[1]}).rates.seconds_per_keep is None


def test_groups_by_category_list_the_most_tried_first() -> None:
    """And every experiment is in one of them."""
    rows = [tried(1, "kept", category="a"), tried(2, "error", category="b"), tried(3, "reverted", category="b")]
    groups = analysed(rows).by(By.CATEGORY)
    assert [(g.name, g.tried, g.kept) for g in groups] == [("b", 2, 0), ("a", 1, 1)]


def test_an_experiment_counts_in_the_group_of_every_file_that_it_changed() -> None:
    """One without changes is in none that has a name."""
    rows = [tried(1, "kept", changes=[{"file": "a"}, {"file": "b"}]), an_entry(2, "error")]
    assert {g.name: g.tried for g in analysed(rows).by(By.FILE)} == {"a": 1, "b": 1, "not recorded": 1}


def test_hours_are_counted_from_the_first_experiment() -> None:
    """And come in their order, what has no time last."""
    facts = {n: Facts(started_at=at) for n, at in ((1, "2026-01-01T10:30:00Z"), (2, "2026-01-01T12:29:00Z"))}
    rows = [tried(2, "kept"), tried(1, "reverted"), tried(3, "error")]
    groups = analysed(rows, facts=facts).by(By.HOUR)
    assert [(g.name, g.tried) for g in groups] == [("0", 1), ("1", 1), ("not recorded", 1)]


@given(st.integers(0, 50), st.integers(0, 50))
def test_the_interval_of_a_rate_holds_the_rate(hits: int, more: int) -> None:
    """And stays between 0 and 1."""
    bounds = wilson(hits, hits + more)
    if hits + more == 0:
        assert bounds is None
    else:
        assert bounds is not None
        assert 0 <= bounds[0] <= hits / (hits + more) <= bounds[1] <= 1


def test_the_interval_of_a_rate_is_wilsons() -> None:
    """Against published figures: 1 of 10 (Brown, Cai and DasGupta 2001)."""
    assert wilson(1, 10) == pytest.approx((0.0179, 0.4042), abs=2e-4)


# Attribution


def test_gains_multiply_and_their_shares_sum_to_one() -> None:
    """Two keeps of 50% make 75%; each brought half of it."""
    found = analysed([tried(1, "kept", 0.5), tried(2, "reverted", -0.3), tried(3, "kept", 0.5)]).attribution
    assert [keep.iteration for keep in found.keeps] == [1, 3]
    assert found.compounded == pytest.approx(0.75)
    assert [keep.share for keep in found.keeps] == pytest.approx([0.5, 0.5])
    assert [keep.total for keep in found.keeps] == pytest.approx([0.5, 0.75])


def test_gains_add_up_upwards_where_more_is_better() -> None:
    """Twice +100% is four times as much."""
    spec = a_spec(metric={"primary": {"direction": "maximize"}})
    found = analysed([tried(1, "kept", 1.0), tried(2, "kept", 1.0)], spec).attribution
    assert found.compounded == pytest.approx(3.0)


@given(st.lists(st.floats(-0.5, 0.9), min_size=1, max_size=6), st.booleans())
def test_the_whole_gain_is_that_of_all_factors(gains: list[float], lower: bool) -> None:
    """Whatever the direction."""
    spec = a_spec(metric={"primary": {"direction": "minimize" if lower else "maximize"}})
    found = analysed([tried(n, "kept", gain) for n, gain in enumerate(gains, 1)], spec).attribution
    value = 1.0
    for gain in gains:
        value *= 1 - gain if lower else 1 + gain
    assert found.compounded == pytest.approx(1 - value if lower else value - 1, abs=1e-9)


def test_a_keep_without_a_gain_makes_the_shares_unknown() -> None:
    """Nothing is attributed on a guess."""
    found = analysed([tried(1, "kept", 0.5), tried(2, "kept")]).attribution
    assert (found.compounded, [keep.share for keep in found.keeps]) == (None, [None, None])


def test_a_keep_is_rechecked_by_later_measurements_of_its_commit() -> None:
    """Kept for 1.0; as a reference it took 1.1: a tenth worse than claimed. Holdout measurements say nothing here."""
    commit = "c" * 40
    side = {"metrics": {"seconds": a_value(1.1, 1.1, 1.1)}, "headway": {"order": "B A"}}
    pair = {"reference_revision": commit, "candidate_revision": "d" * 40, "reference": side}
    rows = [
        tried(1, "kept", 0.5, commit=commit, metrics={"seconds": a_value(1.0)}),
        tried(2, "reverted", comparisons=[{**pair, "kind": "standalone"}]),
        tried(3, "reverted", comparisons=[{**pair, "kind": "holdout"}]),
    ]
    again = analysed(rows).attribution.keeps[0].recheck
    assert again is not None
    assert again.samples == 2
    assert again.difference == pytest.approx(-0.1)


def test_gain_per_line_counts_added_and_removed_lines() -> None:
    """A small change that brings much stands out."""
    facts = {1: Facts(lines_added=3, lines_removed=2)}
    assert analysed([tried(1, "kept", 0.5)], facts=facts).attribution.keeps[0].gain_per_line == pytest.approx(0.1)


# Chance


def test_keeps_by_chance_follow_from_the_probe_of_the_gate() -> None:
    """A tenth of no-ops kept, four candidates compared: 0.4 keeps. Failures and repeats were not compared."""
    probe = {"name": "false_keeps", "observed": {"share": 0.1, "estimated": True}, "inputs": {}}
    rows = [tried(n, outcome) for n, outcome in enumerate(["kept", "reverted", "inconclusive", "censored"], 1)]
    rows += [tried(5, "error"), tried(6, "inconclusive", headway={"repeat_of": 3})]
    found = analysed(rows, harness_validation={"probes": [probe]}).chance
    assert (found.compared, found.kept) == (4, 1)
    assert found.expected == pytest.approx(0.4)
    assert "resampling" in found.basis


def test_keeps_by_chance_are_bounded_by_design_under_sequential() -> None:
    """What `alpha` bounds depends on the error control."""

    def expected(**comparison: Any) -> float | None:
        stability = {"mode": "ladder", "comparison": {"method": "sequential", **comparison}}
        spec = a_spec(measurement={"stability": stability}, stopping={"max_iterations": 50})
        return analysed([tried(1, "kept", 0.1), tried(2, "reverted")], spec).chance.expected

    assert expected(error_control="run") == 0.05
    assert expected(error_control="fdr") == 0.05
    assert expected(error_control="none") == 0.04
    assert expected(error_control="none", alpha=0.1) == 0.2
    assert expected() == 0.05


def test_keeps_by_chance_are_unknown_without_a_check() -> None:
    """And it says what would tell."""
    found = analysed([tried(1, "kept")]).chance
    assert found.expected is None
    assert "headway check" in found.basis


# Near misses


def test_near_misses_are_what_was_better_and_not_kept() -> None:
    """The largest first; losers, failures, repeats, and what was kept under the same words later are none."""
    rows = [
        tried(1, "inconclusive", 0.01),
        tried(2, "not_selected", 0.2),
        tried(3, "reverted", -0.1),
        tried(4, "error", 0.5),
        tried(5, "inconclusive", 0.3, headway={"repeat_of": 1}),
        tried(6, "inconclusive", 0.4, hypothesis="Use a heap"),
        tried(7, "kept", 0.4, hypothesis="use a  heap"),
    ]
    assert [miss.iteration for miss in analysed(rows).near_misses] == [2, 1]


def test_near_misses_that_touch_different_files_are_worth_combining() -> None:
    """1% and 2% make almost 3%; the one that shares a file with a larger one stays out."""
    rows = [
        tried(1, "inconclusive", 0.02, changes=[{"file": "a"}]),
        tried(2, "inconclusive", 0.01, changes=[{"file": "b"}]),
        tried(3, "inconclusive", 0.005, changes=[{"file": "a"}, {"file": "c"}]),
    ]
    found = analysed(rows).combination
    assert found is not None
    assert found.iterations == (1, 2)
    assert found.gain == pytest.approx(1 - 0.98 * 0.99)


def test_one_near_miss_is_no_combination() -> None:
    """It was measured alone already."""
    assert analysed([tried(1, "inconclusive", 0.02)]).combination is None


# What they share


def test_a_trait_that_all_reverted_ones_share_is_told() -> None:
    """Ten in one category, all reverted, ten others, none reverted: no blind draw does that."""
    rows = [tried(n, "reverted", category="cache") for n in range(1, 11)]
    rows += [tried(n, "inconclusive", category="loop") for n in range(11, 21)]
    traits = analysed(rows).traits
    assert (traits[0].kind, traits[0].name, traits[0].reverted, traits[0].expected) == ("category", "cache", 10, 5.0)
    assert traits[0].chance < 0.001


def test_a_trait_that_chance_explains_is_not_told() -> None:
    """Two of four reverted, as everywhere."""
    rows = [tried(n, "reverted" if n % 2 else "inconclusive", category="ab"[n // 5]) for n in range(1, 9)]
    assert analysed(rows).traits == ()


def test_the_chance_of_a_trait_is_corrected_for_all_that_were_looked_at() -> None:
    """Six of ten reverted, four of them in one category: 1 in 14 alone, no news among seven traits."""
    letters = "aaaabbbccc"
    rows = [tried(n, "reverted" if n <= 6 else "inconclusive", category=letters[n - 1]) for n in range(1, 11)]
    alone = chance_of_so_many(4, 4, 6, 10)
    assert alone < 0.2 < alone * 3
    assert "a" not in {trait.name for trait in analysed(rows).traits}


def test_the_chance_of_a_draw_is_fishers() -> None:
    """The lady tasting tea: all four of four, 1 in 70; three or more, 17 in 70."""
    assert chance_of_so_many(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert chance_of_so_many(3, 4, 4, 8) == pytest.approx(17 / 70)


def test_failures_that_differ_in_numbers_only_are_one_theme() -> None:
    """Counted, the most frequent first."""
    rows = [tried(n, "error", error_message=f"line {n}: no 0x{n}ff") for n in (1, 2)]
    rows += [tried(3, "timeout"), tried(4, "reverted")]
    themes = analysed(rows).themes
    assert [(t.outcome, t.count, t.positions) for t in themes] == [("error", 2, (1, 2)), ("timeout", 1, (3,))]
    assert themes[1].cause == "no reason recorded"


def test_a_long_cause_is_cut_to_one_line() -> None:
    """A log of a compiler is no theme."""
    assert "\n" not in cause_of("a\nb")
    assert len(cause_of("x" * 1000)) == 140


# Facts


def a_record(kind: str, at: str = "2026-01-01T00:00:10Z", **data: Any) -> dict[str, Any]:
    """Give a record."""
    return {"kind": kind, "at": at, "data": data}


def test_records_tell_when_by_whom_and_how_long() -> None:
    """Turns and measurements are added up; what is superseded or misshapen is passed over."""
    found = facts_of(
        [
            a_record("hypothesis_dispatched", "2026-01-01T00:00:00Z", agent="command"),
            a_record("agent_turn_ended", elapsed_seconds=3.0, reason="it said so"),
            a_record("agent_turn_ended", elapsed_seconds=1),
            a_record("candidate_built", lines_added=4, lines_removed=True),
            a_record("sample_taken", elapsed_seconds=2.0, status="lost"),
            a_record("sample_taken", elapsed_seconds="long"),
            {**a_record("sample_taken", elapsed_seconds=50.0), "superseded": True},
            {"kind": "sample_taken", "data": None},
        ]
    )
    assert (found.started_at, found.agent, found.lines_added) == ("2026-01-01T00:00:00Z", "command", 4)
    assert found.lines_removed is None
    assert (found.author_seconds, found.measure_seconds, found.seconds, found.lost) == (4.0, 2.0, 6.0, 1)
    assert found.reason == "it said so"
    assert len(found.stretches) == 3


def test_a_decision_is_a_better_reason_than_what_the_agent_said() -> None:
    """The decision's words go first."""
    records = [a_record("session_ended", answer={"reason": "worse"}), a_record("agent_turn_ended", reason="done")]
    assert facts_of(records).reason == "worse"


# Odd logs


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"experiments": []},
        {"experiments": "none"},
        {"experiments": [None, 3, {"iteration": "x"}, {}]},
        {"baseline": None, "best": {}, "experiments": [{"iteration": 1, "outcome": "error"}]},
        {"experiments": [{"outcome": "kept", "metrics": {"m": "n/a"}}]},
        a_document(),
        a_document([tried(1, "error"), tried(2, "timeout")]),
        a_document([tried(1, "measured")]),
        a_document([tried(1, "kept", 0.5), tried(1, "kept", 0.5)]),
        a_document([tried(1, "kept", 1.0)], baseline={"metrics": {"seconds": 0}}),
    ],
)
@pytest.mark.parametrize("spec", [None, a_spec()])
def test_any_log_can_be_analysed(document: dict[str, Any], spec: Spec | None) -> None:
    """Empty, crash-only, half-finished, odd: figures come out, or unknown; all of it is JSON."""
    found = analyse(log_from(document), spec)
    json.dumps(found.to_json(), allow_nan=False)
    for by in By:
        groups_table(by, found.by(by)).columns()
    experiments_table(found).columns()
    keeps_table(found).columns()
    assert compared("x", found).experiments == len(found.experiments)


def test_without_a_spec_no_direction_is_made_up() -> None:
    """A gain needs one."""
    found = analyse(log_from(a_document([tried(1, "kept", metrics={"seconds": 1.0})])), None)
    assert found.primary is not None
    assert (found.primary.name, found.primary.sign, found.gain) == ("seconds", None, None)
    assert any("not known" in note for note in found.notes)


def test_an_imported_log_is_analysed_by_its_main_segment() -> None:
    """Values of another series are not set beside this one's baseline."""
    segments = [
        {"segment": 0, "metric": "ms", "direction": "lower", "first": 1, "last": 1},
        {"segment": 1, "metric": "ms", "direction": "lower", "first": 2, "last": 3},
    ]
    imported = {"imported": {"format": "pi-autoresearch", "segments": segments}}
    document = a_document(
        [
            an_entry(1, "kept", metrics={"ms": 900}),
            an_entry(2, "kept", metrics={"ms": 100}),
            an_entry(3, "kept", metrics={"ms": 50}),
        ],
        best={"iteration": 3, "metrics": {"ms": 50}},
    )
    document["baseline"] = {"metrics": {"ms": 100}, "headway": imported}
    found = analyse(log_from(document), None)
    assert found.primary is not None
    assert (found.primary.name, found.primary.sign) == ("ms", -1)
    assert [one.value for one in found.experiments] == [None, 100, 50]
    assert [keep.iteration for keep in found.attribution.keeps] == [2, 3]
    assert found.attribution.compounded == pytest.approx(0.5)
    assert all(keep.gain_is_stored for keep in found.attribution.keeps)
    assert any("segments" in note for note in found.notes)


def test_a_runner_ups_gain_is_that_of_its_combined_session() -> None:
    """What it gained alone is not what the branch gained."""

    def side(value: float) -> dict[str, Any]:
        return {"metrics": {"seconds": a_value(value, value, value)}, "headway": {"order": "B A"}}

    pair = {
        "kind": "integrated",
        "reference_revision": "a",
        "candidate_revision": "b",
        "reference": side(1.0),
        "candidate": side(0.9),
    }
    row = tried(1, "runner_up_kept", 0.5, comparisons=[pair], metrics={"seconds": a_value(0.5)})
    one = analysed([row]).experiments[0]
    assert one.gain is not None
    assert one.gain.estimate == pytest.approx(0.1)
    assert (one.value, one.gain_is_stored) == (0.9, False)
