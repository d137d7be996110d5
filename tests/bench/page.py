"""What the page costs the browser: a live list, a long transcript, a large diff. CPU, not time.

Needs chromium and playwright; `fleet web` serves a home with a transcript of 100,000 lines.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from fleet import config
from fleet.control.tasks.receipt import DIFF
from fleet.home import Home, make_home, task_json
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs import receipt_json
from fleet.runs.event_log import FILE
from fleet.schemas import Receipt, Settings
from tests.bench import Figure
from tests.builders import a_run
from tests.story.page_stage import PATIENCE, WIDE, address_of, chromium

LINES, DIFF_LINES, ROWS = 100_000, 6_900, 500

#: 500 running tasks, of which 50 change each half second, in the page's own store.
_LIVE = """async ([rows, rounds]) => {
  const store = await import('/static/core/store.js');
  const home = store.home.value;
  const many = Array.from({length: rows}, (_, i) => task(i));
  const counts = {needs_you: 0, running: rows, waiting: 0, done: 0};
  store.replaceAll({...home, counts, rows: many});
  let frames = 0, stop = false;
  const tick = () => { frames++; if (!stop) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  const began = performance.now();
  for (let k = 0; k < rounds; k++) {
    const changed = Array.from({length: 50}, (_, j) => task((k * 50 + j) % rows, k));
    store.patch({...home, counts, rows: changed, gone: [], after: 0});
    await new Promise((done) => setTimeout(done, 500));
  }
  stop = true;
  return frames / ((performance.now() - began) / 1000);

  function task(i, k = 0) {
    const run = {number: 1, doing: 'running', started_at: home.as_of, last_event_at: home.as_of,
      last_step: `Bash: make test ${k}`, context_used: (i + k) * 300 % 200000, context_peak: 0,
      context_size: 200000, events: k, tool_calls: k, spent: {}, rung: '', near: []};
    return {id: `fleet-${i}`, title: `Task number ${i}`, group: 'running', status: 'in_progress',
      project: '/srv/shop', directory: '/srv/shop', coder: 'claude', model: 'sonnet',
      account: 'work', priority: 2, issue_type: 'task', labels: [], parent: '',
      created_at: home.as_of,
      since: home.as_of, until: null, reason: '', way_on: null, question: '', attempt: 1,
      attempts: 3, verdict: null, landing: null, landing_words: '', run,
      spent: {runs: 1, tokens: 1000 * k, usd: k / 10}};
  }
}"""


def figures() -> Iterator[Figure]:
    with ExitStack() as opened:
        root = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        home, task_id = _home(root)
        env = {**os.environ, "FLEET_HOME": str(home.path)}
        server = subprocess.Popen(
            [sys.executable, "-m", "fleet", "web", "--no-open"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        opened.callback(server.wait, PATIENCE)
        opened.callback(server.kill)
        browser = opened.enter_context(chromium())
        page = browser.new_page(viewport=WIDE)
        page.goto(address_of(server))
        page.locator(".row").first.wait_for()
        yield from _measured(page, home, task_id)


def _measured(page, home: Home, task_id: str) -> Iterator[Figure]:
    cdp = page.context.new_cdp_session(page)
    # Of the thread itself: else what a busy machine lets the page wait for would count.
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu() -> float:
        """Seconds of CPU that the page's main thread has used."""
        metrics = cdp.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    base = page.url.partition("#")[0]
    began = cpu()
    page.goto(f"{base}#/task/{task_id}/transcript")
    page.locator(".entry").last.wait_for()
    page.wait_for_timeout(300)
    yield Figure(
        "page: s of CPU to the end of a transcript", cpu() - began, 1.0, at_most=True,
        detail=f"{LINES:,} lines",
    )  # fmt: skip
    added, began = 20, cpu()
    for number in range(added):
        _append(home, task_id, LINES + number, 1)
        # No agent is at work, so that the page looks for more only as one moves.
        line = page.locator(".entry", has_text=f"line {LINES + number}")
        while not line.count():
            page.evaluate("document.getElementById('main').dispatchEvent(new Event('scroll'))")
            page.wait_for_timeout(100)
    used = 1000 * (cpu() - began) / added
    yield Figure("page: ms of CPU for a new line of it", used, 50.0, at_most=True)
    began = cpu()
    page.goto(f"{base}#/task/{task_id}/diff")
    page.locator(".l").first.wait_for()
    files = page.locator("article.file")
    for number in range(files.count()):
        files.nth(number).scroll_into_view_if_needed()
        files.nth(number).locator(".l").first.wait_for()
    lines = page.locator(".l").count()
    yield Figure(
        "page: s of CPU for a diff, all of it", cpu() - began, 1.0, at_most=True,
        detail=f"{lines:,} lines",
    )  # fmt: skip
    page.goto(f"{base}#/now")
    page.locator(".row").first.wait_for()
    began = cpu()
    rounds = 20
    frames = page.evaluate(_LIVE, [ROWS, rounds])
    share = 100 * (cpu() - began) / (rounds / 2)
    yield Figure(
        "page: frames a second, 50 of 500 rows at 2 Hz", frames, 30.0, detail=f"{share:.0f} % CPU"
    )


def _home(root: Path) -> tuple[Home, str]:
    """A home with one task: a long transcript, and a large diff of four files."""
    home = Home(root / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue="embedded", coder="claude"))
    queue = open_embedded(home.path)
    with queue.db.writing():
        task = queue.add(Draft(title="A long one"))
        task_json.write(home, task.id, Settings(cwd=str(root)))
    queue.close()
    run = a_run(home.task(task.id), id=f"me/{task.id}/1")
    receipt = Receipt(task_id=task.id, run=1, coder="claude", outcome="Finished")
    receipt_json.write(run, receipt)
    (run.path / DIFF).write_text("".join(_patch(f"src/part{n}.py") for n in range(4)))
    _append(home, task.id, 0, LINES)
    return home, task.id


def _append(home: Home, task_id: str, start: int, count: int) -> None:
    """Lines as agents' streams leave them: mostly calls, each with its result, and some words."""
    lines = []
    for number in range(start, start + count):
        event: dict[str, object] = {"kind": "assistant_text", "run": 1, "text": f"line {number}"}
        if number % 5 and number < LINES:
            call = {"id": f"c{number}", "name": "Bash", "input": {"command": f"make {number}"}}
            event = {"kind": "tool_use", "run": 1, "calls": [call]}
        lines.append(msgspec.json.encode(event))
    with (home.task(task_id) / FILE).open("ab") as file:
        file.write(b"\n".join(lines) + b"\n")


def _patch(name: str) -> str:
    rows = DIFF_LINES // 4
    body = "".join(
        (" same line %d\n", "-old word in line %d\n", "+new word in line %d\n")[n % 3] % n
        for n in range(rows)
    )
    old, new = sum(n % 3 != 2 for n in range(rows)), sum(n % 3 != 1 for n in range(rows))
    head = f"diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n"
    return f"{head}@@ -1,{old} +1,{new} @@\n{body}"
