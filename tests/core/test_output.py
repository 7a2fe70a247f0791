"""The measurement contract: what a harness printed, and what becomes of it."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.json_objects import find_objects
from headway.core.output import InvalidSample, Sample, read_metrics, to_sample
from headway.core.spec import Spec
from tests.builders import a_spec

SPEC = a_spec(
    metric={
        "primary": {"name": "score", "direction": "maximize"},
        "degenerate_gates": [{"name": "ok", "check": "== 1"}],
        "diagnostics": [{"name": "lines"}],
    }
)


def sample_of(text: str, spec: Spec = SPEC, metrics_text: str | None = None) -> Sample | InvalidSample:
    measurement = spec.measurement
    raw = read_metrics(
        text, output_format=measurement.output_format, extract=measurement.extract, metrics_text=metrics_text
    )
    return to_sample(raw, spec)


def valid(text: str, spec: Spec = SPEC, metrics_text: str | None = None) -> Sample:
    sample = sample_of(text, spec, metrics_text)
    assert isinstance(sample, Sample), sample
    return sample


def reason(text: str, spec: Spec = SPEC, metrics_text: str | None = None) -> str:
    sample = sample_of(text, spec, metrics_text)
    assert isinstance(sample, InvalidSample), sample
    return sample.reason


PLAIN = '{"score": 2.5, "ok": true}'


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        f"warming up\n{PLAIN}\nbye\n",
        f"\r 40%|####      | 4/10\r100%|##########| 10/10\r{PLAIN}\r\n",
        f"\x1b[32mdone\x1b[0m \x1b]0;title\x07{PLAIN}\x1b[K\n",
        '\x1b[1;39m{\x1b[34m"score"\x1b[39m: 2.5, \x1b[34m"ok"\x1b[39m: true}\x1b[0m',
        f"RESULT: {PLAIN} (took 3 s)",
        f"[INFO] {{x}} [1/5] {PLAIN}",
        f"{{'score': 9, 'ok': 1}}\n{PLAIN}",
        f'{{"score": 9}}\n{PLAIN}\n[1, 2]\n"text"\n7\nnull',
        json.dumps({"score": 2.5, "ok": True, "note": 'braces } { in \\ "strings"'}, indent=2),
        json.dumps({"metrics": {"score": 2.5}, "gates": {"ok": 1}}, indent=4) + "\n}\n",
        f'{{"progress": 10%}}\n{PLAIN}',
        f'{{"killed": {{"score": 9}}, "half": "no en\n{PLAIN}',
        f"bytes that were no text: \ufffd\ufffd {PLAIN}",
    ],
)
def test_the_last_whole_object_is_found_in_anything(text: str) -> None:
    """Progress bars, colours, warnings, other JSON, pretty printing, half an object of a killed child."""
    sample = valid(text)
    assert dict(sample.metrics) == {"score": 2.5}
    assert dict(sample.gates) in ({"ok": True}, {"ok": 1})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "all went well",
        "[1, 2]",
        '[{"score": 2.5, "ok": true}]',
        '{"old": {"score": 2.5, "ok": true}, "new": {"sco',
        '{\n  "cases": [\n    {"score": 2.5, "ok": true},\n    {"score": 1.5, "ok": tr',
        "{'score': 2.5, 'ok': True}",
        '{"score": 2.5, "ok": true',
        '{"score": 2.5, "ok": true,}',
    ],
)
def test_what_is_no_whole_object_of_its_own_is_no_result(text: str) -> None:
    """A list's element or a fragment of an object that breaks off never passes for the result."""
    assert "JSON" in reason(text) or "empty" in reason(text)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("1" * 400, "111"),
        ("null", "null"),
        ('""', '""'),
        ('"12ms"', '"12ms"'),
        ('"1,234.5"', '"1,234.5"'),
        ('"2.5"', '"2.5"'),
        ('"N/A"', '"N/A"'),
        ("true", "true"),
        ("[1]", "[1]"),
        ('{"aggregate": 1}', "aggregate"),
        ('"\\ud800"', "ud800"),
    ],
)
def test_a_metric_is_a_finite_number_or_the_sample_is_none(written: str, told: str) -> None:
    """The reason names the metric and shows what stood there."""
    for text in (f'{{"score": {written}, "ok": 1}}', f'{{"metrics": {{"score": {written}}}, "ok": 1}}'):
        said = reason(text)
        assert said.startswith("score must be a finite number")
        assert told in said
        said.encode()


