"""The corpus of the fuzz target: every file that the scanner was ever wrong about, and those that it starts from."""

from pathlib import Path

import pytest

from tests.fuzz.fuzz_scanner import CORPUS, fault, fuzz
from tests.store.battery import CASES

FILES = sorted(CORPUS.iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_scanner_is_right_about_a_file_of_the_corpus(path: Path) -> None:
    """Read as a parser reads it, or refused with its line."""
    assert fault(path.read_bytes()) == ""


@pytest.mark.parametrize("name", CASES)
def test_the_scanner_is_right_about_what_hand_edits_leave(name: str) -> None:
    """The battery of hand edits is a corpus too."""
    data = CASES[name].data
    assert data.startswith(b"\xef\xbb\xbf") or fault(data) == ""


def test_the_fuzz_target_runs_and_tells_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries files; where one is wrong it says so and keeps that file."""
    (tmp_path / "a").write_bytes(b"spec: demo\nexperiments: []\n")
    tried, found = fuzz(0.2, seed=5, corpus=tmp_path)
    assert (tried > 0, found) == (True, None)
    monkeypatch.setattr("tests.fuzz.fuzz_scanner.fault", lambda data: "wrong")
    tried, found = fuzz(5.0, seed=5, corpus=tmp_path)
    assert tried == 1
    assert found is not None and found.parent == tmp_path
