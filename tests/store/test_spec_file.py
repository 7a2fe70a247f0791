"""A spec file is read whole, or all its mistakes are told with their lines."""

import hashlib
import os
import pickle
import stat
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from headway.core.spec import Spec
from headway.errors import OutsideFailed, RequestWrong, SpecInvalid
from headway.store.spec_file import LoadedSpec, load_spec, parse_spec
from tests.builders import a_spec, a_spec_text

FROM_ANOTHER_TOOL = """\
# a spec as people write them: no agent, folded text, sections in any order
name: smoother-frames
description: >-
  Lower the slowest frame time
  of the demo level.
metric:
  primary: {type: hard, name: slow_frame_ms, direction: minimize}
  degenerate_gates:
    - name: levels
      check: "== 6"
      description: All levels must be there.
    - name: frames
      check: "> 500"
  diagnostics:
    - name: frames
    - name: draw_calls
constraints:
  - Text with, commas and 12 numbers.
  - Do not touch the audio.
measurement:
  command: >-
    node tools/measure.mjs
    --level 3
  working_directory: games/demo
  timeout_seconds: 240
  output_format: json
  stability:
    mode: repeat
    repeat_count: 3
    aggregation: median
    noise_threshold: 75e-2
scope:
  mutable:
    - games/demo/src/draw
    - games/demo/tests/unit
  immutable:
    - games/demo/tools
    - games/demo/src/level.ts
execution:
  mode: serial
  backend: worktree
  max_concurrent: 1
parallel:
  port_strategy: none
  shared_files: []
  exclusive_resources:
    - phone-on-the-desk
dependencies:
  approved: []
stopping:
  max_iterations: 12
  max_hours: 6
  plateau_iterations: 2
  target_reached: false
max_runner_up_merges_per_batch: 0
"""


def problems_of(text: str | bytes) -> tuple[str, ...]:
    """Give what is told about a spec text that is wrong."""
    with pytest.raises(SpecInvalid) as caught:
        parse_spec(text if isinstance(text, bytes) else text.encode(), "spec.yaml")
    return caught.value.problems


def loaded(text: str) -> LoadedSpec:
    return parse_spec(text.encode(), "spec.yaml")


def test_a_spec_written_for_another_tool_loads_unchanged() -> None:
    """Specs of this family have no agent, fold their texts, and name top-level sections in any order."""
    spec = loaded(FROM_ANOTHER_TOOL).spec
    assert loaded(FROM_ANOTHER_TOOL).warnings == ()
    assert spec.description == "Lower the slowest frame time of the demo level."
    assert spec.measurement.command == "node tools/measure.mjs --level 3"
    assert spec.measurement.stability.noise_threshold == 0.75
    assert [gate.check for gate in spec.metric.degenerate_gates] == ["== 6", "> 500"]
    assert spec.constraints == ("Text with, commas and 12 numbers.", "Do not touch the audio.")
    assert (spec.effective_concurrency, spec.stopping.target_reached, spec.agent) == (1, False, None)


def test_a_spec_file_gives_the_spec_its_bytes_and_their_hash(tmp_path: Path) -> None:
    """What was read can be frozen byte for byte and recognised again by its hash."""
    path = tmp_path / "spec.yaml"
    path.write_bytes(a_spec_text().encode())
    found = load_spec(path)
    assert found.spec == a_spec()
    assert found.text == path.read_bytes()
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "0.001", ".001", "1.0e-03", '"1e-3"'])
def test_a_small_number_loads_as_the_number_however_it_is_written(number: str) -> None:
    """Numbers such as 1e-3, which older YAML takes for text, are numbers (BR-37)."""
    text = a_spec_text(measurement={"stability": {"noise_threshold": "NUMBER"}}).replace("NUMBER", number)
    assert loaded(text).spec.measurement.stability.noise_threshold == 0.001


@pytest.mark.parametrize("word", ["yes", "on", "true", "True"])
def test_the_words_for_true_are_true(word: str) -> None:
    """Words that older YAML takes for true mean true where true or false is asked for."""
    assert loaded(a_spec_text(measurement={"per_case": "WORD"}).replace("WORD", word)).spec.measurement.per_case


