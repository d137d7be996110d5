"""Sends what a host notes of a task once its run is settled: the last lines of the task's log, and
how far its work is on its way to the branch. Other hosts show both.

The lines go to the queue as a file of the task, named for the host and the place where its lines
begin, so that a second sending replaces the first and adds to it.
"""

from fleet.errors import NotFound
from fleet.files.append_file import append
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.home import Home, landing_json
from fleet.schemas import Task
from fleet.travel.landing_note import note_of, read_note
from fleet.travel.pack_run import LATER, LOG, TRAVEL_LOCK, new_log_lines, note_log_sent
from fleet.travel.shared_queue import SharedQueue

_LARGEST_LOG = 256 << 20


def send_later(shared: SharedQueue, home: Home, task_id: str, *, me: str, name: str) -> None:
    """Send what is new of a task that no host has in hand. Raises FleetError and OSError.

    `me` is the id of this host, `name` what people call it. A task that a host has claimed by now
    is left: that host has the lines that were sent, and the next run brings the rest.
    """
    try:
        task = shared.queue.get(task_id)
    except NotFound:
        return  # a person deleted the task
    if task.lease_owner is None and home.task(task_id).is_dir():
        _send_lines(shared, home, task, me)
        _send_landing(shared, home, task, name)


def _send_lines(shared: SharedQueue, home: Home, task: Task, me: str) -> None:
    task_dir = home.task(task.id)
    with exclusive(task_dir / TRAVEL_LOCK):
        start, data = new_log_lines(task_dir)
        if not data:
            return
        path = f"{LATER}/{me}-{start}.jsonl"
        if not shared.files.put_task_file(task.id, task.fence, path, data):
            return  # a host has claimed the task meanwhile
        place = task_dir / path  # the task's next run brings it to the queue again
        place.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(place, data, durable=False)
        note_log_sent(task_dir, start + len(data))


def _send_landing(shared: SharedQueue, home: Home, task: Task, name: str) -> None:
    landing = landing_json.believed(home, task.id)
    if landing is None or landing.host:  # another host sees to it
        return
    new, known = note_of(landing, name), read_note(task)
    if known is None or note_of(known.landing, known.host) != new:
        shared.queue.add_metadata(task.id, new)


def take_later_lines(home: Home, task_id: str, path: str, data: bytes, *, me: str) -> None:
    """Add the lines that another host noted later to the task's log, each once."""
    task_dir = home.task(task_id)
    place = task_dir / path
    if place.name.startswith(f"{me}-"):
        return
    known = place.read_bytes() if place.exists() else b""
    if not data.startswith(known):
        known = b""
    append(task_dir / LOG, data[len(known) :], limit=_LARGEST_LOG)
    place.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomically(place, data, durable=False)
    note_log_sent(task_dir)
