"""`owner`: the name that the supervisors of one home claim tasks under; and what people call it."""

import os

from fleet.config import Config
from fleet.files.safe_read import read_bounded
from fleet.home import Home

FILE = "owner"
_LARGEST = 1 << 10


def read(home: Home) -> str:
    """The name; empty if the home has none yet."""
    data = read_bounded(home.path / FILE, _LARGEST) or b""
    return data.decode(errors="replace").strip()


def read_or_make(home: Home) -> str:
    """The name, made if the home has none: the same after a restart, and unlike any other home's.

    Letters and digits only: bd takes `a-1` and `a_1` for the same person.
    """
    known = read(home)
    if known.isalnum():
        return known
    from fleet.files.atomic_write import write_atomically

    name = f"fleet{os.urandom(4).hex()}"
    write_atomically(home.path / FILE, f"{name}\n".encode())
    return name


def host_name(config: Config) -> str:
    """What people call this machine among the hosts."""
    if config.host_name != "auto":
        return config.host_name
    import platform  # only a shared queue has hosts

    node = platform.node()
    plain = "".join(each if each.isalnum() or each in "._-" else "-" for each in node)
    return plain.strip("._-")[:100] or "host"
