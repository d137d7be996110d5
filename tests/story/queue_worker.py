"""Programs that the queue's stories start: claimers, a writer to be killed, a holder of the lock.

Run as `python -m tests.story.queue_worker VERB ARGUMENT…`; each speaks in lines.
"""

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import apsw

from fleet.errors import FleetError
from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.sqlite import FILE, open_embedded
from fleet.schemas import Closed
from tests.settled import settle

TTL = timedelta(hours=1)
PATIENT = timedelta(seconds=60)


def say(text: str) -> None:
    print(text, flush=True)


def opened(where: str) -> SqlQueue:
    if where.startswith("postgresql:"):
        from fleet.queue.sql.postgres import open_postgres

        return open_postgres(where, lock_timeout=PATIENT)
    return open_embedded(Path(where), busy_timeout=PATIENT)


def claim(where: str, processes: str) -> None:
    """Start many claimers, let them loose together, and tell what each of them got."""
    start, go = os.pipe()
    ears = [forked(claim_all, where, f"w{n}", start, go) for n in range(int(processes))]
    for ear in ears:
        assert os.read(ear, 1) == b"."  # it has opened the queue
    os.close(go)  # whoever reads `start` comes to its end now
    say(json.dumps(["".join(read_all(ear)).split() for ear in ears]))


def claim_all(mouth: int, where: str, owner: str, start: int, go: int) -> None:
    os.close(go)
    queue = opened(where)
    os.write(mouth, b".")
    os.read(start, 1)
    mine: list[str] = []
    while leases := queue.claim(owner, ttl=TTL):
        mine += [lease.task.id for lease in leases]
    os.write(mouth, " ".join(mine).encode())


def forked(work: Callable[..., None], *arguments: object) -> int:
    """Do `work` in a child that shares our imports; what it writes to its pipe can be read here."""
    ear, mouth = os.pipe()
    if os.fork():
        os.close(mouth)
        return ear
    try:
        work(mouth, *arguments)
    except BaseException:  # noqa: BLE001  # nobody above here is to go on in two processes
        traceback.print_exc()
    finally:
        os._exit(0)


def hold(where: str) -> None:
    """Hold the write lock from `held` until a line comes."""
    connection = apsw.Connection(str(Path(where) / FILE))
    connection.execute("BEGIN IMMEDIATE")
    say("held")
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    say("free")


def killed(where: str, seed: str, times: str) -> None:
    """Kill a writer again and again, and at last tell everything that any of them acknowledged."""
    chance = random.Random(int(seed))
    acknowledged: list[str] = []
    for _ in range(int(times)):
        ear, mouth = os.pipe()
        writer = os.fork()
        if writer == 0:
            write(where, mouth)
        os.close(mouth)
        # Now and then in its first instants, when it makes the file; else in steady work.
        if chance.random() < 0.7:
            select.select([ear], [], [], 10)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        acknowledged += read_all(ear)
        os.close(ear)
    say(json.dumps(acknowledged))


def write(where: str, mouth: int) -> None:
    """Add, claim and close without end; a line goes out only after the queue has answered."""
    try:
        queue = opened(where)
        while True:
            task = queue.add(Draft(title="t", labels=("x",)))
            os.write(mouth, f"open {task.id} 0\n".encode())
            for lease in queue.claim(f"w{os.getpid()}", ttl=TTL):
                os.write(mouth, f"in_progress {lease.task.id} {lease.fence}\n".encode())
                settle(queue, lease, Closed(reason="done"))
                os.write(mouth, f"closed {lease.task.id} {lease.fence}\n".encode())
    except FleetError as error:
        os.write(mouth, f"failed {type(error).__name__} {error}\n".encode())
    finally:
        os._exit(1)


def read_all(ear: int) -> list[str]:
    told = b""
    while select.select([ear], [], [], 60)[0] and (more := os.read(ear, 65536)):
        told += more
    return told.decode().splitlines()


if __name__ == "__main__":
    {"claim": claim, "hold": hold, "killed": killed}[sys.argv[1]](*sys.argv[2:])
