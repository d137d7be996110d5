"""A fleet home with a supervisor as a real process, and agents that play the script of a task."""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from fleet import config
from fleet.cli.run.run import NEEDS_YOU
from fleet.files.inotify import DirectoryWatch
from fleet.home import Home, make_home, task_json
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs.run_directory import all_runs, latest_run
from fleet.schemas import Settings
from tests import warm
from tests.builders import IN_PLACE, trust_coders
from tests.fakes import FAKES, compiled

PATIENCE = 30.0

#: Drives tests/fakes/actor.py: the script comes as the model.
ACTOR = f"""
argv = ["{sys.executable}", "-I", "-S", "{compiled(FAKES / "actor.py")}", "{{model}}"]
prompt = "stdin"
context_limit = 1000

[[event]]
when = {{ type = "tool" }}
kind = "tool_use"
call = {{ id = "id", name = "id" }}

[[event]]
when = {{ type = "text" }}
kind = "assistant_text"
text = "text"

[[event]]
when = {{ type = "context" }}
kind = "usage"
context_tokens = ["tokens"]

[[event]]
when = {{ type = "limit" }}
terminal = "error"
reason = "rate_limit"

[[event]]
when = {{ type = "end" }}
terminal = "success"
"""

#: A script that ends well.
WORK = "tool done end"


class Scene:
    """One home, its queue, and the supervisors that were started on it."""

    def __init__(self, root, **settings):
        self.home = Home(root / "home")
        self.project = root / "project"
        self.project.mkdir()
        make_home(self.home)
        chosen = {"coder": "actor", "retry_wait_s": 1, "grace_s": 1, "queue": "embedded"}
        self.settings = {**chosen, **IN_PLACE, "land": "branch"}
        self.configure(**settings)
        self.coder("actor", ACTOR)
        self.queue = open_embedded(self.home.path)
        self.supervisors = []
        self._screen = None
        self.env = {**os.environ, "FLEET_HOME": str(self.home.path)}

    def configure(self, **settings):
        """Write runtime.toml in one step. What is boxed or lands works in clones."""
        if {"land", "sandbox"} & settings.keys():
            settings.setdefault("work_in", "clone")
        self.settings |= settings
        fresh = self.home.path / "runtime.new"
        fresh.write_text(config.default_text(**self.settings))
        fresh.replace(self.home.config)

    def coder(self, name, text):
        folder = self.home.path / "coders"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text(text)
        trust_coders(self.home.path)

    def add(self, script=WORK, *, coder="actor", cwd=None, title="a task", **wishes):
        """A task whose agent plays a script."""
        place = Settings(cwd=str(cwd or self.project), coder=coder, model=script, **wishes)
        with self.queue.db.writing():
            task = self.queue.add(Draft(title=title))
            task_json.write(self.home, task.id, place)
        return task.id

    def supervise(self, *flags):
        """Start a supervisor."""
        return self._start("run", *flags)

    def supervise_hastily(self, *patience):
        """Start a supervisor whose waiting times are shorter: `parked=1`."""
        return self._start(*patience, program=FAKES / "hasty_supervisor.py")

    def supervise_with_pauses(self, share):
        """Start a supervisor whose pauses are a share of what they are."""
        return self._start(str(share), program=FAKES / "short_pauses.py")

    def _start(self, *words, program=None):
        with (self.home.path / "screen").open("ab") as file, Path(os.devnull).open("rb") as empty:
            out = file if self._screen is None else self._screen
            process = warm.start(
                words, env=self.env, cwd=Path.cwd(), streams=(empty, out, file), program=program
            )
        self.supervisors.append(process)
        return process

    def screen_to(self, fd):
        """Let the next supervisor print somewhere else."""
        self._screen = fd

    def fleet(self, *words, patience=PATIENCE):
        """One command, to its end."""
        done = warm.fleet(words, env=self.env, cwd=self.project, timeout=patience)
        # `fleet task ID stderr` prints what the file holds, whatever that is.
        done.stdout, done.stderr = (
            each.decode(errors="backslashreplace") for each in (done.stdout, done.stderr)
        )
        return done

    # What there is to see.

    def task(self, task_id):
        return self.queue.get(task_id)

    def status(self, task_id):
        return self.queue.get(task_id).status

    def folder(self, task_id):
        return self.home.task(task_id)

    def run(self, task_id):
        return latest_run(self.folder(task_id))

    def runs(self, task_id):
        return all_runs(self.folder(task_id))

    def lines(self, task_id, name):
        """The lines of a file in the task's directory."""
        path = self.folder(task_id) / name
        return path.read_text().splitlines() if path.exists() else []

    def log(self, action=None):
        """The supervisors' log."""
        lines = [
            json.loads(line)
            for path in sorted(self.home.logging.glob("fleet-*.jsonl"))
            for line in path.read_text().splitlines(keepends=True)
            if line.endswith("\n")  # else the supervisor is just writing it
        ]
        return [line for line in lines if action in (None, line["action"])]

    def screen(self):
        return (self.home.path / "screen").read_text()

    # What to wait for.

    def until(self, fact, patience=PATIENCE):
        """Wait for a fact, looking whenever the supervisor says or leaves something."""
        watch = DirectoryWatch()
        for folder in (self.home.logging, self.home.path, *self.home.tasks.glob("*")):
            watch.add(folder)
        end = time.monotonic() + patience
        try:
            while not (found := fact()):
                assert time.monotonic() < end, f"waited in vain:\n{self.screen()}"
                watch.changed(0.05)
            return found
        finally:
            watch.close()

    def until_status(self, task_id, *statuses, patience=PATIENCE):
        return self.until(lambda: self.status(task_id) in statuses and self.task(task_id), patience)

    def until_logged(self, action, count=1):
        return self.until(lambda: len(found := self.log(action)) >= count and found)

    def until_marked(self, task_id, name, count=1):
        """Wait until agents have left so many lines; the lines."""
        return self.until(lambda: len(found := self.lines(task_id, name)) >= count and found)

    def open_tasks(self):
        return self.queue.find(Filter())

    def until_ended(self, process, patience=PATIENCE):
        """Wait for a supervisor to end; its exit code, and 0 also where tasks are left blocked."""
        code = process.wait(patience)
        return 0 if code == NEEDS_YOU else code

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)

    def close(self):
        """End whatever of this home lives."""
        for process in self.supervisors:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.queue.close()
        end = time.monotonic() + PATIENCE
        # Again, until none is left: a process that is just starting another one is two by then.
        while (alive := processes_of(self.home.path)) and time.monotonic() < end:
            for left in alive:
                with suppress(psutil.NoSuchProcess):  # a box takes all that is in it along
                    left.kill()


def processes_of(home):
    """Every process that was started for this home: by its arguments or its environment."""
    path = os.fsencode(home)
    found = []
    for pid in psutil.pids():
        env = b"\0" + _of_process(pid, "environ")
        if pid != os.getpid() and (
            b"\0FLEET_HOME=%b\0" % path in env
            or b"\0FLEET_TASK_DIR=%b/" % path in env
            or path in _of_process(pid, "cmdline")
        ):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
    return found


def _of_process(pid, name):
    """As the system has it: all processes of a machine, after each test, are many to take apart."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it has ended, or is of another user
        return b""
