"""The page of errors says what the code does."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import headway
from headway.errors import HeadwayError

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def _every_error() -> dict[str, type[HeadwayError]]:
    for module in pkgutil.walk_packages(headway.__path__, "headway."):
        importlib.import_module(module.name)
    return {error.__name__: error for error in _below(HeadwayError) if error.__module__.startswith("headway.")}


def _below(error: type[HeadwayError]) -> Iterator[type[HeadwayError]]:
    for inner in error.__subclasses__():
        yield inner
        yield from _below(inner)


def _told(error: type[HeadwayError]) -> str:
    return (inspect.getdoc(error) or "").split("\n\n")[0].replace("\n", " ")


def _rows() -> dict[str, tuple[int, str, str]]:
    found = ROW.findall(PAGE.read_text("utf-8"))
    assert len({name for name, *_ in found}) == len(found), "an error stands on the page twice"
    return {name: (int(code), told, mend) for name, code, told, mend in found}


def test_every_error_of_the_code_is_on_the_page_with_its_code_and_meaning() -> None:
    """Nobody meets an error that the page does not explain, and the page explains none that does not exist."""
    expected = {name: (error.exit_code, _told(error)) for name, error in _every_error().items()}
    assert {name: (code, told) for name, (code, told, _) in _rows().items()} == expected


def test_every_error_on_the_page_has_a_mend() -> None:
    """Each row says what to do."""
    assert not [name for name, (_, _, mend) in _rows().items() if not mend.strip(" -")]


def test_every_exit_code_of_an_error_is_in_the_table_of_exit_codes() -> None:
    """A script finds each code that a command may end with."""
    codes = set(re.findall(r"^\| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {str(error.exit_code) for error in _every_error().values()} <= codes
