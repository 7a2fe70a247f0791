"""New text for the log reads back the same in every loader."""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import RequestWrong
from headway.store.emit import emit_entry, emit_mapping, emit_section
from headway.store.read import Unsure, read_entry, read_mapping
from tests.store.logs import by_pyyaml, by_ruamel

NASTY_TEXTS = [
    *[
        "",
        " ",
        "  two",
        "end ",
        "\t",
        "a\tb",
        "~",
        "null",
        "NULL",
        "None",
        "true",
        "False",
        "YES",
        "n",
        "Off",
        "on",
        "NO",
    ],
    *[
        "1",
        "-7",
        "+3",
        "007",
        "0b1",
        "0o7",
        "0xFF",
        "1_0",
        "3.",
        ".3",
        "4e5",
        "6E-7",
        "12e4567",
        "1.5e3",
        ".inf",
        "-.INF",
    ],
    *["nan", ".NaN", "Infinity", "22:22", "190:20:30.15", "2026-02-30", "2026-02-03T04:05:06Z", "2026-2-3 4:5:6"],
    *["-", "--", "---", "...", "--- a", "- a", "? a", "?", ":", ":a", "a:", "a: b", "a #b", "#", "a#b", "=", "<<", "<"],
    *["!a", "!!str a", "&a", "*a", "|", ">", "|-", "%", "%YAML", "@a", "`a", "[", "]", "[a]", "{", "}", "{a: 1}", ","],
    *["'", '"', "'a'", '"a"', "it's", "\\", "\\n", "C:\\a", "a\\", "a, b (c)", "x" * 3000, "word " * 400 + "end"],
    *[
        "\n",
        "\n\n",
        "a\n",
        "a\nb",
        "a\nb\n",
        "a\n\n\nb\n",
        "a\n\n",
        "\na",
        " a\nb",
        "a\n b\n",
        "a \nb \n",
        "a\n \n",
        "a\n ",
    ],
    *[
        "- iteration: 9\nexperiments:\n",
        "# a\nb\n",
        "---\n...\n",
        "k: |\n  v\n",
        "a\r\nb",
        "a\rb",
        "tab\n\tb\n",
        "a\n\n  b\n",
    ],
    *["é", "日本: 値", "😀", "a\u00a0b", "\u0085", "a\u2028b", "\u2029", "\ufeffa", "a\u200bb", "\ufffe", "\uffff"],
    *[
        "\x00",
        "\x07",
        "\x1b[0m",
        "\x7f",
        "\x9f",
        "é\nü\n",
        "12e4567\n",
        "0123456",
        "deadbeef",
        "1e",
        "e1",
        "0x",
        "08",
        "١",
    ],
]
NASTY_VALUES: list[Any] = [
    *[
        1e-07,
        1e22,
        1e16,
        0.1 + 0.2,
        5e-324,
        1.7976931348623157e308,
        -0.0,
        1.0,
        -1.5e-9,
        0,
        -1,
        2**63,
        -(2**63),
        2**64 - 1,
    ],
    *[True, False, None, [], {}, [[]], [{}], [[[1], 2]], {"a": {}}, {"a": []}, {"a": [[{"b": [1]}]]}, [None, "", {}]],
]
LOADERS: dict[str, Callable[[str], Any]] = {
    "ruamel": by_ruamel,
    "PyYAML": by_pyyaml,
    "PyYAML in C": lambda text: yaml.load(text, yaml.CSafeLoader),
}


def shapes(value: Any) -> list[dict[Any, Any]]:
    """Mappings with a value in every kind of place, and as a key where it can be one."""
    found: list[dict[Any, Any]] = [
        {"v": value, "w": 1},
        {"a": {"b": {"c": value}}, "d": [value, [value, {"e": value, "f": [value]}], value], "g": 0},
    ]
    if not isinstance(value, (list, dict)):
        found.extend([{value: value, "z": 1}, {"a": {value: 1, "b": [{value: {value: [value]}}]}}])
    return found


@pytest.mark.parametrize("value", [*NASTY_TEXTS, *NASTY_VALUES], ids=lambda value: ascii(value)[:40])
def test_every_value_reads_back_the_same_in_every_loader(value: Any) -> None:
    """As value, key, item and nested, text means the same in YAML 1.1 and 1.2."""
    for shape in shapes(value):
        for name, load in LOADERS.items():
            assert repr(load(emit_mapping(shape))) == repr(shape), name
            assert repr(load(emit_entry(shape))) == repr([shape]), name
            assert repr(load(emit_entry(shape, indent=2))) == repr([shape]), name


@pytest.mark.parametrize("value", [*NASTY_TEXTS, *NASTY_VALUES], ids=lambda value: ascii(value)[:40])
def test_the_fast_reader_agrees_with_the_loaders_or_passes(value: Any) -> None:
    """The reader without a YAML loader gives the value that was written, or says that it is unsure."""
    for shape in shapes(value):
        try:
            assert repr(read_mapping(emit_mapping(shape))) == repr(shape)
            assert repr(read_entry(emit_entry(shape))) == repr(shape)
        except Unsure:
            assert any(not isinstance(key, str) or len(key) > 900 for key in keys_of(shape))


