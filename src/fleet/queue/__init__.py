"""The queue owns each task's status and the order of work. `protocol.Queue` is the protocol."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.config import Config
from fleet.errors import ConfigError

if TYPE_CHECKING:
    from fleet.queue.protocol import Queue

PREFIX = "fleet"
_POSTGRES = ("postgresql://", "postgres://")
#: How long a call of the heartbeat may take.
_BEAT = timedelta(seconds=8)


def check_address(address: str) -> None:
    """Refuse an address that names no queue."""
    if address not in ("embedded", "beads") and not address.startswith(_POSTGRES):
        raise ConfigError(
            f"{without_password(address)!r} is not a queue that fleet knows",
            hint="Use embedded, beads, or postgresql://user@host/database.",
        )


def without_password(address: str) -> str:
    """A queue address that may be shown: user and host, but no password."""
    scheme, slashes, rest = address.partition("://")
    user, at, place = rest.rpartition("@")
    if not at or ":" not in user:
        return address
    return f"{scheme}{slashes}{user.partition(':')[0]}:***@{place}"


def open_queue(
    home: Path, config: Config, *, may_make: bool = False, later: bool = False
) -> "Queue":
    """The queue that runtime.toml names. Raises WrongQueue if the home knows another one.

    `may_make`: the operator asked for this queue just now, so that a new one may be made although
    the home holds tasks. `later`: a host finishes what it has, though a later fleet has migrated
    the queue that it shares.
    """
    check_address(config.queue)
    if config.queue == "beads":
        from fleet.queue.beads.queue import open_beads

        limit = timedelta(seconds=config.bd_timeout_s)
        return open_beads(home, timeout=limit, may_make=may_make)
    busy = timedelta(seconds=config.busy_timeout_s)
    if config.shares_queue:
        from fleet.queue.sql.postgres import open_postgres

        return open_postgres(
            config.queue, prefix=PREFIX, lock_timeout=busy, home=home, may_make=may_make,
            dead_after=timedelta(seconds=config.lease_s / 6), later=later,
        )  # fmt: skip
    from fleet.queue.sql.sqlite import open_embedded

    return open_embedded(home, prefix=PREFIX, busy_timeout=busy, may_make=may_make)


def open_heartbeat(home: Path, config: Config) -> "Queue":
    """The shared queue for heartbeats: on this connection a call fails within a few seconds."""
    from fleet.queue.sql.postgres import open_postgres

    return open_postgres(
        config.queue, prefix=PREFIX, lock_timeout=_BEAT, home=home, dead_after=_BEAT
    )
