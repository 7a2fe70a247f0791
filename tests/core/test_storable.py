"""Lone surrogates in facts: bytes of names that are no UTF-8, and halves of characters from JSON."""

from headway.core.storable import storable
from tests.core.heart import built, dispatched, sample, turn


def test_a_fact_without_one_is_itself() -> None:
    """Nothing is built anew, non-ASCII text included."""
    fact = turn(reason="größer")
    assert storable(fact) is fact


def test_a_byte_that_is_no_text_is_shown_as_its_escape() -> None:
    """In lists of rows too; all else stays equal."""
    fact = built(files=["src/odd\udcff.py", "src/fine.py"])
    found = storable(fact)
    assert [c.file for c in found.changes] == ["src/odd\\xff.py", "src/fine.py"]  # type: ignore[union-attr]
    assert found.model_copy(update={"changes": fact.changes}) == fact


def test_half_a_character_is_shown_as_its_escape() -> None:
    """In keys of mappings as well as in texts."""
    found = storable(sample(cases={"case \ud800": 1}, reason="\udc00"))
    assert (found.cases, found.reason) == ({"case \\ud800": 1}, "\\udc00")  # type: ignore[union-attr]


def test_what_was_not_set_stays_unset() -> None:
    """The log's rows are told from what was set."""
    fact = dispatched(agent="\ud800")
    assert storable(fact).item.model_fields_set == fact.item.model_fields_set  # type: ignore[union-attr]
