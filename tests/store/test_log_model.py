"""Any sequence of commits, hand edits and restarts gives what the same steps give on a parsed document."""

import copy
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import headway.store.log
from headway.core.edits import AppendExperiment, Edit, ReplaceExperiment, SetSection
from headway.store.log import LogFile
from headway.store.merge import UNFINISHED
from tests.store.logs import by_pyyaml, by_ruamel, save

WORDS = st.sampled_from(["plain", "a: b", "no", "12e4567", "0123", "# x", "two\nlines\n", "", "é😀", "- iteration: 9"])
LINE = st.sampled_from(["plain words", "it's", "number 7", "äé"])
OUTCOMES = st.sampled_from(["kept", "reverted", "measured", "error"])
VALUES: st.SearchStrategy[Any] = (
    WORDS | st.integers(-3, 3) | st.sampled_from([1.5, 1e-07, None, True, [], {}, ["a", {"b": 1}]])
)
PICK = st.integers(0, 999)


def a_short_row(iteration: int, outcome: str, words: str, value: Any) -> dict[str, Any]:
    """An experiment's row whose learnings stand on one line."""
    return {
        "iteration": iteration,
        "hypothesis": words,
        "outcome": outcome,
        "metrics": {"p95": {"samples": [0.1, float(iteration)]}},
        "learnings": "first",
        "headway": {"base": "12e4567", "own": value},
    }


