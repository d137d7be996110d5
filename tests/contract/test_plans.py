"""The claim walks the index that has the order of work; history costs it nothing."""

from contextlib import closing
from datetime import timedelta
from functools import partial

import apsw
import pytest

from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql import migrate
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from tests.contract.earlier_queue import add_as_before

VALUES = {"owner": "a", "now": 10**15, "until": 10**15, "count": 1}
VALUES |= {"left_since": 10**15, "heard_since": 10**15}
VALUES |= {"offer": "host:a\nhome:a", "mirrors": "", "unreachable": "", "names_coder": False}
HISTORY = """
INSERT INTO tasks (id, title, status, priority, issue_type, created_at, updated_at, closed_at)
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
SELECT 'old-' || n, 'done', 'closed', 2, 'task', n, n, n FROM n
"""
CHAINS = """
INSERT INTO dependencies (task_id, depends_on_id, type, created_at)
SELECT id, 'old-1', 'blocks', 1 FROM tasks WHERE id LIKE 'old-1_%'
"""


def with_history(queue):
    """Twenty thousand closed tasks with their dependencies, and a chain of open ones."""
    with queue.db.writing():
        queue.db.rows(HISTORY)
        queue.db.rows(CHAINS)
        last = ()
        for n in range(30):
            last = (("blocks", queue.add(Draft(title=f"t{n}", depends_on=last)).id),)
    queue.db.rows("ANALYZE")


def test_sqlite_claims_by_the_waiting_index(tmp_path):
    """SQLite walks `tasks_waiting` in order: no other scan of tasks, no sort, no index made up."""
    with closing(open_embedded(tmp_path)) as queue:
        for analysed in (False, True):
            if analysed:
                with_history(queue)
            plan = queue.db.rows(f"EXPLAIN QUERY PLAN {queue.text('claim')}", VALUES)
            lines = [row[3] for row in plan]
            scans = [line for line in lines if line.startswith("SCAN tasks")]
            assert scans == ["SCAN tasks USING INDEX tasks_waiting"]
            assert "USE TEMP B-TREE FOR ORDER BY" not in lines
            assert not [line for line in lines if "AUTOMATIC" in line or "SCAN dep" in line]


def test_sqlite_claims_as_cheaply_with_history(tmp_path):
    """A claim takes the same steps past twenty thousand closed tasks, and is planned only once."""
    steps = []
    for name in ("young", "old"):
        (tmp_path / name).mkdir()
        with closing(open_embedded(tmp_path / name)) as queue:
            if name == "old":
                with_history(queue)
            queue.add(Draft(title="first", priority=0))
            queue.add(Draft(title="second", priority=0))
            seen = []
            queue.claim("a", ttl=timedelta(minutes=5))
            queue.db._connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, seen.append)
            queue.claim("a", ttl=timedelta(minutes=5))
            (status,) = [event["stmt_status"] for event in seen]
            assert status["SQLITE_STMTSTATUS_REPREPARE"] == 0
            steps.append(status["SQLITE_STMTSTATUS_VM_STEP"])
    assert steps[0] == steps[1]


@pytest.mark.parametrize("count", [1, 50])
def test_postgres_claims_by_the_waiting_index(new_postgres_dsn, count):
    """PostgreSQL walks `tasks_waiting` in order, past twenty thousand closed tasks, unsorted."""
    with closing(open_postgres(new_postgres_dsn)) as queue:
        with_history(queue)
        plan = queue.db.rows(f"EXPLAIN {queue.text('claim')}", VALUES | {"count": count})
    lines = [row[0].strip() for row in plan]
    assert [line for line in lines if "Index Scan using tasks_waiting on tasks" in line]
    assert not [line for line in lines if "Sort" in line or "Seq Scan on tasks" in line]
    assert not [line for line in lines if "hashed" in line or "Seq Scan on dep" in line]
    assert not [line for line in lines if "JIT" in line]


def test_postgres_follows_dependencies_by_their_index(new_postgres_dsn):
    """What a task waits for is looked up by its own dependencies, however many others there are."""
    with closing(open_postgres(new_postgres_dsn)) as queue:
        with_history(queue)
        unmet = f"SELECT {queue.text('unmet_dependency')} FROM tasks WHERE tasks.id = :id"
        plan = queue.db.rows(f"EXPLAIN {unmet}", {"now": 10**15, "id": "old-10"})
    lines = [row[0].strip() for row in plan]
    assert [line for line in lines if "dependencies_pkey on dependencies d" in line]
    assert not [line for line in lines if "hashed" in line or "Seq Scan" in line]


def test_postgres_claims_and_renews_within_a_rows_page(new_postgres_dsn):
    """Neither changes a column that an index knows, so that no index is written."""
    done = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'tasks'"
    with closing(open_postgres(new_postgres_dsn)) as queue:
        queue.add(Draft(title="t"))
        with queue.db.writing():
            (lease,) = queue.claim("a", ttl=timedelta(minutes=5))
            queue.renew(lease, ttl=timedelta(minutes=5))
            assert queue.db.rows(done) == [(2, 2)]


def test_a_queue_of_an_earlier_fleet_gets_the_index(tmp_path, new_postgres_dsn):
    """With the tasks that were in it: the open one is claimed, by the index."""
    before = list(migrate.steps()[:2])
    for open_queue in (partial(open_embedded, tmp_path), partial(open_postgres, new_postgres_dsn)):
        with closing(open_queue(steps=before)) as queue:
            add_as_before(queue, closed=["done"], waiting=["waits"])
        with closing(open_queue()) as queue:
            assert [lease.task.id for lease in queue.claim("a", ttl=timedelta(1))] == ["waits"]
            assert [task.id for task in queue.find(Filter())] == ["waits"]
