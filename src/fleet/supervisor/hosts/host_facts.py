"""What this machine has to offer to the tasks of a queue that it shares."""

import platform
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fleet import __version__
from fleet.coders.installed import installed_programs
from fleet.config import KEYS, Config
from fleet.files.safe_read import read_bounded
from fleet.git.mirror.warm_addresses import warm_addresses
from fleet.home import Home, owner_file
from fleet.home.status_file import paused
from fleet.queue import open_heartbeat
from fleet.queue.sql.hosts.shared_spending import RunSpend
from fleet.schemas import Host
from fleet.schemas.account import read_chain
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts.heartbeat import Heartbeat, new_incarnation
from fleet.supervisor.hosts.reach import resting_coders
from fleet.supervisor.hosts.share_limits import hear_limits, share_limits
from fleet.supervisor.hosts.tell_living import tell_living
from fleet.supervisor.state import QueueChanged

if TYPE_CHECKING:
    from fleet.queue.sql.sql_queue import SqlQueue
    from fleet.supervisor.state import SupervisorState

_MACHINE = Path("/etc/machine-id")


def host_of(home: Home, config: Config) -> Host:
    """The host as it is known at the start; its coders are looked for before the first beat."""
    now = datetime.now(UTC)
    return Host(
        id=owner_file.read_or_make(home),
        incarnation=new_incarnation(),
        name=host_name(config),
        version=__version__,
        labels=labels_of(config),
        coders=runnable_coders(home),
        slots=config.max_concurrent,
        free=config.max_concurrent,
        started_at=now,
        seen_at=now,
    )


def make_heartbeat(home: Home, config: Config, say: Callable[[str, str], None]) -> Heartbeat | None:
    """The heartbeat of this home's supervisor; None: no other machine works on its queue."""
    if not config.shares_queue:
        return None
    opening = partial(open_heartbeat, home.path, config)
    lease = timedelta(seconds=config.lease_s)
    host, machine = host_of(home, config), machine_of(home)
    return Heartbeat(opening, host, machine=machine, lease=lease, say=say)


def take_part(state: "SupervisorState") -> None:
    """Be one of the hosts of a shared queue; only a server that this host knows is claimed from."""
    host = state.host
    if host is None:
        return
    state.queue.may_claim = lambda queue: host.server.may_claim(cast("SqlQueue", queue))
    share_spending(state)
    share_limits(state)
    host.start()


def share_spending(state: "SupervisorState") -> None:
    """Have what each run spends told to the other hosts."""
    host = state.host
    if host is None:
        return

    def tell(day: str, entry: SpendEntry) -> None:
        host.exchange.spent.append(
            RunSpend(
                task_id=entry.task, run=entry.run, day=day, host=host.host.id,
                project=entry.project, account=entry.account, spend=entry.spend,
            )
        )  # fmt: skip

    state.meter.on_record = tell


def tell_host(state: "SupervisorState", *, ending: bool) -> None:
    """Tell the heartbeat what may have changed of this host. Raises Refused: another supervisor
    has its id. Raises SchemaTooNew: a later fleet has migrated the queue.
    """
    host, config = state.host, state.config
    if host is None:
        return
    if host.refused is not None:
        raise host.refused
    while host.exchange.spent_elsewhere:
        spent = host.exchange.spent_elsewhere.popleft()
        entry = SpendEntry(
            task=spent.task_id, run=spent.run, project=spent.project, account=spent.account,
            spend=spent.spend,
        )  # fmt: skip
        state.meter.add_elsewhere(spent.day, entry)
    hear_limits(state)
    if host.reach.is_due:
        _look_around(state, host)
        tell_living(state, host)
    unreachable = host.reach.unreachable
    if set(host.host.unreachable) - set(unreachable):
        state.events.append(QueueChanged())  # this host may try what it left to others
    free = max(0, config.max_concurrent - len(state.assignments))
    host.update(
        unreachable=unreachable,
        name=host_name(config),
        labels=labels_of(config),
        slots=config.max_concurrent,
        free=0 if ending or paused(state.home) else free,
    )


def _look_around(state: "SupervisorState", host: Heartbeat) -> None:
    """See which code is here already, and which accounts have room."""
    names = host.host.coders
    host.update(
        mirrors=warm_addresses(state.home),
        accounts=state.accounts.with_room(state.config, names, state.now()),
    )
    # With a chain to fall back on a task may find room elsewhere on this host.
    chained = read_chain(state.config.fallback)
    before, others = host.reach.resting, host.exchange.others
    host.reach.resting = frozenset() if chained else resting_coders(host.host, others)
    if before - host.reach.resting:
        state.events.append(QueueChanged())


def host_name(config: Config) -> str:
    """What people call this machine among the hosts."""
    if config.host_name != "auto":
        return config.host_name
    node = platform.node()
    plain = "".join(each if each.isalnum() or each in "._-" else "-" for each in node)
    return plain.strip("._-")[:100] or "host"


def labels_of(config: Config) -> tuple[str, ...]:
    return KEYS["host_labels"].read(config.host_labels)


def runnable_coders(home: Home) -> dict[str, str]:
    """The version of each coder whose program is there; empty where it told none."""
    here = installed_programs(home.path)
    return {
        name: " ".join(here.versions[name].version.split())[:80] if name in here.versions else ""
        for name in here.paths
    }


def machine_of(home: Home) -> str:
    """A text that tells this home on this machine from a copy of the home elsewhere."""
    machine = read_bounded(_MACHINE, 1 << 10) or platform.node().encode()
    place = home.path.stat()
    return sha256(b"%s %d %d" % (machine, place.st_dev, place.st_ino)).hexdigest()[:32]
