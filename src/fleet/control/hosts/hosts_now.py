"""`fleet hosts`: every host of the queue, whether the host is there, and what runs on it."""

from datetime import datetime, timedelta

from msgspec import Struct

from fleet.control import Control
from fleet.errors import Refused
from fleet.home import owner_file
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.host_table import HostWork
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Host
from fleet.schemas.hosts.host import SILENT


class HostNow(Struct, frozen=True, kw_only=True):
    """One host with the tasks in hand."""

    host: Host
    #: `up`, `draining`, `silent` (not heard of for a while), `gone` (the supervisor ended).
    state: str
    #: How long ago the host was heard of, by the server's clock.
    seen: timedelta
    #: The host is the one that this command runs on.
    here: bool = False
    tasks: tuple[HostWork, ...] = ()


def shared_queue(fleet: Control) -> SqlQueue:
    """The queue, if hosts can share a queue of this kind. Raises Refused."""
    if not fleet.is_shared:
        raise Refused(
            f"the queue of this home is {fleet.config.queue}, which one machine works on",
            hint="Many machines share a PostgreSQL queue: fleet init --queue postgresql://…",
        )
    return fleet.tracker


def hosts_now(fleet: Control) -> list[HostNow]:
    """Every host that the queue knows. Holders of leases that are no hosts come without facts."""
    queue = shared_queue(fleet)
    now, own = queue.db.now(), owner_file.read(fleet.home)
    work: dict[str, list[HostWork]] = {}
    for each in host_table.work_of_hosts(queue):
        work.setdefault(each.host, []).append(each)
    return [
        HostNow(
            host=host,
            state=state_of(host, now),
            seen=max(timedelta(0), now - host.seen_at),
            here=host.id == own,
            tasks=tuple(work.get(host.id, ())),
        )
        for host in host_table.hosts(queue)
    ]


def state_of(host: Host, now: datetime) -> str:
    """How a host stands, in a word."""
    if host.state != "gone" and now - host.seen_at > SILENT:
        return "silent"
    return host.state
