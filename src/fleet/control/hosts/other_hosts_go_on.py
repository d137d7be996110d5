"""What goes on elsewhere when this host is stopped or paused: hosts that share the queue."""

from collections.abc import Iterable

from fleet import control
from fleet.control.hosts.hosts_now import HostNow, hosts_now
from fleet.errors import FleetError


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
