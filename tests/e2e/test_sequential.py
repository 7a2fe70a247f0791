"""Whole runs of the method `sequential` with a harness that is noisy: what is kept, and what of it can be believed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headway.core.records import Baseline, Entry
from headway.core.sequential.log_history import history_of
from tests.e2e.toy import FILES, Toy, a_toy

pytestmark = pytest.mark.e2e

NOISY = """
import json, os
value = float(open("number.txt").read())
error = int.from_bytes(os.urandom(4), "big") / 2**32 - 0.5
print(json.dumps({"value": value * (1 + SIZE * error), "ok": 1}))
"""
METHOD: Mapping[str, Any] = {"method": "sequential", "effort": "standard"}


def a_noisy_toy(folder: Path, hypotheses: list[Any], size: float = 0.02, **comparison: Any) -> Toy:
    """Give a toy whose measurements differ by up to `size`, a share, from the lowest to the highest."""
    files = {**FILES, "harness.sh": "python3 harness.py\n", "harness.py": NOISY.replace("SIZE", str(size))}
    measurement = {
        "stability": {"mode": "ladder", "noise_threshold": None, "comparison": {**METHOD, **comparison}},
    }
    scope = {"mutable": ["number.txt", "other.txt"], "immutable": ["harness.sh", "harness.py"]}
    return a_toy(folder, hypotheses, files, measurement=measurement, scope=scope)


def by(percent: int) -> str:
    return f"echo $(( $(cat number.txt) * (100 + {percent}) / 100 )) > number.txt"


def test_a_noisy_run_keeps_the_gains_alone_and_every_keep_rests_on_whole_pairs(tmp_path: Path) -> None:
    """A tenth less is kept, nothing and worse are not; samples, order and seeds of every pair are in the log."""
    toy = a_noisy_toy(tmp_path, [by(-10), "echo 2 > other.txt", by(8), by(-12)])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes()[0::3] == ["kept", "kept"]
    assert set(toy.outcomes()[1:3]) <= {"inconclusive", "reverted"}
    log = toy.log()
    for entry in (log["experiments"][0], log["experiments"][3]):
        (pair,) = entry["comparisons"]
        sides = [pair[side]["metrics"]["value"]["samples"] for side in ("reference", "candidate")]
        assert len(sides[0]) == len(sides[1]) >= 3
        assert pair["reference"]["headway"]["seeds"] == pair["candidate"]["headway"]["seeds"]
        assert pair["candidate"]["headway"]["order"].startswith("B A A B B A")
        assert entry["headway"]["gain"]["low"] > 0
        assert "against" in pair["uncertainty"]
    assert [e["headway"]["k"] for e in log["experiments"]] == [1, 2, 3, 4]
    assert log["approval"]["headway"]["planned"] == 100
    assert len(log["baseline"]["metrics"]["value"]["samples"]) == 8
    assert toy.headway("log", "check", "--json").json == []


def test_the_log_alone_gives_the_history_of_a_noisy_run(tmp_path: Path) -> None:
    """The stored level of the new best is its own samples without the first."""
    toy = a_noisy_toy(tmp_path, [by(-10), "echo 2 > other.txt"])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    log = toy.log()
    entries = [Entry.model_validate(row) for row in log["experiments"]]
    base = log["baseline"]["headway"]["commit"]
    found = history_of(Baseline.model_validate(log["baseline"]), entries, ["value"], base).of("value")
    own = log["experiments"][0]["metrics"]["value"]["samples"]
    assert log["best"]["metrics"]["value"]["samples"] == own[1:]
    assert len(found.level_of(log["experiments"][0]["commit"])) == min(4, len(own) - 1)
    assert len(found.calibration) == 8


def test_a_candidate_that_is_simpler_and_no_worse_is_kept_and_says_why(tmp_path: Path) -> None:
    """Fewer bytes in the named file, once it is proven to be worse by no more than the margin."""
    simpler = {"metric": "headway.bytes(other.txt)", "margin": 0.05}
    longer, shorter = "echo 12345678 > other.txt", "echo 12 > other.txt; printf '' > other.txt"
    toy = a_noisy_toy(tmp_path, [longer, shorter, f"printf '' > other.txt; {by(20)}"], accept_simpler=simpler)
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    outcomes = toy.outcomes()
    assert (outcomes[1], outcomes[0] == "kept", outcomes[2] == "kept") == ("kept", False, False)
    entry = toy.log()["experiments"][1]
    records = toy.headway("show", "2", "--json").json["records"]
    answer = next(r["data"]["answer"] for r in records if r["kind"] == "session_ended")
    assert answer["reason"].startswith("simpler, and not worse by more than 0.05 on value")
    assert entry["comparisons"][0]["headway"]["decision"] == "keep"


def test_a_metric_that_repeats_exactly_costs_one_sample_a_candidate_and_one_repeat_a_keep(tmp_path: Path) -> None:
    """No noise, no pairs beyond the confirmation."""
    toy = a_noisy_toy(tmp_path, [by(-10), "echo 2 > other.txt", by(8)], size=0.0)
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept", "inconclusive", "reverted"]
    assert [e["sample_count"] for e in toy.log()["experiments"]] == [4, 1, 1]
