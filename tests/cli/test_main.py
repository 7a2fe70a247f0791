"""The program's door: help, words it does not know, errors, bugs, signals, closed pipes."""

import errno
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from headway import __version__, app
from headway.cli import commands
from headway.cli.commands import log as log_commands
from headway.cli.door import PlatformRefused, refuse_platform, wants_json
from headway.cli.main import main
from headway.errors import DataDamaged, InternalFault, RequestWrong

WRITING = [
    "approve",
    "clean",
    "demo",
    "log import",
    "log migrate",
    "log repair",
    "report",
    "resume",
    "run",
    "stop",
    "wrap-up",
]
READING = ["analyze", "check", "decide", "diff", "log check", "log export", "log show", "show", "status", "watch"]


@pytest.fixture(autouse=True)
def _outside_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves be run by a job."""
    monkeypatch.delenv("HEADWAY_JOB", raising=False)


def _raising(problem: BaseException) -> Callable[..., NoReturn]:
    def status(where: app.Where) -> NoReturn:
        raise problem

    return status


def _python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options)


# Help


def test_help_lists_every_command_of_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """A command is found because its file is there."""
    assert main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z-]+) ", capsys.readouterr().out.partition("Commands:")[2], re.MULTILINE)
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__)}
    assert set(listed) == files == {name.split()[0] for name in (*WRITING, *READING)}


def test_no_words_at_all_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`headway` and `headway log` alone say what can be said."""
    assert main([]) == 0
    assert "Commands:" in capsys.readouterr().out
    assert main(["log"]) == 0
    shown = capsys.readouterr().out
    assert all(module.name.rstrip("_") in shown for module in pkgutil.iter_modules(log_commands.__path__))


@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_every_command_has_a_help_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's first line fits beside its name in the list."""
    assert main([*name.split(), "--help"]) == 0
    assert f"Usage: headway {name}" in capsys.readouterr().out
    assert main([*name.split()[:-1], "--help"]) == 0
    line = next(li for li in capsys.readouterr().out.splitlines() if li.startswith(f"  {name.split()[-1]} "))
    assert line.endswith("."), line
    assert not line.endswith("..."), line


def test_help_imports_no_third_party_but_typer_and_pydantic() -> None:
    """Help is quick, and works where an optional package is broken."""
    code = (
        "import sys; from headway.cli.main import main; main(['--help']); main(['run', '--help'])\n"
        "found = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(found), file=sys.stderr)"
    )
    found = set(eval(_python(code).stderr))
    typers_own = {"annotated_doc", "click", "colorama", "shellingham", "typing_extensions"}
    pydantics_own = {"pydantic_core", "annotated_types", "typing_inspection"}
    ours = {"headway", "typer", "pydantic", *typers_own, *pydantics_own}
    assert {name for name in found if not name.startswith(("__", "_"))} <= ours


def test_help_does_not_import_the_app() -> None:
    """What a command needs to run is imported when it runs."""
    code = (
        "import sys; from headway.cli.main import main; main(['run', '--help']); sys.exit('headway.app' in sys.modules)"
    )
    assert _python(code).returncode == 0


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`headway --version` names the version and nothing else."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headway {__version__}\n"


# Words it does not know


