"""Sets up another machine as a host of this queue: looks, sends fleet, makes a home, starts a
supervisor.
"""

import io
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from fleet.control import Control
from fleet.control.hosts.add import own_wheels, setup_there
from fleet.control.hosts.add.ssh_call import Destination, ask
from fleet.control.hosts.hosts_now import shared_queue, state_of
from fleet.control.queue.queue_care import condition
from fleet.errors import BadInput, FleetError, Refused
from fleet.queue import check_address, without_password
from fleet.queue.sql.hosts import host_table
from fleet.schemas import Host

Start = Literal["service", "detached", "none"]

#: Seconds for the other machine to say what it has, to be set up, and to be heard of by the queue.
_LOOK, _SET_UP, _HEARD = 60.0, 900.0, 60.0
_PAUSE = 0.2


class HostPlan(Struct, frozen=True, kw_only=True):
    """What a person wants of the new host."""

    #: The host's address of the queue, if not the one that this home has.
    queue: str = ""
    #: The home there, below the login's own directory or absolute; empty: ~/.fleet.
    home: str = ""
    #: `KEY=VALUE` for the host's runtime.toml.
    settings: tuple[str, ...] = ()
    #: Addresses of repositories that the host may fetch from.
    trust: tuple[str, ...] = ()
    start: Start = "service"


class HostFacts(Struct, frozen=True, kw_only=True):
    """What the other machine has."""

    name: str
    python: str
    git: str
    home: str
    #: The machine is of the same kind as this one: what is installed here runs there.
    same_kind: bool
    #: A home is there already, on this queue.
    has_home: bool


class AddedHost(Struct, frozen=True, kw_only=True):
    """A machine that was set up."""

    facts: HostFacts
    version: str
    #: The home there, and the program.
    home: str
    fleet: str
    #: The host, if a supervisor was started there and has been heard of.
    host: Host | None = None
    #: The service outlives the last login there; None: there is no service.
    lingers: bool | None = None


def look(fleet: Control, to: Destination, plan: HostPlan) -> HostFacts:
    """What the machine has. Raises FleetError if it cannot be a host."""
    shared_queue(fleet)
    address = _address(fleet, plan)
    found = ask(to, {"act": "look", "home": plan.home}, timeout=_LOOK)["facts"]
    if not found["git"]:
        raise FleetError(f"{to.name} has no git", hint="Install it there. Debian: apt install git")
    there = str(found["queue"])
    if there and without_password(there) != without_password(address):
        raise Refused(
            f"{to.name} has a fleet home at {found['home']}, on another queue:"
            f" {without_password(there)}",
            hint="Give the host a home of its own: --home .fleet-shared",
        )
    if plan.start == "service" and not found["systemd"]:
        raise FleetError(
            f"systemd keeps no services of the login on {to.name}",
            hint="Start it without: --detach. Or set it up alone: --no-service",
        )
    return HostFacts(
        name=found["name"],
        python=found["python"],
        git=found["git"],
        home=found["home"],
        same_kind=found["tag"] == setup_there.own_tag(),
        has_home=bool(there),
    )


def add_host(
    fleet: Control,
    to: Destination,
    plan: HostPlan,
    facts: HostFacts,
    *,
    say: Callable[[str], None],
) -> AddedHost:
    """Set the machine up. Done again, it brings the host to this fleet's version."""
    queue = shared_queue(fleet)
    address = _address(fleet, plan)
    complete = facts.same_kind and own_wheels.can_be_complete()
    with tempfile.TemporaryDirectory() as folder:
        packed = own_wheels.pack(Path(folder), complete=complete)
        archive = _tar(packed)
    rest = "and all that it needs" if complete else "what it needs comes from the index there"
    say(f"sends fleet {packed.version} ({len(archive) / 1e6:.0f} MB), {rest}")
    request: Mapping[str, Any] = {
        "act": "set_up",
        "name": f"{packed.version}-{packed.digest}",
        "complete": complete,
        "extras": packed.extras,
        "home": plan.home,
        "queue": address,
        "identity": condition(fleet.home, fleet.config).identity,
        "settings": plan.settings,
        "trust": plan.trust,
        "start": plan.start,
    }
    try:
        done = ask(to, request, timeout=_SET_UP, wheels=archive, on_step=say)["done"]
    except FleetError as error:
        local = "" if plan.queue else _means_this_machine(address)
        raise FleetError(error.message, hint=" ".join(filter(None, (error.hint, local)))) from error
    host = None
    if plan.start != "none":
        host = _heard_of(queue, str(done["id"]))
        if host is None:
            raise FleetError(
                f"the supervisor on {to.name} was started, and the queue has not heard of it"
                f" within {_HEARD:.0f} s",
                hint=f"See what it says: ssh {to.name} {done['fleet']} log 5",
            )
    return AddedHost(
        facts=facts,
        version=packed.version,
        home=done["home"],
        fleet=done["fleet"],
        host=host,
        lingers=done.get("lingers"),
    )


def _address(fleet: Control, plan: HostPlan) -> str:
    address = plan.queue or fleet.config.queue
    check_address(address)
    if address in ("embedded", "beads"):
        raise BadInput("hosts share a PostgreSQL queue", hint="--queue postgresql://…")
    return address


def _means_this_machine(address: str) -> str:
    """A hint for an address that means another machine elsewhere; empty for any other."""
    from psycopg.conninfo import conninfo_to_dict

    place = str(conninfo_to_dict(address).get("host") or "localhost")
    if place.startswith(("127.", "/", "::1", "localhost")):
        return f"The queue's address says {place}, which is another place there: --queue ADDRESS"
    return ""


def _tar(packed: own_wheels.OwnWheels) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        for path in packed.files:
            archive.add(path, path.name)
        pins = "\n".join((*packed.pins, "")).encode()
        info = tarfile.TarInfo("constraints.txt")
        info.size = len(pins)
        archive.addfile(info, io.BytesIO(pins))
    return into.getvalue()


def _heard_of(queue: Any, host_id: str) -> Host | None:
    """The host, once a beat of the host has come."""
    end = time.monotonic() + _HEARD
    while time.monotonic() < end:
        for host in host_table.hosts(queue):
            if host.id == host_id and state_of(host, queue.db.now()) in ("up", "draining"):
                return host
        time.sleep(_PAUSE)
    return None
