"""The stream of *now*: everything once, then what changed; and what ends it."""

import json
import socket
import threading
import time
from contextlib import suppress

import pytest

from fleet.control.view import live_now
from fleet.queue.protocol import Draft
from fleet.web import now_stream
from tests.unit.web.conftest import Client, Page


class Reader:
    """Reads the lines of a stream in a thread of its own."""

    def __init__(self, client, path="stream"):
        self.socket, self.answer = client.lines(path)
        self.lines, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            for line in self.answer:
                self.lines.append(json.loads(line))
        except (OSError, ValueError):
            pass
        finally:
            self.ended.set()

    def wait(self, wanted, seconds=60.0):
        """The first line that fits."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in tuple(self.lines):
                if wanted(line):
                    return line
            time.sleep(0.02)
        raise AssertionError([line.get("type") for line in self.lines])

    def close(self):
        with suppress(OSError):  # the server may have ended it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.answer.close()
        self.socket.close()


@pytest.fixture
def reader(page):
    found = Reader(page.client())
    yield found
    found.close()


def rows(line):
    return {row["id"] for row in line.get("rows", ())}


def test_a_change_follows_the_snapshot(page, reader):
    """With the rows that changed, and a number that follows the one before."""
    first = reader.wait(lambda line: line["type"] == "snapshot")
    task = page.fleet.queue.add(Draft(title="new"))
    change = reader.wait(lambda line: task.id in rows(line))
    assert change["type"] == "delta"
    assert change["after"] >= first["now"]["seq"]
    assert change["seq"] == change["after"] + 1
    assert change["counts"]["waiting"] == 1


def test_a_client_that_comes_back_gets_what_it_missed(page, reader):
    """While another one looked, so that the changes are kept."""
    first = reader.wait(lambda line: line["type"] == "snapshot")
    task = page.fleet.queue.add(Draft(title="new"))
    reader.wait(lambda line: task.id in rows(line))
    again = Reader(page.client(), f"stream?since={first['now']['seq']}")
    missed = again.wait(lambda line: task.id in rows(line))
    assert missed["type"] == "delta"
    again.close()
    # A number that no one knows any more: everything anew.
    strange = Reader(page.client(), "stream?since=17")
    assert strange.wait(lambda line: True)["type"] == "snapshot"
    strange.close()


def test_a_revoked_session_loses_its_stream(page):
    """Within seconds, and with a word; its next request is refused."""
    client = page.client()
    reader = Reader(client)
    reader.wait(lambda line: line["type"] == "snapshot")
    (session,) = page.store.sessions()
    page.store.revoke(session.id)
    assert reader.wait(lambda line: line["type"] == "over")["why"] == "this session was ended"
    assert reader.ended.wait(5)
    reader.close()
    assert client.get("now").status == 401


def test_ten_tabs_get_the_same(page):
    """And the change is read once for all of them."""
    readers = [Reader(page.client()) for _ in range(10)]
    for each in readers:
        each.wait(lambda line: line["type"] == "snapshot")
    task = page.fleet.queue.add(Draft(title="new"))
    found = [each.wait(lambda line: task.id in rows(line)) for each in readers]
    assert all(each == found[0] for each in found)
    for each in readers:
        each.close()


def test_a_page_left_open_goes_on_after_a_restart(page):
    """The stream ends with a word; its session is still good at the next server."""
    client = page.client()
    reader = Reader(client)
    seq = reader.wait(lambda line: line["type"] == "snapshot")["now"]["seq"]
    page.server.stop()
    assert reader.wait(lambda line: line["type"] == "over")["why"] == "the page's server stops"
    page.thread.join(10)
    reader.close()
    later = Page(page.home)
    try:
        assert later.server.port == client.port, "a browser keeps its key by address and port"
        again = Reader(Client(later.server.port, client.key), f"stream?since={seq}")
        assert again.wait(lambda line: True)["type"] == "snapshot"
        again.close()
    finally:
        later.close()


def test_a_queue_that_does_not_answer_is_told_and_waited_for(page, reader):
    """The page says what is wrong, and is well again by itself."""
    task = page.fleet.queue.add(Draft(title="t"))
    reader.wait(lambda line: task.id in rows(line) or task.id in rows(line.get("now", {})))
    database = page.home.path / "queue.db"
    kept = page.home.path / "kept.db"
    database.rename(kept)
    told = reader.wait(lambda line: line.get("supervisor", {}).get("queue_problem"), 20)
    assert task.id in told["gone"]
    kept.rename(database)
    back = reader.wait(lambda line: line["type"] == "delta" and line["seq"] > told["seq"]
                       and task.id in rows(line), 20)  # fmt: skip
    assert not back["supervisor"]["queue_problem"]


def test_the_reader_rests_while_no_client_looks(page, monkeypatch):
    """Its thread ends soon after the last client has left."""
    monkeypatch.setattr(now_stream, "_LINGERS", 0.2)
    reader = Reader(page.client())
    reader.wait(lambda line: line["type"] == "snapshot")
    stream = page.server._page.stream
    assert stream._thread.is_alive()
    reader.close()
    page.fleet.queue.add(Draft(title="something, so that the closed connection is noticed"))
    end = time.monotonic() + 20
    while stream._thread.is_alive() and time.monotonic() < end:
        time.sleep(0.1)
    assert not stream._thread.is_alive()


def test_a_queue_that_does_not_answer_is_told_of_and_then_is_fine_again(page, monkeypatch):
    """At first, and in the midst of it: a page must not pass off old rows as now."""
    monkeypatch.setattr(now_stream, "SLOW", 0.0)
    monkeypatch.setattr(now_stream, "CHECKED", 0.05)
    answers = threading.Event()
    plain = live_now.read_queue

    def hangs(*given):
        assert answers.wait(60)
        return plain(*given)

    monkeypatch.setattr(live_now, "read_queue", hangs)
    reader = Reader(page.client())
    try:
        told = reader.wait(lambda line: "has not answered" in line.get("trouble", ""))
        assert told["as_of"] is None
        answers.set()
        reader.wait(lambda line: line["type"] == "snapshot")
        answers.clear()
        page.fleet.queue.add(Draft(title="new"))
        told = reader.wait(lambda line: line.get("as_of") and "not answered" in line["trouble"])
        answers.set()
        reader.wait(lambda line: line["type"] == "delta")
        reader.lines.clear()
        page.fleet.queue.add(Draft(title="newer"))
        reader.wait(lambda line: line["type"] == "delta")
    finally:
        answers.set()
        reader.close()
