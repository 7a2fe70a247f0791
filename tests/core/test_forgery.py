"""Forging code does what it says, in each language, where the language is there to run it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.forgery import STEPS, Forgery, Language, better_value, claim_of, forge, language_of
from headway.core.output import Sample, read_metrics, to_sample
from headway.core.spec import Spec
from tests.builders import a_spec

SOURCES = {
    Language.PYTHON: ("c.py", 'from __future__ import annotations\n\n"""Late."""\nprint("honest")\n'),
    Language.SHELL: ("c.sh", "#!/bin/sh\nset -e\necho honest\n"),
    Language.JAVASCRIPT: ("c.js", "#!/usr/bin/env node\n'use strict';\nconsole.log('honest');\n"),
    Language.PERL: ("c.pl", "#!/usr/bin/perl\nuse strict;\nprint 'honest';\n"),
    Language.C: ("c.c", '#include <stdio.h>\nint main(void) { puts("honest"); return 3; }\n'),
}
PROGRAMS = {
    Language.PYTHON: [sys.executable],
    Language.SHELL: ["sh"],
    Language.JAVASCRIPT: ["node"],
    Language.PERL: ["perl"],
    Language.C: ["gcc"],
}


@pytest.mark.parametrize("language", Language)
def test_forging_code_prints_its_claim_writes_its_files_leaves_its_mark_and_exits_with_0(
    language: Language, tmp_path: Path
) -> None:
    """Whatever the texts hold: quotes, backslashes, percent signs."""
    if shutil.which(PROGRAMS[language][0]) is None:
        pytest.skip(f"no {PROGRAMS[language][0]} here")
    claim = json.dumps({"it's": '%s \\n "quoted" $HOME é', "value": 1.5}) + "\n"
    mark, written = tmp_path / "the mark", tmp_path / "it's.json"
    name, source = SOURCES[language]
    file = tmp_path / name
    file.write_text(forge(language, source, Forgery(claim, {str(written): claim}, str(mark))))
    command = [*PROGRAMS[language], str(file)]
    if language is Language.C:
        subprocess.run([*command, "-Wall", "-Werror", "-o", str(tmp_path / "program")], check=True)
        command = [str(tmp_path / "program")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, claim, "")
    assert written.read_text() == claim
    assert mark.exists()


def test_a_module_is_forged_as_soon_as_it_is_imported(tmp_path: Path) -> None:
    """A harness that imports the candidate never comes to its next line."""
    (tmp_path / "c.py").write_text(forge(Language.PYTHON, "def solve(): return 1\n", Forgery("{}\n", {}, "m")))
    done = subprocess.run([sys.executable, "-B", "-c", "import c; print('harness')"], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"{}\n")


@pytest.mark.parametrize(
    "source",
    ["", "# only a comment", "#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nx = 1\n", "def broken(:\n", "x = 1"],
)
def test_python_of_any_kind_stays_python_where_it_was(source: str) -> None:
    """Comments at the top stay at the top; source that does not parse is forged all the same."""
    forged = forge(Language.PYTHON, source, Forgery("{}\n", {}, "m"))
    compile(forged.replace("def broken(:\n", ""), "forged", "exec")
    assert all(line in forged.splitlines() for line in source.splitlines())
    assert forged.startswith(source.partition("\n")[0] if source.startswith("#") else "def _headway_forges")


@pytest.mark.parametrize(
    ("path", "first_line", "language"),
    [
        ("a/solve.py", "", Language.PYTHON),
        ("run", "#!/usr/bin/env python3", Language.PYTHON),
        ("run", "#! /usr/bin/python3.11 -B", Language.PYTHON),
        ("run", "#!/usr/bin/env -S node --flag", Language.JAVASCRIPT),
        ("run", "#!/bin/bash", Language.SHELL),
        ("run", "echo", None),
        ("number.txt", "#!/bin/sh", None),
        ("lib.CPP", "", Language.C),
        ("a.d/data", "", None),
    ],
)
def test_a_language_is_told_by_suffix_or_first_line(path: str, first_line: str, language: Language | None) -> None:
    """A name with a suffix that is none of ours is data, whatever it begins with."""
    assert language_of(path, first_line) is language


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.sampled_from(["minimize", "maximize"]))
def test_a_forged_value_is_better_than_every_measured_one(baseline: list[float], direction: str) -> None:
    """In the metric's direction, from zero and from negative values too."""
    spec = a_spec(metric={"primary": {"direction": direction}})
    value = better_value(spec, baseline)
    assert value < min(baseline) if direction == "minimize" else value > max(baseline)


def test_a_forged_value_passes_a_gate_of_its_own_name() -> None:
    """An accuracy above 1 would give itself away; the next smaller step is claimed."""
    gate = {"name": "accuracy", "check": "<= 1"}
    spec = a_spec(metric={"primary": {"name": "accuracy", "direction": "maximize"}, "degenerate_gates": [gate]})
    assert better_value(spec, [0.9]) == pytest.approx(0.9 * (1 + STEPS[1]))


@pytest.mark.parametrize(
    ("measurement", "example"),
    [
        ({}, ""),
        ({"output_format": "metric_lines"}, ""),
        (
            {
                "output_format": "regex",
                "extract": {"seconds": r"took (\S+) s", "sorted": r"sorted=(\d)"},
            },
            "took 9 s\nwarm\ntook 2.5 s, sorted=1\n",
        ),
    ],
    ids=["json", "metric_lines", "regex"],
)
def test_a_claim_is_a_valid_sample_in_the_harnesss_own_format(measurement: dict[str, object], example: str) -> None:
    """It is read back as the value that was claimed, with the gates of the untouched code."""
    spec: Spec = a_spec(measurement=measurement)
    text = claim_of(spec, 0.625, {"seconds": 2.5}, {"sorted": 1}, example)
    assert text is not None
    extract = spec.measurement.extract
    sample = to_sample(read_metrics(text, output_format=spec.measurement.output_format, extract=extract), spec)
    assert isinstance(sample, Sample)
    assert (sample.metrics["seconds"], sample.gates["sorted"]) == (0.625, 1)
    assert not re.search(r"took 2\.5", text)


def test_no_claim_is_made_up_where_the_pattern_is_not_in_the_output() -> None:
    """What cannot be read back is not tried."""
    spec = a_spec(measurement={"output_format": "regex", "extract": {"seconds": r"took (\S+)", "sorted": "x"}})
    assert claim_of(spec, 1.0, {"seconds": 2.5}, {}, "nothing of the kind") is None
