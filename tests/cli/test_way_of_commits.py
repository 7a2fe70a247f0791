"""`headway log check` says how commits to a log are made."""

from pathlib import Path

import pytest

from headway.cli.main import main
from headway.store.log import LogFile
from headway.store.strategies import StrategyName, StrategyReport
from tests.store.logs import log_rows


@pytest.mark.parametrize("way", list(StrategyName))
def test_a_check_says_which_way_commits_take_and_why(
    way: StrategyName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line; the folder that counts is that of the file itself, not of a link to it."""
    seen: list[Path] = []

    def probe(folder: Path) -> StrategyReport:
        seen.append(folder)
        return StrategyReport(way, "for a reason")

    real, link = tmp_path / "real" / "log.yaml", tmp_path / "log.yaml"
    real.parent.mkdir()
    LogFile.create(real, log_rows(1))
    link.symlink_to(real)
    monkeypatch.setattr("headway.app.probe", probe)
    main(["log", "check", str(link)])
    assert f"a commit to it goes by {way}: for a reason\n" in capsys.readouterr().out
    assert seen == [real.parent]
