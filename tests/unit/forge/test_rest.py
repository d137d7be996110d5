"""Asking a forge that is out of order."""

import socket
import threading

import pytest

from fleet.forge import rest
from fleet.forge.forge_protocol import ForgeSilent
from fleet.forge.rest import RestAnswer, RestClient


@pytest.fixture
def answering():
    """Answers the next connection with these bytes, once."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads = []

    def answer(data, *, read=True):
        def serve():
            connection, _ = listener.accept()
            with connection:
                if read:
                    connection.recv(65536)
                connection.sendall(data)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        port = listener.getsockname()[1]
        return RestClient(f"http://127.0.0.1:{port}", "/api/v1", "token secret-0001")

    yield answer
    for thread in threads:
        thread.join(10)
    listener.close()


def response(status, body=b"", *more):
    head = [f"HTTP/1.1 {status} -".encode(), f"Content-Length: {len(body)}".encode(), *more]
    return b"\r\n".join([*head, b"", body])


def test_an_answer_is_a_value_also_where_it_says_no(answering):
    """The forge's own words are kept."""
    found = answering(response(409, b'{"message": "head out of date"}')).get("x")
    assert isinstance(found, RestAnswer)
    assert (found.ok, found.why) == (False, "head out of date (HTTP 409)")


@pytest.mark.parametrize(
    "data",
    [
        response(503),
        response(429),
        b"",
        b"not http at all",
        response(200, b"<html>a proxy's page</html>"),
    ],
)
def test_a_forge_out_of_order_is_silent(answering, data):
    """None of these is a no: the same question is asked again later."""
    assert isinstance(answering(data).get("x"), ForgeSilent)


def test_a_forge_that_is_not_there_is_silent():
    """The host is named, the token is not."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = RestClient(f"http://127.0.0.1:{port}", "", "token secret-0001").get("x")
    assert isinstance(found, ForgeSilent)
    assert "secret" not in found.why


def test_a_redirection_is_not_followed(answering):
    """The token goes to the host that the operator confirmed, and to no other."""
    more = b"Location: http://example.org/elsewhere"
    found = answering(response(302, b"", more)).get("x")
    assert isinstance(found, RestAnswer)
    assert not found.ok


def test_an_answer_without_end_is_cut_off(answering, monkeypatch):
    """A forge cannot fill the memory."""
    monkeypatch.setattr(rest, "_LARGEST", 1000)
    found = answering(response(200, b'"' + b"x" * 5000 + b'"')).get("x")
    assert isinstance(found, ForgeSilent)
    assert "more than" in found.why
