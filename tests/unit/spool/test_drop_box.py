"""The box belongs to the agent: nothing in it leads fleet elsewhere, or holds it up."""

import os
import socket

import pytest

from fleet.errors import InvalidTask
from fleet.spool.drop_box import LARGEST, Answer, DropBox
from tests.unit.spool.conftest import request


@pytest.fixture
def box(tmp_path):
    (tmp_path / "spool").mkdir()
    box = DropBox(tmp_path / "spool")
    yield box
    box.close()


def spoil(path, kind, target):
    """Put something else where a plain file is expected."""
    if kind == "link":
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        (path / "full").mkdir(parents=True)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as ear:
            ear.bind(os.path.relpath(path))
    else:
        with path.open("wb") as file:
            file.truncate(LARGEST + 1)


KINDS = ("link", "pipe", "directory", "socket", "huge")


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_is_no_plain_file_is_not_read(box, tmp_path, kind, monkeypatch):
    """No link is followed, no pipe waited for."""
    monkeypatch.chdir(box.path)
    (tmp_path / "secret").write_bytes(request("list"))
    spoil(box.path / "x.request", kind, tmp_path / "secret")
    assert box.requests() == ["x"]
    with pytest.raises(InvalidTask):
        box.read("x")


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_goes_nowhere_else(box, tmp_path, kind, monkeypatch):
    """It replaces what stands at its name, or is not written at all."""
    monkeypatch.chdir(box.path)
    (tmp_path / "precious").write_text("as it was")
    spoil(box.path / "x.answer", kind, tmp_path / "precious")
    written = box.answer("x", Answer(out="hello"))
    assert (tmp_path / "precious").read_text() == "as it was"
    assert written is (kind != "directory")
    if written:
        assert (box.path / "x.answer").read_bytes().endswith(b"hello")
        assert not (box.path / "x.answer").is_symlink()
    assert not list(box.path.glob(".*"))


def test_a_link_in_the_place_of_the_box_is_not_opened(tmp_path):
    """Fleet would write where the link leads."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="spool"):
        DropBox(tmp_path / "spool")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_open_box_stays_where_it_was(box, tmp_path):
    """A directory that takes its place later is not written to."""
    box.path.rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    box.path.symlink_to(tmp_path / "elsewhere")
    assert box.answer("x", Answer())
    assert (tmp_path / "moved/x.answer").exists()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_requests_come_in_the_order_in_which_they_were_left(box):
    """By their times; names that no client makes are no requests."""
    for number, name in enumerate(("b", "a", "c")):
        path = box.path / f"{name}.request"
        path.write_bytes(b"x")
        os.utime(path, ns=(number, number))
    for name in (".d.request", "e.answer", "f", "g h.request", "i.taken", "x" * 65 + ".request"):
        (box.path / name).write_bytes(b"x")
    assert box.requests() == ["b", "a", "c"]
    assert box.requests("taken") == ["i"]


def test_a_full_box_is_read_in_pieces(box):
    """A flood costs a bounded look."""
    for number in range(600):
        (box.path / f"{number}.request").touch()
    assert 0 < len(box.requests()) <= 256


def test_a_request_is_begun_once(box):
    """After a crash it is known that it was begun."""
    (box.path / "x.request").write_bytes(b"x")
    assert box.take("x")
    assert not box.take("x")
    assert (box.requests(), box.requests("taken")) == ([], ["x"])
    box.drop("x")
    assert box.requests("taken") == []
