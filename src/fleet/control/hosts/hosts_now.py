"""The hosts of the queue: whether each is there and what runs on it; what people do with a host:
drain, let go on, give up, forget; what goes on elsewhere when this host is stopped or paused.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from fleet import control
from fleet.control import Control
from fleet.errors import FleetError, Refused
from fleet.home import owner_file
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.host_table import HostWork
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.landers import tell_landers
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


def drain(fleet: Control, word: str) -> Host:
    """Have a host finish the tasks in hand and take nothing new, also after a restart."""
    queue = shared_queue(fleet)
    host = host_table.find_host(queue, word)
    host_table.set_state(queue, host, "draining")
    return host


def resume(fleet: Control, word: str) -> Host:
    """Have a host take tasks again."""
    queue = shared_queue(fleet)
    host = host_table.find_host(queue, word)
    if host.state == "gone":
        raise Refused(f"host {host.name} has ended", hint="Start it there: fleet run")
    host_table.set_state(queue, host, "up")
    return host


def lost(fleet: Control, word: str) -> tuple[Host, list[str]]:
    """Give a host up: other hosts begin the host's tasks at once. The person vouches that the
    agents there are dead; returns the tasks that are free now.
    """
    queue = shared_queue(fleet)
    host = host_table.find_host(queue, word)
    if host.id == owner_file.read(fleet.home):
        raise Refused(f"{host.name} is this machine", hint="To stop its agents: fleet stop --all")
    freed = host_table.lose(queue, host)
    tell_landers(queue)
    return host, freed


def remove(fleet: Control, word: str) -> Host:
    """Forget a host that is gone and holds nothing."""
    queue = shared_queue(fleet)
    host = host_table.find_host(queue, word)
    host_table.remove(queue, host)
    tell_landers(queue)
    return host


def other_hosts_go_on() -> tuple[str, ...]:
    """A line for each other host that is at work or takes tasks; none where the queue does not
    answer, since a stop of this host never waits for more than that.
    """
    try:
        fleet = control.opened()
        return lines_of(hosts_now(fleet)) if fleet.is_shared else ()
    except (FleetError, OSError):
        return ()


def lines_of(hosts: Iterable[HostNow]) -> tuple[str, ...]:
    """The lines for these hosts. Pure."""
    others = [each for each in hosts if not each.here and each.state != "gone"]
    return tuple(_line(each) for each in others if each.tasks or each.state == "up")


def _line(each: HostNow) -> str:
    name, ids = each.host.name, ", ".join(task.task_id for task in each.tasks)
    drain = f"so that it takes nothing new: fleet host drain {name}"
    if ids:
        return f"Host {name} goes on with {ids}: fleet stop ID; {drain}"
    return f"Host {name} goes on; {drain}"
