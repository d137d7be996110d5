"""A host: one home with a supervisor on a queue that several machines share; and what a task needs
of a host. Pure.

A task that needs nothing fits every host. Each need is a short text (`label:gpu`), and a host has a
list of such texts: the task fits if all of its needs are in the list. So the queue can compare the
two without knowing what they mean.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from msgspec import Struct

from fleet.errors import BadInput

HostState = Literal["up", "draining", "gone"]

#: A host that was not seen for this long counts as gone.
SILENT = timedelta(seconds=35)
#: How long a task is left to another host that would run it sooner.
LEFT_TO_OTHERS = timedelta(seconds=2)

#: What no host has: a task needs it for as long as its changes are not pushed.
PUSHED_CHANGES = "changes:pushed"
#: How a need of a task begins that is one of its host: `--needs host:gpu`.
HOST_NEED = "host:"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


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


def needs_of(own: Mapping[str, Any]) -> tuple[str, ...]:
    """What a task needs of a host, by the settings in the queue."""
    found: list[str] = []
    host, made_on, coder = (_text(own.get(key)) for key in ("host", "made_on", "coder"))
    if host:
        found.append(f"host:{host}")
    elif made_on and not repository_of(own):
        found.append(f"home:{made_on}")
    if _origin(own).get("changes") == "awaited":
        found.append(PUSHED_CHANGES)
    needs = own.get("needs")
    each = cast("list[Any]", needs) if isinstance(needs, list | tuple) else []
    found += [f"label:{label}" for need in each if (label := host_label(need))]
    return (*found, f"coder:{coder}") if coder else tuple(found)


def host_label(need: object) -> str:
    """The label that a need asks of the host; empty: none."""
    text = _text(need)
    return text.removeprefix(HOST_NEED) if text.startswith(HOST_NEED) else ""


def repository_of(own: Mapping[str, Any]) -> str:
    """The address that a task's code comes from; empty: only the host that made the task has the
    code.
    """
    return _text(_origin(own).get("url"))


def _origin(own: Mapping[str, Any]) -> Mapping[str, Any]:
    found = own.get("repository")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def missing_needs(needs: tuple[str, ...], offer: Offer) -> tuple[str, ...]:
    """The needs that a host does not meet."""
    has = set(offer.has)
    return tuple(need for need in needs if need not in has)


def check_label(text: str) -> str:
    """The text, if it can be the name of a host or a label. Raises BadInput."""
    if re.fullmatch(_NAME, text):
        return text
    raise BadInput(
        f"{text[:100]!r} is no name or label of a host",
        hint="Use letters, digits, '-', '_' and '.', like gpu or linux-x86.",
    )


def _text(value: object) -> str:
    """The value if it is a text of one line; empty for anything else."""
    return value if isinstance(value, str) and "\n" not in value else ""
