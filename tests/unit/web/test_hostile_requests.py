"""A table of requests that must not be answered, against a real server."""

import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from fleet.control.acts.audit_log import lines
from fleet.control.page.session_store import AT_ONCE
from fleet.home.looked_at import is_looked_at
from fleet.processes.process_identity import MARK
from fleet.queue.protocol import Draft, Filter
from tests.unit.web.conftest import Client

JSON = {"Content_Type": "application/json", "Idempotency_Key": "a-key-of-mine"}


@pytest.fixture
def client(module_page):
    return module_page.client()


@pytest.fixture
def keyless(module_page):
    """A client without a key."""
    return Client(module_page.server.port)


@pytest.mark.parametrize(
    ("status", "method", "path", "sent"),
    [
        # Names that lead to this machine: DNS rebinding.
        (421, "GET", "/api/v1/now", {"host": "evil.example"}),
        (421, "GET", "/", {"host": "evil.example"}),
        (421, "GET", "/", {"host": "127.0.0.1"}),
        (421, "GET", "/", {"host": "127.0.0.1.evil.example:80"}),
        (421, "GET", "/", {"host": "localhost:1"}),
        # Other pages.
        (403, "GET", "/api/v1/now", {"Origin": "https://evil.example"}),
        (403, "GET", "/api/v1/now", {"Origin": "null"}),
        (403, "GET", "/api/v1/now", {"Origin": "http://127.0.0.1:1"}),
        (403, "GET", "/api/v1/now", {"Sec_Fetch_Site": "cross-site"}),
        (403, "GET", "/api/v1/now", {"Sec_Fetch_Site": "same-site"}),
        (403, "GET", "/static/app.js", {"Sec_Fetch_Site": "cross-site"}),
        (
            403, "GET", "/",
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate",
             "Sec_Fetch_Dest": "iframe"},
        ),
        (
            403, "GET", "/api/v1/now",
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate",
             "Sec_Fetch_Dest": "document"},
        ),
        (403, "POST", "/api/v1/acts/pause", {**JSON, "Origin": "http://evil.example"}),
        (403, "POST", "/api/v1/acts/pause", {**JSON, "Sec_Fetch_Site": "cross-site"}),
        # Methods and forms.
        (405, "OPTIONS", "/api/v1/acts/pause", {}),
        (405, "PUT", "/api/v1/acts/pause", {}),
        (405, "TRACE", "/", {}),
        (415, "POST", "/api/v1/acts/pause", {"Content_Type": "text/plain"}),
        (415, "POST", "/api/v1/acts/pause", {"Content_Type": "multipart/form-data"}),
        (415, "POST", "/api/v1/acts/pause", {}),
        (400, "POST", "/api/v1/acts/pause", {"Content_Type": "application/json"}),
        (411, "POST", "/api/v1/acts/pause", {**JSON, "Transfer_Encoding": "chunked"}),
        # Addresses.
        (404, "GET", "/api/v1/nothing", {}),
        (404, "GET", "/api/v2/now", {}),
        (404, "GET", "/../../etc/passwd", {}),
        (404, "GET", "/%2e%2e/%2e%2e/etc/passwd", {}),
        (404, "GET", "/static/../page_server.py", {}),
        (400, "GET", "/api/v1/stream?since=-1", {}),
        (400, "GET", "/api/v1/stream?since=x", {}),
        (404, "GET", "/api/v1/tasks/..%2F..%2Fweb%2Fsessions.json", {}),
        (400, "GET", "/api/v1/tasks/..", {}),
        (400, "GET", "/api/v1/tasks/a%00b", {}),
        (400, "GET", "/api/v1/tasks/a%0Ab/diff", {}),
        (400, "GET", "/api/v1/tasks/-rf", {}),
        (404, "GET", "/api/v1/tasks/fleet-x/file/task.json", {}),
        (404, "POST", "/api/v1/acts/rm", {**JSON}),
    ],
)  # fmt: skip
def test_a_hostile_request_is_refused(client, status, method, path, sent):
    """Although it bears a good key: what is wrong with it is not the key."""
    sent = dict(sent)
    found = client.ask(method, path, host=sent.pop("host", None), **sent)
    assert found.status == status, found.body
    assert "Access-Control-Allow-Origin" not in found.headers


