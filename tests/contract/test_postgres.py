"""The PostgreSQL queue keeps the contract, and what only a server can do to it."""

import contextlib
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from fleet.errors import (
    BadInput,
    FleetError,
    QueueBusy,
    QueueError,
    QueueUnavailable,
    SchemaTooNew,
    WriteBrokeOff,
    WrongQueue,
)
from fleet.processes.own_distribution import how_to_add
from fleet.queue.protocol import Draft, Filter, LeaseLost
from fleet.queue.sql import migrate
from fleet.queue.sql.edit_task import close
from fleet.queue.sql.postgres import connection, database, open_postgres
from fleet.queue.sql.postgres.connection import ServerClock, steady
from fleet.queue.sql.postgres.error_messages import address_of, in_our_words
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import SetAside
from tests.contract.earlier_queue import (
    add_as_before,
    block_as_before,
    check_blocked_as_before,
)
from tests.contract.postgres_server import ESCAPED, PASSWORD
from tests.contract.queue_contract import ManualClock, QueueContract
from tests.settled import settle, settled

TTL = timedelta(minutes=5)
SOON = timedelta(milliseconds=200)


class TestPostgres(QueueContract):
    @pytest.fixture
    def open_queue(self, postgres_dsn, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_postgres(postgres_dsn, clock=clock)))


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def admin(postgres_dsn):
    """Another client of the same database."""
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection


def hang_up(admin):
    """End every other connection, as a restart or a strict firewall does."""
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


class TestFailures:
    def failure(self, dsn):
        with pytest.raises(QueueUnavailable) as caught:
            open_postgres(dsn)
        told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
        assert PASSWORD not in told
        assert ESCAPED not in told
        return caught.value

    def test_no_server_is_said_plainly(self, postgres_server):
        """A port without a server gives an error that names the place."""
        dsn = postgres_server.dsn().replace(f":{postgres_server.port}/", ":1/")
        error = self.failure(dsn)
        assert "127.0.0.1:1/postgres" in error.message
        assert "server runs" in error.hint

    def test_a_wrong_password_is_said_plainly(self, postgres_server):
        """The hint leads to the password, and shows neither the right nor the wrong one."""
        error = self.failure(postgres_server.dsn(password="wr0ng"))
        assert "password authentication failed" in error.message
        assert "password" in error.hint
        assert "wr0ng" not in error.message + error.hint

    def test_an_unknown_database_is_said_plainly(self, postgres_server):
        """The hint says how to make it."""
        error = self.failure(postgres_server.dsn("nowhere"))
        assert '"nowhere" does not exist' in error.message
        assert "createdb" in error.hint

    @pytest.mark.parametrize(
        "dsn",
        [
            f"postgrsql://fleet:{PASSWORD}@127.0.0.1/x",
            f"postgresql://fleet:{PASSWORD}@127.0.0.1/x",
            "postgresql://fleet:12/s3cret/of@the:tests@127.0.0.1/x",
            "postgresql://fleet:s3cret%/of@the:tests@127.0.0.1/x",
            "postgresql://fleet:of@the:tests@127.0.0.1/x",
        ],
    )
    def test_a_mistyped_address_shows_nothing_of_the_password(self, dsn):
        """Even an address that is read wrongly gives no part of a password away."""
        error = self.failure(dsn)
        told = "".join(traceback.format_exception(error))
        assert not [part for part in ("s3cret", "of@the", "tests@") if part in told]
        assert "%40" in error.hint

    def test_a_missing_psycopg_says_what_to_install(self, monkeypatch):
        """Without the extra the error names it."""
        monkeypatch.delitem(sys.modules, "fleet.queue.sql.postgres.database", raising=False)
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(QueueUnavailable) as caught:
            open_postgres("postgresql:///x")
        assert caught.value.hint.endswith(how_to_add("postgres"))

    def test_a_user_without_rights_is_told_so(self, new_postgres_dsn):
        """A role that may not create the schema gets a typed error, not a stack of SQL."""
        with psycopg.connect(new_postgres_dsn, autocommit=True) as admin:
            admin.execute("DROP ROLE IF EXISTS guest")
            admin.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        error = self.failure(new_postgres_dsn.replace(f"fleet:{ESCAPED}", "guest:guest"))
        assert "cannot be written" in error.message

    def test_a_held_row_gives_busy_after_the_timeout(self, postgres_dsn, admin):
        """A lock that another holds too long ends in QueueBusy, and nothing is changed."""
        with closing(open_postgres(postgres_dsn, lock_timeout=SOON)) as queue:
            task_id = queue.add(Draft(title="t")).id
            (lease,) = queue.claim("a", ttl=TTL)
            with admin.transaction():
                admin.execute("SELECT 1 FROM fleet.tasks FOR UPDATE")
                with pytest.raises(QueueBusy):
                    settle(queue, lease, Closed(reason="done"))
            assert queue.get(task_id).status == "in_progress"
            assert settled(queue, lease, Closed(reason="done")).status == "closed"

    def test_what_text_cannot_hold_is_bad_input(self, queue):
        """PostgreSQL has no NUL in text; the task is refused whole."""
        with pytest.raises(BadInput):
            queue.add(Draft(title="nul", description="a\0b"))
        assert list(queue.find(Filter())) == []


