"""Every kind of file that a hand edit leaves: the next commit is right or refused, never silently wrong."""

import datetime
import time
from pathlib import Path
from typing import Any

import pytest

from headway.core.edits import AppendExperiment, ReplaceExperiment, SetSection
from headway.errors import DataDamaged
from headway.store.log import LogFile
from headway.store.notices import NoticeKind
from headway.store.rewrite import whole_log
from tests.store.battery import CASES, FACTS, Fate
from tests.store.logs import by_ruamel, save

FOUR = {"iteration": 4, "outcome": "reverted", "learnings": "a: b\nc\n", "primary_delta": "+0.7"}
RIGHT = [name for name, case in CASES.items() if case.fate is not Fate.REFUSED]
TOUCHED_LINES = {
    "sections in braces on one line": "a section on one line has no lines that could stay",
    "CRLF in some lines": "an entry that headway wrote, written anew, has the line ends of the file's beginning",
    "no line end at the end": "the section at the end, written anew, has one",
    "CRLF, no line end at the end": "likewise",
}
REFUSED = [name for name, case in CASES.items() if case.fate is Fate.REFUSED]


def read(data: bytes) -> Any:
    """What a YAML 1.2 loader reads in a file of any line ends."""
    return by_ruamel(data.decode("utf-8-sig"))


def text_of(values: Any) -> str:
    """Values with their kinds, for comparison; a number that is not finite equals itself here."""
    if isinstance(values, dict):
        return "{" + ", ".join(sorted(f"{key!r}: {text_of(value)}" for key, value in values.items())) + "}"
    if isinstance(values, list):
        return "[" + ", ".join(map(text_of, values)) + "]"
    return repr(str(values) if isinstance(values, datetime.date) else values)


def inserted(before: bytes, after: bytes) -> bytes | None:
    """The stretch that `after` has more than `before`; None when anything else differs."""
    first = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    rest = len(before) - first
    if after[:first] != before[:first] or (rest and after[-rest:] != before[-rest:]):
        return None
    return after[first : len(after) - rest]


def lines_without(data: bytes, *words: bytes) -> list[bytes]:
    """The lines that hold none of these words."""
    return [line for line in data.splitlines(keepends=True) if not any(word in line for word in words)]


def refused(path: Path, name: str, problem: DataDamaged) -> None:
    """What every refusal holds to: a place, a mend, and the file as the person left it."""
    place, line = problem.where.rsplit(", line ", 1)
    case = CASES[name]
    assert place == str(path)
    assert problem.mend
    assert 1 <= int(line) <= max(len(case.data.splitlines()), 1)
    assert case.line in (0, int(line))
    assert path.read_bytes() == case.data


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_of_any_layout_reads_as_a_parser_reads_it(tmp_path: Path, name: str) -> None:
    """Opened as it is: sections, experiments, numbers."""
    path = tmp_path / "log.yaml"
    path.write_bytes(CASES[name].data)
    log = LogFile.open(path)
    whole = read(CASES[name].data)
    rows = whole.pop("experiments", None) or []
    assert text_of(log.sections()) == text_of(whole)
    assert text_of(list(log.rows())) == text_of(rows)
    assert log.iterations() == [row["iteration"] for row in rows]


@pytest.mark.parametrize("name", RIGHT)
def test_an_experiment_is_added_and_no_other_byte_changes(tmp_path: Path, name: str) -> None:
    """One stretch is new; or the layout is given up, told, and the file kept aside."""
    path = tmp_path / "log.yaml"
    before = CASES[name].data
    path.write_bytes(before)
    log = LogFile.open(path)
    log.notices.clear()
    log.commit([AppendExperiment(FOUR)])
    expected = read(before)
    expected["experiments"] = [*(expected.get("experiments") or []), FOUR]
    after = path.read_bytes()
    assert text_of(read(after)) == text_of(expected)
    aside = [file.read_bytes() for file in tmp_path.glob("log.edited-*.yaml")]
    if CASES[name].fate is Fate.ANEW:
        assert aside == [before]
        assert [notice.kind for notice in log.notices] == [NoticeKind.LAYOUT_LOST]
        return
    assert (aside, log.notices) == ([], [])
    empty = not read(before).get("experiments")
    assert inserted(before, after) is not None or empty
    assert (b"\r\n" in before) == (b"\r\n" in after)


