"""Whole files: old bytes or new bytes, never anything between."""

import errno
import os
from pathlib import Path

import pytest

from headway.errors import DiskFailed
from headway.store.atomic import disk_failure, write_atomic, write_fully, write_no_clobber
from tests.store.faults import largest_file


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    """New bytes under the old name, readable by whom it was; nothing else is left in the folder."""
    path = tmp_path / "a"
    write_atomic(path, b"one")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_what_has_a_name_is_not_clobbered(tmp_path: Path) -> None:
    """The first to write wins; the second is told."""
    path = tmp_path / "a"
    assert write_no_clobber(path, b"one")
    assert not write_no_clobber(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("write", [write_atomic, write_no_clobber])
def test_a_disk_that_refuses_leaves_the_old_file_and_no_other(tmp_path: Path, write: object) -> None:
    """What, where and the mend are told."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with largest_file(2), pytest.raises(DiskFailed) as caught:
        write(path, b"longer") if callable(write) else None
    assert (caught.value.number, caught.value.exit_code) == (errno.EFBIG, 4)
    assert str(path) in caught.value.where
    assert "ulimit" in caught.value.mend
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    """The folder that should hold the file is gone."""
    with pytest.raises(DiskFailed, match="folder is gone"):
        write_atomic(tmp_path / "gone" / "a", b"x")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO, errno.ENOTDIR])
def test_every_refusal_has_words_and_a_mend(number: int) -> None:
    """Also one that has no words of its own."""
    failure = disk_failure(OSError(number, os.strerror(number)), Path("/x"))
    assert failure.what and failure.mend and failure.where == "/x"
    assert failure.number == number


def test_short_writes_are_carried_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A system that takes a byte at a time gets all of them."""
    real = os.write
    monkeypatch.setattr("headway.store.atomic.os.write", lambda handle, data: real(handle, data[:1]))
    with (tmp_path / "a").open("wb") as file:
        write_fully(file.fileno(), b"abc")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"abc"