class TestTransactions:
    def test_a_swallowed_failure_is_not_a_stored_change(self, queue):
        """A transaction in which a statement failed never looks as if it had been stored."""
        with pytest.raises(QueueError), queue.db.writing():
            queue.add(Draft(title="t"))
            with contextlib.suppress(FleetError):
                queue.db.rows("SELECT nonsense")
        assert list(queue.find(Filter())) == []

    def test_a_task_that_is_just_getting_a_child_can_be_claimed(self, queue, postgres_dsn):
        """An open transaction that refers to a task does not hide it from a claim."""
        parent = queue.add(Draft(title="parent")).id
        with closing(open_postgres(postgres_dsn)) as other, other.db.writing():
            other.add(Draft(title="related", depends_on=(("related", parent),)))
            assert [lease.task.id for lease in queue.claim("a", ttl=TTL)] == [parent]

    def test_two_machines_never_take_one_id(self, postgres_dsn):
        """The same task added at the same moment from many handles gets as many ids."""
        clock = ManualClock()
        with ExitStack() as handles:
            many = [
                handles.enter_context(closing(open_postgres(postgres_dsn, clock=clock)))
                for _ in range(4)
            ]

            def add_two(handle):
                return [handle.add(Draft(title="twin")).id for _ in range(2)]

            with ThreadPoolExecutor(4) as pool:
                ids = [task for added in pool.map(add_two, many) for task in added]
        assert len(set(ids)) == 8


