"""Claims of several hosts at once on one PostgreSQL, against those of one host."""

import multiprocessing
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

from fleet.queue.protocol import Draft
from fleet.queue.sql.postgres import open_postgres
from fleet.schemas import Closed, Host
from tests.bench import Figure
from tests.settled import settle

#: Tasks that all hosts together claim and settle in a round.
TASKS = 400
ROUNDS = 3
COUNTS = (2, 4, 8)
TTL = timedelta(minutes=3)


def figures():
    from tests.contract.postgres_server import binaries, fresh_database, running_server

    programs = binaries()
    if programs is None:
        return
    with running_server(programs) as server, fresh_database(server) as dsn:
        open_postgres(dsn).close()
        best = dict.fromkeys((1, *COUNTS), 0.0)
        for _ in range(ROUNDS):  # they take turns, so that a busy neighbour favours none
            for count in best:
                best[count] = max(best[count], _rate(dsn, count))
    for count in COUNTS:
        detail = f"{best[count]:,.0f}/s : {best[1]:,.0f}/s, claim and settle, {TASKS} tasks"
        yield Figure(f"{count} hosts : one host", best[count] / best[1], 0.9, detail=detail)


def _rate(dsn, hosts):
    """Tasks a second that so many hosts claim and settle, each a process of its own."""
    with closing(open_postgres(dsn)) as queue, queue.db.writing():
        for number in range(TASKS):
            queue.add(Draft(title=f"task {number}", metadata={"fleet": {"needs": ["host:linux"]}}))
    begin = multiprocessing.Barrier(hosts + 1)
    workers = [multiprocessing.Process(target=_work, args=(dsn, n, begin)) for n in range(hosts)]
    for worker in workers:
        worker.start()
    begin.wait(60)
    began = time.perf_counter()
    for worker in workers:
        worker.join(120)
    seconds = time.perf_counter() - began
    assert all(worker.exitcode == 0 for worker in workers)
    with closing(open_postgres(dsn)) as queue:
        assert queue.counts().get("open", 0) == 0
    return TASKS / seconds


def _work(dsn, number, begin):
    now = datetime.now(UTC)
    host = Host(
        id=f"home{number}", incarnation="i", name=f"h{number}", labels=("linux",),
        started_at=now, seen_at=now,
    )  # fmt: skip
    with closing(open_postgres(dsn)) as queue:
        begin.wait(60)
        while leases := queue.claim(host.id, ttl=TTL, offer=host.offer):
            settle(queue, leases[0], Closed(reason="done"))
