"""What this machine has to offer to the tasks of a shared queue: programs, labels, slots, and what
it can reach just now: repositories that answered, accounts with room.
"""

import os
import platform
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from fleet import __version__
from fleet.coders import trusted_files
from fleet.coders.installed import coders_on
from fleet.config import KEYS, Config
from fleet.files.safe_read import read_bounded
from fleet.home import Home, owner_file
from fleet.schemas import Host

_MACHINE = Path("/etc/machine-id")
#: For how many seconds a repository that did not answer is left to other hosts.
_MISSED = 120.0
#: Seconds between two looks at mirrors and accounts.
_LOOK_EVERY = 5.0


def host_of(home: Home, config: Config) -> Host:
    """The host as known at the start; coders are looked for before the first beat."""
    now = datetime.now(UTC)
    return Host(
        id=owner_file.read_or_make(home),
        incarnation=os.urandom(8).hex(),
        name=owner_file.host_name(config),
        version=__version__,
        labels=labels_of(config),
        coders=runnable_coders(home),
        slots=config.max_concurrent,
        free=config.max_concurrent,
        started_at=now,
        seen_at=now,
    )


def labels_of(config: Config) -> tuple[str, ...]:
    return KEYS["host_labels"].read(config.host_labels)


def runnable_coders(home: Home) -> dict[str, str]:
    """The version of each coder whose program is there; empty where the program told none."""
    here = coders_on(home.path)
    return {each.name: " ".join(each.version.split())[:80] for each in here if each.path}


def coder_files_stamp(home: Home) -> tuple[object, ...]:
    """A value that changes when a coder's file is added, changed or trusted."""
    return tuple(trusted_files.stamp(str(path)) for path in trusted_files.files(home.path))


def machine_of(home: Home) -> str:
    """A text that tells this home on this machine from a copy of the home elsewhere."""
    machine = read_bounded(_MACHINE, 1 << 10) or platform.node().encode()
    place = home.path.stat()
    return sha256(b"%s %d %d" % (machine, place.st_dev, place.st_ino)).hexdigest()[:32]


class Reach:
    """What this host can have just now; kept by the loop, and the offer of each claim follows from
    this.
    """

    def __init__(self) -> None:
        self._missed: dict[str, float] = {}
        self._look_at = 0.0
        #: Coders that have no room here, while another host has some.
        self.resting: frozenset[str] = frozenset()
        #: The files of coders as they were looked at last; None: at the start of the supervisor.
        self._coder_files: tuple[object, ...] | None = None

    @property
    def is_due(self) -> bool:
        """The time to look at mirrors and accounts has come; true once for each look."""
        if time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + _LOOK_EVERY
        return True

    def coders_changed(self, home: Home) -> bool:
        """The files of coders are not as they were at the last call."""
        before, self._coder_files = self._coder_files, coder_files_stamp(home)
        return before is not None and before != self._coder_files

    def miss(self, url: str) -> None:
        """A repository did not answer: other hosts may reach it, and this host tries later."""
        self._missed[url] = time.monotonic() + _MISSED

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The repositories that did not answer a short while ago."""
        if not self._missed:
            return ()
        now = time.monotonic()
        self._missed = {url: until for url, until in self._missed.items() if until > now}
        return tuple(sorted(self._missed))


def resting_coders(host: Host, others: Iterable[Host]) -> frozenset[str]:
    """The coders of a host that have no room there, while another host that is up has some."""
    others = list(others)
    mine = {each.partition("/")[0] for each in host.accounts}
    return frozenset(
        coder
        for coder in host.coders
        if coder not in mine and any(other.has_room(coder) for other in others)
    )
