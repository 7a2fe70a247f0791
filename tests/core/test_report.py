"""What all faces show: figures, and where a run stands."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.figures import AS_STORED, run_figures, without_holdout
from headway.core.log_view import Log, log_of
from headway.core.report import State, Status, status_of
from headway.core.spec import Spec
from tests.builders import a_spec, merged

ROOT = "/repo/.headway/faster-sort"
BASE = "b" * 40
OBJECTION = ("nobody has approved this run yet",)


def a_value(aggregate: float, *samples: float) -> dict[str, Any]:
    """Give a snapshot's row."""
    return {"aggregate": aggregate, "samples": list(samples or (aggregate,))}


def an_entry(iteration: int, outcome: str, **changes: Any) -> dict[str, Any]:
    """Give an experiment's row."""
    row = {
        "iteration": iteration,
        "batch": iteration,
        "hypothesis": f"hypothesis {iteration}",
        "category": "general",
        "outcome": outcome,
    }
    return merged(row, changes)


def a_run_state(status: str, counts: Mapping[str, int] | None = None, **headway: Any) -> dict[str, Any]:
    """Give a run's state with its totals."""
    return {
        "status": status,
        "active_seconds": 1800,
        "pending_waits": [],
        "headway": {"totals": {"counts": dict(counts or {})}, **headway},
    }


def a_log(rows: Sequence[Mapping[str, Any]] = (), count: int | None = None, **sections: Any) -> Log:
    """Give the view of a log whose baseline took 2 seconds."""
    base = {
        "spec": "faster-sort",
        "run_id": "20260101_000000",
        "started_at": "2026-01-01T00:00:00Z",
        "baseline": {
            "metrics": {"seconds": a_value(2.0, 1.9, 2.0, 2.1)},
            "headway": {"commit": BASE, "relative_spread": {"seconds": 0.1}},
        },
        "best": {
            "iteration": 0,
            "metrics": {"seconds": a_value(2.0, 1.9, 2.0, 2.1)},
            "total_run_cost_usd": 0,
            "run_cost_basis": "nothing was spent yet",
        },
    }
    return log_of(merged(base, sections), rows, len(rows) if count is None else count)


def a_status(log: Log | None, objections: tuple[str, ...] = (), live: bool = False, spec: Spec | None = None) -> Status:
    """Give the status of a log under the usual state root."""
    return status_of(log, spec or a_spec(), objections, live, ROOT)


A_BEST = {"iteration": 1, "metrics": {"seconds": a_value(1.5, 1.4, 1.5, 1.6)}}


# Figures


def test_the_total_gain_is_positive_when_less_is_better_and_it_got_less() -> None:
    """A reader never has to know the metric's direction to see whether it got better."""
    figures = run_figures(a_log([an_entry(1, "kept")], best=A_BEST), a_spec())
    assert figures.gain == pytest.approx(0.25)
    assert figures.gain_basis == AS_STORED


def test_the_total_gain_is_negative_when_more_is_better_and_it_got_less() -> None:
    """The sign follows the direction in the spec."""
    spec = a_spec(metric={"primary": {"direction": "maximize"}})
    assert run_figures(a_log([an_entry(1, "kept")], best=A_BEST), spec).gain == pytest.approx(-0.25)


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_the_total_gain_flips_with_the_direction(baseline: float, best: float) -> None:
    """Nothing but the sign depends on which way is better."""
    log = a_log(baseline={"metrics": {"seconds": baseline}}, best={"metrics": {"seconds": best}})
    less = run_figures(log, a_spec()).gain
    more = run_figures(log, a_spec(metric={"primary": {"direction": "maximize"}})).gain
    assert less is not None
    assert more == -less


def test_a_gain_over_a_baseline_of_zero_is_unknown() -> None:
    """There is no share of nothing; it is not shown as no gain."""
    log = a_log(baseline={"metrics": {"seconds": 0}}, best={"metrics": {"seconds": -1}})
    assert run_figures(log, a_spec()).gain is None


