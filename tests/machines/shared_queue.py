"""A real PostgreSQL in the hub: hosts reach it over the network, tests by its socket."""

import shutil
import signal
import subprocess

from tests.contract.postgres_server import PostgresServer
from tests.machines.network import HUB, SUBNET, inside

PORT = 5432


class HubServer(PostgresServer):
    """Tests ask it through the socket in its directory, which no namespace hides."""

    def __init__(self, programs, home, space):
        super().__init__(programs, home)
        self.port, self._space = PORT, space

    def create(self):
        super().create()
        (self.data / "pg_hba.conf").write_text(
            f"local all,replication all trust\nhost all all {SUBNET}.0/24 trust\n"
        )
        with (self.data / "postgresql.conf").open("a") as file:
            # A host that vanished holds no lock for long.
            file.write("tcp_keepalives_idle = 5\ntcp_user_timeout = 10000\n")

    def dsn(self, database="postgres", *, password=""):
        del password
        return f"postgresql://fleet@/{database}?host={self.home}&port={self.port}"

    def address(self, database="postgres"):
        """What hosts write into their settings."""
        return f"postgresql://fleet@{HUB}:{self.port}/{database}"

    def copy(self):
        """Take a copy of the server as it is now, as a nightly back-up does."""
        subprocess.run(
            self._as_user("pg_basebackup", "-D", self.home / "copy", "-h", self.home,
                          "-p", self.port, "-U", "fleet", "-c", "fast"),
            check=True, timeout=60, cwd=self.home,
        )  # fmt: skip

    def fail_over(self, *, promoted):
        """The server dies, and its copy takes its place: as it is, or as a promoted standby."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.data)
        (self.home / "copy").rename(self.data)
        if promoted:
            (self.data / "recovery.signal").touch()
            with (self.data / "postgresql.auto.conf").open("a") as file:
                file.write("restore_command = 'false'\n")
        self.start()

    def _as_user(self, program, *arguments):
        argv = super()._as_user(program, *arguments)
        if program != "postgres":
            return argv
        words = [w.replace("listen_addresses=127.0.0.1", "listen_addresses=*") for w in argv]
        return inside(self._space, *words)
