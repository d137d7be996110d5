"""Every vice through the real supervisor: the verdict, the reaction, and nothing left behind.

All of them run side by side under one supervisor, so that the slow ones cost no more than the
slowest. The report at the end gives the figures.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from fleet import config
from fleet.git.own.own_repository import key_of, repository_at
from fleet.home import Home, make_home, task_json
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs import receipt_json
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Settings
from tests.builders import IN_PLACE
from tests.conftest import need
from tests.fakes import compiled
from tests.hostile.corpus import VICES

AGENT = Path(__file__).with_name("agent.py")
PATIENCE = 110.0
#: Seconds from a polite word to the last one.
GRACE = 1
WHO = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip


class Corpus:
    """One home with a task for each vice, and the supervisor that ran them all."""

    def __init__(self, root, vices=VICES):
        self.root = root
        self.home = Home(root / "home")
        make_home(self.home)
        chosen = {"coder": "claude", "max_concurrent": 100, "retry_limit": 1, "grace_s": GRACE}
        self.home.config.write_text(config.default_text(**IN_PLACE, **chosen))
        self.user = root / "user"
        self.user.mkdir()
        programs = root / "bin"
        programs.mkdir()
        (programs / "claude").write_text(
            f'#!/bin/sh\nexec {sys.executable} -I -S {compiled(AGENT)} "$@"\n'
        )
        (programs / "claude").chmod(0o755)
        self.env = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.user),
            "FLEET_HOME": str(self.home.path),
            "CLAUDE_CONFIG_DIR": str(self.user / ".claude"),
            "PYTHONPATH": str(AGENT.parents[2]),
        }
        self._pattern = self._repository(root / "pattern")
        self.queue = open_embedded(self.home.path)
        self.ids = {vice.name: self._add(vice) for vice in vices}
        self._put_aside(root / "projects/sibling")

    def _repository(self, place):
        """A project as agents meet them: some code, some data, an exam, a branch of somebody's."""
        here = place / "app"
        (here / "data").mkdir(parents=True)
        for number in range(40):
            (here / f"data/{number}.txt").write_text("precious\n" * 10)
        (here / "exams").mkdir()
        (here / "exams/one.txt").write_text("1\n")
        (here / "exam.sh").write_text("exit 1\n")
        (place / "README").write_text("a project\n")
        git = [need("git"), "-C", str(place)]
        lines = (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "start"])
        for words in (*lines, ["branch", "precious"], ["branch", "main2"]):
            subprocess.run([*git, *words], check=True, env=os.environ | WHO)
        return place

    def _add(self, vice):
        project = self.root / "projects" / vice.name
        shutil.copytree(self._pattern, project)
        cwd = project / "app"
        (cwd / "drafts").mkdir()
        for number in range(40):
            (cwd / f"drafts/{number}.txt").write_text("in no commit\n")
        if vice.name in ("plants_a_hook", "deletes_a_sibling"):
            cwd = project
        settings = Settings(cwd=str(cwd), coder="claude", model=vice.name, **vice.wishes)
        with self.queue.db.writing():
            task = self.queue.add(Draft(title=vice.name))
            task_json.write(self.home, task.id, settings)
        return task.id

    def _put_aside(self, place):
        """A task that nobody works on, with a directory that nobody has any business in."""
        shutil.copytree(self._pattern, place)
        with self.queue.db.writing():
            task = self.queue.add(Draft(title="put aside"))
            task_json.write(self.home, task.id, Settings(cwd=str(place)))
        edit(self.queue, task.id, Change(status="deferred"), actor="test")

    def run(self):
        with (self.root / "screen").open("ab") as screen:
            supervisor = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.supervise"],
                env=self.env, stdin=subprocess.DEVNULL, stdout=screen, stderr=screen,
            )  # fmt: skip
        try:
            assert supervisor.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            supervisor.send_signal(signal.SIGQUIT)
            supervisor.terminate()
            supervisor.wait(20)
        return self

    def ending(self, name):
        return read_ending(latest_run(self.home.task(self.ids[name])))

    def receipt(self, name):
        return receipt_json.read(latest_run(self.home.task(self.ids[name])))

    def is_as_told(self, vice):
        """The task and its run are what the table says."""
        ending = self.ending(vice.name)
        status = self.queue.get(self.ids[vice.name]).status
        return ending is not None and (status, type(ending.outcome).__name__) == (
            vice.status,
            vice.outcome,
        )

    def seconds(self, name):
        """From the agent's start to the verdict."""
        started = latest_run(self.home.task(self.ids[name])).started()
        return (self.ending(name).at - started.at).total_seconds()


def told_of(corpus, vice):
    """What is not as the table says; empty if all is."""
    task, ending = corpus.queue.get(corpus.ids[vice.name]), corpus.ending(vice.name)
    if ending is None:
        return f"nothing was decided; the task is {task.status}"
    seen = (task.status, type(ending.outcome).__name__)
    if seen != (vice.status, vice.outcome):
        return f"{seen}: {ending.why}"
    if vice.why not in ending.why or not set(vice.broke) <= set(ending.broke):
        return f"{ending.broke}: {ending.why}"
    receipt = corpus.receipt(vice.name)
    if vice.honest and receipt.verdict.state not in ("checked", "unchecked"):
        return f"{receipt.verdict}"
    absent = [
        name for name, value in msgspec.to_builtins(receipt.policy.limits).items() if not value
    ]
    return f"no limit for {absent}" if absent else ""


@pytest.mark.timeout(300)
def test_every_vice_meets_its_verdict_and_its_reaction(tmp_path):
    """As the table says, in the words that a person reads; and nothing of any of them is left."""
    corpus = Corpus(tmp_path).run()
    wrong = {vice.name: told for vice in VICES if (told := told_of(corpus, vice))}
    assert wrong == {}
    assert left_of(corpus) == []
    assert lost_file(corpus) == "precious\n" * 10
    corpus.queue.close()


def left_of(corpus):
    """Processes that live on, wherever they hid."""
    return [
        process.info
        for process in psutil.process_iter(["pid", "environ", "cmdline"])
        if (process.info["environ"] or {}).get("FLEET_HOME") == str(corpus.home.path)
    ]


def lost_file(corpus):
    """What was deleted in bulk, as the snapshot holds it."""
    project = corpus.root / "projects/deletes_in_bulk"
    assert not (project / "app/data").exists()
    spec = latest_run(corpus.home.task(corpus.ids["deletes_in_bulk"])).spec()
    own = repository_at(corpus.home.path, key_of(str(project)), str(project))
    shown = subprocess.run(
        ["git", "--git-dir", own.git_dir, "show", f"{spec.base.snapshot}:app/data/7.txt"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return shown.stdout
