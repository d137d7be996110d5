"""What people do with a host: drain, let go on, give up, forget."""

from fleet.control import Control
from fleet.control.hosts.hosts_now import shared_queue
from fleet.errors import Refused
from fleet.home import owner_file
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.travel.landers import tell_landers
from fleet.schemas import Host


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
