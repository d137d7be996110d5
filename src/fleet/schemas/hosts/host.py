"""A host: one home with a supervisor on a queue that several machines share."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

HostState = Literal["up", "draining", "gone"]

#: A host that was not seen for this long counts as gone.
SILENT = timedelta(seconds=35)
#: How long a task is left to another host that would run it sooner.
LEFT_TO_OTHERS = timedelta(seconds=2)


class Offer(Struct, frozen=True, kw_only=True):
    """What a host brings to a claim: the host is given only tasks that need nothing else."""

    id: str
    name: str
    labels: tuple[str, ...] = ()
    coders: tuple[str, ...] = ()
    #: The repositories that the host has mirrors of, and those that it could not reach.
    mirrors: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    #: Coders that have no account with room here, while another host has one.
    resting: tuple[str, ...] = ()
    #: The coder of tasks that name none is among those.
    rests: bool = False

    @property
    def has(self) -> tuple[str, ...]:
        """Every need that the host meets."""
        return (
            f"host:{self.name}",
            f"home:{self.id}",
            *(f"label:{label}" for label in self.labels),
            *(f"coder:{coder}" for coder in self.coders if coder not in self.resting),
        )


class Host(Struct, frozen=True, kw_only=True):
    """One home with a supervisor, as the queue knows it."""

    #: The owner of the host's home: leases are held under this name.
    id: str
    #: New with each start of a supervisor.
    incarnation: str
    #: What people call the host.
    name: str
    version: str = ""
    labels: tuple[str, ...] = ()
    #: The version of each coder's program by the coder's name; empty where it is not known.
    coders: Mapping[str, str] = {}
    #: The accounts that have room now, each behind its coder: `claude/work`.
    accounts: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    slots: int = 0
    free: int = 0
    state: HostState = "up"
    #: Why the host takes no task for now: paused, or short of something; empty: the host does.
    why_idle: str = ""
    started_at: datetime
    seen_at: datetime

    def has_room(self, coder: str) -> bool:
        """The host has a free slot, and an account with room for this coder."""
        return self.free > 0 and any(each.partition("/")[0] == coder for each in self.accounts)

    @property
    def offer(self) -> Offer:
        """What the host has to offer to tasks."""
        return Offer(
            id=self.id,
            name=self.name,
            labels=self.labels,
            coders=tuple(self.coders),
            mirrors=self.mirrors,
            unreachable=self.unreachable,
        )


class Decline(Struct, frozen=True, kw_only=True):
    """A host was given a task that the host cannot run."""

    task_id: str
    host: str
    why: str
    at: datetime
