"""A task with a clone of its own, for tests: prepared as the supervisor prepares it."""

import subprocess
import threading
from pathlib import Path

from fleet.config import Config
from fleet.schemas import Policy, Task
from fleet.supervisor.start.workspace import Unprepared, order_of, prepare
from tests.builders import NOW
from tests.repos import ENV

TASK = "fleet-1"


def prepared(home, cwd, task_id=TASK, *, abandon=None, config=None, time=30.0, **policy):
    """What the supervisor makes of a task's directory before a run."""
    rules = Policy(work_in="clone", verify_time=time, **policy)
    order = order_of(home, config or Config(), task_id=task_id, cwd=str(cwd), policy=rules)
    return prepare(order, abandon or threading.Event())


def clone_of(home, repo, task_id=TASK, **policy):
    """The directory of a task's clone."""
    got = prepared(home, repo.root, task_id, **policy)
    assert not isinstance(got, Unprepared), got.error
    return Path(got.cwd)


def why(got):
    """Why there is no directory."""
    assert isinstance(got, Unprepared)
    return str(got.error)


def git(place, *args):
    """Git as an agent calls it."""
    done = subprocess.run(
        ["git", *args], cwd=place, env=ENV, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(place, name="done.txt", text="done\n"):
    """A commit of an agent's; returns its id."""
    Path(place, name).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-qm", name)
    return git(place, "rev-parse", "HEAD")


def a_task(status="closed", closed_at=NOW, task_id=TASK):
    return Task(
        id=task_id, title="the title", status=status, created_at=NOW, updated_at=NOW,
        closed_at=closed_at if status == "closed" else None,
    )  # fmt: skip
