"""The hosts that share a queue: their rows, their heartbeats, and what people do with them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from fleet.errors import NotFound, Refused, SchemaTooNew
from fleet.queue.sql import migrate
from fleet.queue.sql.row_mapping import moment, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Decline, Host, HostState
from fleet.schemas.hosts.host import SILENT

#: Another machine with the same id is refused while the first was seen within this long, or within
#: a lease: what it holds would be taken for the other's.
ALIVE = timedelta(seconds=90)
#: In `meta`, before the id of a host: when a person removed it.
_REMOVED = "removed "


class HostWork(Struct, frozen=True, kw_only=True):
    """A task that a host holds."""

    host: str
    task_id: str
    title: str
    lease_until: datetime


def register(
    queue: SqlQueue, host: Host, *, machine: str, lease: timedelta = timedelta(0)
) -> HostState:
    """Enter a host whose supervisor starts. Raises Refused: another home has the id."""
    with queue.db.writing():
        now = queue.db.now()
        values = _values(host) | {
            "machine": machine,
            "version": host.version,
            "now": to_micros(now),
            "long_ago": to_micros(now - max(ALIVE, lease)),
        }
        found = queue.rows("hosts.register_host", values)
        if not found:
            other = next(each for each in hosts(queue) if each.id == host.id)
            seconds = int((now - other.seen_at).total_seconds())
            raise Refused(
                f"another supervisor works on this queue as {host.id}: host {other.name},"
                f" seen {seconds} s ago",
                hint="One home is a copy of the other. Give one of the two hosts a new id: stop its"
                " supervisor, remove the file `owner` from its home, start it again.",
            )
        queue.rows("hosts.forget_declines", {"id": host.id})
    return found[0][0]


def beat(queue: SqlQueue, host: Host) -> HostState | None:
    """Say that a host lives, and what the host has; returns the state that people want. None:
    another incarnation has the row, or a person removed the host. Raises SchemaTooNew after that: a
    later fleet has migrated the queue.
    """
    values = _values(host) | {"now": to_micros(queue.db.now())}
    found = queue.rows("hosts.beat", values)
    if not found:
        return None
    state, version = found[0]
    if int(version) > (known := len(migrate.steps())):
        raise SchemaTooNew(
            f"a later fleet has brought the queue to schema {version}, and this one knows {known}",
            hint="What runs here is finished, and nothing new is taken. Upgrade this host, then:"
            " fleet restart",
        )
    return state


def leave(queue: SqlQueue, host: Host, *, lease: timedelta = timedelta(0)) -> None:
    """A host's supervisor has ended in order."""
    long_ago = to_micros(queue.db.now() - max(ALIVE, lease))
    values = {"id": host.id, "incarnation": host.incarnation, "long_ago": long_ago}
    queue.rows("hosts.leave", values)


def hosts(queue: SqlQueue) -> list[Host]:
    """Every host that the queue knows, by name."""
    return [_host(row) for row in queue.rows("hosts.hosts")]


def names_of_hosts(queue: SqlQueue) -> dict[str, str]:
    """What people call each host, by id."""
    return {host.id: host.name for host in hosts(queue)}


def others_up(queue: SqlQueue, own: str) -> list[Host]:
    """The other hosts that are up and were heard of."""
    since = queue.db.now() - SILENT
    known = (host for host in hosts(queue) if host.id != own)
    return [host for host in known if host.state == "up" and host.seen_at > since]


def find_host(queue: SqlQueue, word: str) -> Host:
    """A host by name or id. Raises NotFound, or Refused: two hosts have the name."""
    found = [host for host in hosts(queue) if word in (host.name, host.id)]
    if not found:
        known = ", ".join(host.name for host in hosts(queue)) or "none has worked here yet"
        raise NotFound(f"there is no host {word!r}", hint=f"Known: {known}. See: fleet hosts")
    if len(found) > 1:
        ids = ", ".join(host.id for host in found)
        raise Refused(f"{len(found)} hosts are called {word}", hint=f"Name one by its id: {ids}")
    return found[0]


def set_state(queue: SqlQueue, host: Host, state: HostState) -> None:
    """Note what people want of a host: to take part, or to finish the tasks in hand and take no
    more.
    """
    queue.rows("hosts.set_host_state", {"id": host.id, "state": state})


