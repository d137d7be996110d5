"""A page of another origin, in a real Chromium beside the page of fleet: what it cannot do."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fleet.control.page.session_store import AT_ONCE
from fleet.control.pause import paused_since
from fleet.home import Home, make_home
from fleet.queue.protocol import Draft
from tests.conftest import missing, need, only_slow
from tests.unit.web.conftest import Page

#: Everything that a foreign page could try, each by its name; what it could read is reported.
EVIL = (Path(__file__).parents[1] / "data/foreign_page.html").read_text(encoding="utf-8")


class _Evil(BaseHTTPRequestHandler):
    """Serves the foreign page, on another port of the same host."""

    def do_GET(self):
        data = EVIL.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        """Nothing is printed."""


@pytest.fixture
def evil():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def page(tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    found = Page(home)
    yield found
    found.close()


@pytest.fixture
def browser(page):
    """Chromium, to which `evil.example` is the page's own address."""
    chromium = need("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    rules = f"--host-resolver-rules=MAP evil.example 127.0.0.1:{page.server.port}"
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", rules])
        yield found
        found.close()


@only_slow
def test_a_foreign_page_reads_nothing_and_changes_nothing(page, evil, browser):
    """Although the person is logged in to the page in the same browser."""
    page.fleet.queue.add(Draft(title="A secret of ours"))
    context = browser.new_context()
    ours = context.new_page()
    code = page.store.new_code("operate", AT_ONCE)
    base = f"http://127.0.0.1:{page.server.port}"
    ours.goto(f"{base}/#once={code}")
    ours.wait_for_selector("text=A secret of ours", timeout=30_000)
    assert "once" not in ours.url
    theirs = context.new_page()
    theirs.goto(f"{evil}#{base}")
    told = json.loads(theirs.locator("#told").inner_text(timeout=30_000))
    assert told["read"].startswith("failed")
    assert told["json_post"].startswith("failed")
    assert told["script"].startswith("failed")
    assert told["opaque"] in ("opaque0", "failed: Failed to fetch")
    assert told["frame"] != "fleet"
    assert told["storage"] == "{}"
    assert told["cookies"] == ""
    assert paused_since(page.home) is None
    # DNS rebinding: to the browser the foreign name and the page are one origin.
    assert theirs.goto("http://evil.example/").status == 421
    # A link from elsewhere leads to the page, which knows its own browser.
    theirs.goto(evil)
    theirs.evaluate("(base) => { location.href = base + '/'; }", base)
    theirs.wait_for_selector("text=A secret of ours", timeout=30_000)
