"""Whole runs of the method `sequential` with a harness that is noisy: what is kept, and what of it can be believed."""

import json
import re
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
    toy = a_noisy_toy(tmp_path, [by(-10)])
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


def test_a_run_ends_with_its_best_against_the_untouched_code_and_prints_that_alone(tmp_path: Path) -> None:
    """Two to ten fresh pairs, in the log with order and seeds; the number of `status`, `run` and `summary.json`."""
    toy = a_noisy_toy(tmp_path, [by(-20), by(-10)])
    ended = toy.headway("run", str(toy.spec), "--approve-as", "me", "--json").json
    check = toy.log()["best"]["headway"]["final_check"]
    figures = ended["figures"]
    sides = "".join("B" if sample["side"] == "candidate" else "A" for sample in check["samples"])
    assert check["verdict"] == "better"
    assert sides == "BAABBAABBAABBAABBAAB"[: 2 * check["pairs"]]
    seeds = [sample["seed"] for sample in check["samples"]]
    assert seeds[0::2] == seeds[1::2]
    assert len(set(seeds)) == check["pairs"]
    assert figures["gain"] == check["gain"]["estimate"] == figures["gain_range"]["estimate"]
    assert 0.2 < figures["gain"] < 0.35
    assert figures["gain_basis"].startswith(f"final check: best and untouched code in {check['pairs']} fresh pairs")
    status = toy.headway("status").out
    assert f"final check: best and untouched code in {check['pairs']} fresh pairs, 95% interval" in status
    summary = next(toy.state.glob("runs/*/summary.json")).read_text()
    assert json.loads(summary)["figures"]["gain"] == figures["gain"]
    assert toy.headway("log", "check", "--json").json == []


def test_a_final_check_can_be_asked_for_at_any_time_and_is_made_when_a_run_is_closed(tmp_path: Path) -> None:
    """The run's status stays; a second one is a fresh one; closing makes the one that is missing."""
    toy = a_noisy_toy(tmp_path, [by(-20), by(-20)])
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    assert "headway" not in toy.log()["best"]
    assert "`headway wrap-up --final-check`" in toy.headway("status").out
    said = toy.headway("wrap-up", "--final-check")
    assert toy.log()["best"]["headway"]["final_check"]["number"] == 1
    assert "final check  best sample 1" in said.err
    assert toy.log()["run_state"]["status"] == "waiting"
    toy.headway("wrap-up", "--final-check")
    second = toy.log()["best"]["headway"]["final_check"]
    assert (second["number"], second["verdict"]) == (2, "better")
    toy.headway("resume")
    third = toy.log()["best"]["headway"]["final_check"]
    assert (third["number"], third["commit"]) == (3, toy.log()["experiments"][1]["commit"])
    assert toy.log()["run_state"]["status"] == "final"


def test_closing_a_run_makes_its_final_check(tmp_path: Path) -> None:
    """Also one that a person stopped; nothing kept, nothing checked."""
    toy = a_noisy_toy(tmp_path, [by(-20), by(-20)])
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    toy.headway("wrap-up", "--done")
    log = toy.log()
    assert log["best"]["headway"]["final_check"]["verdict"] == "better"
    assert log["run_state"]["status"] == "final"


def test_what_cannot_be_checked_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Nothing kept; another method."""
    toy = a_noisy_toy(tmp_path, ["echo 2 > other.txt"])
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert "headway" not in toy.log()["best"]
    assert "nothing was kept" in toy.headway("wrap-up", "--final-check", check=1).err
    other = a_toy(tmp_path, ["echo 90 > number.txt"], name="other")
    other.headway("run", str(other.spec), "--approve-as", "me")
    assert "method absolute has no final check" in other.headway("wrap-up", "--final-check", check=1).err


def test_a_final_check_that_cannot_be_measured_ends_with_the_reason(tmp_path: Path) -> None:
    """The untouched code fails by then: the run ends all the same, without a number of that kind."""
    mark = tmp_path / "mark"
    toy = a_noisy_toy(tmp_path, [by(-20)])
    script = f"""import os, pathlib, sys
if os.path.exists({str(mark)!r}) and float(open("number.txt").read()) == 100: sys.exit("it has gone")
"""
    toy.repository.write({"harness.py": script + NOISY.replace("SIZE", "0.02")})
    toy.repository.commit()
    toy.headway("run", str(toy.spec), "--approve-as", "me", "--max-ticks", "1")
    mark.touch()
    ended = toy.headway("resume", "--json").json
    check = toy.log()["best"]["headway"]["final_check"]
    assert (ended["status"], check["verdict"]) == ("final", "failed")
    assert "the untouched code cannot be measured" in check["reason"]
    assert "the final check gave no number: the untouched code cannot be measured" in ended["figures"]["gain_basis"]


def test_what_can_be_found_is_told_after_the_calibration_at_the_gate_and_by_check(tmp_path: Path) -> None:
    """The same words and the same numbers everywhere, as text and as JSON."""
    toy = a_noisy_toy(tmp_path, [by(-20)], effort="auto")
    checked = toy.headway("check", str(toy.spec))
    assert "what can be found:" in checked.out
    assert "of one measurement; gains under" in checked.out
    forecast = toy.headway("check", str(toy.spec), "--json").json["forecast"]
    assert forecast["told"]["measurements"] == 4.6
    assert 0 < forecast["told"]["objectives"][0]["smallest"] < 0.1
    gate = toy.headway("run", str(toy.spec), check=7)
    assert "noise of value: " in gate.err
    assert "to know before approving: noise of value: " in gate.out
    assert "to know before approving: simulated for a night of 8 hours" in gate.out
    at_gate = toy.headway("run", "--json", check=7).json["forecast"]
    assert at_gate == toy.headway("status", "--json").json["forecast"]
    toy.headway("run", "--approve-as", "me")
    status = toy.headway("status").out
    assert "by chance" in status
    assert "at most 0.00025 keeps expected over 1 session, were no candidate better" in status
    assert re.search(r"effort +standard: a measurement takes", status)
    assert "; not final yet" in status
    assert "measured on" in status
    shown = toy.headway("show", "1").out
    assert "drawn towards 0 by what the noise explains, with its 95% interval" in shown
    assert "decided as session 1, effort standard (a measurement takes" in shown
    assert "a false keep had a chance of 0.00025 at most; on " in shown
    assert toy.headway("show", "1", "--json").json["conditions"]["k"] == 1


def test_a_threshold_that_means_nothing_for_what_was_measured_is_a_mistake_of_the_spec(tmp_path: Path) -> None:
    """Told by `check` and by `run`, before an agent is paid, with the place and the mend; no log is written."""
    toy = a_noisy_toy(tmp_path, [by(-20)], size=0.0, min_effect={"type": "relative", "value": 0.1})
    toy.repository.write({"number.txt": "0\n"})
    toy.repository.commit()
    for words in (("check", str(toy.spec)), ("run", str(toy.spec), "--approve-as", "me")):
        said = toy.headway(*words, check=1).err
        assert "measurement.stability.comparison.min_effect: is a share, and the calibration of 'value' has" in said
        assert "give it as absolute, in the metric's unit" in said
    assert not toy.log_path.exists()
    toy.write_spec(
        measurement={"stability": {"mode": "ladder", "noise_threshold": None, "comparison": dict(METHOD)}},
        hypotheses=[{"description": "echo -5 > number.txt", "category": "c"}],
    )
    toy.headway("run", str(toy.spec), "--approve-as", "me")
    assert toy.outcomes() == ["kept"]
