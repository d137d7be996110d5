"""The clones of tasks: how much of the disk they take, and which are left of closed tasks."""

from collections.abc import Iterator, Mapping

from fleet.config import KEYS
from fleet.control import Control
from fleet.doctor.check_result import CheckResult, Installation
from fleet.git.clone.clone_place import clones_in
from fleet.git.clone.disk_use import measure
from fleet.git.clone.task_work import KEPT_FOR
from fleet.schemas.shown_text import some
from fleet.schemas.units import shown_size

#: How many are named; the others are counted.
_NAMED = 5


def clones(installation: Installation) -> Iterator[CheckResult]:
    """Clones of tasks that were closed long ago, or are not in the queue; and all by their size."""
    home, config = installation.home, installation.config
    names = clones_in(home)
    if not names or config is None:
        return
    sizes = {name: measure(home.worktrees / name) for name in names}
    used, room = sum(sizes.values()), KEYS["workspace_limit"].read(config.workspace_limit)
    what = f"{len(names)} take {shown_size(used)} of {shown_size(room)} (workspace_limit)"
    largest = max(names, key=lambda name: sizes[name])
    what += f", most of it {largest}: {shown_size(sizes[largest])}"
    if used >= room:
        fix = "No new one is made: close tasks, or: fleet config set workspace_limit=…"
        yield CheckResult("clones", "warning", what, fix)
    else:
        yield CheckResult("clones", "ok", what)
    done = _done(installation, names)
    if done:
        listed = [f"{name} ({why}, {shown_size(sizes[name])})" for name, why in done.items()]
        what = f"{len(done)} left of {len(names)}: {some(listed, _NAMED)}"
        first = next(iter(done))
        fix = (
            f"fleet log says why a clone stays. Check that its work is on the branch fleet/{first},"
            f" then: rm -r {home.worktrees / first}"
        )
        yield CheckResult("clones", "warning", what, fix)


def _done(installation: Installation, names: list[str]) -> Mapping[str, str]:
    """The tasks that are over and still have a clone, each with the reason."""
    from fleet.queue.protocol import Filter

    assert installation.config is not None
    fleet = Control(installation.home, installation.config)
    try:
        found = fleet.queue.find(Filter(ids=tuple(names), include_closed=True))
    finally:
        fleet.close()
    tasks = {task.id: task for task in found}
    done: dict[str, str] = {}
    for name in names:
        task = tasks.get(name)
        if task is None:
            done[name] = "no such task"
        elif task.status == "closed":
            closed = task.closed_at or task.updated_at
            if installation.now - closed > KEPT_FOR:
                done[name] = f"closed {closed.astimezone():%F}"
    return done
