"""A real PostgreSQL in the hub: hosts reach it over the network, tests by its socket."""

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
            f"local all all trust\nhost all all {SUBNET}.0/24 trust\n"
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

    def _as_user(self, program, *arguments):
        argv = super()._as_user(program, *arguments)
        if program != "postgres":
            return argv
        words = [w.replace("listen_addresses=127.0.0.1", "listen_addresses=*") for w in argv]
        return inside(self._space, *words)
