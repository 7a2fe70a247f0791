"""Whether a checks command ran any test, from what it printed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.checks import ran_no_test

NONE = [
    "============================ no tests ran in 0.01s =============================",
    "collecting ... collected 0 items\n\n=== no tests ran in 0.00s ===",
    "collected 2 items\n\n============================== 2 skipped in 0.01s ==============================",
    "collected 3 items / 3 deselected / 0 selected\n======= 3 deselected in 0.02s =======",
    "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nOK",
    "Ran 0 tests in 0.000s\n\nNO TESTS RAN",
    "?   \texample.com/a\t[no test files]\n?   \texample.com/b\t[no test files]",
    "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.002s [no tests to run]",
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    "No tests found, exiting with code 0",
    "No test files found, exiting with code 0",
    "\n\n  0 passing (1ms)\n",
    "TAP version 13\n1..0\n",
    "ℹ tests 0\nℹ suites 0\nℹ pass 0",
    "# tests 0\n# pass 0\n# fail 0",
    "No tests were found!!!",
    "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0",
]
SOME = [
    "collected 3 items\n\n============================== 3 passed in 0.01s ==============================",
    "collected 3 items\n\n======================== 1 passed, 2 skipped in 0.01s =========================",
    "Ran 1 test in 0.000s\n\nOK",
    "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.004s",
    "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t(cached)",
    "running 4 tests\ntest result: ok. 4 passed; 0 failed\n\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed",
    "\n\n  5 passing (8ms)\n",
    "1..3\nok 1\nok 2\nok 3",
    "Tests:       12 passed, 12 total",
    "ℹ tests 2\nℹ pass 2",
    "100% tests passed, 0 tests failed out of 7",
    "[INFO] Tests run: 0, Failures: 0\n[INFO] Tests run: 4, Failures: 0",
]
SILENT = [
    "",
    "all good",
    "sorted: ok",
    "lint: 0 problems",
    "there were no tests ran by hand",
    "make: nothing to be done",
]


@pytest.mark.parametrize("text", NONE)
def test_a_check_that_ran_no_test_is_found_out(text: str) -> None:
    """In the words of pytest, unittest, go, cargo, jest, vitest, mocha, node, ctest, maven and TAP."""
    assert ran_no_test(text)
    assert ran_no_test(f"building\n{text}\ndone\n")


@pytest.mark.parametrize("text", SOME)
def test_a_check_that_ran_some_tests_counts_however_many_suites_were_empty(text: str) -> None:
    """One command often runs several suites."""
    assert ran_no_test(text) == ""


@pytest.mark.parametrize("text", SILENT)
def test_a_check_without_a_word_of_tests_is_taken_as_it_is(text: str) -> None:
    """Its exit code alone says what it found."""
    assert ran_no_test(text) == ""


def test_the_line_that_says_so_is_told() -> None:
    """So that the reason can be read in the entry."""
    assert ran_no_test("a\nRan 0 tests in 0.000s\nOK") == "Ran 0 tests in 0.000s"
    assert len(ran_no_test("Ran 0 tests in " + "9" * 500)) <= 200


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    """Whatever a command prints."""
    assert ran_no_test(text).strip() == ran_no_test(text)


def test_a_long_output_is_read_at_once() -> None:
    """Two megabytes of lines that look like the words of a runner."""
    begun = time.monotonic()
    for line in ("ok 1 - a\n", "2 skipped, ", "=" * 100, "? [no test \n", "1 skipped, 1 skipped"):
        ran_no_test(line * (2_000_000 // len(line)))
    assert time.monotonic() - begun < 20
