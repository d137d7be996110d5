"""Back-up and restore of a shared queue with PostgreSQL's own programs, as docs/hosts.md says."""

import shutil
import subprocess
from contextlib import closing

import psycopg
import pytest

from fleet.errors import QueueError
from fleet.home import Home, make_home
from fleet.queue.protocol import Draft
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.postgres.role_rights import role_rights
from fleet.queue.sql.travel.run_files import RunFiles
from fleet.schemas import Closed
from fleet.supervisor.hosts.server_memory import ServerMemory
from tests.conftest import missing
from tests.contract.postgres_server import fresh_database
from tests.contract.test_hosts import TTL, a_host
from tests.settled import settle


@pytest.fixture
def home(tmp_path):
    found = Home(tmp_path / "home")
    make_home(found)
    return found.path


def test_a_dump_is_restored_with_everything_and_hosts_take_it_for_their_own(
    postgres_server, new_postgres_dsn, home, tmp_path
):
    """Tasks, evidence, rights and the id; the first claim waits until runs that the dump does not
    know have ended, and what the dump knew is claimed then.
    """
    programs = postgres_server.programs
    if not shutil.which("pg_dump", path=programs):
        missing("pg_dump")
    with closing(open_postgres(new_postgres_dsn, home=home)) as queue:
        host_table.register(queue, a_host(), machine="m")
        memory = ServerMemory("home1", TTL, lambda *_: None)
        memory.check(queue)
        memory.beaten(queue)
        done, waits = (queue.add(Draft(title=title)).id for title in ("done", "waits"))
        (lease,) = queue.claim("home1", ttl=TTL)
        RunFiles(queue).send(lease, 1, [("stdout", [b"what it said"])], host="home1")
        settle(queue, lease, Closed(reason="done"))
        dump = tmp_path / "fleet.dump"
        subprocess.run(
            [programs / "pg_dump", "--schema=fleet", "--format=custom", f"--file={dump}",
             f"--dbname={new_postgres_dsn}"],
            check=True, timeout=60,
        )  # fmt: skip
    with fresh_database(postgres_server) as copy:
        restore = [programs / "pg_restore", f"--dbname={copy}", dump]
        subprocess.run(restore, check=True, timeout=60)
        with closing(open_postgres(copy)) as queue:
            assert queue.get(done).status == "closed"
            assert RunFiles(queue).read(done, 1, "stdout") == b"what it said"
            assert role_rights(queue).missing == ()
            assert not memory.may_claim(queue)
            (lease,) = queue.claim("home1", ttl=TTL)  # what the host would do once it may
            assert lease.task.id == waits
            with pytest.raises(QueueError), queue.db.writing():
                queue.db.rows("UPDATE tasks SET status = 'nonsense'")
        ids = [_identity(each) for each in (new_postgres_dsn, copy)]
    assert ids[0] == ids[1] != ""


def _identity(dsn):
    with psycopg.connect(dsn) as admin:
        row = admin.execute("SELECT value FROM fleet.meta WHERE key = 'identity'").fetchone()
    return row[0] if row else ""
