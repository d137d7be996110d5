"""A fleet home with a real supervisor, driven by real commands: what a person does at a shell."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fleet import config
from fleet.control import Control
from fleet.files.inotify import DirectoryWatch
from fleet.home import Home, make_home
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue.protocol import Draft
from fleet.runs.run_directory import latest_run
from tests import warm
from tests.builders import IN_PLACE, trust_coders
from tests.fakes import FAKES
from tests.story.stage import PATIENCE

#: A tool call, without which no agent is believed to have done anything.
WORKED = """echo '{"kind":"tool_use","calls":[{"id":"1","name":"Edit"}]}'"""


class Screen:
    """What a command printed on its terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.text = ""

    def until(self, text):
        """Read until this text has appeared."""
        end = time.monotonic() + PATIENCE
        while text not in self.text:
            assert time.monotonic() < end, self.text
            assert self._read(), self.text

    def rest(self):
        """Read to the end; all that was printed."""
        while self._read():
            pass
        os.close(self._fd)
        return self.text

    def _read(self):
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.text += data.decode(errors="replace")
        return bool(data)


class Steered:
    """One home, its commands, and its supervisor if one was started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = Home(root / "home")
        self.env = {
            **os.environ,
            "FLEET_HOME": str(self.home.path),
            "HOME": str(root),
            "USER": "ada",
            "COLUMNS": "200",
        }
        for name in ("BEADS_ACTOR", "BD_ACTOR", "GIT_AUTHOR_NAME", "FLEET_TASK_ID"):
            self.env.pop(name, None)
        self.processes: list[subprocess.Popen[str]] = []
        self.supervisors: list[Any] = []
        self._screen = root / "screen"
        make_home(self.home)
        settings = {"queue": "embedded", "coder": "puppet", "grace_s": 5, "retry_limit": 1}
        settings |= IN_PLACE
        self.home.config.write_text(config.default_text(**settings))
        (self.home.path / "coders").mkdir()
        (self.home.path / "coders" / "puppet.py").write_text((FAKES / "puppet.py").read_text())
        trust_coders(self.home.path)
        self.control = Control(self.home, config.load(self.home.config), self.env)

    def fleet(self, *args, code=0, stdin=""):
        """Run one command to its end; what it printed."""
        done = warm.fleet(args, env=self.env, cwd=self.root, stdin=stdin.encode(), timeout=PATIENCE)
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, (args, done.returncode, out, err)
        return out if code == 0 else out + err

    def json(self, *args, code=0):
        return json.loads(self.fleet(*args, "--json", code=code))

    def start(self, *args):
        """Start a command that goes on, in a group of its own as a shell would."""
        process = subprocess.Popen(
            [sys.executable, "-m", "fleet", *args],
            env=self.env, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def start_on_terminal(self, *args):
        """Start a command on a terminal of its own; the process and the terminal's other end."""
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "fleet", *args],
            env={**self.env, "TERM": "xterm-256color"}, cwd=self.root, stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.processes.append(process)
        return process, Screen(ours)

    def supervise(self):
        """Start a supervisor; it holds the home and has said so when this returns."""
        before = self._starts()
        with self._screen.open("ab") as out, Path(os.devnull).open("rb") as empty:
            streams = (empty, out, out)
            words = ("run", "--quiet")
            process = warm.start(words, env=self.env, cwd=self.root, streams=streams)
        self.supervisors.append(process)
        self.until(self.home.path, lambda: self._supervised_by(process))
        self.until(self.home.logging, lambda: self._starts() > before)
        return process

    def _starts(self):
        """How many supervisors have told of their start in the log."""
        logs = self.home.logging.glob("fleet-*.jsonl")
        return sum(path.read_text().count('"action":"started"') for path in logs)

    def _supervised_by(self, process):
        assert process.poll() is None, self._screen.read_text()
        holder = supervisor_of(self.home)
        return holder is not None and holder.who.pid == process.pid

    def add(self, script, title="A task"):
        """A task whose agent runs a script."""
        place = {"fleet": {"cwd": str(self.root)}}
        draft = Draft(title=title, description=script, metadata=place)
        return self.control.queue.add(draft).id

    def running(self, task_id, number=1):
        """Wait for a run to have started and said so; its run."""

        def fact():
            run = latest_run(self.home.task(task_id))
            return run and run.number >= number and run.started() and run

        return self.until(self.home.tasks, fact)

    def said(self, task_id, text):
        """Wait until the agent has printed a line."""
        run = self.running(task_id)
        self.until(run.path, lambda: text in run.stdout.read_text())
        return run

    def settled(self, task_id, status):
        """Wait until the supervisor has settled a task, and left word of it in the log."""
        folder = self.home.task(task_id)
        return self.until(folder, lambda: self.control.get(task_id).status == status)

    def until(self, folder, fact, patience=PATIENCE):
        """Wait for a fact, looking whenever something changes in a folder."""
        watch = DirectoryWatch()
        watch.add(folder)
        end = time.monotonic() + patience
        try:
            while not (found := fact()):
                assert time.monotonic() < end, f"waited in vain in {folder}"
                watch.changed(0.2)
            return found
        finally:
            watch.close()

    def gate(self, name):
        """A file that a script can wait for: the shell's part, and the hand that opens it.

        Once: who waits at the same gate again may come before the hand that opened it has gone,
        and take that for the next time.
        """
        path = self.root / name
        os.mkfifo(path)
        return f"read _ < {path}", lambda: path.write_text("go\n")

    def close(self):
        """Sweep: the supervisor, then whatever run it left."""
        self.control.close()
        for supervisor in self.supervisors:
            supervisor.kill()
            supervisor.wait(PATIENCE)
        for process in self.processes:
            process.kill()
            process.communicate(timeout=PATIENCE)
        for folder in self.home.tasks.iterdir():
            run = latest_run(folder)
            if run is not None:
                for who in process_identity.tree(*process_identity.marked(run.spec().id)):
                    process_identity.send(who, signal.SIGKILL)
