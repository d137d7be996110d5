"""What the hosts of the demo share: a hub with links to all of them, and in the hub a real
PostgreSQL and the project's repository.

Hub and hosts are network namespaces. No namespace has a route to the machine's own network, so that
nothing leaves them.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from fleet.errors import FleetError
from fleet.processes.own_distribution import how_to_add

SUBNET = "10.213.78"
HUB = f"{SUBNET}.1"
_TIMEOUT = 20.0
#: Nothing else is in the hub, so that the usual ports are free.
_PORT, _GIT_PORT = 5432, 9418
#: The user that every Linux has for programs without rights.
_NO_RIGHTS = 65534
_PATIENCE = 60.0
_STOPS_WITHIN = 15.0
#: A killed demo takes its servers along.
_TIED = ("setpriv", "--pdeathsig", "INT")


def missing_for_namespaces() -> str:
    """What is missing for network namespaces here; empty if they can be made."""
    if shutil.which("ip") is None:
        return "the program ip (Debian: apt install iproute2)"
    if os.geteuid() != 0:
        return "root, which alone can make network namespaces (sudo)"
    name = f"fleet-try-{os.urandom(3).hex()}"
    tried = _ip("netns", "add", name)
    if tried.returncode != 0:
        return f"network namespaces ({tried.stderr.strip() or 'refused'})"
    _ip("netns", "delete", name)
    return ""


class DemoNetwork:
    """A hub and hosts, each host with a link to the hub."""

    def __init__(self) -> None:
        #: In the name of each namespace: a person finds the process that it belongs to.
        self._mark = str(os.getpid())
        self.hub = f"fleet-{self._mark}-hub"
        self._spaces: list[str] = []

    def make(self) -> None:
        """Make the hub with a bridge. Raises FleetError."""
        self._add(self.hub)
        self._in(self.hub, "link", "add", "bridge", "type", "bridge")
        self._in(self.hub, "addr", "add", f"{HUB}/24", "dev", "bridge")
        self._in(self.hub, "link", "set", "bridge", "up")

    def plug(self, name: str) -> tuple[str, ...]:
        """Make a namespace with a link to the hub; what runs a program there."""
        space, address = f"fleet-{self._mark}-{name}", f"{SUBNET}.{10 + len(self._spaces)}/24"
        self._add(space)
        link = ("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth", "netns", space)
        self._in(self.hub, *link)
        self._in(self.hub, "link", "set", f"to-{name}", "master", "bridge", "up")
        self._in(space, "addr", "add", address, "dev", "eth")
        self._in(space, "link", "set", "eth", "up")
        return inside(space)

    def set_link(self, name: str, state: str) -> None:
        """Take the link of a host `down`, or `up` again."""
        self._in(self.hub, "link", "set", f"to-{name}", state)

    def remove(self) -> None:
        """Remove all namespaces with all links and all that still runs there: a git that waits for
        an answer over a cut link would outlive the supervisor.
        """
        while self._spaces:
            space = self._spaces.pop()
            for pid in _ip("netns", "pids", space).stdout.split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _ip("netns", "delete", space)

    def _add(self, space: str) -> None:
        self._spaces.append(space)
        _checked(("netns", "add", space))
        self._in(space, "link", "set", "lo", "up")

    def _in(self, space: str, *words: str) -> None:
        _checked(("-n", space, *words))


def inside(space: str) -> tuple[str, ...]:
    """What runs a program in a namespace."""
    return ("ip", "netns", "exec", space)


def _checked(words: Sequence[str]) -> None:
    done = _ip(*words)
    if done.returncode != 0:
        raise FleetError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _ip(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["ip", *words], capture_output=True, text=True, check=False, timeout=_TIMEOUT
    )


def missing_for_servers() -> list[str]:
    """What is missing for the servers; empty if nothing is."""
    found: list[str] = []
    if programs() is None:
        found.append("PostgreSQL (Debian: apt install postgresql)")
    if find_spec("psycopg") is None:
        found.append(f"psycopg ({how_to_add('postgres')})")
    if shutil.which(_TIED[0]) is None:
        found.append("the program setpriv (Debian: apt install util-linux)")
    done = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=False)
    if not Path(done.stdout.strip(), "git-daemon").exists():
        found.append("git daemon (it comes with git; Fedora: dnf install git-daemon)")
    return found


def programs() -> Path | None:
    """Where the newest PostgreSQL's programs are: on PATH, or where Debian puts them."""
    found = shutil.which("postgres")
    if found and shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(debian, key=lambda path: _number(path.parts[-2]), default=None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _server_user() -> "pwd.struct_passwd":
    """The user that PostgreSQL runs as: `postgres`, or the one without rights."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwuid(_NO_RIGHTS)


class HubServers:
    """Both servers, in a directory of their own. PostgreSQL refuses to be root, and is another
    user.
    """

    def __init__(self, place: Path, space: str) -> None:
        self._place, self._space = place, space
        self._bin = programs() or Path()
        self._data, self._log = place / "data", place / "log"
        self.repository = place / "git" / "bookshelf.git"
        self._user = _server_user()
        self._servers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """The queue's address for hosts."""
        return f"postgresql://fleet@{HUB}:{_PORT}/queue"

    @property
    def socket_address(self) -> str:
        """The queue's address for the person, who is in no namespace: by a file."""
        return f"postgresql://fleet@/queue?host={self._place}&port={_PORT}"

    @property
    def url(self) -> str:
        """The address of the project's repository."""
        return f"git://{HUB}/bookshelf.git"

    def start(self) -> None:
        """Make both servers, and wait until they answer. Raises FleetError."""
        self._place.mkdir(mode=0o711)
        os.chown(self._place, self._user.pw_uid, self._user.pw_gid)
        made = ("initdb", "-D", str(self._data), "-U", "fleet", "-E", "UTF8", "--locale=C",
                "-A", "trust", "--no-sync")  # fmt: skip
        self._run("the database", self._as_user(*made))
        rules = f"local all all trust\nhost all all {SUBNET}.0/24 trust\n"
        (self._data / "pg_hba.conf").write_text(rules)
        self._run(
            "the repository", ["git", "init", "-q", "--bare", "-b", "main", str(self.repository)]
        )
        self._start(
            *self._as_user(
                "postgres", "-D", str(self._data), "-p", str(_PORT), "-k", str(self._place),
                "-c", "listen_addresses=*", "-c", "shared_buffers=32MB", "-c", "fsync=off",
                "-c", "tcp_keepalives_idle=5", "-c", "tcp_user_timeout=10000",
            )
        )  # fmt: skip
        self._start(
            *_TIED, "--", "git", "daemon", "--reuseaddr", "--export-all", "--enable=receive-pack",
            f"--base-path={self.repository.parent}", f"--listen={HUB}", f"--port={_GIT_PORT}",
        )  # fmt: skip
        self._make_database()

    def stop(self) -> None:
        """End both servers."""
        while self._servers:
            server = self._servers.pop()
            server.send_signal(signal.SIGINT)
            try:
                server.wait(_STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGKILL)
                server.wait(_STOPS_WITHIN)

    def _make_database(self) -> None:
        import psycopg

        admin = self.socket_address.replace("/queue?", "/postgres?")
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                with psycopg.connect(admin, autocommit=True, connect_timeout=5) as connection:
                    connection.execute("CREATE DATABASE queue")
                    return
            except psycopg.OperationalError as error:
                ended = any(server.poll() is not None for server in self._servers)
                if ended or time.monotonic() > end:
                    told = self._log.read_text(errors="replace")[-2000:]
                    raise FleetError(f"PostgreSQL does not start: {told or error}") from error
                time.sleep(0.1)

    def _as_user(self, program: str, *words: str) -> list[str]:
        user, group = str(self._user.pw_uid), str(self._user.pw_gid)
        become = ("--reuid", user, "--regid", group, "--clear-groups", "--")
        return [*_TIED, *become, str(self._bin / program), *words]

    def _start(self, *argv: str) -> None:
        with self._log.open("ab") as log:
            self._servers.append(
                subprocess.Popen(
                    [*inside(self._space), *argv], cwd=self._place, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True,
                )
            )  # fmt: skip

    def _run(self, what: str, argv: Sequence[str]) -> None:
        done = subprocess.run(
            argv, cwd=self._place, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
        if done.returncode != 0:
            raise FleetError(f"{what} cannot be made: {done.stderr.strip()[-2000:]}")
