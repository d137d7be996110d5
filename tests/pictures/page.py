"""Takes the pictures of README and docs from a demo at work: `python -m tests.pictures.page`.

The demo is the real one: a browser looks at its home while its agents work, and once they are done.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.story.page_stage import PATIENCE, PHONE, address_of, chromium

TO = Path(__file__).parents[2] / "docs/pictures"
WIDE = {"width": 1280, "height": 800}
#: Seconds after which the demo is broken.
LONGEST = 300
FLEET = (sys.executable, "-m", "fleet")


class Camera:
    """A page, and where its pictures go."""

    def __init__(self, browser, address: str) -> None:
        self.context = browser.new_context(
            viewport=WIDE, locale="en-GB", device_scale_factor=1, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.goto(address)
        self.page.locator(".row").first.wait_for()
        self.base = address.partition("#")[0]

    def open(self, view: str, wanted: str = "main h1") -> None:
        self.page.goto(f"{self.base}#/{view}")
        self.page.locator(wanted).first.wait_for()
        # What is loaded lazily (a chart, rows of a diff) is there when no request is left.
        self.page.wait_for_timeout(400)

    def shoot(self, name: str, *, dark: bool = False) -> None:
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.page.screenshot(path=TO / f"{name}.png")
        print(f"  {name}.png")


@contextmanager
def process(*words: str, env: dict[str, str]):
    """A command of fleet's that goes on until the pictures are taken."""
    started = subprocess.Popen(
        [*FLEET, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(PATIENCE)
        started.stdout.close()


class HeldDemo:
    """A demo whose director is held once an agent asks, so that the question can be looked at.

    Supervisor and agents are processes of their own, and go on.
    """

    def __init__(self, demo: subprocess.Popen) -> None:
        self._demo = demo
        self._begun = threading.Event()
        self.home = Path()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._begun.wait(PATIENCE):
            raise SystemExit("the demo did not begin")

    def _read(self) -> None:
        for line in self._demo.stdout:
            if found := re.search(r"supervising (\S+/home)", line):
                self.home = Path(found[1])
                self._begun.set()
            if "blocked: QUESTION:" in line:  # its summary names the question once more
                self._demo.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._demo.send_signal(signal.SIGCONT)

    def to_its_end(self) -> None:
        self._demo.wait(LONGEST)
        self._reader.join()


def at_work(camera: Camera) -> None:
    """While agents work: one asks, others run. The question is there for a moment only."""
    phone = camera.context.new_page()
    phone.set_viewport_size(PHONE)
    phone.goto(f"{camera.base}#/questions")
    camera.page.get_by_role("button", name="Answer").wait_for(timeout=LONGEST * 1000)
    camera.shoot("now")
    phone.screenshot(path=TO / "phone.png")
    camera.shoot("now-dark", dark=True)
    phone.close()


def afterwards(camera: Camera) -> None:
    """Once all is done: the proof, and the night at a glance."""
    camera.open("now", ".row.done")
    merged = camera.page.locator(".row.done", has_text="Lend a book").get_attribute("data-row")
    camera.open(f"task/{merged}/receipt", ".verdict")
    camera.shoot("receipt")
    camera.open(f"task/{merged}/diff", ".l.add")
    camera.shoot("diff-dark", dark=True)
    camera.open(f"task/{merged}/transcript", ".entry")
    camera.shoot("transcript")
    camera.open("timeline?hours=0.01", ".bar")
    camera.shoot("timeline")


def main() -> None:
    TO.mkdir(exist_ok=True)
    env = {**os.environ, "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
    with ExitStack() as all_of_it:
        demo = all_of_it.enter_context(process("demo", "--keep", env=env))
        held = HeldDemo(demo)
        all_of_it.callback(held.go_on)
        home = held.home
        all_of_it.callback(shutil.rmtree, home.parent, ignore_errors=True)
        browser = all_of_it.enter_context(chromium())
        env["FLEET_HOME"] = str(home)
        page = all_of_it.enter_context(process("web", "--no-open", env=env))
        camera = Camera(browser, address_of(page))
        at_work(camera)
        held.go_on()
        held.to_its_end()
        with process("run", env=env):
            camera.page.locator(".standing .alive").wait_for()
            afterwards(camera)
    print(f"in {TO}")


if __name__ == "__main__":
    main()
