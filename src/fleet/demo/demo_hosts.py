"""The homes of the demo of hosts: one of the person, one for each host, all on one queue."""

import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleet.demo.demo_home import DemoHome, Interrupts, remove_files
from fleet.demo.hub import (
    DemoNetwork,
    HubServers,
    inside,
    missing_for_namespaces,
    missing_for_servers,
)
from fleet.demo.script import CHECK, CODER, LABEL
from fleet.demo.simulated_agent import add_coders
from fleet.errors import FleetError

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
#: How long a lease lasts here, in seconds: three minutes would be long to watch.
LEASE_S = 20
_SETTINGS = (
    f"coder={CODER}", "model=steady", "max_concurrent=2", "retry_limit=2", "retry_wait_s=1",
    "grace_s=2", f"lease_s={LEASE_S}",
)  # fmt: skip


class DemoHosts:
    """The person's home, and the hosts."""

    def __init__(self, root: Path, interrupts: Interrupts) -> None:
        self.root, self._interrupts = root, interrupts
        self.network = DemoNetwork()
        self.servers = HubServers(root / "hub", self.network.hub)
        self.person = self._home("person", inside(self.network.hub))
        self.hosts: list[DemoHome] = []

    def set_up(self, count: int) -> None:
        """Make the network, the servers, the project and all homes. Raises FleetError."""
        self.network.make()
        with self._interrupts.allowed(allow=False):  # no server is started and not noted
            self.servers.start()
        person, servers = self.person, self.servers
        person.make_project()
        person.git("remote", "add", "origin", servers.url)
        person.git("push", "-q", "-u", "origin", "main")
        self._make(person, servers.socket_address)
        verify = f"{shlex.quote(sys.executable)} {CHECK}"
        person.fleet("config", "set", "--project", ".", "land_to=push", f"verify={verify}")
        for name in NAMES[:count]:
            host = self._home(name, self.network.plug(name))
            self.hosts.append(host)
            self._make(host, servers.address)
            labels = (f"host_labels={LABEL}",) if name == NAMES[count - 1] else ()
            host.fleet("config", "set", f"host_name={name}", *labels)
            host.fleet("trust", "--remote", servers.url)
            host.fleet("config", "set", "--project", servers.url, f"verify={verify}")

    def clean_up(self) -> None:
        """End everything that was started, and remove the namespaces."""
        for host in self.hosts:
            host.stop()
        self.servers.stop()
        self.network.remove()

    def _home(self, name: str, prefix: Sequence[str]) -> DemoHome:
        (self.root / name).mkdir()
        return DemoHome(self.root / name, self._interrupts, name=name, inside=prefix)

    def _make(self, place: DemoHome, address: str) -> None:
        place.fleet("init", "--queue", address, "--sandbox", "off", "--land", "auto")
        add_coders(place.home.path)
        place.fleet("config", "set", *_SETTINGS)


def _open_directory() -> Path:
    """A directory for temporary files that every user can pass through: PostgreSQL is another."""
    usual = Path(tempfile.gettempdir()).resolve()
    if all(each.stat().st_mode & stat.S_IXOTH for each in (usual, *usual.parents)):
        return usual
    return Path("/var/tmp")  # noqa: S108 - mkdtemp makes a directory of its own there


@contextmanager
def demo_hosts(*, keep: bool) -> Generator[DemoHosts]:
    """Room for hosts; at exit all processes and namespaces go, and unless `keep` the
    files. Raises FleetError that names all that is missing.
    """
    missing = [*filter(None, [missing_for_namespaces()]), *missing_for_servers()]
    if shutil.which("git") is None:
        missing.append("git")
    if missing:
        raise FleetError(
            f"the demo of hosts needs: {'; '.join(missing)}",
            hint="On one host, with none of that: fleet demo",
        )
    interrupts = Interrupts()
    root = Path(tempfile.mkdtemp(prefix="fleet-demo-", dir=_open_directory())).resolve()
    root.chmod(0o711)  # PostgreSQL is another user
    made = DemoHosts(root, interrupts)
    try:
        with interrupts.allowed():
            yield made
    finally:
        try:
            made.clean_up()
        finally:
            if not keep:
                remove_files(root)
