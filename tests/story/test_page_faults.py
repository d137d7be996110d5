"""The page in trouble, in a real browser: what is large, many, hostile; queues of every kind."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import pytest
from msgspec import structs

from fleet import config
from fleet.control import Control
from fleet.git.snapshot_names import DIFF
from fleet.home import Home, make_home
from fleet.queue.protocol import Draft
from tests.builders import a_run
from tests.conftest import only_slow
from tests.contract.beads_home import pristine_home
from tests.story.page_fixtures import (
    all_problems,
    browser,
    context,
    expect,
    page,
    problems,
    row,
    stage,
)
from tests.story.page_stage import WIDE, address_of, watched
from tests.story.scene import PATIENCE

__all__ = ["all_problems", "browser", "context", "page", "pristine_home", "problems", "stage"]

pytestmark = [only_slow, pytest.mark.timeout(300)]

#: A name that would break out of a line, turn the reading direction, or colour a terminal.
HOSTILE = "a\nb\u202e\x1b[31m<b>.py"


def a_task_that_ran(stage, title):
    task = stage.scene.queue.add(Draft(title=title, assignee="ada"))
    return task.id, a_run(stage.scene.folder(task.id))


def test_a_transcript_of_100_mb_opens_at_its_end_and_is_searched_whole(stage, page):
    """Only what is in sight is read."""
    task_id, _ = a_task_that_ran(stage, "Talk")
    line = {"run": 1, "kind": "assistant_text", "text": "x" * 960}
    with (stage.scene.folder(task_id) / "events.jsonl").open("w") as file:
        file.write(json.dumps({**line, "text": "the needle is here"}) + "\n")
        rest = json.dumps(line) + "\n"
        for _ in range(100):
            file.write(rest * 1024)
        file.write(json.dumps({**line, "text": "the very end"}) + "\n")
    page.goto(f"{stage.address}#/task/{task_id}/transcript")
    expect(page.locator(".entry").last).to_contain_text("the very end")
    assert page.locator(".entry").count() < 5000
    page.get_by_label("Search in the transcript").fill("needle")
    hit = page.locator(".hits button").first
    expect(hit).to_contain_text("the needle is here")
    hit.click()
    expect(page.locator(".entry.here")).to_contain_text("the needle is here")


def test_a_diff_of_100_000_lines_is_folded_and_comes_by_stretches(stage, page):
    """The page has as many rows as the person asked for."""
    task_id, run = a_task_that_ran(stage, "Much")
    name = "diff --git a/l b/l\nnew file mode 100644\n--- /dev/null\n+++ b/l\n"
    head = f"{name}@@ -0,0 +1,100000 @@\n"
    (run.path / DIFF).write_text(head + "".join(f"+line {n}\n" for n in range(100_000)))
    page.goto(f"{stage.address}#/task/{task_id}/diff")
    expect(page.locator(".folded")).to_contain_text("100,000 lines are folded")
    assert page.locator(".l").count() == 0
    page.get_by_role("button", name="Show them").click()
    expect(page.locator(".l")).to_have_count(2000)
    page.get_by_role("button", name="More of this file").click()
    expect(page.locator(".l")).to_have_count(4000)
    expect(page.locator(".l").last).to_have_text("line 3999")


def test_names_of_an_agent_are_shown_and_not_obeyed_wherever_they_stand(stage, page):
    """Of files in a diff and of tools in a transcript; what is shown can still be commented on."""
    task_id, run = a_task_that_ran(stage, HOSTILE)
    quoted = '"b/a\\nb\\342\\200\\256\\033[31m<b>.py"'
    (run.path / DIFF).write_text(
        f"diff --git {quoted.replace('b/', 'a/', 1)} {quoted}\nnew file mode 100644\n"
        f"--- /dev/null\n+++ {quoted}\n@@ -0,0 +1,2 @@\n+one\u202e\x1b[31m\n+two\n"
    )
    call = {"id": "1", "name": HOSTILE, "input": {"path": HOSTILE}}
    said = {"run": 1, "kind": "tool_use", "calls": [call]}
    (stage.scene.folder(task_id) / "events.jsonl").write_text(json.dumps(said) + "\n")
    page.goto(f"{stage.address}#/task/{task_id}/diff")
    expect(page.locator(".file .path .control-mark").first).to_be_visible()
    expect(page.locator(".l.add").first).to_contain_text("U+202E")
    page.goto(f"{stage.address}#/task/{task_id}/transcript")
    expect(page.locator(".entry .tool .control-mark").first).to_be_visible()
    assert page.locator("main b b, main .tool b").count() == 0
    shown = page.locator("main").inner_text()
    assert not {"\u202e", "\x1b"} & set(shown)


def test_ten_tabs_all_live_on_one_stream(stage, context, page, problems):
    """Browsers allow six connections to a host."""
    asked = []
    tabs = [page]
    for _ in range(9):
        tab = watched(context.new_page(), problems)
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(stage.view("now"))
        tabs.append(tab)
    title = "Seen by all"
    task = stage.scene.queue.add(Draft(title=title, assignee="ada"))
    for tab in tabs:
        expect(tab.locator(".as-of")).to_have_text("live")
        expect(row(tab, task.id)).to_contain_text(title)
    assert [url for url in asked if "/api/v1/stream" in url] == []
    for tab in tabs[1:]:
        tab.close()


@contextmanager
def offered(home, browser, problems):
    """The page of a home in a browser."""
    env = {**os.environ, "FLEET_HOME": str(home.path)}
    command = [sys.executable, "-m", "fleet", "web", "--no-open"]
    server = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    context = browser.new_context(viewport=WIDE)
    try:
        page = watched(context.new_page(), problems)
        page.goto(address_of(server))
        yield page
    finally:
        context.close()
        server.kill()
        server.wait(PATIENCE)
        server.stdout.close()


def follows_the_queue(fleet, page):
    """A task that is made is shown, and one that is closed elsewhere goes to what is done."""
    expect(page.locator(".as-of")).to_have_text("live")
    task = fleet.queue.add(Draft(title="Made elsewhere"))
    expect(row(page, task.id)).to_contain_text("Made elsewhere")
    row(page, task.id).locator("[data-open]").click()
    expect(page.locator(".task-head h1")).to_have_text("Made elsewhere")
    page.go_back()
    fleet.queue.close_task(fleet.get(task.id), by="ada", reason="done by hand")
    done = page.locator("section.group.done")
    expect(done.locator(f'[data-row="{task.id}"]')).to_contain_text("done by hand")


def test_the_page_follows_a_queue_of_beads(tmp_path, pristine_home, browser, problems):
    """Which tells of its changes by its own files."""
    shutil.copytree(pristine_home, tmp_path / "home")
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue="beads"))
    fleet = Control(home, config.load(home.config))
    try:
        with offered(home, browser, problems) as page:
            follows_the_queue(fleet, page)
    finally:
        fleet.close()


class Valve:
    """Stands before a server; what passes can be held up, as a network does that loses packets."""

    def __init__(self, port):
        self._to = port
        self.flows = threading.Event()
        self.flows.set()
        self._ear = socket.create_server(("127.0.0.1", 0))
        self.port = self._ear.getsockname()[1]
        self._sockets = [self._ear]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                ours, _ = self._ear.accept()
                theirs = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [ours, theirs]
                for one, other in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one, other):
        with suppress(OSError):
            while data := one.recv(65536):
                self.flows.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def close(self):
        self.flows.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def test_a_postgresql_that_hangs_is_told_of_and_the_page_goes_on_with_it(
    tmp_path, new_postgres_dsn, browser, problems
):
    """Rows stay as they were, the page says so, and is live again once the server answers."""
    dsn = new_postgres_dsn
    head, _, rest = dsn.rpartition("@")
    address, _, database = rest.partition("/")
    valve = Valve(int(address.rpartition(":")[2]))
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue=f"{head}@127.0.0.1:{valve.port}/{database}"))
    fleet = Control(home, structs.replace(config.load(home.config), queue=dsn))
    try:
        with offered(home, browser, problems) as page:
            follows_the_queue(fleet, page)
            valve.flows.clear()
            fleet.queue.add(Draft(title="Made while it hangs"))
            expect(page.locator(".warning.grave").first).to_be_visible()
            expect(page.locator(".row.done")).to_contain_text("Made elsewhere")
            valve.flows.set()
            expect(page.locator(".row", has_text="Made while it hangs")).to_be_visible()
            expect(page.locator(".warning.grave")).to_have_count(0)
            problems[:] = [each for each in problems if "status of 503" not in each]
    finally:
        fleet.close()
        valve.close()
