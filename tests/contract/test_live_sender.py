"""The lines of a living run, for a person on another host, on a real PostgreSQL."""

import random
import threading
import time
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import pytest

from fleet.config import Config
from fleet.control.hosts.other_hosts import watched
from fleet.home import Home, make_home
from fleet.queue.protocol import Draft
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.travel.live_lines import LiveBytes, LiveLines
from fleet.queue.sql.travel.run_files import PART, RunFiles
from fleet.runs import event_log
from fleet.schemas import Released
from fleet.supervisor.hosts import live_sender
from fleet.supervisor.hosts.live_sender import LiveSender
from tests.builders import a_run
from tests.settled import settle

PATIENCE = 60.0


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as found:
        yield found


@pytest.fixture
def run(queue, tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    queue.add(Draft(title="t"))
    (lease,) = queue.claim("alpha", ttl=timedelta(minutes=5))
    return a_run(home.task(lease.task.id))


def read(queue, run):
    """What a watcher gets that begins with the run."""
    seen = b""
    for new in LiveLines(queue).read(run.task_dir.name, event_log.FILE, 0, 0):
        assert new.start == len(seen), "no watcher gets past a gap"
        seen += new.data
    return seen


def write(run, text):
    with (run.task_dir / event_log.FILE).open("ab") as file:
        file.write(text)
    return (run.task_dir / event_log.FILE).read_bytes()


def until(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_who_watches_again_later_gets_all_lines(
    queue, run, postgres_dsn, monkeypatch, is_restarted
):
    """Also if the supervisor was restarted meanwhile: what was sent before is not sent anew in
    other parts, which would not fit to it.
    """
    monkeypatch.setattr(live_sender, "_EVERY", 0.01)
    ended = threading.Event()

    class Noting(LiveSender):
        def _send_while_watched(self):
            super()._send_while_watched()
            ended.set()

    def watch(sender, text):
        ended.clear()
        whole = write(run, text)
        LiveLines(queue).wish(run.task_dir.name, first=True)
        sender.look()
        until(lambda: read(queue, run) == whole)
        queue.db.rows("DELETE FROM live_wishes")
        sender.look()
        assert ended.wait(PATIENCE)

    def a_sender():
        return Noting(Config(), lambda: open_postgres(postgres_dsn), lambda: [run])

    sender = a_sender()
    watch(sender, b"one\n")
    write(run, b"two\n")
    watch(a_sender() if is_restarted else sender, b"three\n")


@pytest.mark.parametrize("came", [0, 1, 7, PART + 3])
def test_a_watcher_gets_the_rest_of_a_run_that_is_settled(queue, came):
    """Also if the run was over before a line of it came."""
    task_id = queue.add(Draft(title="t")).id
    (lease,) = queue.claim("alpha", ttl=timedelta(minutes=5))
    data = random.Random(1).randbytes(PART + 99)
    if came:
        LiveLines(queue).send(task_id, "stderr", LiveBytes(run=1, start=0, data=data[:came]))
    RunFiles(queue).send(lease, 1, [("stderr", [data])], host="alpha")
    settle(queue, lease, Released())
    fleet = SimpleNamespace(queue=queue, config=Config())
    assert b"".join(watched(fleet, lease.task, "stderr")) == data


def test_a_watcher_of_a_long_run_gets_what_is_left_of_its_lines(queue):
    """Those that were sent long ago are gone, and no later one fits to nothing."""
    task_id = queue.add(Draft(title="t")).id
    (lease,) = queue.claim("alpha", ttl=timedelta(minutes=5))
    for start, data in ((50, b"late\n"), (55, b"later\n")):
        LiveLines(queue).send(task_id, "stderr", LiveBytes(run=1, start=start, data=data))
    fleet = SimpleNamespace(queue=queue, config=Config())
    lines = watched(fleet, lease.task, "stderr")
    assert [next(lines), next(lines)] == [b"late\n", b"later\n"]
