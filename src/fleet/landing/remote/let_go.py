"""A host that comes back lets go of what another host lands by now: the landing was taken over, or
the other host ran the task since.
"""

from datetime import datetime

from msgspec import structs

from fleet.home import Home, landing_json, owner_file
from fleet.home.landing_json import Landing
from fleet.queue.protocol import Queue
from fleet.queue.sql.hosts.host_table import names_of_hosts
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.landers import TakenLanding, taken_landings


def let_go(home: Home, queue: Queue, now: datetime) -> tuple[tuple[str, str], ...]:
    """Leave landings of this home to the hosts that have taken them over; a sentence for each."""
    assert isinstance(queue, SqlQueue)
    waiting = landing_json.unlanded(home)
    if not waiting:
        return ()
    said: list[tuple[str, str]] = []
    names = names_of_hosts(queue)
    for task_id, taken in taken_landings(queue, owner_file.read(home) or "").items():
        if task_id in waiting and _left_to(home, task_id, taken, now):
            host = names.get(taken.host, taken.host)
            said.append((task_id, f"host {host} lands its work now, and this one does not"))
    return tuple(said)


def _left_to(home: Home, task_id: str, taken: TakenLanding, now: datetime) -> bool:
    def left(landing: Landing) -> Landing | None:
        is_theirs = taken.before is None or landing.run < taken.before
        if not is_theirs or landing.state in ("landed", "back") or landing.host == taken.host:
            return None
        return structs.replace(landing, host=taken.host, at=now)

    done = landing_json.change(home, task_id, left)
    if done is not None:
        landing_json.forget_mark(home, task_id)
    return done is not None
