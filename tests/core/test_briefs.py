"""The text that an agent is given: what to do, within which bounds, and nothing of the holdout."""

from headway.core.briefs import MOST_CHARACTERS, brief
from headway.core.records import BacklogItem, Entry
from headway.core.spec import Spec
from tests.core.heart import a_row, a_run_spec, an_item


def a_brief(spec: Spec | None = None, item: BacklogItem | None = None, **parts: object) -> str:
    """Give the brief of one hypothesis."""
    words = {"best": "seconds = 9", "digest": "# Strategy digest", "recent": (), **parts}
    return brief(spec or a_run_spec(), item or an_item(), **words)  # type: ignore[arg-type]


def test_a_brief_names_the_hypothesis_the_goal_and_the_scope() -> None:
    """What an agent needs to begin."""
    text = a_brief(a_run_spec(metric={"primary": {"target": 2.5}}))
    assert "carry out this hypothesis: inline the loop" in text
    assert "Goal: minimize `seconds`, target 2.5." in text
    assert "Current best: seconds = 9" in text
    assert "Change only: src/sort.py" in text
    assert "Never change: bench.py" in text


def test_a_hypothesis_without_a_category_is_a_general_one() -> None:
    """No brief says `None`."""
    assert "Category: general" in a_brief(item=BacklogItem(description="by hand"))
    assert "None" not in a_brief(item=BacklogItem(description="by hand"))


def test_constraints_dependencies_and_instructions_are_in_it_when_there_are_any() -> None:
    """Each part that the spec has, and no empty heading for one that it lacks."""
    spec = a_run_spec(constraints=["no new threads"], dependencies={"approved": ["numpy"]})
    text = a_brief(spec, instructions="Be brief.")
    assert "- no new threads" in text and "Approved dependencies: numpy" in text and "Be brief." in text
    assert "Constraints" not in a_brief() and "## Instructions" not in a_brief()


def test_a_repair_brief_quotes_what_failed() -> None:
    """The last lines of the failure, as data."""
    text = a_brief(repair="x" * 20_000 + "\nAssertionError: 3 != 4")
    assert "mend it" in text
    assert "AssertionError: 3 != 4" in text
    assert "mend it" not in a_brief()


def test_the_last_ten_experiments_are_quoted_newest_last() -> None:
    """With outcome, delta and what was learned."""
    rows = [a_row(n, learnings=f"lesson {n}\nsecond line", primary_delta="-0.1") for n in range(1, 15)]
    text = a_brief(recent=[Entry.model_validate(row) for row in rows])
    assert "- 14 reverted: way 14 | -0.1 | lesson 14 second line" in text
    assert "- 5 reverted" in text and "- 4 reverted" not in text
    assert "- none yet" in a_brief()


def test_a_brief_is_bounded() -> None:
    """However long digest, instructions and repair are."""
    text = a_brief(digest="d" * 50_000, instructions="i" * 8_000, repair="r" * 20_000)
    assert len(text) <= MOST_CHARACTERS
    assert text.endswith("(cut for length)\n")


def test_no_holdout_text_enters_a_brief() -> None:
    """Neither the holdout's command nor a value that was measured on it."""
    pairing = {
        "kind": "holdout",
        "reference_revision": "a",
        "candidate_revision": "b",
        "candidate": {"metrics": {"seconds": {"aggregate": 4242.4242}}},
    }
    spec = a_run_spec(measurement={"holdout": {"command": "python secret_cases.py"}})
    text = a_brief(spec, recent=[Entry.model_validate(a_row(1, comparisons=[pairing]))])
    assert "secret_cases" not in text
    assert "4242" not in text
