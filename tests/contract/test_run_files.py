"""The files of runs in PostgreSQL: stored under the lease, bounded, and read on any host."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest
from msgspec import structs

from fleet.errors import QueueError
from fleet.queue.protocol import Draft, LeaseLost
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.travel.landers import (
    TakenLanding,
    left_landings,
    take_over_landing,
    taken_landings,
    try_to_land,
)
from fleet.queue.sql.travel.live_lines import LiveBytes, LiveLines
from fleet.queue.sql.travel.run_files import LIST, PART, RunFiles
from fleet.schemas import Blocked, Host, Released
from fleet.schemas.waits import SetAside
from tests.settled import settle

TTL = timedelta(minutes=5)


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def lease(queue):
    queue.add(Draft(title="a task"))
    (found,) = queue.claim("alpha", count=1, ttl=TTL)
    return found


def noise(size, seed=1):
    """Bytes that cannot be compressed."""
    return random.Random(seed).randbytes(size)


def test_a_file_of_several_parts_is_read_as_it_was_sent(queue, lease):
    """Output of any size is cut into parts, and the list tells what there is."""
    files, data = RunFiles(queue), noise(2 * PART + 7)
    sent = files.send(lease, 1, [("stdout", [data[:99], data[99:]]), ("empty", [])], host="alpha")
    assert files.read(lease.task.id, 1, "stdout") == data
    assert files.read(lease.task.id, 1, "empty") == b""
    assert files.list_of(lease.task.id, 1) == sent
    stored = {each.path: each.parts for each in files.stored(lease.task.id)}
    assert stored == {"stdout": 3, "empty": 1, LIST: 1}


def test_the_same_again_in_fewer_parts_leaves_nothing_of_the_first(queue, lease):
    """A host that was killed while it sent sends again."""
    files = RunFiles(queue)
    files.send(lease, 1, [("stdout", [noise(2 * PART)])], host="alpha")
    files.send(lease, 1, [("stdout", [b"short"])], host="alpha")
    assert files.read(lease.task.id, 1, "stdout") == b"short"


def test_under_a_lost_lease_nothing_is_stored(queue, lease):
    """A host that was cut off cannot overwrite what its successor knows."""
    files = RunFiles(queue)
    assert settle(queue, lease, Released()) is None
    assert isinstance(files.send(lease, 1, [("receipt.json", [b"{}"])], host="alpha"), LeaseLost)
    assert files.stored(lease.task.id) == []


def test_under_a_lost_lease_nothing_is_dropped(queue, lease, postgres_dsn, monkeypatch):
    """A host that slept between two statements drops nothing of its successor's file."""
    files, data = RunFiles(queue), noise(2 * PART)
    rows = queue.db.rows

    def late_rows(sql, values=None):
        if sql.startswith("DELETE FROM run_files") and not lost:
            with closing(open_postgres(postgres_dsn)) as other:
                other.db.rows("UPDATE tasks SET lease_until = 0 WHERE id = :id", {"id": task_id})
                (theirs,) = other.claim("beta", ttl=TTL)
                lost.append(theirs)
                stored = [("artifacts/one", [data]), ("artifacts/two", [b"2"])]
                assert RunFiles(other).put_task_files(theirs, stored, replace=True) is None
        return rows(sql, values)

    lost, task_id = [], lease.task.id
    monkeypatch.setattr(queue.db, "rows", late_rows)
    files.put_task_files(lease, [("artifacts/one", [b"1"])], replace=True)
    assert files.read(task_id, 0, "artifacts/one") == data
    assert files.read(task_id, 0, "artifacts/two") == b"2"


def test_a_run_without_its_list_was_not_sent_to_its_end(queue, lease):
    """The list comes last: another host does not take half a run for a whole one."""

    def broken():
        yield b"a"
        raise ConnectionError

    files = RunFiles(queue)
    with pytest.raises(ConnectionError):
        files.send(lease, 1, [("one", [b"1"]), ("two", broken())], host="alpha")
    assert files.list_of(lease.task.id, 1) is None


