"""Append-only files: whole data at the end, or the file as it was."""

import os

import pytest

from fleet.files.append_file import append


def test_data_is_added_at_the_end(tmp_path):
    """The file is made for its owner only."""
    path = tmp_path / "lines"
    assert append(path, b"one\n")
    assert append(str(path), b"two\n", durable=True)
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_at_its_limit_takes_no_more(tmp_path):
    """What was added before the limit was reached stays whole."""
    path = tmp_path / "lines"
    assert append(path, b"x" * 10, limit=5)
    assert not append(path, b"y", limit=5)
    assert path.read_bytes() == b"x" * 10


def test_half_a_write_is_undone(tmp_path, monkeypatch):
    """A disk that fills up in mid-line gives an error, and the file is as it was."""
    path = tmp_path / "lines"
    append(path, b"whole\n")
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    with pytest.raises(OSError, match="No space"):
        append(path, b"another\n")
    assert path.read_bytes() == b"whole\n"


def test_half_a_write_does_not_undo_the_line_of_another_process(tmp_path, monkeypatch):
    """Two processes may share a log: the other's line stays, at the price of half a line."""
    path = tmp_path / "lines"
    real = os.write

    def shared(fd: int, data: bytes) -> int:
        taken = real(fd, data[:3])
        real(fd, b"\nother\n")
        return taken

    monkeypatch.setattr(os, "write", shared)
    with pytest.raises(OSError, match="No space"):
        append(path, b"another\n")
    assert path.read_bytes() == b"ano\nother\n"


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to(path.with_name("victim")), os.mkfifo, os.mkdir]
)
def test_what_is_no_file_is_put_aside(tmp_path, make):
    """An agent can neither redirect the lines, nor hold the writer up, nor keep lines from it."""
    path, victim = tmp_path / "lines", tmp_path / "victim"
    victim.write_text("precious")
    make(path)
    assert append(path, b"one\n")
    assert path.read_bytes() == b"one\n"
    assert victim.read_text() == "precious"
    assert len(list(tmp_path.glob("lines.aside-*"))) == 1
