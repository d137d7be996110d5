"""The protocol, line by line: what a client of any version is answered, and what bad input does."""

import json
import os
import threading

import pytest

from fleet.spool.agent_mcp import line_server
from fleet.spool.agent_mcp.line_server import HANDSHAKE, LineServer, PendingCall, Tools, said

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


class Slow(PendingCall):
    """A call that is done once the test says so."""

    def __init__(self):
        self.done, self.cancelled = threading.Event(), threading.Event()

    def look(self, now):
        return said("at last") if self.done.is_set() else None

    def cancel(self):
        self.cancelled.set()


class Echo(Tools):
    instructions = "Echoes."
    offered = ({"name": "echo", "inputSchema": {"type": "object"}}, {"name": "slow"})

    def __init__(self):
        self.slow = []

    def call(self, name, arguments):
        if name == "echo":
            return said(str(arguments["text"]))
        self.slow.append(Slow())
        return self.slow[-1]


class Client:
    """The other end of a server that serves in a thread."""

    def __init__(self):
        self.tools = Echo()
        theirs, self.to = os.pipe()
        ours, target = os.pipe()
        self.answers = os.fdopen(ours)
        server = LineServer(self.tools, theirs, target)

        def serve():
            server.serve()
            os.close(theirs)
            os.close(target)

        self.thread = threading.Thread(target=serve)
        self.thread.start()

    def write(self, data):
        left = memoryview(data)
        while left:
            left = left[os.write(self.to, left) :]

    def send(self, method, params=None, number=1):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode() + b"\n")

    def hear(self):
        return json.loads(self.answers.readline())

    def ask(self, method, params=None, number=1):
        self.send(method, params, number)
        return self.hear()

    def close(self):
        os.close(self.to)
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.answers.close()


@pytest.fixture
def client():
    client = Client()
    yield client
    client.close()


@pytest.mark.parametrize("version", HANDSHAKE)
def test_every_version_with_a_handshake_is_spoken(client, version):
    """The version that is asked for is the one that is agreed on."""
    result = client.ask("initialize", {"protocolVersion": version})["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "fleet"
    assert result["capabilities"] == {"tools": {}}


def test_a_version_that_does_not_exist_is_answered_with_the_newest(client):
    """The client then decides whether it can speak that one."""
    result = client.ask("initialize", {"protocolVersion": "1999-01-01"})["result"]
    assert result["protocolVersion"] == HANDSHAKE[-1]


def test_a_stateless_client_needs_no_handshake(client):
    """Its results say that they are complete, and a list how long it may be kept."""
    found = client.ask("server/discover", MODERN)["result"]
    assert "2026-07-28" in found["supportedVersions"]
    tools = client.ask("tools/list", MODERN)["result"]
    assert (tools["resultType"], tools["cacheScope"]) == ("complete", "private")
    called = client.ask("tools/call", {"name": "echo", "arguments": {"text": "hi"}, **MODERN})
    assert called["result"]["resultType"] == "complete"
    later = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    error = client.ask("tools/list", later)["error"]
    assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"17", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":[1]}}', -32602),
    ],
)
def test_what_is_no_request_is_told_so_and_the_next_one_is_answered(client, line, code):
    """No line ends the server."""
    client.write(line + b"\n")
    assert client.hear()["error"]["code"] == code
    assert client.ask("ping")["result"] == {}


def test_a_message_of_ten_megabytes_is_refused_once_and_read_past(client):
    """Nothing of it is kept, and the line behind it is a message again."""
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * 10_000_000)
    client.write(b'"}}\n')
    assert client.hear()["error"]["code"] == -32600
    assert client.ask("ping", number=2) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_notifications_and_answers_are_not_answered(client):
    """Else both sides would talk for ever."""
    client.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    client.write(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"slow"}}\n')
    client.write(b'{"jsonrpc":"2.0","id":5,"result":{}}\n\n')
    assert client.ask("ping", number="a")["id"] == "a"


def test_a_batch_is_answered_message_by_message(client):
    """As clients of 2025-03-26 may send it."""
    pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (1, 2)]
    client.write(json.dumps(pings).encode() + b"\n")
    assert [client.hear()["id"] for _ in pings] == [1, 2]


def test_a_call_that_waits_keeps_no_other_from_being_answered(client):
    """And is answered under its own id, or not at all once its client has cancelled it."""
    for number in (1, 2):
        client.send("tools/call", {"name": "slow"}, number)
    assert client.ask("ping", number=3)["id"] == 3
    assert client.ask("tools/call", {"name": "slow"}, 1)["error"]["code"] == -32600
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    client.write(json.dumps(gone).encode() + b"\n")
    assert client.tools.slow[0].cancelled.wait(10)
    client.tools.slow[1].done.set()
    assert client.hear()["id"] == 2


def test_a_client_that_waits_with_a_token_gets_signs_of_life(client, monkeypatch):
    """So that it does not give up on a person who thinks."""
    monkeypatch.setattr(line_server, "_SIGN_OF_LIFE", 0.0)
    client.send("tools/call", {"name": "slow", "_meta": {"progressToken": "t"}})
    sign = client.hear()
    assert (sign["method"], sign["params"]["progressToken"]) == ("notifications/progress", "t")
    client.tools.slow[0].done.set()
    while "result" not in client.hear():
        pass


def test_a_flood_of_calls_is_bounded(client):
    """Beyond the bound a call is refused at once, as a result that its model can read."""
    for number in range(line_server.MOST_WAITING):
        client.send("tools/call", {"name": "slow"}, number)
    refused = client.ask("tools/call", {"name": "slow"}, "more")["result"]
    assert refused["isError"] is True


def test_a_client_that_closes_in_mid_call_lets_the_call_go():
    """The server ends, and what waited is cancelled."""
    client = Client()
    client.send("tools/call", {"name": "slow"})
    client.ask("ping", number=2)
    client.close()
    assert client.tools.slow[0].cancelled.is_set()