class LogMachine(RuleBasedStateMachine):
    """A log and the document that it has to be."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="headway-model-"))
        self.path = self.folder / "log.yaml"
        self.model: dict[str, Any] = {
            "spec": "demo",
            "run_id": "r1",
            "experiments": [a_short_row(1, "kept", "x", 1)],
            "best": {"iteration": 0},
            "run_state": {"tick": 0},
            "hypothesis_backlog": [{"description": "old", "priority": "low"}],
        }
        self.log = LogFile.create(self.path, self.model)
        self.next = 2
        self.ticks = 0
        self.marks = 0
        self.saved = False
        self.stale: list[tuple[int, bytes]] = []
        self.own: dict[str, str] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # what headway does

    def _commit(self, edits: list[Edit]) -> None:
        self.ticks += 1
        self.model["run_state"] = {"tick": self.ticks}
        self.log.commit([*edits, SetSection("run_state", {"tick": self.ticks})])
        self.saved = False

    @rule(gap=st.integers(0, 2), outcome=OUTCOMES, words=WORDS, value=VALUES)
    def append(self, gap: int, outcome: str, words: str, value: Any) -> None:
        self.next += gap
        row = a_short_row(self.next, outcome, words, value)
        self.next += 1
        self.model["experiments"].append(row)
        self._commit([AppendExperiment(row)])

    @precondition(lambda self: not self.saved and self.model["experiments"])
    @rule(pick=PICK, outcome=OUTCOMES, words=WORDS)
    def replace(self, pick: int, outcome: str, words: str) -> None:
        at = pick % len(self.model["experiments"])
        row = {**self.model["experiments"][at], "outcome": outcome, "error_message": words}
        self.model["experiments"][at] = row
        self._commit([ReplaceExperiment(row["iteration"], row)])

    @rule(name=st.sampled_from(["best", "approval", "baseline"]), value=st.dictionaries(LINE, VALUES, max_size=2))
    def set_section(self, name: str, value: Any) -> None:
        self.model[name] = value
        self._commit([SetSection(name, value)])

    @precondition(lambda self: not self.saved)
    @rule(words=st.lists(WORDS, max_size=3, unique=True))
    def set_backlog(self, words: list[str]) -> None:
        self.model["hypothesis_backlog"] = [{"description": word, "priority": "low"} for word in words]
        self._commit([SetSection("hypothesis_backlog", self.model["hypothesis_backlog"])])

    @rule()
    def restart(self) -> None:
        self._commit([])
        self.log = LogFile.open(self.path)
        self.stale.clear()

    @rule()
    def read_back(self) -> None:
        """An editor opens the file, to save it some time later."""
        self._commit([])
        self.stale.append((self.ticks, self.path.read_bytes()))

    # what a person does

    def _save(self, text: bytes) -> None:
        save(self.path, text)
        self.saved = True

    @rule(pick=PICK)
    def remark(self, pick: int) -> None:
        text = self.path.read_bytes()
        places = [match.start() for match in re.finditer(rb"^(?=[a-z]|- iteration)", text, re.MULTILINE)]
        at = places[pick % len(places)]
        self.marks += 1
        self._save(text[:at] + b"# remark %d: [\n\n" % self.marks + text[at:])

    @rule(words=LINE, value=VALUES)
    def own_section(self, words: str, value: Any) -> None:
        self.marks += 1
        name = f"own_{self.marks}"
        self.model[name] = self.own[name] = words
        self._save(self.path.read_bytes().rstrip() + f'\n{name}:   "{words}"   # mine\n'.encode())

    @rule(pick=PICK, words=LINE)
    def learn(self, pick: int, words: str) -> None:
        rows = self.model["experiments"]
        if not rows:
            return
        at = pick % len(rows)
        rows[at] = {**rows[at], "learnings": words}
        start, end = self._entry(rows[at]["iteration"])
        text = self.path.read_bytes()
        entry = re.sub(rb"(?m)^  learnings: .*$", f'  learnings: "{words}"'.encode(), text[start:end])
        self._save(text[:start] + entry + text[end:])

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        rows = self.model["experiments"]
        if len(rows) < 2:
            return
        row = rows[pick % len(rows)]
        start, end = self._entry(row["iteration"])
        text = self.path.read_bytes()
        if row["outcome"] not in UNFINISHED:
            rows.remove(row)
            self._save(text[:start] + text[end:])
            self._commit([])

    @rule(words=LINE)
    def hypothesise(self, words: str) -> None:
        self.marks += 1
        item = {"description": f"{words} {self.marks}", "priority": "high"}
        text = self.path.read_bytes()
        if not self.model["hypothesis_backlog"]:
            return
        self.model["hypothesis_backlog"].insert(0, item)
        new = f'hypothesis_backlog:\n- description: "{item["description"]}"\n  priority: high\n'.encode()
        self._save(re.sub(rb"(?m)^hypothesis_backlog:.*\n", new, text, count=1))

    @rule(pick=PICK)
    def forge(self, pick: int) -> None:
        """A fact is changed: it comes back."""
        self._commit([])
        text = self.path.read_bytes()
        forged = [
            text.replace(b"outcome: kept", b"outcome: better"),
            text.replace(b"samples:", b"sample:", 1),
            text.replace(b"run_id:", b"run_id: # hm\n ", 1),
            re.sub(rb"tick: \d+", b"tick: 7777", text),
            re.sub(rb"(?m)^spec: .*\n", b"", text),
        ][pick % 5]
        self._save(forged)
        self._commit([])

    @precondition(lambda self: self.stale)
    @rule(pick=PICK)
    def save_late(self, pick: int) -> None:
        """An editor that opened the file earlier saves it, with nothing but a remark: it takes nothing back.

        Of a version that is no longer remembered nothing is lost either, but hypotheses taken out since come back.
        """
        self._commit([])
        self.stale = [(tick, text) for tick, text in self.stale if tick > self.ticks - 8]
        if not self.stale:
            return
        _, text = self.stale[pick % len(self.stale)]
        self.marks += 1
        self._save(b"# late %d\n" % self.marks + text)
        for name, words in self.own.items():  # sections of the person's own are theirs to take out and to bring back
            self.model.pop(name, None)
            if f"\n{name}:".encode() in text:
                self.model[name] = words
        self._commit([])

    def _entry(self, number: int) -> tuple[int, int]:
        text = self.path.read_bytes()
        start = text.index(b"- iteration: %d\n" % number)
        following = re.compile(rb"^(?=- iteration|[a-z#])", re.MULTILINE).search(text, start + 2)
        return start, following.start() if following else len(text)

    @invariant()
    def is_the_document(self) -> None:
        if self.saved:
            return
        text = self.path.read_bytes()
        old, new = by_pyyaml(text), by_ruamel(text)
        assert repr(old) == repr(new)
        self._equal(old, self.model)
        self._equal({**self.log.sections(), "experiments": list(self.log.rows())}, self.model)

    def _equal(self, got: dict[str, Any], wanted: dict[str, Any]) -> None:
        got, wanted = copy.copy(got), copy.copy(wanted)
        rows, expected = got.pop("experiments") or [], wanted.pop("experiments")
        assert [row["iteration"] for row in rows] == [row["iteration"] for row in expected]
        assert [dict(sorted(row.items())) for row in rows] == [dict(sorted(row.items())) for row in expected]
        assert dict(sorted(got.items())) == dict(sorted(wanted.items()))


def test_a_log_is_what_its_steps_make_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits, saves that a person may make, saves that they may not, late ones, restarts: in any order."""
    monkeypatch.setattr(headway.store.log, "_SETTLE_SECONDS", 0.0)
    run_state_machine_as_test(LogMachine, settings=settings(max_examples=20, stateful_step_count=25, deadline=None))
