"""A home with real runs in every state, `fleet web` on it, and a browser that looks at both."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from fleet.queue.protocol import Draft
from tests.builders import trust_coders
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import PATIENCE, Scene
from tests.story.test_compare import coder

#: What an agent could say to a page that obeys: an element with a script, and a turn to the left.
HOSTILE = '<img/src=x/onerror="document.title=1">\u202e'
#: A phone.
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1400, "height": 900}

#: Each opens one view; `{done}` and so on are the ids of the tasks.
VIEWS = {
    "now": "now", "board": "now?as=board", "questions": "questions", "timeline": "timeline?hours=1",
    "usage": "usage?days=7", "accounts": "accounts", "new": "new", "receipt": "task/{done}/receipt",
    "diff": "task/{done}/diff", "plan": "task/{done}/plan", "runs": "task/{done}/runs",
    "transcript": "task/{runs}/transcript", "graph": "graph/{waits}",
}  # fmt: skip


class PageStage:
    """The home, its tasks and its page."""

    def __init__(self, root: Path) -> None:
        need("git")
        self.scene = Scene(root, work_in="clone", land="ask", retry_limit=1, max_concurrent=6)
        self.scene.env = {**self.scene.env, **ENV, "PATH": self.scene.env["PATH"]}
        self.repo = Repo(self.scene.project)
        self.repo.commit(a="one\ntwo\nthree\n", b="".join(f"line {n}\n" for n in range(40)))
        coder(
            self.scene, "neat", "sed -i s/two/TWO/ a; sed -i 's/line 7/line seven/' b; echo x > c"
        )
        trust_coders(self.scene.home.path)
        self.ids: dict[str, str] = {}
        self.server: subprocess.Popen[str] | None = None
        self.address = ""

    def play(self) -> None:
        """Let agents work until there is a task in every state."""
        scene = self.scene
        verify = ("grep -n TWO a",)
        self.ids["done"] = scene.add("", coder="neat", title="Make it loud", verify=verify)
        self.ids["asks"] = scene.add(f"tool ask:keep_both?{HOSTILE} end", title="Lend a book")
        script = "tool:1 context:400 count:40 mark:here await:go tool:2 done end"
        self.ids["runs"] = scene.add(script, title=f"Find a book {HOSTILE}", work_in="directory")
        self.ids["claims"] = scene.add("done end", title="Claim it", expect="change")
        waits = scene.queue.add(
            Draft(title="Release 1.0", depends_on=(("blocks", self.ids["runs"]),))
        )
        self.ids["waits"] = waits.id
        scene.supervise()
        scene.until_marked(self.ids["runs"], "here")
        for name in ("asks", "claims", "done"):
            scene.until_status(self.ids[name], "blocked")

    def serve(self) -> str:
        """Start `fleet web`; the address with its one-time code."""
        command = [sys.executable, "-m", "fleet", "web", "--no-open"]
        self.server = subprocess.Popen(
            command, env=self.scene.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        opens = address_of(self.server)
        self.address = opens.partition("#")[0]
        return opens

    def kill(self) -> None:
        """Kill -9, as a machine would that is short of memory."""
        if self.server is not None:
            self.server.kill()
            self.server.wait(PATIENCE)
            assert self.server.stdout is not None
            self.server.stdout.close()
            self.server = None

    def close(self) -> None:
        self.kill()
        self.scene.close()

    def view(self, name: str) -> str:
        return f"{self.address}#/{VIEWS[name].format(**self.ids)}"


def address_of(server: subprocess.Popen[str]) -> str:
    """Where `fleet web` is to be opened, with its one-time code."""
    said = ""
    assert server.stdout is not None
    for line in server.stdout:
        said += line
        if found := re.search(r"http://\S+#once=\S+", line):
            return found[0]
    raise AssertionError(f"fleet web gave no address: {said}")


@contextmanager
def chromium():
    """A real browser without a window."""
    import pytest

    path = need("chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


def watched(page, problems: list[str]):
    """The page, with everything that goes wrong in it written down."""
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    return page
