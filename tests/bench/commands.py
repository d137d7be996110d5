"""How long a user waits for frequent commands, in starts of bare Python.

The homes are made by `fleet init`, with its settings. No supervisor runs.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleet.home import Home, owner_file
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import RunSpec, new_run
from fleet.runs.run_id import RunId
from tests.bench import Figure, side_by_side

_START_GOALS = {"bd list": 6.0, "ready": 6.0, "show": 6.0, "tasks": 6.0, "status": 8.0}
_HISTORY_GOAL = 1.2
#: Tasks in progress of the home that `fleet tasks` has something to tell of.
_IN_PROGRESS = 20


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as root:
        busy, old, young = (Path(root, name) for name in ("busy", "old", "young"))
        task_id = _home(busy, open_tasks=1000, closed=0)
        _home(old, open_tasks=50, closed=100_000)
        _home(young, open_tasks=50, closed=10)
        bare = _command([sys.executable, "-c", "pass"], busy)
        for name, goal in _START_GOALS.items():
            args = [*name.split(), *([task_id] if name == "show" else [])]
            ratio, ours, theirs = side_by_side(_fleet(args, busy), bare, rounds=21)
            yield Figure(
                f"fleet {name}, 1,000 open tasks: starts of Python", 1 / ratio, goal,
                at_most=True, detail=f"{_both(ours, theirs)}; none in progress",
            )  # fmt: skip
        _put_in_progress(busy)
        ratio, ours, theirs = side_by_side(_fleet(["tasks"], busy), bare, rounds=21)
        yield Figure(
            f"fleet tasks, {_IN_PROGRESS} in progress: starts of Python", 1 / ratio, 7.0,
            at_most=True, detail=_both(ours, theirs),
        )  # fmt: skip
        ratio, ours, theirs = side_by_side(
            _fleet(["ready"], old), _fleet(["ready"], young), rounds=21
        )
        yield Figure(
            "fleet ready with 100,000 closed tasks, against 10", 1 / ratio, _HISTORY_GOAL,
            at_most=True, detail=f"{ours * 1000:.0f} ms, {theirs * 1000:.0f} ms",
        )  # fmt: skip


def _both(ours: float, theirs: float) -> str:
    return f"{ours * 1000:.0f} ms, python -c pass {theirs * 1000:.0f} ms"


def _fleet(args: list[str], home: Path) -> Callable[[], None]:
    # `fleet status` answers 1: no supervisor is running.
    code = 1 if args == ["status"] else 0
    return _command([str(Path(sys.executable).with_name("fleet")), *args], home, code)


def _command(argv: list[str], home: Path, code: int = 0) -> Callable[[], None]:
    # Bytecode is written as on any user's machine, whatever this one's environment says.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["FLEET_HOME"] = str(home)

    def run() -> None:
        done = subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == code, argv

    return run


def _home(path: Path, *, open_tasks: int, closed: int) -> str:
    """A home with so many tasks; the id of one that is open."""
    subprocess.run(
        [sys.executable, "-m", "fleet", "init", "--queue", "embedded"],
        env={**os.environ, "FLEET_HOME": str(path)}, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    queue = open_embedded(path)
    metadata = {"fleet": {"cwd": "/"}}
    with queue.db.writing():
        for number in range(open_tasks):
            made = queue.add(Draft(title=f"task {number}", metadata=metadata))
        now = int(datetime.now(UTC).timestamp() * 1e6)
        queue.db.rows(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :closed)"
            " INSERT INTO tasks (id, title, status, priority, issue_type, created_at, updated_at,"
            " closed_at) SELECT 'old-' || i, 'done ' || i, 'closed', 2, 'task', :now - i, :now,"
            " :now FROM n",
            {"closed": closed, "now": now},
        )
    queue.close()
    return made.id


def _put_in_progress(path: Path) -> None:
    """Lease some tasks to the home's own supervisor, each with a run that is prepared."""
    home = Home(path)
    owner = owner_file.read_or_make(home)
    queue = open_embedded(path)
    for lease in queue.claim(owner, count=_IN_PROGRESS, ttl=timedelta(hours=1)):
        run = new_run(
            home.task(lease.task.id), RunSpec(id=str(RunId.of(lease)), argv=("true",), cwd="/")
        )
        progress_json.write(run, Progress(coder="claude", model="sonnet", events=100))
    queue.close()
