"""Many hands at one queue: what fleet's own bd gives out, it gives to one."""

import json
import threading
from datetime import timedelta

import pytest

from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas import Closed
from tests.contract.bd_answers import Bd
from tests.settled import settle

TASKS = 40
TTL = timedelta(minutes=5)


@pytest.fixture
def another(bd):
    """Opens the bd's queue once more, as another process would."""
    opened = []

    def open_again():
        db = bd.queue.db
        if hasattr(db, "path"):
            queue = open_embedded(db.path.parent, busy_timeout=timedelta(seconds=30))
        else:
            queue = open_postgres(db._dsn)
        opened.append(queue)
        return queue

    yield open_again
    for queue in opened:
        queue.close()


def _at_once(*jobs):
    """Run these side by side, and raise what any of them raised."""
    wrong = []
    gate = threading.Barrier(len(jobs))

    def guarded(job):
        try:
            gate.wait(30)
            job()
        except BaseException as error:  # noqa: BLE001 - told below
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not wrong, wrong
    assert not any(thread.is_alive() for thread in threads)


def test_each_ready_task_is_claimed_once(bd, another):
    """Agents with `ready --claim` and a supervisor with leases share out the work."""
    for number in range(TASKS):
        bd.new(f"t{number}")
    got = {name: [] for name in ("a", "b", "c", "supervisor")}

    def agent(name):
        own = Bd(another(), bd.clock)
        while rows := own(f"ready --claim --json --actor {name}").json:
            got[name].append(rows[0]["id"])

    def supervisor():
        queue = another()
        while leases := queue.claim("supervisor", count=2, ttl=TTL):
            got["supervisor"] += [lease.task.id for lease in leases]

    _at_once(supervisor, *(lambda name=name: agent(name) for name in "abc"))
    taken = [task for tasks in got.values() for task in tasks]
    assert len(taken) == len(set(taken)) == TASKS
    for name, tasks in got.items():
        assert {bd.queue.get(task).assignee for task in tasks} <= {name}
        assert {bd.queue.get(task).fence for task in tasks} <= {1}


def test_one_of_many_claims_of_a_task_wins(bd, another):
    """The others are told who has it."""
    for _ in range(10):
        task = bd.new("first")
        codes = {}

        def claim(name, task=task, codes=codes):
            said = Bd(another(), bd.clock)(f"update {task} --claim --json --actor {name}")
            codes[name] = said.code
            if said.code:
                assert "already claimed" in said.failed["failed"][0]["error"]

        _at_once(*(lambda name=name: claim(name) for name in "abcd"))
        winners = [name for name, code in codes.items() if code == 0]
        assert winners == [bd.queue.get(task).assignee]


def test_no_edit_is_lost(bd, another):
    """Notes, labels and metadata of several writers all arrive, whatever their order."""
    task = bd.new("first")

    def write(name):
        own = Bd(another(), bd.clock)
        for number in range(10):
            line = f"update {task} --append-notes {name}{number} --add-label {name}{number}"
            assert own(f"{line} --set-metadata {name}{number}=1").code == 0

    _at_once(*(lambda name=name: write(name) for name in "abcd"))
    every = {f"{name}{number}" for name in "abcd" for number in range(10)}
    row = bd.queue.get(task)
    assert set(row.notes.split("\n")) == set(row.labels) == set(row.metadata) == every


def test_a_forced_close_and_a_settle_cannot_both_win(bd, another):
    """Either the person closed the task or the supervisor did; never one over the other."""
    for _ in range(10):
        task = bd.new("first")
        lease = bd.queue.claim("supervisor", ttl=TTL)[0]
        ended = []

        def close(task=task, ended=ended):
            said = Bd(another(), bd.clock)(["close", task, "--force", "-r", "person", "--json"])
            ended.append(json.loads(said.out)[0]["close_reason"])

        def end(lease=lease, ended=ended):
            lost = settle(another(), lease, Closed(reason="supervisor"))
            ended.append("supervisor" if lost is None else "lost")

        _at_once(close, end)
        reason = bd.queue.get(task).close_reason
        assert sorted(ended) in (["lost", "person"], ["supervisor", "supervisor"])
        assert reason in ended