@pytest.mark.parametrize("written", ["NaN", "null", '"yes"', "1e999", "[]"])
def test_a_gate_is_a_finite_number_or_a_boolean(written: str) -> None:
    """Anything else is the harness's failure, named."""
    assert reason(f'{{"score": 1, "ok": {written}}}').startswith("gate ok must be a finite number or a boolean")


def test_a_missing_primary_is_named_with_what_was_there() -> None:
    """So that a misspelt name is seen at once."""
    said = reason('{"scores": 1, "ok": 1, "metrics": {"runtime_ms": 9000}}')
    assert said == 'the output lacks score; names there: "scores", "ok", "runtime_ms"'


def test_a_last_object_without_the_primary_says_that_an_earlier_one_had_it() -> None:
    """The rule stays: the last object counts."""
    assert "print the metrics last" in reason('{"score": 1, "ok": 1}\n{"event": "bye"}')


def test_a_missing_gate_is_left_to_the_gate() -> None:
    """It fails there (degenerate), as the family's rule has it."""
    assert dict(valid('{"score": 1}').gates) == {}


def test_a_failed_gate_excuses_missing_metrics() -> None:
    """A harness that stops at a failed check prints no score; that is degenerate and no error."""
    sample = valid('{"ok": false}')
    assert dict(sample.gates) == {"ok": False}
    assert dict(sample.metrics) == {}
    assert valid('{"ok": 0, "score": null}').metrics == {}


@pytest.mark.parametrize("written", ['"boom"', "true", "1", '{"code": 3}', '["a"]', "NaN"])
def test_an_error_field_that_says_something_voids_the_sample(written: str) -> None:
    """Whatever else stands beside it."""
    assert reason(f'{{"score": 1, "ok": 1, "error": {written}}}').startswith("the harness reported an error: ")


@pytest.mark.parametrize("beside", ["", ', "error": null', ', "error": 0', ', "error": false', ', "error": ""'])
@pytest.mark.parametrize("status", ["error", "ERROR", " Error "])
def test_a_status_of_error_voids_the_sample_whatever_was_raised(status: str, beside: str) -> None:
    """What was raised may be null, 0, false or empty: it failed all the same."""
    said = reason(f'{{"score": 1, "ok": 1, "status": "{status}"{beside}}}')
    assert said.startswith("the harness reported an error: status is ") and "without a message" in said


def test_a_status_of_error_with_a_message_tells_the_message() -> None:
    """Rather than the status."""
    assert (
        reason('{"score": 1, "ok": 1, "status": "error", "error": "boom"}') == 'the harness reported an error: "boom"'
    )


def test_an_empty_error_is_an_exception_without_a_message() -> None:
    """`str(AssertionError())` is empty; a score of 0 beside it would be the best one of a time."""
    assert "without a message" in reason('{"score": 0, "ok": 1, "error": ""}')


@pytest.mark.parametrize("written", ['"ok"', '"done"', "null", "0", '"no errors"'])
def test_other_statuses_say_nothing_of_a_failure(written: str) -> None:
    """Their words are the harness's own."""
    assert valid(f'{{"score": 1, "ok": 1, "status": {written}}}').metrics["score"] == 1


def test_a_metric_may_be_called_status() -> None:
    """A declared name is a value, not a complaint."""
    spec = a_spec(metric={"primary": {"name": "score"}, "diagnostics": [{"name": "status"}]})
    assert valid('{"score": 1, "sorted": 1, "status": "error"}', spec).diagnostics["status"] == "error"


@pytest.mark.parametrize("written", ["null", "false", "0", "[]", "{}"])
def test_an_error_field_that_says_nothing_is_none(written: str) -> None:
    """Many harnesses always print the field."""
    assert valid(f'{{"score": 1, "ok": 1, "error": {written}}}').metrics["score"] == 1


def test_a_metric_may_be_called_error() -> None:
    """A declared name is a value, not a complaint."""
    spec = a_spec(metric={"primary": {"name": "error"}})
    assert valid('{"error": 0.125, "sorted": 1}', spec).metrics == {"error": 0.125}


def test_two_objects_with_different_values_are_ambiguous_and_both_are_told() -> None:
    """The last one counts."""
    sample = valid('{"score": 1, "ok": 1}\n{"metrics": {"score": 2}, "ok": 1}')
    assert sample.metrics["score"] == 2
    assert sample.ambiguous
    assert "1 and 2" in sample.notes[0]


def test_the_same_value_twice_is_not_ambiguous() -> None:
    """Nor are objects that do not name the primary."""
    assert not valid('{"score": 1, "ok": 1}\n{"epoch": 3}\n{"score": 1.0, "ok": 1}').ambiguous