def test_text_that_looks_like_a_date_stays_text() -> None:
    """A description such as 2024-01-31 is text, also where the date does not exist."""
    assert loaded(a_spec_text(description="DATE").replace("DATE", "2024-01-31")).spec.description == "2024-01-31"
    assert loaded(a_spec_text(description="DATE").replace("DATE", "2024-99-99")).spec.description == "2024-99-99"


def test_all_mistakes_are_told_at_once_each_with_its_line() -> None:
    """One reading tells every mistake: unknown keys, wrong values, missing keys, broken rules, in order of lines."""
    text = dedent(
        """\
        name: Fast
        metric:
          primary:
            type: hard
            name: seconds
            dirction: minimize
          degenerate_gates:
            - name: ok
              check: about 1
        measurement:
          command: run
          timeout_seconds: soon
          timeout_seconds: 5
        scope:
          mutable: [src]
          immutable:
            - src/bench.py
        execution:
          max_concurrent: 9
        """
    )
    assert [problem.split(" (")[0] for problem in problems_of(text)] == [
        "line 1: name: must be small letters, digits and single hyphens between them, not 'Fast'",
        "line 3: metric.primary.direction: is required",
        "line 6: metric.primary.dirction: is not a known key",
        "line 9: metric.degenerate_gates[0].check: 'about 1' is no check: "
        "write one of >= <= == != > < and a finite number, such as '>= 0.9'",
        "line 12: measurement.timeout_seconds: must be a number, not the text 'soon'",
        "line 13: measurement.timeout_seconds: stands twice, first in line 12",
        "line 15: scope.mutable[0]: 'src' overlaps with immutable 'src/bench.py'",
        "line 19: execution.max_concurrent: must be 1 to 6 with backend worktree, not 9",
    ]


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    """A slip of the keyboard is answered with the key that was meant."""
    assert problems_of(a_spec_text(stoping={})) == ("line 20: stoping: is not a known key (did you mean stopping?)",)


def test_the_error_says_where_and_keeps_its_problems_when_pickled() -> None:
    """The error names the file and survives a journey between processes."""
    with pytest.raises(SpecInvalid) as caught:
        parse_spec(b"", "some/spec.yaml")
    assert caught.value.exit_code == 1
    assert caught.value.where == "some/spec.yaml"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "line 1: the spec is empty"),
        (b"# only a comment\n", "line 1: the spec is empty"),
        (b"- a\n- b\n", "line 1: must be a mapping of keys"),
        (b"just words\n", "line 1: must be a mapping of keys"),
        (b"name: a\nmetric: [1\n", "line 3: not readable as YAML"),
        (b"name: a\n\tmetric: 1\n", "line 2: not readable as YAML"),
        (b"name: a\nscope: \xff\xfe\n", "line 2: holds the byte 0xff: not UTF-8"),
        (b"name: a\nscope: \x01\n", "line 2: holds a character that YAML does not allow"),
        (b"name: a\n---\nname: b\n", "line 2: not readable as YAML: expected a single document"),
        (b"x: " + b"[" * 5000, "line 1: is nested too deeply"),
        (b"x: " + b"[" * 60 + b"]" * 60, "line 1: is nested too deeply"),
        (b"x" * 1_000_001, "line 1: has 1000001 bytes"),
        (b"gates:\n  - check: >= 0.9\n", "line 2: not readable as YAML: expected chomping"),
    ],
)
def test_what_is_no_yaml_mapping_is_refused_with_its_line(text: bytes, problem: str) -> None:
    """Text that cannot be read at all gives one problem that says where and why."""
    (told,) = problems_of(text)
    assert told.startswith(problem)


@pytest.mark.parametrize("check", [">= 0.9", "!= 3"])
def test_a_check_without_quotes_is_answered_with_the_mend(check: str) -> None:
    """YAML gives `>` and `!` a meaning of their own: the message says to use quotes, and says nothing besides."""
    text = a_spec_text(metric={"degenerate_gates": [{"name": "g", "check": "CHECK"}]}).replace("CHECK", check)
    (problem,) = problems_of(text)
    assert "in quotes" in problem