def lose(queue: SqlQueue, host: Host) -> list[str]:
    """Give a host up: all leases of the host end now; returns the tasks that are free."""
    with queue.db.writing():
        queue.rows("hosts.give_up_host", {"id": host.id})
        values = {"id": host.id, "now": to_micros(queue.db.now())}
        freed = queue.rows("hosts.free_leases", values)
    return [str(row[0]) for row in freed]


def remove(queue: SqlQueue, host: Host) -> None:
    """Forget a host. Raises Refused while it is there or holds tasks."""
    with queue.db.writing():
        now = queue.db.now()
        values = {"id": host.id, "now": to_micros(now)}
        held = int(queue.rows("hosts.leases_of", values)[0][0])
        if host.state != "gone" and now - host.seen_at < SILENT:
            raise Refused(
                f"host {host.name} is {host.state}",
                hint=f"Stop its supervisor first, or: fleet host drain {host.name}",
            )
        if held:
            raise Refused(
                f"host {host.name} holds {held} task{'s' if held > 1 else ''}",
                hint=f"If it will not come back: fleet host lost {host.name}",
            )
        queue.rows("hosts.delete_host", {"id": host.id})
        queue.rows("hosts.forget_declines", {"id": host.id})
        # A host that speaks again would else take the server for one that never heard of it.
        removed = {"key": f"{_REMOVED}{host.id}", "value": str(to_micros(now))}
        queue.rows("set_meta", removed)


def ask_again(queue: SqlQueue, host_id: str) -> None:
    """Let a host see the tasks again that it declined, since the host has what was missing."""
    queue.rows("hosts.forget_declines", {"id": host_id})


def work_of_hosts(queue: SqlQueue) -> list[HostWork]:
    """Every task under a lease, with the host that holds the lease."""
    return [
        HostWork(host=owner, task_id=task_id, title=title, lease_until=moment(until))
        for owner, task_id, title, until in queue.rows("hosts.work_of_hosts")
    ]


def declines_of(queue: SqlQueue, task_id: str) -> Sequence[Decline]:
    """The hosts that could not run a task, and why."""
    rows = queue.rows("hosts.declines_of", {"id": task_id})
    return [Decline(task_id=task_id, host=host, why=why, at=moment(at)) for host, why, at in rows]


def decline(queue: SqlQueue, task_id: str, host_id: str, why: str) -> None:
    """Note what a host lacks for a task that no host has in hand. Every write wakes all hosts, so
    what is known is not written again.
    """
    if any((each.host, each.why) == (host_id, why) for each in declines_of(queue, task_id)):
        return
    values = {"id": task_id, "owner": host_id, "why": why, "now": to_micros(queue.db.now())}
    queue.rows("insert_decline", values)


def _values(host: Host) -> dict[str, Any]:
    return {
        "id": host.id,
        "incarnation": host.incarnation,
        "name": host.name,
        "labels": "\n".join(host.labels),
        "coders": "\n".join(f"{name} {version}" for name, version in host.coders.items()),
        "accounts": "\n".join(host.accounts),
        "mirrors": "\n".join(host.mirrors),
        "unreachable": "\n".join(host.unreachable),
        "slots": host.slots,
        "free": host.free,
        "why_idle": host.why_idle,
    }


def _host(row: tuple[Any, ...]) -> Host:
    (
        id_, incarnation, name, version, labels, coders, accounts, mirrors, unreachable,
        slots, free, why_idle, state, started, seen,
    ) = row  # fmt: skip
    pairs = (line.partition(" ") for line in coders.splitlines())
    return Host(
        id=id_,
        incarnation=incarnation,
        name=name,
        version=version,
        labels=tuple(labels.splitlines()),
        coders={coder: version for coder, _, version in pairs},
        accounts=tuple(accounts.splitlines()),
        mirrors=tuple(mirrors.splitlines()),
        unreachable=tuple(unreachable.splitlines()),
        slots=slots,
        free=free,
        why_idle=why_idle,
        state=state,
        started_at=moment(started),
        seen_at=moment(seen),
    )