@pytest.mark.parametrize(
    ("args", "nearest"), [(["statu"], "status"), (["status", "--jsn"], "--json"), (["log", "chek"], "check")]
)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(
    args: list[str], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Usage errors exit with 2, on standard error, and help with the mend."""
    assert main(args) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert nearest in told.err
    assert "--help" in told.err


@pytest.mark.parametrize(
    "args", [["show"], ["show", "x"], ["show", "0"], ["approve", "spec.yaml"], ["check"], ["run", "a", "b"]]
)
def test_missing_and_wrong_arguments_are_usage_errors(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Never a traceback, never another exit code."""
    assert main(args) == 2
    assert capsys.readouterr().err.startswith("headway: ")


def test_json_is_asked_for_only_before_the_end_of_options() -> None:
    """What stands behind `--` is no option."""
    assert wants_json(["status", "--json"])
    assert not wants_json(["check", "--", "--json"])


# Errors


def test_an_error_says_what_where_and_the_mend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with its class's exit code."""
    monkeypatch.setattr(app, "status", _raising(DataDamaged("torn", "log, line 3", "look")))
    assert main(["status"]) == 6
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "headway: torn\n  where: log, line 3\n  mend:  look\n"


def test_with_json_an_error_is_the_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever parses standard output gets JSON in every case, usage errors among them."""
    monkeypatch.setattr(app, "status", _raising(RequestWrong("no run", "here", "start one")))
    assert main(["status", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out) == {"error": {"what": "no run", "where": "here", "mend": "start one", "exit_code": 1}}
    assert told.err == ""
    assert main(["status", "--json", "--nope"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == 2


def test_control_characters_in_an_error_reach_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an agent or a harness said cannot move the cursor."""
    monkeypatch.setattr(app, "status", _raising(RequestWrong("\x1b[2Jgone\rback")))
    main(["status"])
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\r" not in err
    assert "gone" in err


@pytest.mark.parametrize("problem", [ZeroDivisionError("by zero"), InternalFault("impossible", "there", "")])
def test_a_bug_writes_a_report_and_shows_no_traceback(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit code 3; the report holds the traceback, and the message names the file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(app, "status", _raising(problem))
    assert main(["status"]) == 3
    err = capsys.readouterr().err
    (report,) = tmp_path.iterdir()
    assert str(report) in err
    assert "Traceback" not in err
    text = report.read_text("utf-8")
    assert "Traceback" in text
    assert type(problem).__name__ in text
    assert __version__ in text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_refuses_is_no_bug(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it was met, it is told as what it is, with the place and a mend: exit code 4."""
    monkeypatch.setattr(app, "status", _raising(OSError(number, os.strerror(number), "/some/place")))
    assert main(["status"]) == 4
    err = capsys.readouterr().err
    assert "/some/place" in err
    assert "mend:" in err


def test_a_bug_is_told_even_where_no_report_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A full disk does not hide it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(app, "status", _raising(ZeroDivisionError("by zero")))
    assert main(["status"]) == 3
    assert "by zero" in capsys.readouterr().err


def test_an_interrupt_ends_a_command_with_130_and_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control-C is no bug."""
    monkeypatch.setattr(app, "status", _raising(KeyboardInterrupt()))
    assert main(["status"]) == 130
    assert "headway resume" in capsys.readouterr().err


@pytest.mark.parametrize("length", [10, 200_000])
def test_a_reader_that_leaves_ends_a_command_quietly(length: int) -> None:
    """`headway ... | head -1` says nothing of a broken pipe, whether it breaks while printing or at the end."""
    code = (
        "import os, sys; from headway import app; from headway.cli import main\n"
        "app.log_entry = lambda *a: {'hypothesis': 'x' * LENGTH}\n"
        "sys.argv = ['headway', 'log', 'show', '1', '--log', 'x']; main.entry()"
    ).replace("LENGTH", str(length))
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        ended = subprocess.run(
            [sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, env=buffered
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_windows_is_refused_with_that_word() -> None:
    """Before anything is tried."""
    for name in ("win32", "cygwin"):
        with pytest.raises(PlatformRefused, match="Windows"):
            refuse_platform(name)
    refuse_platform("linux")
    refuse_platform("darwin")


# Inside an agent's turn

ARGUMENTS = {
    "approve": ["x", "--as", "me"],
    "check": ["x"],
    "show": ["1"],
    "diff": ["1"],
    "log check": ["x"],
    "log import": ["x", "-o", "y"],
}


@pytest.mark.parametrize("name", WRITING)
def test_a_command_that_writes_is_refused_inside_an_agents_turn(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A guard rail: an agent does not approve its own run."""
    monkeypatch.setenv("HEADWAY_JOB", "exp0001/author/1")
    assert main([*name.split(), *ARGUMENTS.get(name, [])]) == 1
    err = capsys.readouterr().err
    assert "inside an agent's turn" in err
    assert "guard rail" in err
    assert main([*name.split(), "--help"]) == 0


@pytest.mark.parametrize("name", READING)
def test_a_command_that_reads_is_answered_inside_an_agents_turn(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An agent may look at the run that it is part of."""
    monkeypatch.setenv("HEADWAY_JOB", "exp0001/author/1")
    monkeypatch.chdir(tmp_path)
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        main([*name.split(), *ARGUMENTS.get(name, [])])
    assert "inside an agent's turn" not in capsys.readouterr().err
