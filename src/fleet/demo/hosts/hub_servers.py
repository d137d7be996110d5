"""What the hosts of the demo share, in the hub: a real PostgreSQL, and the project's repository."""

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

from fleet.demo.hosts.demo_network import HUB, SUBNET, inside
from fleet.errors import FleetError

#: Nothing else is in the hub, so that the usual ports are free.
_PORT, _GIT_PORT = 5432, 9418
#: The user that every Linux has for programs without rights.
_NO_RIGHTS = 65534
_PATIENCE = 60.0
_STOPS_WITHIN = 15.0
#: A killed demo takes its servers along.
_TIED = ("setpriv", "--pdeathsig", "INT")


def missing_for_servers() -> list[str]:
    """What is missing for the servers; empty if nothing is."""
    found: list[str] = []
    if programs() is None:
        found.append("PostgreSQL (Debian: apt install postgresql)")
    if find_spec("psycopg") is None:
        found.append("psycopg (pip install 'fleet[postgres]')")
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
