"""Whole logs, read fast: equal to the careful reading, whoever wrote them."""

import subprocess
import sys
from pathlib import Path

import pytest

import headway.store.load as loading
from headway.errors import DataDamaged, RequestWrong
from headway.store.document import parse_mapping, read_document
from headway.store.load import load_log, quickly
from headway.store.rewrite import whole_log
from tests.store.logs import log_rows

TOKENS = (
    *("no", "on", "yes", "y", "True", "~", "null", "012", "0o14", "0x1F", "1_000", "1e3", ".5", "5.", "+1", "1e-07"),
    *(".inf", ".nan", "12:30", "2026-11-30", "0", "-0", "00", "1e400", "12e4567", "0123456", "18446744073709551616"),
    *("-9223372036854775809", "1__0", "=", "<<", "-", "0x_1", "08", "1_000.5", "e3", "*a", "&a", "!x", "019", "._"),
)
SHAPES = (
    *("a: {}", "a:\n- {}\n- b: {}", "a: [{}, 1]", "a: [1,{}]", "a: {{b: {}}}", '"{}": 1', "{}: 1", 'a: "{}"'),
    *("a: |\n  {}\n  b: {}", "a:\n  {}", "a: {} # why", "a:\t{}", "? {}\n: 2", "a: x\n  {}"),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("token", TOKENS)
def test_the_fast_way_reads_what_the_careful_one_reads_or_steps_back(token: str, shape: str) -> None:
    """For every token that loaders are known to differ about, in every place."""
    pytest.importorskip("ryaml")
    text = shape.replace("{}", token).replace("{{", "{").replace("}}", "}") + "\n"
    found = quickly(text.encode())
    if found is not None:
        assert repr(found) == repr(parse_mapping(text, Path("x.yaml")))


def test_a_log_of_ours_is_read_the_fast_way() -> None:
    """Its commits, times and numbers are no reason to step back."""
    pytest.importorskip("ryaml")
    assert quickly(whole_log(log_rows(20))) == log_rows(20)


@pytest.mark.parametrize("is_fast", [True, False])
def test_both_ways_give_equal_logs(is_fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the result is the same."""
    if not is_fast:
        monkeypatch.setattr(loading, "_loads", lambda: None)
    path = tmp_path / "experiment-log.yaml"
    path.write_bytes(whole_log(log_rows(5)))
    assert load_log(path) == read_document(path) == log_rows(5)


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "- 1\n", "a: [\n", "", "a: 1\n---\nb: 2\n"])
def test_damage_is_told_by_the_careful_way(text: str, tmp_path: Path) -> None:
    """With its line."""
    path = tmp_path / "log.yaml"
    path.write_text(text)
    with pytest.raises(DataDamaged, match="line"):
        load_log(path)


def test_no_file_is_told(tmp_path: Path) -> None:
    """In words."""
    with pytest.raises(RequestWrong, match="no experiment log"):
        load_log(tmp_path / "log.yaml")


def test_importing_headway_loads_none_of_it() -> None:
    """Names are public at once, and cost nothing until they are used."""
    code = (
        "import sys, headway\n"
        "assert {'read_log', 'read_records'} <= set(dir(headway))\n"
        "heavy = {'pydantic', 'typer', 'ruamel', 'ryaml', 'pyarrow', 'git', 'headway.store', 'headway.core'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "headway.read_log\n"
        "assert not {'ruamel.yaml', 'ryaml', 'pyarrow', 'typer', 'headway.app'} & set(sys.modules)\n"
        "try: headway.read_everything\n"
        "except AttributeError as error: assert 'read_everything' in str(error)\n"
        "else: raise SystemExit('no such name')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