def test_a_metric_that_the_log_does_not_hold_is_unknown_and_not_zero() -> None:
    """Absent means unknown."""
    figures = run_figures(a_log(), a_spec(metric={"primary": {"name": "other"}}))
    assert (figures.baseline.value, figures.best.value, figures.gain) == (None, None, None)


def test_baseline_and_best_come_with_their_samples() -> None:
    """The spread behind a value is shown with it."""
    figures = run_figures(a_log([an_entry(1, "kept")], best=A_BEST), a_spec())
    assert figures.baseline.samples == (1.9, 2.0, 2.1)
    assert (figures.best.iteration, figures.best.samples) == (1, (1.4, 1.5, 1.6))


def test_a_spend_with_an_unknown_part_is_unknown_and_its_known_part_is_named() -> None:
    """Unknown is never zero, and what is known is not lost."""
    state = a_run_state("running")
    state["headway"]["totals"]["cost"] = {"agents_usd": 0, "unknown": ["agents"]}
    figures = run_figures(
        a_log(run_state=state, best={"total_run_cost_usd": 0.5, "run_cost_basis": "unknown part: agents"}), a_spec()
    )
    assert (figures.cost_usd, figures.cost_known_usd) == (None, 0.5)
    assert "agents" in figures.cost_basis


def test_a_log_that_says_nothing_of_its_cost_has_an_unknown_cost() -> None:
    """A log of another tool is not shown as free of charge."""
    log = log_of({"spec": "x", "run_id": "r", "started_at": "", "baseline": {}, "best": {"iteration": 0}}, [], 0)
    figures = run_figures(log, a_spec())
    assert figures.cost_usd is None
    assert "does not say" in figures.cost_basis


def test_keeps_are_listed_with_gain_and_commit() -> None:
    """What was kept, and how much better it was, in one place."""
    kept = an_entry(1, "kept", commit="c" * 40, headway={"gain": {"estimate": 0.1, "low": 0.05, "high": 0.2}})
    log = a_log([kept, an_entry(2, "reverted")], run_state=a_run_state("running", {"kept": 1, "reverted": 1}))
    (keep,) = run_figures(log, a_spec()).keeps
    assert keep.gain is not None
    assert (keep.iteration, keep.commit, keep.gain.estimate, keep.gain.low) == (1, "c" * 40, 0.1, 0.05)


def test_keeps_that_the_view_no_longer_holds_are_counted() -> None:
    """A long run's list says that it is not whole."""
    log = a_log([an_entry(90, "kept")], 90, run_state=a_run_state("running", {"kept": 7, "reverted": 83}))
    figures = run_figures(log, a_spec())
    assert (figures.kept, figures.keeps_not_listed) == (7, 6)


def test_a_combined_runner_ups_gain_is_that_of_its_combined_session() -> None:
    """Its standalone gain was against a reference that the winner has replaced."""
    pair = {
        "kind": "integrated",
        "reference_revision": "r",
        "candidate_revision": "c",
        "reference": {"metrics": {"seconds": a_value(1.0, 1.0, 1.0)}, "headway": {"order": "B A A B"}},
        "candidate": {"metrics": {"seconds": a_value(0.85, 0.9, 0.8)}},
    }
    row = an_entry(2, "runner_up_kept", comparisons=[pair], headway={"gain": {"estimate": 0.5}})
    (keep,) = run_figures(a_log([row]), a_spec()).keeps
    assert keep.gain is not None
    assert keep.gain.estimate == pytest.approx(0.15)
    assert [keep.gain.low, keep.gain.high] == pytest.approx([0.1, 0.2])


def test_outcomes_are_counted_by_hand_where_the_log_has_no_totals_and_is_held_whole() -> None:
    """An older log still gets its counts; one that is not held whole gets none, rather than too few."""
    rows = [an_entry(1, "kept"), an_entry(2, "error")]
    assert run_figures(a_log(rows), a_spec()).counts == {"kept": 1, "error": 1}
    assert run_figures(a_log(rows, count=200), a_spec()).counts is None


