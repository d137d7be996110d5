"""What this machine has to offer to the tasks of a shared queue."""

import os
import platform
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from fleet import __version__
from fleet.coders.installed import installed_programs
from fleet.config import KEYS, Config
from fleet.files.safe_read import read_bounded
from fleet.home import Home, owner_file
from fleet.schemas import Host

_MACHINE = Path("/etc/machine-id")


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
