"""The scan finds what a parser finds, or says that it is unsure."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.store.read import Unsure
from headway.store.scan import NO_ITERATION, Layout, scan
from tests.store.logs import by_ruamel, lines

HEAD = lines("spec: demo", "run_id: r1")
LIST = lines("experiments:")
ONE = lines("- iteration: 1", "  batch: 1", "  learnings: one")
TWO = lines("- iteration: 2", "  batch: 1", "  learnings: two")
END = lines("best:", "  iteration: 1", "run_state:", "  tick: 3")
PLAIN = HEAD + LIST + ONE + TWO + END

SURE = {
    "plain": PLAIN,
    "comments everywhere": lines("# top", "spec: demo  # it's", "", "experiments:  # list", "# one")
    + ONE
    + lines("  # of one", "", "# two")
    + TWO
    + lines("# end")
    + END,
    "list first": LIST + ONE + TWO + END + HEAD,
    "list last": HEAD + END + LIST + ONE + TWO,
    "no final line end": (HEAD + END + LIST + ONE + TWO)[:-1],
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "mixed line ends": HEAD + LIST + ONE.replace(b"\n", b"\r\n") + TWO + END,
    "blanks at line ends": PLAIN.replace(b"\n", b"  \n"),
    "quoted keys": HEAD + lines("'experiments':") + ONE + TWO + lines('"best": {iteration: 1}'),
    "indented list": HEAD + LIST + b"".join(b"  " + line for line in (ONE + TWO).splitlines(keepends=True)) + END,
    "text that looks like entries": HEAD
    + LIST
    + lines("- iteration: 1", "  learnings: |", "    - iteration: 9", '    best: "', "    experiments:")
    + TWO
    + END,
    "literal item": HEAD
    + LIST
    + ONE
    + lines("  notes:", "  - |", "    'open", "  - a: |-", '      "open', "    b: 1")
    + TWO,
    "quotes closed on their line": HEAD
    + lines("a: \"x: 'y' # z\"", "b: 'it''s: \"'", 'c: "\\"" # "')
    + LIST
    + ONE
    + TWO,
    "one-line flow": HEAD + lines("a: [1, [2, 3]]", "b: {c: 1}  # d") + LIST + ONE + TWO,
    "iteration later": HEAD + LIST + lines("- batch: 1", "  iteration: 1", "- metrics:", "    a: 1", "  iteration: 2"),
    "no list": HEAD + END,
    "empty list": HEAD + lines("experiments: []") + END,
    "null list": HEAD + lines("experiments:") + END,
}
UNSURE = {
    "quote over lines, with an entry": HEAD
    + LIST
    + lines("- iteration: 1", '  note: "a', "- iteration: 9", '  b"')
    + TWO,
    "quote over lines, with a key": lines('note: "a', "best: 2", ' b"') + HEAD + LIST + ONE,
    "single quote over lines": lines("note: 'a", "other: 2", " b'") + HEAD + LIST + ONE,
    "quote opens on its own line": HEAD
    + LIST
    + lines("- iteration: 1", "  note:", '    "a', "- iteration: 9", '    b"')
    + TWO,
    "quote below a comment that looks like a literal": HEAD
    + lines("a: 1 # b: |", ' note: "x', "best: 2", ' y"')
    + LIST,
    "flow over lines": HEAD + lines("extra: {", "best: 1", "}") + LIST + ONE,
    "flow list": HEAD + lines("experiments: [{iteration: 1}]") + END,
    "flow entry over lines": HEAD + LIST + lines("- {iteration: 1,", "batch: 1}") + TWO,
    "list that is a mapping": HEAD + lines("experiments:", "  iteration: 1", "  list:", "  - a") + END,
    "number over two lines": HEAD + LIST + lines("- iteration: 1", "    1") + TWO,
    "number in quotes": HEAD + LIST + lines('- iteration: "1"') + TWO,
    "dash alone": HEAD + LIST + lines("-", "  iteration: 1"),
    "anchor": HEAD + lines("a: &x 1", "b: *x") + LIST + ONE,
    "tag": HEAD + lines("a: !!str 1") + LIST + ONE,
    "document mark": b"---\n" + PLAIN,
    "document mark below": b"# a\n---\n" + PLAIN,
    "end mark": PLAIN + b"...\n",
    "second document": PLAIN + b"---\nx: 1\n",
    "directive": b"%YAML 1.1\n---\n" + PLAIN,
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "lone CR": PLAIN.replace(b"\n", b"\r"),
    "NEL": HEAD + "note: a\u0085best: 3\n".encode() + LIST + ONE,
    "LS": HEAD + "note: a\u2028best: 3\n".encode() + LIST + ONE,
    "NUL": HEAD + b"note: a\0b\n" + LIST + ONE,
    "root indented": b"".join(b" " + line for line in PLAIN.splitlines(keepends=True)),
    "explicit key": HEAD + lines("? experiments", ":") + ONE,
    "same key twice": PLAIN + lines("best: {iteration: 9}"),
    "tab": HEAD + LIST + ONE + b"\tbatch: 2\n",
    "conflict marks": HEAD + LIST + ONE + lines("<<<<<<< HEAD") + TWO + lines("=======", ">>>>>>> x"),
    "cut inside quotes": HEAD + LIST + ONE + b'- iteration: 2\n  learnings: "tw',
    "empty": b"",
    "comment only": b"# x\n",
}


class Strict(yaml.SafeLoader):
    """A loader that refuses a key twice and reads no 1.1 booleans in keys."""


def _mapping(loader: Strict, node: Any) -> Any:
    if not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
        raise yaml.YAMLError
    pairs = [(key.value, loader.construct_object(value, deep=True)) for key, value in node.value]
    if len(dict(pairs)) < len(pairs):
        raise yaml.YAMLError
    return dict(pairs)


Strict.add_constructor("tag:yaml.org,2002:map", _mapping)


def agrees(data: bytes, layout: Layout, whole: Any) -> bool:
    """Whether each span, parsed alone, is what the whole says."""
    entries = whole.get("experiments") or []
    numbers = [entry.get("iteration") if isinstance(entry, dict) else None for entry in entries]
    spans = [layout.entry(data, index) for index in range(len(layout.starts))]
    return (
        [span.name for span in layout.sections] == list(whole)
        and [None if number == NO_ITERATION else number for number in layout.iterations]
        == [number if type(number) is int else None for number in numbers]
        and [yaml.load(data[start:end], Strict) for start, end in spans] == [[entry] for entry in entries]
        and all(
            yaml.load(data[span.start : span.end], Strict) == {span.name: whole[span.name]} for span in layout.sections
        )
    )


@pytest.mark.parametrize("name", SURE)
def test_the_scan_agrees_with_a_parser(name: str) -> None:
    """Sections, experiments and their numbers are found in every usual layout."""
    data = SURE[name]
    assert agrees(data, scan(data), yaml.load(data, Strict))
    assert by_ruamel(data) == yaml.load(data, Strict)


@pytest.mark.parametrize("name", UNSURE)
def test_what_could_mislead_the_scan_is_refused(name: str) -> None:
    """Text that could hide or fake a section or an experiment goes to a full parse."""
    with pytest.raises(Unsure):
        scan(UNSURE[name])


PIECES = [
    *['"', "'", "- ", ": ", "\n", "  ", "|", ">", "#", " #", "[", "{", "]", "}", "best: 3\n", "- iteration: 7\n"],
    *["experiments:\n", '"x\n', ": |\n", "it's", '\\"', "&a ", "*a", "? ", '"a # b"', '- "q', '  note: "a\n   b"\n'],
    *[
        "x: 'y\n",
        "- |\n",
        '    - "z\n',
        "\t",
        '    text: "\n',
        "\n   1\n",
        "iteration: ",
        "  iteration: 5\n",
        "# a: |\n",
    ],
]
changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 6), st.sampled_from(PIECES)), min_size=1, max_size=4)


@settings(max_examples=800, deadline=None)
@example(SURE["plain"], [(44, 0, "\n   1\n")])
@given(st.sampled_from([*SURE.values(), *UNSURE.values()]), changes)
def test_the_scan_is_never_silently_wrong(start: bytes, edits: list[tuple[int, int, str]]) -> None:
    """However a file is mangled: unsure, or invalid for a parser too, or in agreement with it."""
    data = start
    for place, removed, text in edits:
        place %= len(data) + 1
        data = data[:place] + text.encode() + data[place + removed :]
    try:
        layout = scan(data)
        whole = yaml.load(data.decode(), Strict)
    except (Unsure, yaml.YAMLError, UnicodeDecodeError):
        return
    assert agrees(data, layout, whole), data
