"""Claim and settle against a bare loop of two durable UPDATEs, on both SQL queues."""

import itertools
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import apsw

from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas import Closed
from tests.bench import Figure, side_by_side
from tests.settled import settle

#: Tasks a round: few, so that both sides meet the same weather.
TASKS = 25
TTL = timedelta(minutes=5)

BARE_TABLE = (
    "CREATE TABLE bare (id BIGINT PRIMARY KEY, status TEXT NOT NULL, priority BIGINT NOT NULL,"
    " owner TEXT, fence BIGINT NOT NULL DEFAULT 0, closed_at BIGINT)"
)
BARE_INDEX = "CREATE INDEX bare_waiting ON bare (priority, id) WHERE status = 'open'"
BARE_ADD = "INSERT INTO bare (id, status, priority) VALUES ({0}, 'open', 2)"
BARE_CLAIM = (
    "UPDATE bare SET status = 'in_progress', owner = {0}, fence = fence + 1 WHERE id ="
    " (SELECT id FROM bare WHERE status = 'open' ORDER BY priority, id LIMIT 1{1})"
    " RETURNING id, fence"
)
BARE_SETTLE = (
    "UPDATE bare SET status = 'closed', closed_at = {0} WHERE id = {1} AND fence = {2} RETURNING id"
)

HISTORY = """
INSERT INTO tasks (id, title, status, priority, issue_type, created_at, updated_at, closed_at)
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
SELECT 'old-' || n, 'done', 'closed', 2, 'task', n, n, n FROM n
"""

Run = Callable[[str, tuple[object, ...]], list[tuple[object, ...]]]


def figures() -> Generator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        yield from embedded(Path(folder))
    yield from postgres("PostgreSQL claim+settle : bare psycopg", 0.6, durable=True)
    # Without the disk: what is left is the CPU of both, which a durable commit hides.
    yield from postgres("PostgreSQL, fsync=off : bare psycopg", 0.6, durable=False)


def embedded(folder: Path) -> Generator[Figure]:
    with ExitStack() as stack:
        new, old = (folder / name for name in ("new", "old"))
        new.mkdir()
        old.mkdir()
        queue = stack.enter_context(closing(open_embedded(new)))
        connection = stack.enter_context(closing(apsw.Connection(str(folder / "bare.db"))))
        connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")

        def run(sql: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
            return connection.execute(sql, values).fetchall()

        yield against_bare("embedded claim+settle : bare APSW", 0.5, queue, run, ("?", "?", "?"))
        aged = stack.enter_context(closing(open_embedded(old)))
        yield with_history("embedded, 100,000 closed : none", queue, aged)


def postgres(name: str, goal: float, *, durable: bool) -> Generator[Figure]:
    from tests.contract.postgres_server import binaries, fresh_database, running_server

    programs = binaries()
    if programs is None:
        return
    import psycopg

    from fleet.queue.sql.postgres import open_postgres

    with ExitStack() as stack:
        server = stack.enter_context(running_server(programs, durable=durable))
        new, old = (stack.enter_context(fresh_database(server)) for _ in range(2))
        queue = stack.enter_context(closing(open_postgres(new)))
        connection = stack.enter_context(psycopg.connect(new, autocommit=True))

        def run(sql: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

        skip = " FOR UPDATE SKIP LOCKED"
        yield against_bare(name, goal, queue, run, ("%s", "%s", "%s"), skip)
        if not durable:
            return
        aged = stack.enter_context(closing(open_postgres(old)))
        yield with_history("PostgreSQL, 100,000 closed : none", queue, aged)


def against_bare(
    name: str, goal: float, queue: SqlQueue, run: Run, marks: tuple[str, ...], skip: str = ""
) -> Figure:
    for sql in (BARE_TABLE, BARE_INDEX):
        run(sql, ())
    numbers = itertools.count()
    add_one, claim_one, settle_one = (
        BARE_ADD.format(*marks),
        BARE_CLAIM.format(marks[0], skip),
        BARE_SETTLE.format(*marks),
    )

    def bare() -> None:
        for _ in range(TASKS):
            ((task, fence),) = run(claim_one, ("bench",))
            assert run(settle_one, (1, task, fence))

    def fill() -> None:
        add(queue, TASKS)
        run("BEGIN", ())
        for _ in range(TASKS):
            run(add_one, (next(numbers),))
        run("COMMIT", ())

    ratio, mine, theirs = side_by_side(lambda: work(queue), bare, before=fill)
    detail = f"{TASKS / mine:,.0f}/s : {TASKS / theirs:,.0f}/s; one connection, {TASKS} open tasks"
    return Figure(name, ratio, goal, detail=detail)


def with_history(name: str, young: SqlQueue, aged: SqlQueue) -> Figure:
    aged.db.rows(HISTORY)
    aged.db.rows("ANALYZE")

    def fill() -> None:
        add(young, TASKS)
        add(aged, TASKS)

    ratio, mine, theirs = side_by_side(lambda: work(aged), lambda: work(young), before=fill)
    detail = f"{mine / TASKS * 1e6:,.0f} µs : {theirs / TASKS * 1e6:,.0f} µs"
    return Figure(name, 1 / ratio, 1.2, at_most=True, detail=detail)


def add(queue: SqlQueue, count: int) -> None:
    with queue.db.writing():
        for number in range(count):
            queue.add(Draft(title=f"task {number}", description="what to do\n" * 20))


def work(queue: SqlQueue) -> None:
    for _ in range(TASKS):
        (lease,) = queue.claim("bench", ttl=TTL)
        settle(queue, lease, Closed(reason="done"))
