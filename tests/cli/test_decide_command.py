"""`headway decide`: JSON in, JSON out, one document or line by line."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from headway.cli.commands.decide import decide
from headway.core.decide import decide as decide_on
from headway.errors import RequestWrong

APP = typer.Typer()
APP.command()(decide)
PAYLOAD = {
    "spec": {"metric": {"primary": {"name": "t\u2028", "direction": "minimize"}}},
    "baseline": {"metrics": {"t\u2028": 8}},
    "candidate": {"metrics": {"t\u2028": 4}},
}


def run(*arguments: str, given: bytes = b"") -> Result:
    return CliRunner().invoke(APP, list(arguments), input=given)


def as_lines(*payloads: Any) -> bytes:
    return b"".join(json.dumps(payload, ensure_ascii=False).encode() + b"\n" for payload in payloads)


def test_a_file_and_standard_input_give_the_same_document(tmp_path: Path) -> None:
    """One JSON document, and nothing else, on standard output."""
    file = tmp_path / "payload.json"
    file.write_bytes(as_lines(PAYLOAD))
    for result in (run(str(file)), run(given=as_lines(PAYLOAD)), run("-", given=as_lines(PAYLOAD))):
        assert result.exit_code == 0
        assert json.loads(result.stdout) == decide_on(PAYLOAD)


def test_lines_are_answered_in_order() -> None:
    """A separator that only some tools take for a line end stays inside its payload."""
    worse = {**PAYLOAD, "candidate": {"metrics": {"t\u2028": 80}}}
    result = run("--lines", given=as_lines(PAYLOAD, worse, PAYLOAD))
    assert [json.loads(line)["decision"] for line in result.stdout.splitlines()] == ["keep", "revert", "keep"]
    assert result.exit_code == 0


def test_a_bad_line_gets_an_error_in_its_place_and_the_rest_their_answers() -> None:
    """The exit status tells that there was one."""
    given = as_lines(PAYLOAD) + b"{\n" + as_lines([]) + b"\xff\n" + as_lines(PAYLOAD)
    result = run("--lines", given=given)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert ["error" in row for row in rows] == [False, True, True, True, False]
    assert rows[1]["where"] == "line 2"
    assert result.exit_code == 1


@pytest.mark.parametrize("given", [b"", b"{", b"\xff", b"[" * 100_000, b'{"spec": {}}'])
def test_what_is_no_payload_is_refused_by_a_typed_error(given: bytes) -> None:
    """The frame prints it; here it arrives as it was raised."""
    result = run(given=given)
    assert isinstance(result.exception, RequestWrong)
    assert result.stdout == ""


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the system's own reason."""
    result = run(str(tmp_path / "none.json"))
    assert isinstance(result.exception, RequestWrong)
    assert "none.json" in result.exception.where
    assert "No such file" in result.exception.what
