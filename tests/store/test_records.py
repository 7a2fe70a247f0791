"""Records: appended durably, each event once, a torn end set aside."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import DataDamaged, DiskFailed, RequestWrong
from headway.store.records import RecordFile, read_records
from tests.store.faults import largest_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where records go."""
    return tmp_path / "events.jsonl"


def a_record(number: int, **data: Any) -> dict[str, Any]:
    """A record of an event of its own."""
    return {"event_id": f"e{number}", "seq": number, "kind": "sample", "data": data}


def test_records_are_read_in_the_order_of_their_appending(path: Path) -> None:
    """One line of JSON each; text beyond ASCII stays readable."""
    with RecordFile(path) as records:
        assert [records.append(a_record(number, text="é\n\u2028")) for number in range(3)] == [True] * 3
    assert list(read_records(path)) == [a_record(number, text="é\n\u2028") for number in range(3)]
    assert path.read_bytes().count(b"\n") == 3
    assert "é".encode() in path.read_bytes()


def test_an_event_is_recorded_once_also_after_reopening(path: Path) -> None:
    """A repeat after resume is recognised by its event_id; records without one are never repeats."""
    with RecordFile(path) as records:
        assert records.append(a_record(1))
        assert not records.append(a_record(1, again=True))
    with RecordFile(path) as records:
        assert not records.append(a_record(1))
        assert records.append({"kind": "x"})
        assert records.append({"kind": "x"})
    assert len(list(read_records(path))) == 3


def test_a_torn_last_line_is_cut_off_and_kept_beside_at_every_byte(path: Path) -> None:
    """Whole records stay; what was torn is kept, each time under a name of its own; the event can be recorded again."""
    with RecordFile(path) as records:
        records.append(a_record(1))
        first = path.stat().st_size
        records.append(a_record(2, text="é"))
    whole = path.read_bytes()
    for count, cut in enumerate(range(first + 1, len(whole) - 1), 1):
        path.write_bytes(whole[:cut])
        assert list(read_records(path)) == [a_record(1)]
        with RecordFile(path) as records:
            assert records.torn == path.with_name(f"events.jsonl.torn-{count}")
            assert records.torn.read_bytes() == whole[first:cut]
            assert records.append(a_record(2, text="é"))
        assert path.read_bytes() == whole


def test_a_last_record_that_lacks_only_its_line_end_is_kept(path: Path) -> None:
    """It is whole: it gets its end and is not set aside."""
    path.write_bytes(json.dumps(a_record(1)).encode())
    with RecordFile(path) as records:
        assert records.torn is None
        assert not records.append(a_record(1))
    assert list(read_records(path)) == [a_record(1)]


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff", b"", b"null"])
def test_damage_before_the_end_is_named_by_its_line_and_left_alone(path: Path, line: bytes) -> None:
    """Neither reading nor opening goes on over it, and nothing is overwritten."""
    data = b'{"a": 1}\n' + line + b'\n{"b": 2}\n'
    path.write_bytes(data)
    for work in (lambda: list(read_records(path)), lambda: RecordFile(path)):
        with pytest.raises(DataDamaged) as caught:
            work()
        assert caught.value.where == f"{path}, line 2"
    assert path.read_bytes() == data


def test_a_file_that_is_not_there_has_no_records(path: Path) -> None:
    """An experiment may have none yet."""
    assert list(read_records(path)) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, b"x", object()])
def test_a_record_that_is_no_json_is_refused_and_nothing_written(path: Path, value: object) -> None:
    """Numbers that are not finite are no JSON either."""
    with RecordFile(path) as records, pytest.raises(RequestWrong):
        records.append(a_record(1, value=value))
    assert path.read_bytes() == b""


def test_a_full_disk_leaves_no_half_record(path: Path) -> None:
    """The error is clear, and after it the file ends where it did."""
    with RecordFile(path) as records:
        records.append(a_record(1))
        before = path.read_bytes()
        with largest_file(len(before) + 5), pytest.raises(DiskFailed):
            records.append(a_record(2, text="x" * 100))
        assert path.read_bytes() == before
        assert records.append(a_record(2))
    assert list(read_records(path)) == [a_record(1), a_record(2)]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters()) | st.text(st.sampled_from("\ud800\udfffa\u2028\n\x00é")))
def test_any_text_reads_back_the_same(text: str) -> None:
    """Half characters included, which other programs' output may hold; two halves that fit may come back as one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl"
        with RecordFile(path) as records:
            records.append({"a": text})
        (found,) = read_records(path)
    assert found["a"].encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")
