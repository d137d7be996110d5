"""What other hosts do with tasks and know of them, for the commands of this one. On a queue of one
machine there is none, and nothing is asked.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.control import Control
from fleet.errors import FleetError, Refused
from fleet.files.safe_read import read_bounded
from fleet.home import owner_file, task_json
from fleet.home.task_json import recorded_settings
from fleet.schemas import Settings, Task, settings_metadata

if TYPE_CHECKING:
    from fleet.queue.sql.travel.live_lines import LivingRun

#: Seconds between two looks for new lines of another host.
_LOOK_EVERY = 0.5
#: No file that a person's word changes is larger.
_LARGEST = 4 << 20


class RunsElsewhere(Struct, frozen=True, kw_only=True):
    """The names of hosts by their ids, and what they tell of their living runs by task."""

    names: Mapping[str, str] = {}
    living: "Mapping[str, LivingRun]" = {}

    def host_of(self, task: Task) -> str:
        """The name of the host that holds a task; the host's id if the queue knows no name."""
        owner = task.lease_owner or ""
        return self.names.get(owner, owner)

    def run_of(self, task: Task) -> "LivingRun | None":
        found = self.living.get(task.id)
        return found if found is not None and found.host == task.lease_owner else None


def runs_elsewhere(fleet: Control, task_id: str | None = None) -> RunsElsewhere:
    """What other hosts tell of their runs, or of that of one task; nothing on a queue that is not
    shared.
    """
    if not fleet.is_shared:
        return RunsElsewhere()
    from fleet.queue.sql.hosts.host_table import names_of_hosts
    from fleet.queue.sql.travel.live_lines import living_runs

    queue = fleet.tracker
    return RunsElsewhere(names=names_of_hosts(queue), living=living_runs(queue, task_id))


def is_elsewhere_now(fleet: Control, task: Task) -> bool:
    """Another host has the task in hand."""
    return (
        fleet.is_shared
        and task.lease_owner is not None
        and task.lease_owner != owner_file.read(fleet.home)
    )


def bring_files(fleet: Control, task: Task) -> None:
    """Bring what other hosts sent of a task's runs into this home, to be shown.

    Raises FleetError and OSError. A task that this host has in hand is left alone.
    """
    me = owner_file.read(fleet.home)
    if not fleet.is_shared or (me and task.lease_owner == me):
        return
    from fleet.travel.shared_queue import SharedQueue  # only a shared queue needs any of it
    from fleet.travel.unpack_run import unpack_runs

    fleet.home.task(task.id).mkdir(mode=0o700, parents=True, exist_ok=True)
    unpack_runs(SharedQueue(fleet.queue, fleet.config), fleet.home, task.id, me=me)


def bring_if_possible(fleet: Control, task_id: str) -> None:
    """Bring what other hosts sent; without an answer of the queue, do without."""
    if fleet.is_shared:
        with suppress(FleetError, OSError):
            bring_files(fleet, fleet.queue.get(task_id))


def store_task_file(fleet: Control, task: Task, path: str) -> None:
    """Let other hosts have a file of a task that no host has in hand. Raises Refused."""
    if not fleet.is_shared:
        return
    from fleet.travel.shared_queue import SharedQueue

    data = read_bounded(fleet.home.task(task.id) / path, _LARGEST) or b""
    files = SharedQueue(fleet.queue, fleet.config).files
    if not files.put_task_file(task.id, task.fence, path, data):
        raise Refused(f"{task.id} was claimed meanwhile", hint=f"See: fleet show {task.id}")


def write_settings(fleet: Control, task: Task, settings: Settings) -> None:
    """Write a task's settings, for other hosts too."""
    # The file comes second: what the queue did not take can simply be asked for again.
    if fleet.is_shared and recorded_settings(task) != settings:
        fleet.queue.add_metadata(task.id, settings_metadata(settings))
    task_json.write(fleet.home, task.id, settings)


def watched(fleet: Control, task: Task, path: str) -> Iterator[bytes]:
    """What a living run on another host adds to a file of the task, until the run is settled.

    The host sends lines only while a person watches, so this renews a wish as long as it is read.
    """
    from fleet.queue.sql.travel.live_lines import RENEW_EVERY
    from fleet.travel.shared_queue import SharedQueue

    shared = SharedQueue(fleet.queue, fleet.config)
    seen: dict[int, int] = {}
    run, renew_at = 0, 0.0
    while True:
        if time.monotonic() >= renew_at:
            shared.live.wish(task.id, first=renew_at == 0.0)
            renew_at = time.monotonic() + RENEW_EVERY.total_seconds()
        for new in shared.live.read(task.id, path, run, seen.get(run, 0)):
            run = new.run
            # Lines of a long run that were sent long ago are gone: it is shown from there on.
            if new.start == seen.get(run, new.start):
                seen[run] = new.start + len(new.data)
                yield new.data
        now = fleet.queue.get(task.id)
        if now.fence != task.fence or now.lease_owner != task.lease_owner:
            break
        time.sleep(_LOOK_EVERY)
    # A run may be over before a line of it came.
    yield from _rest(fleet, task.id, path, run or task.runs, seen.get(run, 0))


def _rest(fleet: Control, task_id: str, path: str, run: int, start: int) -> Iterator[bytes]:
    """What the settled run added to the file after the lines that were sent live."""
    from fleet.travel.shared_queue import SharedQueue

    files = SharedQueue(fleet.queue, fleet.config).files
    for part in files.parts(task_id, run, path):
        if rest := part[start:]:
            yield rest
        start = max(0, start - len(part))