@pytest.mark.parametrize("path", ["now", "stream", "acts", "tasks/x", "usage", "session", "log"])
def test_nothing_is_told_without_a_key(keyless, path):
    """Not even whether there is a task."""
    found = keyless.get(path)
    assert found.status == 401
    assert set(found.json) == {"error", "hint"}


def test_figures_are_told_to_a_reader_with_a_key(client, keyless):
    """At the address that Prometheus looks at, and not to each process of the machine."""
    assert keyless.ask("GET", "/metrics").status == 401
    found = client.ask("GET", "/metrics")
    assert (found.status, b"fleet_supervisor_up" in found.body) == (200, True)


def test_a_look_at_the_page_is_noted(module_page, client):
    """What is on the screen before a person who can answer is not told on a phone."""
    sent = {"Content_Type": "application/json"}
    viewer = module_page.client("view")
    assert viewer.ask("POST", "/api/v1/looking", body={}, **sent).status == 403
    assert not is_looked_at(module_page.fleet.home, datetime.now(UTC))
    assert client.ask("POST", "/api/v1/looking", body={}, **sent).status == 200
    assert is_looked_at(module_page.fleet.home, datetime.now(UTC))


@pytest.mark.parametrize(
    "sent",
    [
        {"key": "x" * 43},
        {"key": "", "Cookie": "key=1"},
        {"key": "", "Authorization": "Basic YTpi"},
        {"key": "", "X_Api_Key": "1"},
    ],
)
def test_only_the_bearer_key_counts(page, sent):
    """Neither a cookie, nor another scheme, nor a wrong key."""
    assert Client(page.server.port).get("now", **sent).status == 401


def test_a_key_in_the_address_is_no_key(module_page, client):
    """Addresses are kept in logs and histories."""
    bare = Client(module_page.server.port)
    assert bare.get(f"now?key={client.key}&access_token={client.key}").status == 401