def test_a_name_that_stands_twice_in_one_object_is_told() -> None:
    """The last one counts, as in every JSON parser."""
    sample = valid('{"score": 1, "ok": 1, "score": 3}')
    assert sample.metrics["score"] == 3
    assert sample.ambiguous
    assert "score stands twice" in sample.notes[0]


def test_what_is_not_declared_enters_nothing() -> None:
    """Not the average of all numbers, not a bigger one: the declared names alone."""
    sample = valid('{"score": 1, "ok": 1, "runtime_ms": 9000, "metrics": {"speed": 3}, "lines": 12, "extra": {"a": 1}}')
    assert dict(sample.metrics) == {"score": 1}
    assert dict(sample.gates) == {"ok": 1}
    assert dict(sample.diagnostics) == {"lines": 12}


def test_diagnostics_are_recorded_as_something_that_can_be_stored() -> None:
    """They never void a sample."""
    for written, kept in [("NaN", "NaN"), ('"x"', "x"), ("null", None), ("[1]", "[1]"), ("true", True)]:
        sample = valid(f'{{"score": 1, "ok": 1, "diagnostics": {{"lines": {written}}}}}')
        assert sample.diagnostics["lines"] == kept


def test_a_value_is_found_in_its_own_section_first() -> None:
    """Then in the others, then at the top level."""
    spec = a_spec(metric={"primary": {"name": "a"}, "degenerate_gates": [{"name": "a", "check": "> 0"}]})
    sample = valid('{"a": 1, "gates": {"a": 2}, "metrics": {"a": 3}}', spec)
    assert sample.gates["a"] == 2
    assert sample.metrics["a"] == 3
    assert valid('{"gates": {"a": 2}}', spec).metrics["a"] == 2


def test_secondary_objectives_may_be_missing() -> None:
    """They decide nothing; required ones must be there."""
    objectives = [
        {"name": "size", "direction": "minimize"},
        {"name": "ram", "direction": "minimize", "role": "secondary"},
    ]
    spec = a_spec(metric={"primary": {"name": "score"}, "objectives": objectives})
    assert valid('{"score": 1, "size": 2, "sorted": 1, "ram": "n/a"}', spec).metrics == {"score": 1, "size": 2}
    assert "lacks size" in reason('{"score": 1, "sorted": 1}', spec)


def test_cases_are_read_when_the_spec_has_them() -> None:
    """What is neither a boolean, a number nor a text has not passed."""
    text = '{"score": 1, "ok": 1, "cases": {"a": true, "b": 0.5, "c": null, "d": "pass", "e": NaN}}'
    spec = SPEC.model_copy(update={"measurement": SPEC.measurement.model_copy(update={"per_case": True})})
    assert valid(text).cases is None
    cases = valid(text, spec).cases
    assert cases is not None
    assert dict(cases) == {"a": True, "b": 0.5, "c": False, "d": "pass", "e": False}


def test_worst_cases_and_cost_are_taken_in_their_own_shape() -> None:
    """Unknown keys, wrong types and endless lists are left out."""
    worst = [{"case_id": f"c{at}", "score": at, "reason": "x" * 9000, "more": 1} for at in range(99)]
    sample = valid(json.dumps({"score": 1, "ok": 1, "worst_cases": [*worst, 7], "cost": {"usd": 0.5, "tokens": "9"}}))
    assert len(sample.worst_cases) == 10
    assert set(sample.worst_cases[0]) == {"case_id", "score", "reason"}
    assert len(sample.worst_cases[0]["reason"]) == 500
    assert dict(sample.cost) == {"usd": 0.5}
    assert valid('{"score": 1, "ok": 1, "worst_cases": 3, "cost": 4}').cost == {}


def test_a_declared_metrics_file_takes_the_place_of_standard_output() -> None:
    """And its absence is no reason to fall back on what was printed."""
    spec = a_spec(
        metric={"primary": {"name": "score"}, "degenerate_gates": [{"name": "ok", "check": "== 1"}]},
        measurement={"metrics_file": "out/metrics.json"},
    )
    assert valid('{"score": 1, "ok": 1}', spec, '{\n "score": 2, "ok": 1\n}\n').metrics["score"] == 2
    assert "out/metrics.json was not written" in reason('{"score": 1, "ok": 1}', spec)
    assert "the metrics file is empty" in reason('{"score": 1, "ok": 1}', spec, "")


