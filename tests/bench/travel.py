"""What travels between hosts: the cost of storing a run's files beside its settlement, and how much
of a log is readable once the host that wrote it is gone.
"""

import json
import statistics
from collections.abc import Generator
from contextlib import ExitStack, closing
from datetime import timedelta

from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.run_files import RunFiles
from fleet.schemas import Lease, Released
from tests.bench import Figure, seconds
from tests.settled import settle

TTL = timedelta(minutes=5)
#: Events of an ordinary run, about 400 KB, and the lines of its log.
EVENTS = b"".join(
    json.dumps(
        {"run": 1, "at": [n, 0], "kind": "assistant_text", "text": f"step {n} " * 20}
    ).encode()
    + b"\n"
    for n in range(1800)
)
RECORDS = [(f"record-{n}.json", [b'{"a": 1}' * 200]) for n in range(6)]
_ROUNDS = 21


def figures() -> Generator[Figure]:
    from tests.contract.postgres_server import binaries, fresh_database, running_server

    programs = binaries()
    if programs is None:
        return
    from fleet.queue.sql.postgres import open_postgres

    with ExitStack() as stack:
        server = stack.enter_context(running_server(programs, durable=True))
        dsn = stack.enter_context(fresh_database(server))
        queue = stack.enter_context(closing(open_postgres(dsn)))
        sending, settling = _measured(queue)
        detail = f"{len(EVENTS) >> 10} KiB of events and {len(RECORDS)} records in"
        yield Figure(
            "files of a run, stored : its settlement",
            sending / settling,
            60.0,
            at_most=True,
            detail=f"{detail} {sending * 1e3:.1f} ms, a settlement {settling * 1e3:.2f} ms",
        )
        # Another connection, as another host has: the one that wrote is gone.
        lease = _lease(queue)
        RunFiles(queue).send(lease, 1, [("events.jsonl", [EVENTS])], host="gone")
        settle(queue, lease, Released())
        with closing(open_postgres(dsn)) as other:
            read = RunFiles(other).read(lease.task.id, 1, "events.jsonl") or b""
        yield Figure(
            "log of a lost host, readable : settled bytes",
            len(read) / len(EVENTS) if EVENTS.startswith(read) else 0.0,
            1.0,
            detail=f"{len(read)} of {len(EVENTS)} bytes",
        )


def _measured(queue: SqlQueue) -> tuple[float, float]:
    """Median seconds of storing a run's files, and of settling its task."""
    files = RunFiles(queue)
    sends: list[float] = []
    settles: list[float] = []
    for _ in range(_ROUNDS):
        lease = _lease(queue)
        batch = [*RECORDS, ("events.jsonl", [EVENTS])]
        sends.append(seconds(lambda: files.send(lease, 1, batch, host="here")))  # noqa: B023
        settles.append(seconds(lambda: settle(queue, lease, Released())))  # noqa: B023
    return statistics.median(sends), statistics.median(settles)


def _lease(queue: SqlQueue) -> Lease:
    task = queue.add(Draft(title="a task", priority=0))
    while True:
        (lease,) = queue.claim("here", count=1, ttl=TTL)
        if lease.task.id == task.id:
            return lease
