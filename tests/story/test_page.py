"""The page in a real browser, on a home with real runs: what a person sees, in trouble too.

What a person does is in `test_page_acts.py`.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fleet.control.pause import paused_since
from tests.conftest import SLOW, only_slow
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
from tests.story.page_stage import HOSTILE, PHONE, VIEWS, WIDE, watched

__all__ = ["all_problems", "browser", "context", "page", "problems", "stage"]

pytestmark = pytest.mark.timeout(240)


def test_now_has_every_task_in_its_group_with_its_reason(stage, page):
    """What needs a person comes first, and what waits says why."""
    groups = {name: page.locator(f"section.group.{name}") for name in ("needs_you", "running")}
    expect(groups["needs_you"].locator(".row")).to_have_count(3)
    expect(groups["running"].locator(".row")).to_have_count(1)
    expect(row(page, stage.ids["waits"])).to_contain_text("waits for Find a book")
    expect(row(page, stage.ids["claims"])).to_contain_text("no_tools")
    expect(row(page, stage.ids["done"]).get_by_role("button", name="Land")).to_be_visible()
    expect(page).to_have_title("(3) Now · fleet")
    icon = page.locator("link[rel=icon]").get_attribute("href")
    assert icon is not None
    assert icon.startswith("data:image/png")
    expect(page.locator(".standing")).to_contain_text("Supervisor runs · 1 of 6")
    expect(page.locator(".as-of")).to_have_text("live")


def test_the_words_of_an_agent_are_shown_and_not_obeyed(stage, page):
    """Markup is text, and what would turn the reading direction is a mark."""
    title = row(page, stage.ids["runs"]).locator(".title")
    expect(title).to_contain_text(HOSTILE.rstrip("\u202e"))
    expect(title.locator(".control-mark")).to_have_text("U+202E")
    page.goto(stage.view("questions"))
    expect(page.locator(".asked").first).to_contain_text("<img/src=x")
    assert page.locator("main img").count() == 0
    expect(page).to_have_title(re.compile("fleet"))


@only_slow
def test_keys_move_open_and_go_back(stage, page):
    """The same keys as in the full-screen view."""
    press = page.keyboard.press
    focused = "document.activeElement.dataset.open"
    press("j")
    first = page.evaluate(focused)
    press("j")
    second = page.evaluate(focused)
    press("k")
    assert page.evaluate(focused) == first != second
    press("Enter")
    expect(page.locator(".task-head")).to_be_visible()
    press("Escape")
    expect(page.locator(".view.now")).to_be_visible()
    expect(page.locator(f'[data-open="{first}"]')).to_be_focused()
    press("/")
    page.keyboard.type("release")
    expect(page.locator(".row")).to_have_count(1)
    assert page.url.endswith("#/now?q=release")
    press("Escape")
    press("Escape")
    expect(page.locator(".row")).to_have_count(5)
    press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("transcript")
    press("Escape")
    expect(keys).to_have_count(0)
    for key, title in zip("2345", ("Questions", "Timeline", "Usage", "Accounts"), strict=True):
        press(key)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)


@only_slow
def test_the_palette_does_every_act_and_shows_its_command(stage, page):
    """Ctrl-K finds acts, views and tasks by words."""
    page.keyboard.press("Control+k")
    page.keyboard.type("pause")
    choice = page.get_by_role("option").first
    expect(choice).to_contain_text("Pause fleet")
    expect(choice).to_contain_text("fleet pause")
    page.keyboard.press("Enter")
    expect(page.locator(".standing")).to_contain_text("Paused")
    expect(page.locator(".news-item")).to_contain_text("fleet pause")
    page.keyboard.press("Control+z")
    expect(page.locator(".standing")).to_contain_text("Supervisor runs")
    stage.scene.until(lambda: paused_since(stage.scene.home) is None)


def test_undo_takes_back_the_last_act_or_none(stage, page):
    """A pause before it stays as it is, also while its news with the way back is to be seen."""
    task_id = stage.ids["claims"]
    page.keyboard.press("P")
    expect(page.locator(".standing")).to_contain_text("Paused")
    row(page, task_id).get_by_role("button", name="Retry").click()
    expect(page.locator("#told")).to_contain_text(
        f"{task_id} is open again; its attempts are forgotten."
    )
    page.keyboard.press("Control+z")
    expect(page.locator("#told")).to_have_text("Retry cannot be undone.")
    expect(page.locator(".standing")).to_contain_text("Paused")
    page.locator(".standing").get_by_role("button", name="Resume").click()
    expect(page.locator(".standing")).to_contain_text("Supervisor runs")
    stage.scene.until_status(task_id, "blocked")


def test_the_receipt_comes_first_and_each_tab_is_an_address(stage, page):
    """The verdict, the check with its output, the claim, the change and its cost."""
    page.goto(stage.view("receipt"))
    expect(page.locator(".verdict h2")).to_have_text("checked")
    check = page.locator(".checks li")
    expect(check).to_contain_text("grep -n TWO a")
    expect(check).to_contain_text("passed")
    check.locator("summary").click()
    expect(check.locator(".output")).to_contain_text("2:TWO")
    expect(page.locator(".changes li")).to_have_count(3)
    page.keyboard.press("d")
    expect(page.locator(".file")).to_have_count(3)
    assert page.url.endswith("/diff")
    expect(page.locator(".l.add b").first).to_have_text("seven")
    page.keyboard.press("l")
    expect(page.locator(".entry").first).to_be_visible()
    page.go_back()
    expect(page.locator(".file").first).to_be_visible()


def test_a_line_is_commented_and_the_agent_is_sent_back_with_it(stage, page):
    """Path, line and code go with the words, into the task's next run."""
    page.goto(stage.view("diff"))
    page.locator('.l[data-line="2"]').first.focus()
    page.keyboard.press("c")
    expect(page.get_by_label("Comment on this line")).to_be_focused()
    page.keyboard.type("Not so loud.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".line-comment")).to_contain_text("Not so loud.")
    page.locator(".viewed-box input").first.check()
    expect(page.get_by_role("status").filter(has_text="viewed")).to_have_text("1 of 3 viewed")
    page.get_by_role("button", name="Send 1 comment").click()
    expect(page.locator(".news-item").first).to_contain_text("fleet review")
    told = stage.scene.folder(stage.ids["done"]) / "runs/2/prompt.md"
    stage.scene.until(lambda: told.exists() and "Not so loud." in told.read_text())
    assert "a, line 2:" in told.read_text()


def test_a_question_is_answered_in_place(stage, page):
    """The row leaves what needs the person at once, and fleet has the answer."""
    page.goto(stage.view("questions"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Questions")
    page.keyboard.press("a")
    expect(page.locator("[data-answer]")).to_be_focused()
    page.keyboard.type("Refuse the second.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".question")).to_have_count(0)
    expect(page.get_by_role("heading", name="No agent asks anything")).to_be_visible()
    answers = stage.scene.folder(stage.ids["asks"]) / "artifacts/Q&A.md"
    stage.scene.until(lambda: answers.exists() and "Refuse the second." in answers.read_text())


def test_an_act_that_is_refused_is_taken_back(stage, page, problems):
    """What fleet does not do is not shown as done, and the person is told why."""
    page.route("**/api/v1/acts/stop", lambda route: route.fulfill(
        status=409, json={"error": "it has ended already", "hint": "fleet show"}
    ))  # fmt: skip
    running = row(page, stage.ids["runs"])
    running.locator("[data-open]").focus()
    page.keyboard.press("s")
    expect(page.locator(".news-item.refused")).to_contain_text("it has ended already")
    expect(running).not_to_contain_text("stopping")
    problems[:] = [each for each in problems if "409" not in each]


@only_slow
def test_two_tabs_share_one_stream(stage, context, page, problems):
    """Browsers allow six connections to a host: the seventh tab would hang without a word."""
    asked = []
    other = watched(context.new_page(), problems)
    other.on("request", lambda request: asked.append(request.url))
    other.goto(stage.view("now"))
    expect(other.locator(".as-of")).to_have_text("live")
    assert [url for url in asked if "/api/v1/stream" in url] == []
    with other.expect_request("**/api/v1/stream*"):
        page.close()
    expect(other.locator(".as-of")).to_have_text("live")
    other.close()


@pytest.mark.parametrize("name", VIEWS if SLOW else ("now",))
def test_a_view_fits_a_phone(stage, page, name):
    """Nothing is cut off at the side, and what one taps is 44 px high."""
    page.set_viewport_size(PHONE)
    page.goto(stage.view(name))
    page.locator("main h1, main .task-head").first.wait_for()
    assert page.evaluate("document.getElementById('main').scrollWidth") <= PHONE["width"]
    small = page.evaluate(
        "[...document.querySelectorAll('.places a, main .button, main .tabs a, main .what')]"
        ".filter(each => each.offsetParent && each.getBoundingClientRect().height < 39.5)"
        ".map(each => each.className + ' ' + each.textContent.trim().slice(0, 30))"
    )
    assert small == []


@only_slow
def test_a_view_is_read_out_in_order(stage, page):
    """Landmarks, one heading of the first level, a name for everything that can be pressed."""
    for name in VIEWS if SLOW else ("now", "receipt"):
        page.goto(stage.view(name))
        page.locator("main h1").first.wait_for()
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("heading", level=1).count() == 1
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, a[href], input, textarea, select')]"
            ".filter(each => each.offsetParent && !(each.textContent.trim() || each.ariaLabel"
            " || each.title || each.labels?.length)).map(each => each.outerHTML)"
        )
        assert nameless == []


@only_slow
def test_the_server_dies_and_comes_back(stage, page, problems):
    """The page says how old what it shows is, and goes on by itself."""
    stage.kill()
    expect(page.locator(".as-of.lost")).to_contain_text("as of")
    expect(page.locator(".warning").first).to_contain_text("hears nothing", timeout=15_000)
    assert page.locator(".row").count() == 5
    stage.serve()
    expect(page.locator(".as-of")).to_have_text("live", timeout=20_000)
    problems[:] = [each for each in problems if "ERR_CONNECTION_REFUSED" not in each
                   and "ERR_INCOMPLETE_CHUNKED" not in each]  # fmt: skip


def test_a_session_that_is_revoked_ends_in_the_midst_of_it(stage, browser, problems):
    """The page is locked with nothing left on it, and says which command opens it again."""
    context = browser.new_context(viewport=WIDE)
    page = watched(context.new_page(), problems)
    page.goto(stage.address)
    expect(page.get_by_role("heading", name="This page is locked")).to_be_visible()
    (once,) = re.findall(r"#once=\S+", stage.scene.fleet("web", "pair", "--role", "view").stdout)
    page.goto(f"{stage.address}?again{once}")
    expect(page.locator(".as-of")).to_have_text("live")
    expect(page.locator("body")).to_contain_text("Make it loud")
    (mine,) = [each for each in json.loads(stage.scene.fleet("web", "sessions", "--json").stdout)
               if each["role"] == "view"]  # fmt: skip
    assert stage.scene.fleet("web", "revoke", mine["id"]).returncode == 0
    expect(page.get_by_role("heading", name="This page is locked")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("Make it loud")
    problems[:] = [each for each in problems if "status of 401" not in each]
    context.close()


#: What a page on another port of this machine tries, in a browser that has a session.
FOREIGN = """async (at) => {
  const tried = async (path, how) => {
    try { const got = await fetch(at + path, how); return [got.status, await got.text()]; }
    catch (error) { return error.name; }
  };
  const json = {'content-type': 'application/json', 'idempotency-key': 'a-key-of-mine'};
  return {
    read: await tried('api/v1/now', {credentials: 'include'}),
    blind: await tried('api/v1/acts/pause', {method: 'POST', mode: 'no-cors', body: '{}'}),
    write: await tried('api/v1/acts/pause', {method: 'POST', headers: json, body: '{}'}),
    kept: localStorage.length, cookie: document.cookie,
  };
}"""


class ForeignPage(BaseHTTPRequestHandler):
    """A page of an agent's server."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body>mine</body>")

    def log_message(self, *_):
        pass


def test_a_page_on_another_port_gets_nothing_and_changes_nothing(stage, context):
    """Agents start servers on this machine all day, and this browser has a session."""
    with HTTPServer(("127.0.0.1", 0), ForeignPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        found = page.evaluate(FOREIGN, stage.address)
        page.evaluate("at => { const f = document.createElement('iframe'); f.src = at;"
                      " document.body.append(f); }", stage.address)  # fmt: skip
        frame = page.wait_for_selector("iframe").content_frame()
        frame.wait_for_load_state()
        assert frame.locator(".row").count() == 0
        page.close()
        server.shutdown()
    assert {found[name] for name in ("read", "blind", "write")} == {"TypeError"}
    assert (found["kept"], found["cookie"]) == (0, "")
    assert paused_since(stage.scene.home) is None
