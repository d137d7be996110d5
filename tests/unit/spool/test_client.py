"""Requests and answers on their way: what the client writes fleet reads, and nothing else."""

import os
import subprocess
import sys
import threading

import pytest

from fleet.errors import BadInput
from fleet.spool import client
from fleet.spool.drop_box import Answer, DropBox, read_request
from tests.unit.spool.conftest import request

PATIENCE = 30


class Clerk(threading.Thread):
    """Answers each request in a box with the next of some answers, and keeps the requests."""

    def __init__(self, box, *answers):
        super().__init__(daemon=True)
        self.box, self.answers, self.got = box, list(answers), []
        self.start()

    def run(self):
        for answer in self.answers:
            while not (names := self.box.requests()):
                pass
            self.got.append(read_request(self.box.read(names[0])))
            self.box.answer(names[0], answer)


@pytest.fixture
def box(tmp_path):
    (tmp_path / "spool").mkdir()
    box = DropBox(tmp_path / "spool")
    yield box
    box.close()


def call(box, *words, stdin=b"", cwd=None):
    """The client as agents start it."""
    env = {"FLEET_SPOOL": str(box.path), "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-I", "-S", client.__file__, *words]
    done = subprocess.run(
        argv, env=env, input=stdin, capture_output=True, timeout=PATIENCE, cwd=cwd
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_client_prints_the_answer_and_ends_with_its_code(box):
    """Both streams, as they were; words of any kind arrive as they are."""
    clerk = Clerk(box, Answer(code=7, out="ä\n", err="Error: no\n"))
    words = ("bd", "close", "a b", "", "ü\n'\"", "--reason=x")
    assert call(box, *words) == (7, "ä\n", "Error: no\n")
    (got,) = clerk.got
    assert (got.program, *got.args) == words
    assert got.files == {}
    assert list(box.path.iterdir()) == []


def test_files_and_standard_input_are_sent_when_fleet_asks_for_them(box, tmp_path):
    """Read with the agent's own rights, and from its own directory."""
    (tmp_path / "plan.md").write_bytes(b"## a\0b")
    clerk = Clerk(box, Answer(wanted="plan.md"), Answer(wanted="-"), Answer(out="made\n"))
    got = call(box, "bd", "create", "-f", "plan.md", stdin=b"typed", cwd=tmp_path)
    assert got == (0, "made\n", "")
    assert clerk.got[-1].files == {"plan.md": b"## a\0b", "-": b"typed"}


def test_a_file_that_is_not_there_is_the_clients_to_tell(box):
    """Fleet is not asked a second time."""
    Clerk(box, Answer(wanted="/no/such/file"))
    code, _, err = call(box, "bd", "create", "-f", "/no/such/file")
    assert code == 1
    assert "cannot read /no/such/file: No such file" in err


def test_without_a_supervisor_the_request_stays(box, monkeypatch, capfd):
    """It has an exit code of its own, and the next supervisor finds it."""
    monkeypatch.setattr(client, "UNTAKEN", 0.01)
    assert client.ask(str(box.path), ["bd", "close", "x"]) == client.WAITS == 75
    assert "next supervisor carries it out" in capfd.readouterr().err
    (nonce,) = box.requests()
    assert read_request(box.read(nonce)).args == ("close", "x")


def test_a_box_that_is_not_there_is_told(tmp_path, capfd):
    """Not an error of Python's."""
    assert client.ask(str(tmp_path / "none"), ["bd", "list"]) == client.WAITS
    assert "cannot be used" in capfd.readouterr().err


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"fleet-request-1\0", b"fleet-request-1\0x\0", b"fleet-request-1\0-1\0",
        b"fleet-request-1\0" + b"9" * 30 + b"\0", b"fleet-request-1\0002\0bd\0", b"\0" * 100,
        request("list")[:-3],
        b"fleet-request-1\0001\0bd\0001\0name\0x\0", b"fleet-request-1\0002\0bd\0\xff\0000\0",
    ],
)  # fmt: skip
def test_anything_else_is_not_a_request(data):
    """It is refused as such, whatever an agent wrote."""
    with pytest.raises(BadInput):
        read_request(data)