def test_every_answer_has_the_headers(client, keyless):
    """Of the shell, of data, and of a refusal."""
    for found in (client.get("now"), keyless.get("now"), client.ask("GET", "/"),
                  client.ask("GET", "/", host="evil.example")):  # fmt: skip
        assert "require-trusted-types-for 'script'" in found.headers["content-security-policy"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in found.headers
    assert client.get("now").headers["cache-control"] == "no-store"


def test_a_code_works_once(page):
    """The second browser that has it gets nothing."""
    code, bare = page.store.new_code("view", timedelta(seconds=60)), Client(page.server.port)
    sent = {"once": code, "device": "x"}
    first = bare.ask("POST", "/api/v1/session", body=sent, Content_Type="application/json")
    second = bare.ask("POST", "/api/v1/session", body=sent, Content_Type="application/json")
    assert (first.status, second.status) == (201, 401)
    assert Client(page.server.port, first.json["key"]).get("now").status == 200


def test_a_code_does_not_last(page):
    """A minute is enough for a browser to open."""
    code = page.store.new_code("view", timedelta(seconds=-1))
    bare = Client(page.server.port)
    found = bare.ask(
        "POST", "/api/v1/session", body={"once": code}, Content_Type="application/json"
    )
    assert found.status == 401


def test_after_ten_wrong_keys_only_sessions_are_answered(page):
    """For a minute neither a wrong key nor a code is looked at; guessing locks no person out."""
    good = page.client()
    for number in range(10):
        assert good.get("now", key=f"wrong-{number}").status == 401
    assert good.get("now", key="wrong-10").status == 429
    sent = {"once": page.store.new_code("view", AT_ONCE)}
    bare = Client(page.server.port)
    asked = bare.ask("POST", "/api/v1/session", body=sent, Content_Type="application/json")
    assert asked.status == 429
    assert good.get("now").status == 200


@pytest.mark.parametrize(
    ("role", "verb", "body", "status"),
    [
        ("view", "answer", {"id": "fleet-x", "text": "t"}, 403),
        ("view", "pause", {}, 403),
        ("answer", "pause", {}, 403),
        ("answer", "retry", {"id": "fleet-x"}, 403),
        ("answer", "answer", {"id": "fleet-x", "text": "t"}, 404),
        ("operate", "pause", {}, 200),
    ],
)
def test_a_session_does_what_its_role_may(module_page, role, verb, body, status):
    """The phone answers; it does not stop everything."""
    assert module_page.client(role).act(verb, body).status == status


def test_an_agent_cannot_act_by_the_page(page):
    """The server looks at the process that asks, and at those above it."""
    client = page.client()
    script = (
        "import http.client, sys\n"
        f"c = http.client.HTTPConnection('127.0.0.1', {client.port})\n"
        "c.request('POST', '/api/v1/acts/pause', '{}', {'Authorization': 'Bearer ' + sys.argv[1],"
        " 'Content-Type': 'application/json', 'Idempotency-Key': 'an-agents-key'})\n"
        "a = c.getresponse(); print(a.status, a.read().decode())\n"
    )
    run = [sys.executable, "-c", script, client.key]
    env = {MARK: "fleet1.fleet-x.1"}
    inside = subprocess.run(run, capture_output=True, text=True, env=env, check=True).stdout
    assert inside.startswith("403")
    assert "an agent cannot do this" in inside
    # Also a child that was started with a clean environment.
    outer = "import subprocess, sys; subprocess.run(sys.argv[1:], env={})"
    wrapped = [sys.executable, "-c", outer, *run]
    below = subprocess.run(wrapped, capture_output=True, text=True, env=env, check=True).stdout
    assert below.startswith("403")
    outside = subprocess.run(run, capture_output=True, text=True, env={}, check=True).stdout
    assert outside.startswith("200")


def test_the_same_request_is_carried_out_once(page):
    """A page that repeats itself after a lost connection makes no second task."""
    client, body = page.client(), {"title": "t", "cwd": str(page.home.path)}
    first, second = (client.act("create", body, once="the-same-key") for _ in range(2))
    assert first.json == second.json
    assert len(page.fleet.queue.find(Filter())) == 1
    other = client.act("create", {**body, "title": "u"}, once="the-same-key")
    assert other.status == 409


def test_a_large_body_is_not_read(client):
    """The server has better uses for its memory."""
    found = client.ask("POST", "/api/v1/acts/pause", body=b"{" + b" " * (1 << 20) + b"}", **JSON)
    assert found.status == 413


def test_half_a_request_holds_up_no_other(module_page, client):
    """A connection that says nothing more costs nothing."""
    with socket.create_connection(("127.0.0.1", module_page.server.port)) as half:
        half.sendall(b"GET /api/v1/now HTTP/1.1\r\nHost: ")
        assert client.get("now").status == 200


def test_text_of_agents_is_data(page):
    """Newlines, escapes, bidirectional marks and markup come back as they are, as JSON."""
    title = "<img src=x onerror=alert(1)>\u202e\x1b[31m\nfleet"
    page.fleet.queue.add(Draft(title=title))
    found = page.client().get("now")
    assert found.headers["content-type"] == "application/json"
    assert found.json["rows"][0]["title"] == title


def test_an_agents_file_is_text_to_save(page):
    """A page that an agent wrote is no page of ours."""
    task = page.fleet.queue.add(Draft(title="t"))
    folder = page.home.task(task.id) / "artifacts"
    folder.mkdir(parents=True)
    (folder / "PLAN_AND_STATUS.md").write_text("<script>alert(1)</script>")
    found = page.client().get(f"tasks/{task.id}/file/plan")
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.headers["content-disposition"].startswith("attachment")
    assert found.headers["x-content-type-options"] == "nosniff"


def test_the_sessions_file_gives_no_access(page):
    """It holds digests, for its owner alone."""
    client = page.client()
    path = page.home.path / "web" / "sessions.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert client.key not in path.read_text()


def test_the_audit_names_the_session_of_an_act(page):
    """Which browser it was, with its role: the page runs under one name for all of them."""
    assert page.client().act("pause", {}).status == 200
    (line,) = lines(page.home)
    (session,) = page.store.sessions()
    assert line.session == f"session {session.id} (operate, a test)"
    assert (line.surface, line.user) == ("web", "ada")
