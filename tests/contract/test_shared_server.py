"""A server that hosts share: roles, poolers, and several versions of fleet."""

import os
import shutil
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from functools import partial

import psycopg
import pytest

from fleet.errors import QueueUnavailable, SchemaTooNew
from fleet.queue.protocol import Draft
from fleet.queue.sql import migrate
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.postgres.role_rights import role_rights, roles_sql
from fleet.schemas import Closed
from fleet.supervisor.hosts.heartbeat import Heartbeat
from fleet.supervisor.hosts.server_memory import ServerMemory
from tests.conftest import missing
from tests.contract.postgres_server import free_port, unprivileged
from tests.contract.test_hosts import TTL, a_host
from tests.settled import settle


@pytest.fixture
def roles(new_postgres_dsn):
    """A queue with logins of both roles, gone afterwards; the address of each."""
    open_postgres(new_postgres_dsn).close()
    logins = {"alpha": "fleet_host", "carol": "fleet_viewer", "mallory": None}
    with psycopg.connect(new_postgres_dsn, autocommit=True) as owner:
        owner.execute(roles_sql())
        for name, role in logins.items():
            owner.execute(f"CREATE ROLE {name} LOGIN")
            if role:
                owner.execute(f"GRANT {role} TO {name}")
        yield {name: new_postgres_dsn.replace("//fleet:", f"//{name}:") for name in logins}
        for name in (*logins, "fleet_host", "fleet_viewer"):
            owner.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_host_works_with_the_rights_of_its_role_and_no_more(roles):
    """It adds, claims, settles, beats; it cannot change the schema."""
    with closing(open_postgres(roles["alpha"])) as queue:
        assert role_rights(queue).missing == ()
        queue.add(Draft(title="t"))
        host_table.register(queue, a_host(), machine="m")
        assert ServerMemory("home1", TTL, lambda *_: None).may_claim(queue)
        (lease,) = queue.claim("home1", ttl=TTL, offer=a_host().offer)
        assert settle(queue, lease, Closed(reason="done")) is None
        with pytest.raises(QueueUnavailable, match="must be owner"):
            queue.db.rows("ALTER TABLE tasks ADD COLUMN more TEXT")


def test_a_viewer_looks_and_writes_nothing(roles):
    """Its role lacks what a host needs, and that can be said."""
    with closing(open_postgres(roles["carol"])) as queue:
        rights = role_rights(queue)
        assert rights.may_look
        assert "UPDATE on tasks" in rights.missing
        assert queue.counts() == {}
        with pytest.raises(QueueUnavailable, match="cannot be written"):
            queue.add(Draft(title="t"))


def test_a_supervisor_with_the_login_of_a_viewer_says_why_it_takes_nothing(roles):
    """It answers to every look, so that nothing else would tell."""
    told, said = threading.Event(), []

    def say(kind, text):
        said.append(f"{kind}: {text}")
        told.set()

    opened = partial(open_postgres, roles["carol"])
    beat = Heartbeat(opened, a_host(), machine="m", lease=TTL, say=say)
    beat.start()
    try:
        assert told.wait(60)
    finally:
        beat.close(10)
    assert "permission denied for table" in said[0]
    assert "fleet queue roles" in said[0]


def test_tables_that_the_owner_adds_later_are_the_roles_too(new_postgres_dsn):
    """Also where a superuser made the roles, and a second time, and for another database."""
    owned, names = new_postgres_dsn.replace("//fleet:", "//olga:"), ("fleet_host", "fleet_viewer")
    with psycopg.connect(new_postgres_dsn, autocommit=True) as superuser:
        superuser.execute("CREATE ROLE olga LOGIN")
        superuser.execute(f"GRANT CREATE ON DATABASE {superuser.info.dbname} TO olga")
        try:
            open_postgres(owned).close()
            for _ in range(2):
                superuser.execute(roles_sql())
            with psycopg.connect(owned, autocommit=True) as owner:
                owner.execute("CREATE TABLE fleet.of_a_later_fleet (x INT)")
            for name, right, may in (
                ("fleet_host", "INSERT", True),
                ("fleet_viewer", "SELECT", True),
                ("fleet_viewer", "INSERT", False),
            ):
                asked = "SELECT has_table_privilege(%s, 'fleet.of_a_later_fleet', %s)"
                (found,) = superuser.execute(asked, (name, right)).fetchone()
                assert found is may, (name, right)
        finally:
            for name in (*names, "olga"):
                superuser.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


def test_a_login_without_a_role_is_told_what_to_do(roles):
    """Not an error of PostgreSQL's alone."""
    with pytest.raises(QueueUnavailable) as refused:
        open_postgres(roles["mallory"])
    assert "fleet queue roles" in refused.value.hint


@contextmanager
def pooler(dsn, mode, folder):
    """A real PgBouncer before the server; the address through it."""
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        missing("pgbouncer")
    target = psycopg.conninfo.conninfo_to_dict(dsn)
    port = free_port()
    folder.chmod(0o755)
    (folder / "users").write_text('"fleet" ""\n')
    place = f"host={target['host']} port={target['port']} dbname={target['dbname']} user=fleet"
    (folder / "pooler.ini").write_text(
        f"[databases]\nq = {place}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"pool_mode = {mode}\nauth_type = trust\nauth_file = {folder}/users\nunix_socket_dir =\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    user = ["-u", unprivileged()] if os.geteuid() == 0 else []
    process = subprocess.Popen([program, *user, folder / "pooler.ini"], stderr=subprocess.DEVNULL)
    try:
        address = f"postgresql://fleet@127.0.0.1:{port}/q"
        end = time.monotonic() + 20
        while True:
            try:
                psycopg.connect(address, connect_timeout=2).close()
                break
            except psycopg.OperationalError:
                assert time.monotonic() < end
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def test_a_pooler_by_transaction_is_refused_and_one_by_session_works(new_postgres_dsn, tmp_path):
    """A queue that nothing is heard from would be slow and would look sound."""
    by_transaction = pooler(new_postgres_dsn, "transaction", tmp_path)
    with by_transaction as address, pytest.raises(QueueUnavailable, match="by transaction"):
        open_postgres(address)
    by_session = pooler(new_postgres_dsn, "session", tmp_path)
    with by_session as address, closing(open_postgres(address)) as queue:
        queue.add(Draft(title="t"))
        assert len(queue.claim("a", ttl=TTL)) == 1


def test_a_host_of_an_earlier_fleet_finishes_what_it_has(new_postgres_dsn, monkeypatch):
    """A rolling upgrade: the first new host migrates, and the old ones say so and take no more."""
    with closing(open_postgres(new_postgres_dsn)) as old:
        old.add(Draft(title="t"))
        host_table.register(old, a_host(), machine="m")
        (lease,) = old.claim("home1", ttl=TTL, offer=a_host().offer)
        later = [*migrate.steps(), "ALTER TABLE tasks ADD COLUMN later TEXT"]
        open_postgres(new_postgres_dsn, steps=later).close()
        with pytest.raises(SchemaTooNew, match="a later fleet has brought the queue"):
            host_table.beat(old, a_host())
        assert settle(old, lease, Closed(reason="done")) is None
    with pytest.raises(SchemaTooNew):
        open_postgres(new_postgres_dsn)