class TestReconnecting:
    def test_a_restarted_server_heals_by_itself(self, postgres_server, queue):
        """After a restart the same handle reads, writes and waits on."""
        task_id = queue.add(Draft(title="before")).id
        queue.wait(timedelta(0))
        postgres_server.stop()
        with pytest.raises(QueueUnavailable):
            queue.get(task_id)
        postgres_server.start()
        assert queue.get(task_id).title == "before"
        (lease,) = queue.claim("a", ttl=TTL)
        assert settled(queue, lease, Closed(reason="done")).status == "closed"
        assert queue.wait(timedelta(seconds=10)) is True
        assert queue.wait(timedelta(seconds=10)) is True
        assert queue.wait(timedelta(0)) is False

    def test_a_dropped_connection_is_not_even_noticed(self, queue, admin):
        """Each verb works on a connection that died while it was idle."""
        queue.add(Draft(title="one"))
        hang_up(admin)
        (lease,) = queue.claim("a", ttl=TTL)
        hang_up(admin)
        settle(queue, lease, Released())
        hang_up(admin)
        assert queue.add(Draft(title="two")).title == "two"

    def test_a_connection_lost_in_a_transaction_undoes_it(self, queue, admin):
        """Half a change is never kept, and the next call finds a new connection."""
        with pytest.raises(QueueUnavailable), queue.db.writing():
            queue.add(Draft(title="half"))
            hang_up(admin)
            queue.add(Draft(title="other half"))
        assert list(queue.find(Filter())) == []
        assert queue.add(Draft(title="whole")).title == "whole"

    def test_a_write_that_broke_off_is_not_repeated(self, queue, admin):
        """It is unknown whether the write was stored, so the caller is told and decides."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        told = []

        def end():
            try:
                settle(queue, lease, Closed(reason="done"))
            except FleetError as error:
                told.append(error)

        with admin.transaction():
            admin.execute("SELECT 1 FROM fleet.tasks FOR UPDATE")
            writer = threading.Thread(target=end)
            writer.start()
            waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while admin.execute(waits).fetchone() is None:
                assert writer.is_alive()
            hang_up(admin)
            writer.join(timeout=10)
        (error,) = told
        assert isinstance(error, QueueUnavailable)
        assert "may or may not" in error.hint
        assert queue.get(lease.task.id).status == "in_progress"

    @pytest.mark.parametrize(
        "how",
        [Closed(reason="done"), Released(declined="no room"), Blocked(waits=SetAside(note="why"))],
    )
    @pytest.mark.parametrize("is_stored", [True, False])
    def test_a_settlement_whose_answer_was_lost_is_settled_by_the_next_try(
        self, queue, monkeypatch, how, is_stored
    ):
        """It is no lost lease: what follows from the settlement has to follow."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        with monkeypatch.context() as patch:
            patch.setattr(database, "_run", breaking_off(after=is_stored))
            patch.setattr(psycopg.RawCursor, "execute", breaking_commits(after=is_stored))
            with pytest.raises(WriteBrokeOff):
                settle(queue, lease, how)
        assert (queue.get(lease.task.id).status != "in_progress") is is_stored
        assert settle(queue, lease, how) is None
        assert queue.get(lease.task.id).status in ("closed", "open", "blocked")
        assert isinstance(settle(queue, lease, how), LeaseLost), "a lease is settled once"

    @pytest.mark.parametrize("is_stored", [True, False])
    def test_leases_that_ended_together_end_once_though_the_answer_was_lost(
        self, queue, monkeypatch, is_stored
    ):
        """Each is tried by itself, and a settlement that was stored is no lost lease."""
        for title in ("a", "b"):
            queue.add(Draft(title=title))
        leases = queue.claim("a", count=2, ttl=TTL)
        ends = [(lease, Closed(reason="done")) for lease in leases]
        with monkeypatch.context() as patch:
            patch.setattr(psycopg.RawCursor, "execute", breaking_commits(after=is_stored))
            assert queue.settle(ends) == [None, None]
        assert queue.counts() == {"closed": 2}

    def test_a_close_by_a_person_is_not_taken_for_a_settlement_whose_answer_was_lost(
        self, queue, monkeypatch
    ):
        """The connection was lost before the settlement, and a person closed the task since."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        with monkeypatch.context() as patch:
            patch.setattr(database, "_run", breaking_off(after=False))
            with pytest.raises(WriteBrokeOff):
                settle(queue, lease, Closed(reason="done"))
        close(queue, lease.task.id, reason="by hand", actor="carol", force=True)
        assert isinstance(settle(queue, lease, Closed(reason="done")), LeaseLost)


def breaking_off(*, after):
    """`_run` on a connection that is lost with the update, before the server gets it or after."""

    def run(cursor, text, given):
        is_lost = text.startswith("UPDATE tasks") and not in_transaction(cursor)
        ran = run_whole(cursor, text, given) if after or not is_lost else cursor
        if is_lost:
            cursor.connection.close()
            raise psycopg.OperationalError("lost")
        return ran

    run_whole = database._run
    return run


def breaking_commits(*, after):
    """The same with a commit."""

    def execute(cursor, query, *args, **kwargs):
        done = execute_whole(cursor, query, *args, **kwargs) if after or query != "COMMIT" else None
        if query == "COMMIT":
            cursor.connection.close()
            raise psycopg.OperationalError("lost")
        return done

    execute_whole = psycopg.RawCursor.execute
    return execute


def in_transaction(cursor):
    return cursor.connection.info.transaction_status is not TransactionStatus.IDLE


class TestBell:
    def test_claims_and_renewals_wake_nobody(self, queue, postgres_dsn):
        """What only a lease holder needs to know costs no notification."""
        with closing(open_postgres(postgres_dsn)) as listener:
            listener.wait(timedelta(0))
            queue.add(Draft(title="t"))
            assert listener.wait(timedelta(seconds=10)) is True
            (lease,) = queue.claim("a", ttl=TTL)
            queue.renew(lease, ttl=TTL)
            assert listener.wait(SOON) is False
            settle(queue, lease, Released())
            assert listener.wait(timedelta(seconds=10)) is True

    def test_an_undone_change_wakes_nobody(self, queue, postgres_dsn):
        """The bell rings with the commit, so a rollback is silent."""
        with closing(open_postgres(postgres_dsn)) as listener:
            listener.wait(timedelta(0))
            with pytest.raises(BadInput), queue.db.writing():
                queue.add(Draft(title="t"))
                queue.add(Draft(title=""))
            assert listener.wait(SOON) is False


class TestMigration:
    def test_a_newer_schema_is_refused_and_untouched(self, new_postgres_dsn):
        """A fleet that is older than the queue changes nothing in it."""
        later = [*migrate.steps(), "CREATE TABLE later (id TEXT)"]
        with closing(open_postgres(new_postgres_dsn, steps=later)) as queue:
            task = queue.add(Draft(title="t"))
        with pytest.raises(SchemaTooNew):
            open_postgres(new_postgres_dsn)
        with closing(open_postgres(new_postgres_dsn, steps=later)) as queue:
            assert queue.get(task.id) == task

    def test_a_migration_keeps_a_copy(self, new_postgres_dsn):
        """Before the schema moves forward, every table is copied aside."""
        with closing(open_postgres(new_postgres_dsn)) as queue:
            task_id = queue.add(Draft(title="t", labels=("x",))).id
        later = [*migrate.steps(), "ALTER TABLE tasks ADD COLUMN mood TEXT; DELETE FROM labels"]
        with closing(open_postgres(new_postgres_dsn, steps=later)) as queue:
            assert queue.get(task_id).labels == ()
            kept = f"fleet_backup_v{len(later) - 1}"
            assert queue.db.rows(f"SELECT id FROM {kept}.tasks") == [(task_id,)]
            assert queue.db.rows(f"SELECT label FROM {kept}.labels") == [("x",)]

    def test_a_failed_migration_changes_nothing(self, new_postgres_dsn):
        """All steps, the copy and the version move together or not at all."""
        with closing(open_postgres(new_postgres_dsn)) as queue:
            task_id = queue.add(Draft(title="t")).id
        broken = [*migrate.steps(), "DROP TABLE requests; SELECT nonsense"]
        with pytest.raises(FleetError):
            open_postgres(new_postgres_dsn, steps=broken)
        with closing(open_postgres(new_postgres_dsn)) as queue:
            assert queue.request(task_id, "stop").wish == "stop"

    def test_a_queue_without_the_claims_function_gets_it(self, new_postgres_dsn):
        """A queue that an earlier fleet made is claimed from after the next start."""
        with closing(open_postgres(new_postgres_dsn)) as queue:
            first = queue.add(Draft(title="first")).id
            queue.add(Draft(title="second", priority=0, depends_on=(("blocks", first),)))
            queue.db.rows("DROP FUNCTION fleet.has_unmet_dependency")
        with closing(open_postgres(new_postgres_dsn)) as queue:
            assert [lease.task.id for lease in queue.claim("a", count=5, ttl=TTL)] == [first]

    def test_the_checks_of_an_earlier_fleet_become_one_that_refuses_the_same(
        self, new_postgres_dsn
    ):
        """After the next open one check holds every rule, also for other programs."""
        with closing(open_postgres(new_postgres_dsn, steps=list(migrate.steps()[:1]))) as queue:
            add_as_before(queue, waiting=["t"])
        with psycopg.connect(new_postgres_dsn, autocommit=True) as admin:
            admin.execute("SET search_path = fleet")
            admin.execute("DROP FUNCTION possible_task CASCADE")
            for rule in ("priority < 5", "title <> ''", "lease_owner IS NULL OR status <> 'open'"):
                admin.execute(f"ALTER TABLE tasks ADD CHECK ({rule})")
            open_postgres(new_postgres_dsn).close()
            checks = "SELECT conname FROM pg_constraint WHERE conrelid = 'tasks'::regclass"
            assert admin.execute(f"{checks} AND contype = 'c'").fetchall() == [("tasks_possible",)]
            for wrong in ("priority = 5", "title = ''", "lease_owner = 'a', lease_until = 1"):
                with pytest.raises(psycopg.errors.CheckViolation):
                    admin.execute(f"UPDATE tasks SET {wrong}")
            admin.execute("UPDATE tasks SET priority = 4")
        with closing(open_postgres(new_postgres_dsn)) as queue:
            assert [lease.task.id for lease in queue.claim("a", ttl=TTL)] == ["t"]

    def test_why_tasks_of_an_earlier_fleet_wait_is_read_from_their_notes_once(
        self, new_postgres_dsn
    ):
        """The notes were all that said so."""
        with closing(open_postgres(new_postgres_dsn, steps=list(migrate.steps()[:7]))) as queue:
            block_as_before(queue)
        with closing(open_postgres(new_postgres_dsn)) as queue:
            check_blocked_as_before(queue)

    def test_many_first_openers_make_one_schema(self, new_postgres_dsn):
        """Handles that open an empty database at once all succeed."""
        opened, failed = [], []

        def first():
            try:
                opened.append(open_postgres(new_postgres_dsn))
            except FleetError as error:
                failed.append(error)

        threads = [threading.Thread(target=first) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for queue in opened:
            queue.close()
        assert (len(opened), failed) == (6, [])


class TestTime:
    def test_leases_are_measured_by_the_servers_clock(self, queue, admin):
        """The handle's time is the server's to within the time of a round trip."""
        before = admin.execute("SELECT clock_timestamp()").fetchone()[0]
        now = queue.db.now()
        after = admin.execute("SELECT clock_timestamp()").fetchone()[0]
        slack = timedelta(milliseconds=250)
        assert before - slack < now < after + slack
        assert now.tzinfo is UTC

    def test_a_wrong_local_clock_does_not_matter(self):
        """Only the distance to the server's clock is kept, and it is measured again at times."""
        clock = ServerClock()
        assert clock.stale
        clock.set(1_000_000_000_000_000, steady())
        assert not clock.stale
        there = datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
        assert timedelta(0) <= clock.now() - there < timedelta(seconds=10)

    def test_a_machine_that_slept_over_the_answer_asks_again(self, queue, monkeypatch):
        """The answer would lie half of its sleep in the past, and so would its leases."""
        real, slept = connection.steady, [0.0]
        monkeypatch.setattr(connection, "steady", lambda: real() + slept[0])
        monkeypatch.setattr(database, "steady", lambda: real() + slept[0])
        rows = queue.db.rows

        def late_rows(sql, values=None):
            found = rows(sql, values)
            slept[0] += 3600 if not slept[0] else 0
            return found

        queue.db._server_clock = ServerClock()
        monkeypatch.setattr(queue.db, "_clock", None)
        monkeypatch.setattr(queue.db, "rows", late_rows)
        found = queue.db.now()
        assert slept == [3600]
        assert abs(found - datetime.now(UTC)) < timedelta(minutes=10)