@pytest.mark.parametrize("name", RIGHT)
def test_an_experiment_and_a_section_are_replaced_where_they_stand(tmp_path: Path, name: str) -> None:
    """What stands around them stays to the byte."""
    path = tmp_path / "log.yaml"
    before = CASES[name].data
    path.write_bytes(before)
    log = LogFile.open(path)
    whole = read(before)
    rows = whole.get("experiments") or []
    log.commit([SetSection("run_state", {"status": "waiting", "tick": 3})])
    if rows:
        row = {**rows[1], "outcome": "reverted"}
        log.commit([ReplaceExperiment(2, row)])
        rows[1] = row
    whole["run_state"] = {"status": "waiting", "tick": 3}
    after = path.read_bytes()
    assert text_of(read(after)) == text_of(whole)
    if CASES[name].fate is Fate.SPLICED and name not in TOUCHED_LINES:
        assert lines_without(after, b"reverted", b"waiting") == lines_without(before, b"error", b"running")


@pytest.mark.parametrize("name", RIGHT)
def test_a_save_over_a_live_log_is_merged_with_the_next_commit(tmp_path: Path, name: str) -> None:
    """The person's layout and words stay, the facts too, the new experiment is there; or the file is kept aside."""
    path = tmp_path / "log.yaml"
    log = LogFile.create(path, FACTS)
    saved = CASES[name].data
    save(path, saved)
    log.commit([AppendExperiment(FOUR)])
    after = read(path.read_bytes())
    own = {key: value for key, value in read(saved).items() if key not in FACTS}
    expected = {**FACTS, "experiments": [*FACTS["experiments"], FOUR], **own}
    deleted = NoticeKind.ENTRIES_DELETED in {notice.kind for notice in log.notices}
    learnings = {row["iteration"]: row["learnings"] for row in read(saved).get("experiments") or []}
    assert isinstance(expected["experiments"], list)
    rows = [
        {**row, "learnings": learnings.get(row["iteration"], row["learnings"])}
        for row in expected["experiments"]
        if row is FOUR or not deleted
    ]
    assert text_of(after) == text_of({**expected, "experiments": rows})
    kinds = {notice.kind for notice in log.notices}
    aside = [file.read_bytes() for file in tmp_path.glob("log.edited-*.yaml")]
    gave_up = kinds & {NoticeKind.LAYOUT_LOST, NoticeKind.FACTS_RESTORED}
    assert aside == ([saved] if gave_up else []) or (gave_up and set(aside) == {saved})
    assert bool(gave_up) == (CASES[name].fate is Fate.ANEW) or name == "no list"


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_file_is_refused_by_its_line_and_left_alone(tmp_path: Path, name: str) -> None:
    """In bounded time and memory, whatever it would swell to."""
    path = tmp_path / "log.yaml"
    path.write_bytes(CASES[name].data)
    with pytest.raises(DataDamaged) as caught:
        LogFile.open(path)
    refused(path, name, caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_save_over_a_live_log_stops_the_commit(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written over it, the change is parked; the mended file takes the next commit."""
    monkeypatch.setattr("headway.store.log._LONGEST_SETTLING", 0.0)
    path = tmp_path / "log.yaml"
    log = LogFile.create(path, FACTS)
    save(path, CASES[name].data)
    with pytest.raises(DataDamaged) as caught:
        log.commit([AppendExperiment(FOUR)])
    refused(path, name, caught.value)
    assert log.pending is not None
    save(path, whole_log(FACTS))
    log.commit([AppendExperiment(FOUR)])
    assert [row["iteration"] for row in read(path.read_bytes())["experiments"]] == [1, 2, 3, 4]


def test_a_file_that_would_swell_is_refused_before_it_does(tmp_path: Path) -> None:
    """Ten times the levels cost ten times the look, not the billionth power: measured in steps, not in seconds."""
    path = tmp_path / "log.yaml"
    took = []
    for levels in (20, 200):
        bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
        path.write_text("\n".join(bomb) + "\n")
        start = time.process_time()
        with pytest.raises(DataDamaged, match="aliases would add"):
            LogFile.open(path)
        took.append(time.process_time() - start)
    assert took[1] < 100 * took[0] + 1.0


def test_numbers_with_exponents_are_numbers(tmp_path: Path) -> None:
    """BR-37: as people and other tools write them, which YAML 1.1 takes for text."""
    path = tmp_path / "log.yaml"
    path.write_bytes(
        b"experiments:\n- iteration: 1\n  metrics: {p95: {aggregate: 5e-06, samples: [1e-5, 1E3, -2e+1, 12e03]}}\n"
        b"best: {iteration: 1, metrics: {p95: 5e-06}}\n"
    )
    log = LogFile.open(path)
    assert repr(log.entry(1)["metrics"]["p95"]) == "{'aggregate': 5e-06, 'samples': [1e-05, 1000.0, -20.0, 12000.0]}"
    assert repr(log.section("best")["metrics"]) == "{'p95': 5e-06}"