@pytest.mark.parametrize(
    ("changes", "replaced", "problem"),
    [
        ({"description": "HERE"}, "!person you", "description: has the tag !person"),
        ({"constraints": "HERE"}, "!!set {a, b}", "constraints: has the tag tag:yaml.org,2002:set"),
        ({"stopping": {"max_iterations": "HERE"}}, "9" * 5000, "stopping.max_iterations: is no number"),
        ({"stopping": "HERE"}, "{? [a] : 1}", "stopping: a key must be plain text"),
        ({"stopping": "HERE"}, "{<<: {max_hours: 1}}", "stopping: a key must be plain text (merge keys"),
    ],
)
def test_yaml_that_a_spec_has_no_use_for_is_refused(changes: dict[str, Any], replaced: str, problem: str) -> None:
    """Tags, keys that are no text, merge keys and numbers beyond reading are told, not guessed at."""
    assert any(problem in told for told in problems_of(a_spec_text(**changes).replace("HERE", replaced)))


def test_an_alias_stands_for_its_value() -> None:
    """A value written once and named twice is read twice."""
    text = a_spec_text(constraints="ONE", dependencies={"approved": "TWO"})
    spec = loaded(text.replace("ONE", "&same [a, b]").replace("TWO", "*same")).spec
    assert (spec.constraints, spec.dependencies.approved) == (("a", "b"), ("a", "b"))


def test_aliases_cannot_blow_a_small_file_up() -> None:
    """Nested aliases that would stand for a million values are refused before they are written out."""
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 7)]
    (problem,) = problems_of("\n".join(["l0: &l0 [x, x, x]", *levels]))
    assert "aliases that make it too large" in problem


def test_an_alias_that_holds_itself_is_refused() -> None:
    """A value without an end is no value."""
    assert "aliases" in problems_of("a: &x\n  b: *x\n")[0]


def test_warnings_carry_their_lines() -> None:
    """What may surprise the spec's writer is told with the line it stands in, and does not stop the loading."""
    warnings = loaded(
        a_spec_text(stopping={"plateau_iterations": "X"}).replace("  plateau_iterations: X", "  max_hours: 1")
    )
    assert [warning.split(":")[:2] for warning in warnings.warnings] == [["line 18", " stopping.plateau_iterations"]]


def test_a_file_with_a_byte_order_mark_or_windows_line_ends_loads() -> None:
    """Editors' habits do not matter; the bytes are kept as they are."""
    text = b"\xef\xbb\xbf" + a_spec_text().replace("\n", "\r\n").encode()
    assert parse_spec(text, "spec.yaml").text == text
    assert parse_spec(text, "spec.yaml").spec == a_spec()


def test_a_spec_that_is_not_there_is_a_clear_refusal(tmp_path: Path) -> None:
    """A missing file, a folder, and a path through a file are told apart and exit 1."""
    (tmp_path / "file").write_text("x")
    for path, words in [("none.yaml", "no such spec"), (".", "folder"), ("file/x", "no such spec")]:
        with pytest.raises(RequestWrong, match=words) as caught:
            load_spec(tmp_path / path)
        assert (caught.value.exit_code, bool(caught.value.mend)) == (1, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_spec_that_may_not_be_read_is_an_outside_failure(tmp_path: Path) -> None:
    """No permission is not a mistake of the spec."""
    path = tmp_path / "spec.yaml"
    path.write_text(a_spec_text())
    path.chmod(stat.S_IWUSR)
    with pytest.raises(OutsideFailed, match="cannot be read"):
        load_spec(path)


def test_the_builders_text_and_its_spec_agree() -> None:
    """What tests write to files is what tests hold in memory."""
    changes: dict[str, Any] = {"agent": {"type": "command", "command": "edit {brief}"}, "constraints": ["a: b", "# c"]}
    assert loaded(a_spec_text(**changes)).spec == a_spec(**changes)
    assert isinstance(a_spec(), Spec)