def keys_of(value: Any) -> list[Any]:
    """All keys at any depth."""
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in keys_of(item))]
    return [key for item in value for key in keys_of(item)] if isinstance(value, list) else []


plain_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(NASTY_TEXTS)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_texts, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(plain_texts, plain_values, max_size=4))
def test_any_plain_mapping_reads_back_the_same(row: dict[str, Any]) -> None:
    """Whatever plain values are made of, both kinds of loaders and the fast reader give them back."""
    text = emit_mapping(row)
    assert repr(by_pyyaml(text)) == repr(by_ruamel(text)) == repr(row)
    try:
        assert repr(read_mapping(text)) == repr(row)
    except Unsure:
        assert not row or any(len(key) > 900 for key in keys_of(row))


@pytest.mark.parametrize(
    "value",
    [
        "1e-07",
        "0777",
        "0x1F",
        "1_000",
        "+1",
        "b # c",
        "'b'",
        "[1]",
        "{b: 1}",
        "~",
        "Null",
        "yes",
        "b  ",
        "-.5",
        "1.50",
        "&b c",
        "|+\n  b",
        ">\n  b",
    ],
)
def test_the_fast_reader_refuses_what_headway_would_write_otherwise(value: str) -> None:
    """Other spellings of a value are for a real parser, in a mapping and in an entry."""
    for read, text in ((read_mapping, f"a: {value}\n"), (read_entry, f"- a: {value}\n".replace("\n  ", "\n    "))):
        with pytest.raises(Unsure):
            read(text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("a1 -:#|\"'\n[]{}\\.e&*!?,é\t"), max_size=40))
def test_the_fast_reader_never_misreads_foreign_text(text: str) -> None:
    """Text that headway did not write is refused, or read as every loader reads it."""
    for read, wrap in ((read_mapping, lambda value: value), (read_entry, lambda value: [value])):
        try:
            value = wrap(read(text))
        except Unsure:
            continue
        assert repr(by_pyyaml(text)) == repr(by_ruamel(text)) == repr(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2**64, "64 bit"),
        (-(2**63) - 1, "64 bit"),
        (math.nan, "not a finite"),
        (math.inf, "not a finite"),
        (-math.inf, "not a finite"),
        ("a\ud800b", "surrogate"),
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (object(), "object"),
    ],
)
def test_a_value_without_a_safe_text_is_refused_by_its_place(value: Any, reason: str) -> None:
    """The refusal names the field and why."""
    with pytest.raises(RequestWrong) as caught:
        emit_entry({"iteration": 1, "metrics": {"p95": {"samples": [1.0, value]}}})
    assert "metrics.p95.samples.[1]" in caught.value.where
    assert reason in caught.value.what


def test_a_lone_surrogate_is_refused_as_a_key_too() -> None:
    """Keys are text like any other."""
    with pytest.raises(RequestWrong, match="surrogate"):
        emit_mapping({"a": {"\udfff": 1}})


def test_a_value_that_holds_itself_is_refused() -> None:
    """Endless nesting ends in a refusal, not in a crash."""
    row: dict[str, Any] = {}
    row["again"] = row
    with pytest.raises(RequestWrong, match="deeper"):
        emit_mapping(row)


def test_ids_commits_times_and_deltas_always_stand_in_quotes() -> None:
    """A field whose text may look like a number is quoted even where this one value does not."""
    row = {
        "commit": "abcdefa",
        "base_sha": "abc",
        "run_id": "r",
        "candidate_revision": "b",
        "measured_at": "today",
        "primary_delta": "x",
        "headway": {"id": "h", "shown_ids": ["a"]},
        "category": "plain text",
    }
    assert emit_mapping(row).splitlines() == [
        'commit: "abcdefa"',
        'base_sha: "abc"',
        'run_id: "r"',
        'candidate_revision: "b"',
        'measured_at: "today"',
        'primary_delta: "x"',
        "headway:",
        '  id: "h"',
        "  shown_ids:",
        '  - "a"',
        "category: plain text",
    ]


def test_the_layout_is_block_style_with_lists_at_their_keys_column() -> None:
    """The family's layout: mappings by two, lists by none, literal text, empty things in brackets."""
    text = emit_entry(
        {"iteration": 1, "a": [{"b": 1, "c": [1e-07]}], "d": [], "e": {}, "f": None, "g": "x\ny\n", "h": True}
    )
    assert text == (
        "- iteration: 1\n  a:\n  - b: 1\n    c:\n    - 1.0e-07\n  d: []\n"
        "  e: {}\n  f: null\n  g: |\n    x\n    y\n  h: true\n"
    )
    assert emit_section("experiments", []) == "experiments: []\n"


def test_enums_and_tuples_are_written_as_their_plain_values() -> None:
    """What core hands over may hold enum members and tuples."""

    class Colour(StrEnum):
        RED = "red"

    text = emit_mapping({"a": Colour.RED, "b": (1, Colour.RED), Colour.RED: 1})
    assert by_pyyaml(text) == {"a": "red", "b": [1, "red"], "red": 1}
