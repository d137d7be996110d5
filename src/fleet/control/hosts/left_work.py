"""Accepted work that had not landed when the host was given up, and that no host has taken over:
where the work is, and what to do.
"""

from collections.abc import Mapping, Sequence

from fleet.control import Control
from fleet.errors import InvalidTask
from fleet.git.mirror.result_refs import fetched_ref
from fleet.home import owner_file
from fleet.home.task_json import recorded_settings
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.travel.landers import left_landings
from fleet.schemas import Task


def left_work(fleet: Control, tasks: Sequence[Task]) -> dict[str, str]:
    """A sentence for each of these tasks whose work waits for another host to take over."""
    waiting = [task for task in tasks if task.waits_to_land]
    if not waiting or not fleet.is_shared:
        return {}
    queue, me = fleet.tracker, owner_file.read(fleet.home)
    left = {each: host for each, host in left_landings(queue, me or "").items() if host != me}
    if not left:
        return {}
    names = host_table.names_of_hosts(queue)
    return {
        task.id: _words(task, names, names.get(left[task.id], left[task.id]), _whys(fleet, task))
        for task in waiting
        if task.id in left and not _lands_at_maker(task)
    }


def _whys(fleet: Control, task: Task) -> Mapping[str, str]:
    return {each.host: each.why for each in host_table.declines_of(fleet.tracker, task.id)}


def _lands_at_maker(task: Task) -> bool:
    """The host that made the task lands the work, whatever became of the host that ran the task."""
    try:
        origin = recorded_settings(task).repository
    except InvalidTask:
        return False
    return origin is not None and origin.lands_at_maker


def _words(task: Task, names: Mapping[str, str], lost: str, whys: Mapping[str, str]) -> str:
    """How the work of one task can be had. Pure."""
    anew = f"to have it done anew: fleet retry {task.id}"
    try:
        origin = recorded_settings(task).repository
    except InvalidTask:
        origin = None
    begun = f"host {lost} was given up before it landed this"
    if origin is None:
        return f"{begun}, and only that host has the work; {anew}"
    where = f"{fetched_ref(task.id, str(task.runs), there=True)} of {origin.url}"
    told = "".join(f"; not {names.get(host, host)}: {why}" for host, why in whys.items())
    return f"{begun}; the next host that is up and gets {where} lands it{told}; {anew}"