LINES = a_spec(
    metric={"primary": {"name": "score"}, "degenerate_gates": [{"name": "ok", "check": "== 1"}]},
    measurement={"output_format": "metric_lines"},
)


def test_metric_lines_are_read_anywhere() -> None:
    """Behind carriage returns, with colours and odd spacing; the last of a name counts."""
    sample = valid("x\r METRIC score=1\nMETRIC  score = 2.5e1 \r\n\x1b[1mMETRIC ok=true\x1b[0m\nMETRICS score=9", LINES)
    assert sample.metrics["score"] == 25
    assert sample.gates["ok"] is True
    assert sample.ambiguous


@pytest.mark.parametrize("text", ["12ms", "1,234.5", "nan", "inf", "1e999", "", "1_000", "true", "0x10", "１"])
def test_metric_lines_are_held_to_the_same_numbers(text: str) -> None:
    """Text is never read as far as it goes."""
    assert "score must be a finite number" in reason(f"METRIC score={text}\nMETRIC ok=1", LINES)


def test_output_without_metric_lines_says_so() -> None:
    """Rather than that a name is missing."""
    assert "no line `METRIC name=value`" in reason('{"score": 1}', LINES)


REGEX = a_spec(
    metric={"primary": {"name": "score"}, "degenerate_gates": [{"name": "ok", "check": "== 3"}]},
    measurement={"output_format": "regex", "extract": {"score": r"^total: (\S+)", "ok": r"\d+(?= passed)"}},
)


def test_patterns_give_their_last_match() -> None:
    """Its first group, or all of it where there is none."""
    sample = valid("total: 1\ntotal: -2.5\n2 passed\n3 passed", REGEX)
    assert dict(sample.metrics) == {"score": -2.5}
    assert dict(sample.gates) == {"ok": 3}


@pytest.mark.parametrize(("text", "name"), [("3 passed", "score"), ("total: 1", "ok")])
def test_a_pattern_without_a_match_voids_the_sample(text: str, name: str) -> None:
    """Of a gate no less than of a metric."""
    assert reason(text, REGEX) == f"the pattern matched nothing for {name}"


def test_a_matched_text_that_is_no_number_is_shown() -> None:
    """As for JSON."""
    assert "12ms" in reason("total: 12ms\n3 passed", REGEX)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_around_an_object_brings_the_reader_down(before: str, after: str) -> None:
    """Whatever stands before or behind it, the answer is a sample or a reason."""
    sample_of(f"{before}{PLAIN}{after}")
    sample_of(f"{before}\n{PLAIN}\n")


@settings(max_examples=1000)
@given(st.text(alphabet='{}[]":,\\\n\r ae1', max_size=60))
def test_an_object_on_a_line_of_its_own_is_found_behind_any_rubbish(before: str) -> None:
    """Brackets and quotes that never close included."""
    assert find_objects(f"{before}\n{PLAIN}").objects[-1].text == PLAIN


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES), st.sampled_from([None, 1, 4]), st.booleans())
def test_every_printed_object_comes_back_whole(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    """Strings full of braces, nesting, any indentation."""
    printed = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = find_objects(f"log {{x}} [y]\n{printed}\ndone }}\n")
    assert found.objects[-1].value == value


def test_an_object_longer_than_the_searched_tail_comes_back_whole() -> None:
    """Its nested objects are not taken for it."""
    long = {"score": 1, "ok": 1, "cases": {f"c{at}": {"score": at} for at in range(60_000)}}
    for indent in (None, 1):
        text = "log\n" + json.dumps(long, indent=indent) + "\n"
        assert len(text) > 1 << 20
        assert find_objects(text).objects[-1].value == long


@pytest.mark.parametrize(
    "noise",
    ["\r 40%|####      | 4/10", "[1/5] {x}\n", '{"step": 1, "loss": [1, 2]}\n', '{"progress": 10%}\n', "[[[[", '{"a":'],
)
def test_a_very_long_log_is_read_in_seconds(noise: str) -> None:
    """Fifty megabytes of bars, brackets, JSON lines or things that look like JSON."""
    text = noise * (50_000_000 // len(noise)) + "\n" + PLAIN + "\n"
    begun = time.monotonic()
    assert valid(text).metrics["score"] == 2.5
    assert time.monotonic() - begun < 20


def test_broken_objects_cannot_hold_the_reader_up_for_ever() -> None:
    """It gives up and says that there is no object, rather than search for hours."""
    begun = time.monotonic()
    assert "JSON" in reason('{"a":\n' * 3_000_000)
    assert time.monotonic() - begun < 60
