"""`fleet top` on a real terminal (tmux), over a real supervisor with simulated agents."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import need

_PATIENCE = 60.0
FLEET = Path(sys.executable).with_name("fleet")


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, name, env):
        self._tmux = (need("tmux"), "-f", os.devnull, "-L", name)
        self._env = env

    def start(self, line, width=80, height=24):
        size = ("-x", str(width), "-y", str(height))
        self._call("new-session", "-d", *size, f"{line}; echo ended $?; exec cat")

    def press(self, *keys):
        for key in keys:
            self._call("send-keys", key)

    def resize(self, width, height):
        self._call("resize-window", "-x", str(width), "-y", str(height))

    def screen(self):
        return self._call("capture-pane", "-p").decode(errors="replace")

    def until(self, *words, gone=()):
        """Wait until the screen shows all of these words; the screen."""
        end = time.monotonic() + _PATIENCE
        while True:
            seen = self.screen()
            if all(word in seen for word in words) and not any(word in seen for word in gone):
                return seen
            assert time.monotonic() < end, f"waited for {words} in vain:\n{seen}"
            time.sleep(0.2)  # each look starts a tmux

    def close(self):
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _call(self, *words):
        done = subprocess.run(
            [*self._tmux, *words],
            env=self._env | {"COLUMNS": "80"},
            check=False,
            capture_output=True,
        )
        return done.stdout


@pytest.fixture
def terminal(scene, tmp_path):
    terminal = Terminal(f"fleet-{tmp_path.name}-{os.getpid()}", scene.env)
    yield terminal
    terminal.close()


def test_a_person_watches_a_night_over_a_killed_supervisor(scene, terminal):
    """A question is answered on the screen, a run is stopped, the supervisor is killed and told of,
    and two lines stay behind.
    """
    working = scene.add("tool slowly:20000 end", title="Port the parser")
    asking = scene.add("tool ask:one-or-two end | tool done end", title="Choose a schema")
    supervisor = scene.supervise()
    scene.until_status(asking, "blocked")  # what comes later does not move the cursor
    terminal.start(shlex.join([str(FLEET), "top"]))
    terminal.until("NEEDS YOU 1", "RUNNING 1", "one-or-two", "a answer")

    terminal.press("a")
    terminal.until(f"Answer {asking}", "Ctrl-S send")
    terminal.press(*"two", "C-s")
    terminal.until(f"$ fleet answer {asking} two")
    scene.until_status(asking, "closed")
    terminal.until("NEEDS YOU 0", "DONE 1")

    scene.kill(supervisor)
    terminal.until("1 agents run on, no supervisor: fleet run")
    scene.supervise()
    terminal.until("1/", gone=("no supervisor",))

    terminal.resize(200, 50)
    terminal.until("receipt  transcript  diff  plan  runs")
    terminal.resize(60, 16)
    terminal.until("RUNNING 1")
    terminal.press("g", "s")
    terminal.until(f"$ fleet stop {working}")
    scene.until_status(working, "blocked")
    terminal.until("NEEDS YOU 1")
    terminal.press("q")
    shown = terminal.until("ended 0")
    assert "1 needs you" in shown


@pytest.mark.parametrize(
    ("env", "words"),
    [("TERM=dumb", "fleet tasks --watch"), ("NO_COLOR=1", "NEEDS YOU 0")],
)
def test_a_terminal_that_can_do_less(scene, terminal, env, words):
    """A dumb one is refused with the way out; one without colours shows the same."""
    terminal.start(f"{env} {FLEET} top")
    terminal.until(words)