def test_figures_are_plain_data() -> None:
    """They go out as JSON as they are."""
    figures = run_figures(a_log([an_entry(1, "kept", headway={"gain": {"estimate": 0.1}})], best=A_BEST), a_spec())
    assert json.loads(json.dumps(figures.to_json()))["keeps"][0]["gain"] == {
        "estimate": 0.1,
        "low": None,
        "high": None,
    }


def test_a_row_is_shown_without_the_values_of_its_holdout() -> None:
    """The verdict is shown, what was measured on the holdout is not."""
    row = {
        "comparisons": [
            {"kind": "holdout", "candidate": {"metrics": {"secret": 1}}, "headway": {"decision": "revert"}},
            {"kind": "standalone", "candidate": {"metrics": {"seconds": 1}}},
        ]
    }
    shown = without_holdout(row)["comparisons"]
    assert shown[0] == {"kind": "holdout", "headway": {"decision": "revert"}}
    assert shown[1] == row["comparisons"][1]


# Status


def test_before_the_baseline_is_measured_the_run_has_not_started() -> None:
    """The next command takes the baseline up again."""
    status = a_status(None)
    assert status.state is State.NOT_STARTED
    assert status.next_action.command == "headway resume --name faster-sort"


def test_at_the_gate_the_exact_command_is_given_and_why() -> None:
    """An agent that remembers nothing reads whom to ask, and what to type then."""
    status = a_status(a_log(), OBJECTION)
    assert status.state is State.AT_GATE
    assert status.next_action.command == f"headway approve {ROOT}/spec.yaml --as NAME"
    assert OBJECTION[0] in status.next_action.why


def test_a_run_that_says_running_without_a_process_is_interrupted() -> None:
    """Derived, never written: a killed process cannot say that it was killed."""
    status = a_status(a_log(run_state=a_run_state("running")))
    assert status.state is State.INTERRUPTED
    assert status.next_action.command == "headway resume --name faster-sort"


def test_a_live_process_means_running_whatever_the_log_says() -> None:
    """The log says waiting until the process has written its first fact."""
    assert a_status(a_log(run_state=a_run_state("waiting")), live=True).state is State.RUNNING
    assert a_status(None, live=True).state is State.RUNNING


def test_an_approval_that_no_longer_fits_is_the_gate_even_after_a_crash() -> None:
    """Resuming would present the gate: the status names what is really needed."""
    assert a_status(a_log(run_state=a_run_state("running")), OBJECTION).state is State.AT_GATE


def test_a_blocked_run_says_what_to_mend() -> None:
    """The stop's own mend stands beside the command that goes on."""
    stop = {"reason": "agent_unavailable", "detail": "no login", "continue_with": "log in"}
    status = a_status(a_log(run_state=a_run_state("blocked", stop=stop)))
    assert status.state is State.BLOCKED
    assert status.next_action.command == "headway resume --name faster-sort"
    assert "no login" in status.next_action.why
    assert "log in" in status.next_action.why


def test_a_run_that_waits_at_wrap_up_leaves_the_choice_to_a_person() -> None:
    """The command shows the choice; it does not approve a dependency by being copied."""
    item = {"description": "use numpy", "dep_status": "needs_approval", "required_deps": ["numpy"]}
    stop = {"reason": "nothing_runnable", "detail": "no hypothesis may run", "continue_with": "x"}
    log = a_log(run_state=a_run_state("waiting", stop=stop), hypothesis_backlog=[item])
    status = a_status(log)
    assert status.state is State.WAITING
    assert status.next_action.command == "headway wrap-up --name faster-sort"
    assert "numpy" in status.next_action.why
    assert (status.backlog, status.deferred[0].required_deps) == (1, ("numpy",))


