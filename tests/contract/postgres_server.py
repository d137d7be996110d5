"""A private PostgreSQL on the loopback interface, for as long as the tests run."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from fleet.files.file_lock import exclusive

if TYPE_CHECKING:
    import psycopg

PASSWORD = "s3cret/of@the:tests"  # with everything that an address must escape
ESCAPED = "s3cret%2Fof%40the%3Atests"
_STOPS_WITHIN = 15


def binaries() -> Path | None:
    """Where the newest server is: on PATH, or where Debian puts it if psql is on PATH."""
    found = shutil.which("postgres")
    if found and shutil.which("initdb"):
        return Path(found).resolve().parent
    if shutil.which("psql") is None:
        return None
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(debian, key=lambda path: float(path.parts[-3]), reverse=True)
    return newest[0].parent if newest else None


class PostgresServer:
    """One cluster in a directory of its own. PostgreSQL refuses to run as root, so we step down."""

    def __init__(self, programs: Path, home: Path, *, durable: bool = False) -> None:
        self.programs = programs
        #: Tests need no disk; a comparison of speed needs commits that are on one.
        self.durable = durable
        self.home = home
        self.port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._user = unprivileged() if os.geteuid() == 0 else None

    def create(self) -> None:
        (secret := self.home / "password").write_text(PASSWORD)
        self._give(self.home, secret)
        subprocess.run(
            self._as_user("initdb", "-D", self.data, "-U", "fleet", "-E", "UTF8", "--locale=C",
                          "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync"),
            cwd=self.home, check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        # To prove a password takes longer than most tests: one database asks for it.
        (self.data / "pg_hba.conf").write_text(
            "host postgres all 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        )

    def create_like(self, pattern: Path) -> None:
        """As another test process did: making a cluster takes a second of processor."""
        with exclusive(pattern.with_suffix(".lock")):
            if pattern.exists():
                self._give(self.home)
                subprocess.run(["cp", "-Rp", pattern, self.data], check=True)
                return
            self.create()
            subprocess.run(["cp", "-Rp", self.data, pattern], check=True)

    def _give(self, *paths: Path) -> None:
        """To the user that the server runs as."""
        if self._user:
            for path in paths:
                shutil.chown(path, self._user, pwd.getpwnam(self._user).pw_gid)

    @property
    def data(self) -> Path:
        return self.home / "data"

    def dsn(self, database: str = "postgres", *, password: str = ESCAPED) -> str:
        return f"postgresql://fleet:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Returns once the server takes connections. A restart keeps its port."""
        self.port = self.port or free_port()
        fsync = "on" if self.durable else "off"
        with (self.home / "log").open("ab") as log:
            self._server = subprocess.Popen(
                self._as_user("postgres", "-D", self.data, "-p", self.port, "-k", self.home,
                              "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60",
                              "-c", "shared_buffers=32MB", "-c", f"fsync={fsync}"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.home, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + 30
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.home / "log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is a fast shutdown, SIGQUIT a crash; whatever is left then is killed."""
        if self._server is None:
            return
        self._server.send_signal(how)
        try:
            self._server.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait(_STOPS_WITHIN)
        self._server = None

    def run(self, sql: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn(), autocommit=True) as admin:
            admin.execute(sql)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _as_user(self, program: str, *arguments: object) -> list[str]:
        argv = [str(self.programs / program), *map(str, arguments)]
        if not (setpriv := shutil.which("setpriv")):
            return argv
        # A killed test run takes its server along.
        drop = [setpriv, "--pdeathsig", "INT"]
        if self._user:
            group = str(pwd.getpwnam(self._user).pw_gid)
            drop += ["--reuid", self._user, "--regid", group, "--clear-groups"]
        return [*drop, "--", *argv]


def unprivileged() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_server(
    programs: Path, *, durable: bool = False, pattern: Path | None = None
) -> Generator[PostgresServer]:
    """`pattern` is where a cluster that was just made is kept for the next ones."""
    home = Path(tempfile.mkdtemp(prefix="fleet-postgres-"))
    server = PostgresServer(programs, home, durable=durable)
    try:
        if pattern is None:
            server.create()
        else:
            server.create_like(pattern)
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def fresh_database(server: PostgresServer) -> Generator[str]:
    """The address of an empty database that is gone afterwards."""
    name = f"t{uuid4().hex[:12]}"
    server.run(f"CREATE DATABASE {name}")
    try:
        yield server.dsn(name)
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")


#: One connection a database stays open to empty it: a new one costs the server forty times as much
#: as the emptying.
_admins: dict[str, "psycopg.Connection"] = {}


def empty(dsn: str) -> None:
    """Take every task and host out of a queue: its tables are made once, which is what takes long.

    A host of the test before would be up for another half a minute.
    """
    import psycopg

    try:
        _empty(_admins[dsn])
    except (KeyError, psycopg.OperationalError):  # the first time, or the server was restarted
        forget(dsn)
        _admins[dsn] = psycopg.connect(dsn, autocommit=True)
        _empty(_admins[dsn])


def _empty(admin: "psycopg.Connection") -> None:
    if admin.execute("SELECT to_regclass('fleet.meta')").fetchone() != (None,):
        admin.execute(
            "DELETE FROM fleet.tasks; DELETE FROM fleet.memories; DELETE FROM fleet.hosts;"
            "DELETE FROM fleet.declines; DELETE FROM fleet.spending;"
            "DELETE FROM fleet.shared_states; DELETE FROM fleet.schedules;"
            "DELETE FROM fleet.meta WHERE key NOT IN ('prefix', 'schema_version')"
        )


def forget(dsn: str) -> None:
    """Close the connection that empties a database, if there is one."""
    if (admin := _admins.pop(dsn, None)) is not None:
        admin.close()


@pytest.fixture(scope="session")
def postgres_server(shared_folder: Path) -> Generator[PostgresServer]:
    from tests.conftest import missing

    programs = binaries()
    if programs is None:
        missing("postgresql")
    with running_server(programs, pattern=shared_folder / "postgres") as server:
        yield server


@pytest.fixture(scope="session")
def shared_database(postgres_server: PostgresServer) -> Generator[str]:
    with fresh_database(postgres_server) as dsn:
        yield dsn
        forget(dsn)


@pytest.fixture
def postgres_dsn(shared_database: str) -> str:
    """The address of a database without any task."""
    empty(shared_database)
    return shared_database


@pytest.fixture
def new_postgres_dsn(postgres_server: PostgresServer) -> Generator[str]:
    """The address of a database that no fleet has seen."""
    with fresh_database(postgres_server) as dsn:
        yield dsn
