"""The noise history is rebuilt from the log, where raw values stand."""

from typing import Any

from headway.core.records import Baseline, Entry
from headway.core.sequential.history import Repeats
from headway.core.sequential.log_history import history_of, repeats_of

BASE = "base"
START = Baseline.model_validate({"metrics": {"time": {"aggregate": 10, "samples": [10, 11, 10]}, "noise": 3}})


def a_side(*samples: float, fresh: bool = True) -> dict[str, Any]:
    side: dict[str, Any] = {"metrics": {"time": {"aggregate": samples[0], "samples": list(samples)}}}
    return {**side, "headway": {"order": "B A"}} if fresh else side


def an_entry(n: int, k: int | None, outcome: str, *samples: float, **more: Any) -> Entry:
    """Give an entry with its candidate's samples; `reference` and `integrated` add comparisons."""
    row: dict[str, Any] = {
        "iteration": n, "batch": 1, "hypothesis": "h", "category": "c", "outcome": outcome, "comparisons": [],
        "headway": {"candidate": f"c{n}", **({} if k is None else {"k": k})},
    }  # fmt: skip
    if samples:
        row["metrics"] = a_side(*samples)["metrics"]
    pair = {"reference_revision": more.get("of", BASE), "candidate_revision": f"c{n}"}
    if "reference" in more:
        row["comparisons"].append({"kind": "standalone", **pair, "reference": more["reference"]})
    if "integrated" in more:
        reference, candidate, at = more["integrated"]
        row["comparisons"].append(
            {"kind": "integrated", "reference_revision": "tip", "candidate_revision": f"m{n}", "headway": {"k": at},
             "reference": a_side(*reference), "candidate": a_side(*candidate)}
        )  # fmt: skip
    return Entry.model_validate(row)


def lists(*entries: Entry) -> list[tuple[str, tuple[float, ...], int, bool, bool]]:
    found = repeats_of(START, entries, ["time"], BASE)
    return [(each.code, each.values["time"], each.k, each.is_reference, each.was_kept) for each in found]


def test_the_baseline_is_the_calibration() -> None:
    """Session 0, of the commit that the run started from."""
    assert lists() == [(BASE, (10.0, 11.0, 10.0), 0, True, False)]


def test_a_session_gives_the_references_samples_and_the_candidates() -> None:
    """In the order of k, whatever the order of entries; a lone first sample is a list of its own."""
    kept = an_entry(2, 1, "kept", 9, 8, 8, reference=a_side(10, 10, 11))
    screened = an_entry(1, 2, "inconclusive", 12)
    assert lists(screened, kept)[1:] == [
        (BASE, (10.0, 10.0, 11.0), 1, True, False),
        ("c2", (9.0, 8.0, 8.0), 1, False, True),
        ("c1", (12.0,), 2, False, False),
    ]


def test_stored_reference_values_are_no_measurement() -> None:
    """They carry no conditions, and were counted when they were measured."""
    entry = an_entry(1, 1, "reverted", 9, reference=a_side(10, 11, fresh=False))
    assert lists(entry)[1:] == [("c1", (9.0,), 1, False, False)]


def test_what_was_never_timed_does_not_count() -> None:
    """Crashes and failed gates have no k."""
    assert lists(an_entry(1, None, "error"), an_entry(2, None, "degenerate", 5)) == lists()


def test_an_integrated_session_counts_by_itself() -> None:
    """A runner-up on top of the winner: its own k, its own commit."""
    entry = an_entry(3, 1, "runner_up_kept", 9, 9, integrated=((8, 8), (7, 7), 2))
    assert lists(entry)[1:] == [
        ("c3", (9.0, 9.0), 1, False, False),
        ("tip", (8.0, 8.0), 2, True, False),
        ("m3", (7.0, 7.0), 2, False, True),
    ]


def test_the_session_under_way_is_left_out() -> None:
    """Its own samples count as its own, not as history."""
    entries = [an_entry(1, 1, "inconclusive", 12, 13), an_entry(2, 2, "measured", 9, 8, reference=a_side(10, 10))]
    before = history_of(START, entries, ["time"], BASE, before_k=2)
    assert before == history_of(START, entries[:1], ["time"], BASE)
    assert before != history_of(START, entries, ["time"], BASE)


def test_the_log_gives_the_history_that_the_run_held() -> None:
    """Grown in memory or read back after a crash."""
    held = history_of(START, [], ["time"], BASE)
    held = held.plus(Repeats(BASE, {"time": (10.0, 10.5)}, 1))
    held = held.plus(Repeats("c1", {"time": (9.0, 8.0)}, 1, is_reference=False, was_kept=True))
    entry = an_entry(1, 1, "kept", 9, 8, reference=a_side(10, 10.5))
    assert history_of(START, [entry], ["time"], BASE) == held