@pytest.mark.parametrize("reason", ["interrupt", "stop", "max_ticks"])
def test_a_run_that_was_stopped_by_hand_resumes(reason: str) -> None:
    """Such a stop ends a process and not the run."""
    stop = {"reason": reason, "detail": "asked for", "continue_with": "`headway resume`"}
    status = a_status(a_log(run_state=a_run_state("waiting", stop=stop)))
    assert status.next_action.command.startswith("headway resume")


def test_a_final_run_with_keeps_shows_how_to_look_at_them() -> None:
    """The end of a run is a diff to review."""
    stop = {"reason": "max_iterations", "detail": "9 experiments of 9"}
    status = a_status(a_log([an_entry(1, "kept")], run_state=a_run_state("final", stop=stop), best=A_BEST))
    assert status.state is State.FINAL
    assert status.next_action.command == f"git diff {BASE[:12]}..optimize/faster-sort"
    assert "9 experiments of 9" in status.next_action.why


def test_an_unusual_state_root_is_named_in_every_command_and_quoted() -> None:
    """The command can be copied as it stands, spaces and all."""
    root = "/some where/state"
    logs: list[tuple[Log | None, tuple[str, ...]]] = [(None, ()), (a_log(), OBJECTION)]
    for log, objections in [*logs, (a_log(run_state=a_run_state("running")), ())]:
        words = shlex.split(status_of(log, a_spec(), objections, False, root).next_action.command)
        assert words[words.index("--state-root") + 1] == root


def test_what_is_under_way_is_told_with_its_stage() -> None:
    """A dispatched experiment, and one that is measured and not decided."""
    wait = {"item": "exp 2 author 1", "headway": {"iteration": 2, "batch": 1, "hypothesis": {"description": "inline"}}}
    state = a_run_state("running", {"measured": 1}) | {"pending_waits": [wait]}
    phase = a_status(a_log([an_entry(1, "measured")], run_state=state), live=True).phase
    assert [(p.iteration, p.hypothesis) for p in phase] == [(1, "hypothesis 1"), (2, "inline")]
    assert "measured" in phase[0].stage
    assert "dispatched" in phase[1].stage


def test_the_budget_counts_all_experiments_but_the_deferred_ones() -> None:
    """What `max_iterations` counts is what is shown against it."""
    state = a_run_state("running", {"kept": 2, "error": 1, "deferred_needs_approval": 4})
    spec = a_spec(stopping={"max_iterations": 10, "max_hours": 2, "plateau_iterations": "none"})
    budget = {b.name: [b.used, b.cap] for b in a_status(a_log(run_state=state), spec=spec).budget}
    assert budget["experiments"] == [3, 10]
    assert budget["active hours"] == [0.5, 2]
    assert budget["measured since the last keep"] == [0, None]
    assert budget["cost in USD"] == [0, None]


def test_the_newest_five_experiments_are_shown_and_not_an_old_best() -> None:
    """The view of the log holds the best as well, however old it is."""
    rows = [an_entry(n, "reverted", primary_delta=f"-{n}") for n in (1, 5, 6, 7, 8, 9)]
    recent = a_status(a_log(rows)).recent
    assert [row.iteration for row in recent] == [5, 6, 7, 8, 9]
    assert recent[-1].primary_delta == "-9"


def test_notices_and_dropped_hypotheses_are_told() -> None:
    """What a person should know is on the one screen."""
    notices = [{"at": f"2026-01-01T00:00:0{n}Z", "text": f"notice {n}"} for n in range(7)]
    dropped = [{"description": "x", "reason": "no change"}]
    status = a_status(a_log(run_state=a_run_state("running", notices=notices, dropped=dropped)))
    assert len(status.notices) == 5
    assert status.notices[-1].endswith("notice 6")
    assert status.dropped == 1


def test_a_status_is_plain_data() -> None:
    """It goes out as JSON as it is, for every state."""
    log = a_log([an_entry(1, "kept")], run_state=a_run_state("running"))
    assert json.loads(json.dumps(a_status(log).to_json()))["state"] == "interrupted"
    assert json.loads(json.dumps(a_status(None).to_json()))["figures"] is None
