"""A real server of the page on a free port, and a client that speaks plain HTTP to it."""

import http.client
import json
import threading
from datetime import UTC, datetime

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.control.page.session_store import AT_ONCE, SessionStore
from fleet.home import Home, make_home
from fleet.web.serve import Listening, start


def now():
    return datetime.now(UTC)


class Answer:
    """What the server said."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Sends requests as they are given: nothing is added but what HTTP needs."""

    def __init__(self, port, key=""):
        self.port, self.key = port, key

    def ask(self, method, path, *, body=None, key=None, host=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            key = self.key if key is None else key
            if key:
                connection.putheader("Authorization", f"Bearer {key}")
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            data = (
                b""
                if body is None
                else body
                if isinstance(body, bytes)
                else json.dumps(body).encode()
            )
            if method == "POST":
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data or None)
            found = connection.getresponse()
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", f"/api/v1/{path}", **headers)

    def act(self, verb, body, *, once="", **headers):
        return self.ask(
            "POST", f"/api/v1/acts/{verb}", body=body, Content_Type="application/json",
            Idempotency_Key=once or f"key-{id(body)}-{verb}", **headers,
        )  # fmt: skip

    def lines(self, path="stream"):
        """The open stream: its socket, and what reads its lines."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"Authorization": f"Bearer {self.key}"}
        connection.request("GET", f"/api/v1/{path}", headers=head)
        return connection.sock, connection.getresponse()


class Page:
    """A server that runs in a thread of the test, with its home."""

    def __init__(self, home, where=None):
        self.home = home
        self.store = SessionStore(home, now)
        listening = where or Listening()
        self.server = start(self.reopen, self.store, listening)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()
        self.fleet = self.reopen()

    def reopen(self):
        return Control(self.home, Config(), {"USER": "ada"})

    def client(self, role="operate"):
        key, _ = self.store.exchange(self.store.new_code(role, AT_ONCE), "a test")
        return Client(self.server.port, key)

    def close(self):
        self.server.stop()
        self.thread.join(10)
        self.fleet.close()


@pytest.fixture(scope="module")
def module_page(tmp_path_factory):
    """One server for all tests of a module that leave it as it was."""
    home = Home(tmp_path_factory.mktemp("web") / "home")
    make_home(home)
    page = Page(home)
    yield page
    page.close()


@pytest.fixture
def page(tmp_path):
    """A server of the test's own."""
    home = Home(tmp_path / "home")
    make_home(home)
    page = Page(home)
    yield page
    page.close()
