"""Edits that a person made by hand in a task's artifacts, such as an answer in Q&A.md: they go to a
shared queue with `fleet bd update ID --status open`, before a host can claim the task.
"""

from collections.abc import Sequence
from contextlib import suppress

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import FlagError, parse
from fleet.control import Control
from fleet.control.hosts.other_hosts import bring_files
from fleet.errors import FleetError


def send_edits(fleet: Control, args: Sequence[str]) -> None:
    """Send the edits for each task that this line of `update` opens. What cannot be sent stays in
    this home, for the next run here.
    """
    verb = find_verb("update")
    if not fleet.is_shared or verb is None:
        return
    try:
        line = parse((*verb.flags, *OWN, *GLOBAL), args)
    except FlagError:
        return  # the tracker says what is wrong with the line
    if line.text("status") != "open":
        return
    for word in line.words:
        with suppress(FleetError, OSError):
            _send(fleet, word)


def _send(fleet: Control, word: str) -> None:
    from fleet.travel import in_step
    from fleet.travel.shared_queue import SharedQueue

    task = fleet.get(word)
    bring_files(fleet, task)
    task_dir = fleet.home.task(task.id)
    files = SharedQueue(fleet.queue, fleet.config).files
    known = dict(in_step.agreed(task_dir) or {})
    for path, data in in_step.edited(task_dir).items():
        if files.put_task_file(task.id, task.fence, path, data):
            known[path] = in_step.content(data)
            in_step.note(task_dir, known)