def test_beyond_the_limit_files_are_cut_or_go_to_the_shared_directory(queue, lease, tmp_path):
    """A flood of output costs the queue no more than its limit, and the list says what was cut."""
    data = noise(3 * PART)
    cut = RunFiles(queue, most=PART + PART // 2).send(lease, 1, [("stdout", [data])], host="a")
    assert (cut.files[0].size, cut.files[0].cut) == (PART, 2 * PART)
    roomy = RunFiles(queue, tmp_path / "store", most=PART + PART // 2)
    assert roomy.send(lease, 2, [("stdout", [data])], host="a").files[0].cut == 0
    assert roomy.read(lease.task.id, 2, "stdout") == data
    with pytest.raises(QueueError):
        RunFiles(queue).read(lease.task.id, 2, "stdout")


def test_a_persons_word_is_stored_only_while_no_host_has_the_task(queue, lease):
    """An answer must not slip under an agent that is at work."""
    files = RunFiles(queue)
    assert not files.put_task_file(lease.task.id, lease.fence, "artifacts/Q&A.md", b"x")
    settle(queue, lease, Released())
    assert files.put_task_file(lease.task.id, lease.fence, "artifacts/Q&A.md", b"x")
    assert files.read(lease.task.id, 0, "artifacts/Q&A.md") == b"x"


def test_lines_are_wanted_only_while_a_person_watches(queue, lease):
    """A wish ends by itself, and lines are read from where the last look ended."""
    live, task_id = LiveLines(queue), lease.task.id
    assert live.wanted() == set()
    live.wish(task_id, first=True)
    assert live.wanted() == {task_id}
    live.send(task_id, "events.jsonl", LiveBytes(run=1, start=0, data=b"one\n"))
    live.send(task_id, "events.jsonl", LiveBytes(run=1, start=4, data=b"two\n"))
    assert [each.data for each in live.read(task_id, "events.jsonl", 1, 4)] == [b"two\n"]
    live.forget(task_id)
    assert live.read(task_id, "events.jsonl", 0, 0) == []


def test_one_host_at_a_time_lands_on_a_branch(queue, postgres_dsn):
    """The right to land ends with the connection of the host that had it."""
    with closing(open_postgres(postgres_dsn)) as other:
        assert try_to_land(other, "url\nmain")
        assert not try_to_land(queue, "url\nmain")
        assert try_to_land(queue, "url\nnext")
    end = time.monotonic() + 10  # the server notices the closed connection in its own time
    while not (taken := try_to_land(queue, "url\nmain")) and time.monotonic() < end:
        time.sleep(0.01)
    assert taken


def host(queue, name):
    """A host of the queue that is up, by an id that is its name."""
    at = queue.db.now()
    made = Host(id=name, incarnation="1", name=name, slots=2, started_at=at, seen_at=at)
    host_table.register(queue, made, machine=name)
    return made


@pytest.fixture
def alpha(queue):
    return host(queue, "alpha")


@pytest.fixture
def blocked(queue, alpha, lease):
    """A task that alpha ran and settled as blocked."""
    lease = structs.replace(lease, task=structs.replace(lease.task, last_host="alpha"))
    assert settle(queue, lease, Blocked(waits=SetAside(note="waits"))) is None
    return queue.get(lease.task.id)


def test_the_landing_of_a_host_is_its_own_until_it_is_given_up(queue, alpha, blocked):
    """A host that only ended comes back: no other one takes what it has."""
    host_table.leave(queue, alpha)
    assert left_landings(queue, "beta") == {}
    assert not take_over_landing(queue, blocked, lander="alpha", me="beta")
    host_table.lose(queue, alpha)
    assert left_landings(queue, "beta") == {blocked.id: "alpha"}
    host_table.beat(queue, alpha)
    assert not take_over_landing(queue, blocked, lander="alpha", me="beta")
    assert taken_landings(queue, "beta") == {blocked.id: TakenLanding(host="alpha", before=1)}


@pytest.mark.parametrize("is_removed", [False, True])
def test_one_of_two_hosts_takes_a_landing_over(queue, alpha, blocked, is_removed):
    """Also after the loser has looked; and the next one only once the first is given up too."""
    host_table.lose(queue, alpha)
    if is_removed:
        host_table.remove(queue, host_table.find_host(queue, "alpha"))
    beta = host(queue, "beta")
    assert take_over_landing(queue, blocked, lander="alpha", me="beta")
    for lander in ("alpha", "beta"):
        assert not take_over_landing(queue, blocked, lander=lander, me="gamma")
    assert left_landings(queue, "gamma") == {}
    assert left_landings(queue, "beta") == {blocked.id: "beta"}
    assert taken_landings(queue, "alpha") == {blocked.id: TakenLanding(host="beta")}
    host_table.lose(queue, beta)
    assert take_over_landing(queue, blocked, lander="beta", me="gamma")
    assert taken_landings(queue, "beta") == {blocked.id: TakenLanding(host="gamma")}


def test_a_takeover_is_of_one_run(queue, alpha, blocked):
    """The next run is landed by its own host; and what a host has in hand is not taken over."""
    host_table.lose(queue, alpha)
    assert take_over_landing(queue, blocked, lander="alpha", me="beta")
    queue.reopen_task(blocked, by="a person", note="again")
    (lease,) = queue.claim("gamma", count=1, ttl=TTL)
    assert not take_over_landing(queue, queue.get(blocked.id), lander="alpha", me="delta")
    lease = structs.replace(lease, task=structs.replace(lease.task, last_host="gamma"))
    assert settle(queue, lease, Blocked(waits=SetAside(note="waits"))) is None
    assert taken_landings(queue, "beta") == {blocked.id: TakenLanding(host="gamma", before=2)}


def test_of_hosts_that_race_one_takes_over(queue, postgres_dsn, alpha, blocked):
    """All of them have found that the landing is left before the first one takes it."""
    host_table.lose(queue, alpha)
    names = ("beta", "gamma", "delta", "epsilon")
    ready = threading.Barrier(len(names), timeout=30)

    def take(name):
        with closing(open_postgres(postgres_dsn)) as own:
            (lander,) = left_landings(own, name).values()
            ready.wait()
            return take_over_landing(own, blocked, lander=lander, me=name)

    with ThreadPoolExecutor(len(names)) as threads:
        took = dict(zip(names, threads.map(take, names), strict=True))
    (winner,) = (name for name in names if took[name])
    assert taken_landings(queue, "alpha") == {blocked.id: TakenLanding(host=winner)}
