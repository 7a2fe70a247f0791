"""Records as another process adds them."""

from pathlib import Path

from headway.store.tail import Tail


def test_a_tail_gives_each_record_once_when_its_line_has_ended(tmp_path: Path) -> None:
    """A file that is not there yet, a half line, one that is none."""
    path = tmp_path / "events.jsonl"
    tail = Tail(path, from_end=False)
    assert tail.new() == []
    path.write_bytes(b'{"a": 1}\nbroken\n{"b"')
    assert tail.new() == [{"a": 1}]
    assert tail.new() == []
    with path.open("ab") as file:
        file.write(b": 2}\n")
    assert tail.new() == [{"b": 2}]


def test_a_tail_may_begin_at_the_end(tmp_path: Path) -> None:
    """What was there is not news."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n')
    tail = Tail(path, from_end=True)
    with path.open("ab") as file:
        file.write(b'{"b": 2}\n')
    assert tail.new() == [{"b": 2}]
