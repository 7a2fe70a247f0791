"""`docs/record.md` and `core/events.py` say the same."""

import re
from pathlib import Path

from pydantic import BaseModel

from headway.core import events
from headway.core.events import EVENTS, NoticeGiven, to_record

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "record.md").read_text("utf-8")


def _documented() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `(\w+)` \| ?((?:`\w+`(?:, )?)*) ?\|$", PAGE, re.MULTILINE)
    return {kind: set(re.findall(r"`(\w+)`", keys)) for kind, keys in rows}


def _kinds() -> dict[str, type[BaseModel]]:
    found = [v for v in vars(events).values() if isinstance(v, type) and issubclass(v, BaseModel)]
    kinds = [(model.model_fields["kind"].default, model) for model in found if "kind" in model.model_fields]
    return {kind: model for kind, model in kinds if isinstance(kind, str)}


def test_every_kind_of_event_has_its_row_with_its_exact_keys() -> None:
    """The page names every kind and exactly the keys of its data."""
    wanted = {kind: set(model.model_fields) - {"kind", "at", "active_seconds"} for kind, model in _kinds().items()}
    documented = {kind: keys for kind, keys in _documented().items() if kind in wanted}
    assert documented == wanted


def test_a_record_has_exactly_the_documented_keys() -> None:
    """The keys of a record are those of the page, in its order."""
    record = to_record(NoticeGiven(text="x", at="2026-01-01T00:00:00Z"), "r", 0, 1)
    named = re.findall(r"^\| `(\w+)` \| ", PAGE.split("`data` of every kind")[0], re.MULTILINE)
    assert list(record) == named


def test_every_event_reads_back_from_its_record() -> None:
    """What is written as a record is read as the same event."""
    event = NoticeGiven(text="told", at="2026-01-01T00:00:00Z", active_seconds=1.5)
    assert events.from_record(to_record(event, "r", 0, 1)) == event
    assert EVENTS.validate_python({"kind": "notice_given", "text": "told"}) == NoticeGiven(text="told")