class TestIdentity:
    """Another database behind the same address is refused, and no queue is made anew in it."""

    @pytest.fixture
    def home(self, tmp_path):
        (tmp_path / "tasks").mkdir()
        return tmp_path

    def test_a_database_that_was_made_anew_is_refused(self, new_postgres_dsn, home):
        """A dropped and created database, or a failover to an empty server, hides every task."""
        open_postgres(new_postgres_dsn, home=home).close()
        open_postgres(new_postgres_dsn, home=home).close()
        with psycopg.connect(new_postgres_dsn, autocommit=True) as admin:
            admin.execute("DROP SCHEMA fleet CASCADE")
            with pytest.raises(WrongQueue, match="gone or was emptied"):
                open_postgres(new_postgres_dsn, home=home)
            assert not admin.execute("SELECT to_regnamespace('fleet')").fetchone()[0]
        open_postgres(new_postgres_dsn).close()  # another home's first use
        with pytest.raises(WrongQueue, match="another one"):
            open_postgres(new_postgres_dsn, home=home)

    def test_a_supervisor_that_connects_again_looks_again(self, new_postgres_dsn, home):
        """The server may come back as another one while the supervisor runs."""
        with closing(open_postgres(new_postgres_dsn, home=home)) as queue:
            queue.add(Draft(title="t"))
            with psycopg.connect(new_postgres_dsn, autocommit=True) as admin:
                admin.execute("UPDATE fleet.meta SET value = 'other' WHERE key = 'identity'")
                admin.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            for _ in range(2):
                with pytest.raises(WrongQueue, match="another one"):
                    queue.add(Draft(title="lost"))


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("server does not support SSL, but SSL was required", "ssl = on"),
        ('root certificate file "/ca.pem" does not exist', "Correct sslrootcert"),
        ("SSL error: certificate verify failed", "host's name and sslrootcert"),
        ('server certificate for "a" does not match host name "b"', "host's name and sslrootcert"),
        ("failed to resolve host 'db': Name or service not known", "Correct the host's name"),
    ],
)
def test_what_is_wrong_with_an_address_is_told_with_the_part_to_correct(said, advice):
    """That the server may be down is no help to a person whose server is up."""
    assert advice in in_our_words(psycopg.OperationalError(said), "db/fleet").hint


def test_an_option_that_is_unknown_is_named_unless_it_may_be_of_the_password():
    """The rest of the address is never quoted."""
    with pytest.raises(QueueUnavailable, match="it has no option sslmod"):
        address_of("postgresql://me:secret@db/fleet?sslmod=require")
    with pytest.raises(QueueUnavailable) as found:
        address_of("postgresql://db/fleet?secret=@x")
    assert "secret" not in str(found.value)
