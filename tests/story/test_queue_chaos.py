"""The queue among many processes, killed writers, locks, old and new schemas, and bad disks."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from fleet.errors import FleetError, QueueBusy, QueueUnavailable, SchemaTooNew
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql import migrate
from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import FILE, open_embedded
from fleet.schemas import Closed
from tests.conftest import often
from tests.settled import settled

ROOT = Path(__file__).parents[2]
TTL = timedelta(minutes=5)
NOBODY = 65534


@contextmanager
def worker(*arguments):
    """One of `queue_worker`'s programs; it is certainly gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.story.queue_worker", *map(str, arguments)],
        cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def all_claimed(where, processes):
    """What each of many processes got when all claimed at once."""
    with worker("claim", where, processes) as driver:
        told, _ = driver.communicate(timeout=60)
    return json.loads(told)


def integrity(queue):
    """What SQLite's own check says of the file: `ok`, or the damage."""
    return queue.db.rows("PRAGMA integrity_check")[0][0]


class TestManyProcesses:
    def test_sixteen_processes_split_two_thousand_tasks(self, tmp_path):
        """Each task is claimed exactly once, and the file is whole."""
        with closing(open_embedded(tmp_path)) as queue:
            with queue.db.writing():
                ids = [queue.add(Draft(title="t")).id for _ in range(2000)]
            taken = all_claimed(tmp_path, 16)
            assert sorted(task for mine in taken for task in mine) == sorted(ids)
            assert {task.fence for task in queue.find(Filter())} == {1}
            assert integrity(queue) == "ok"

    def test_sixteen_processes_may_open_a_new_queue_at_once(self, tmp_path):
        """Whoever comes first makes the file, and nobody is turned away meanwhile."""
        assert all_claimed(tmp_path, 16) == [[]] * 16
        with closing(open_embedded(tmp_path)) as queue:
            assert queue.add(Draft(title="t")).id.startswith("fleet-")

    def test_processes_split_the_tasks_on_postgres(self, postgres_dsn):
        """SKIP LOCKED hands each task to one process, and nobody waits for anybody."""
        with closing(open_postgres(postgres_dsn)) as queue:
            with queue.db.writing():
                ids = [queue.add(Draft(title="t")).id for _ in range(400)]
            taken = all_claimed(postgres_dsn, 8)
            assert sorted(task for mine in taken for task in mine) == sorted(ids)
            assert {task.fence for task in queue.find(Filter())} == {1}

    def test_a_killed_writer_loses_nothing(self, tmp_path):
        """After many a kill -9 at random moments every acknowledged write is there."""
        kills = often(60, 200)
        with worker("killed", tmp_path, 20, kills) as driver:
            told, _ = driver.communicate(timeout=60)
        acknowledged = [line.split(" ", 2) for line in json.loads(told)]
        with closing(open_embedded(tmp_path)) as queue:
            tasks = {task.id: task for task in queue.find(Filter(include_closed=True))}
            assert integrity(queue) == "ok"
        progress = ("open", "in_progress", "closed")
        for status, task_id, fence in acknowledged:
            assert status in progress, (status, task_id, fence)
            assert progress.index(tasks[task_id].status) >= progress.index(status)
            assert tasks[task_id].fence >= int(fence)
        assert sum(status == "open" for status, *_ in acknowledged) > kills / 2
        assert all(task.labels == ("x",) for task in tasks.values())

    def test_a_held_lock_gives_busy_and_no_hang(self, tmp_path):
        """While another process holds the file, reads go on and a write ends after the timeout."""
        with closing(open_embedded(tmp_path, busy_timeout=timedelta(milliseconds=300))) as queue:
            task_id = queue.add(Draft(title="t")).id
            with worker("hold", tmp_path) as holder:
                assert holder.stdout.readline() == "held\n"
                assert queue.get(task_id).title == "t"
                for write in (
                    lambda: queue.claim("a", ttl=TTL),
                    lambda: queue.add(Draft(title="u")),
                ):
                    started = time.monotonic()
                    with pytest.raises(QueueBusy):
                        write()
                    assert 0.25 < time.monotonic() - started < 10
                holder.stdin.write("\n")
                holder.stdin.flush()
                assert holder.stdout.readline() == "free\n"
            assert [lease.task.id for lease in queue.claim("a", ttl=TTL)] == [task_id]


class TestSchema:
    def test_a_newer_schema_is_refused_and_untouched(self, tmp_path):
        """A fleet that is older than the file changes no byte of it."""
        later = [*migrate.steps(), "CREATE TABLE later (id TEXT)"]
        open_embedded(tmp_path, steps=later).close()
        before = (tmp_path / FILE).read_bytes()
        with pytest.raises(SchemaTooNew):
            open_embedded(tmp_path)
        assert (tmp_path / FILE).read_bytes() == before
        assert list(tmp_path.glob("*.backup")) == []

    def test_a_migration_keeps_a_copy(self, tmp_path):
        """Before the schema moves forward, the file is copied aside as it was."""
        with closing(open_embedded(tmp_path)) as queue:
            task = queue.add(Draft(title="t", labels=("x",)))
        later = [*migrate.steps(), "ALTER TABLE tasks ADD COLUMN mood TEXT; DELETE FROM labels"]
        with closing(open_embedded(tmp_path, steps=later)) as queue:
            assert queue.get(task.id).labels == ()
            assert queue.db.rows("SELECT mood FROM tasks") == [(None,)]
        have = len(later) - 1
        (tmp_path / "old").mkdir()
        (tmp_path / f"{FILE}.v{have}.backup").rename(tmp_path / "old" / FILE)
        with closing(open_embedded(tmp_path / "old")) as queue:
            assert queue.get(task.id) == task

    def test_a_failed_migration_changes_nothing(self, tmp_path):
        """All steps and the version move together or not at all."""
        with closing(open_embedded(tmp_path)) as queue:
            task_id = queue.add(Draft(title="t")).id
        with pytest.raises(FleetError):
            open_embedded(tmp_path, steps=[*migrate.steps(), "DROP TABLE requests; nonsense"])
        with closing(open_embedded(tmp_path)) as queue:
            assert queue.request(task_id, "stop").wish == "stop"


@pytest.fixture
def open_home():
    """A home that an unprivileged user can reach, unlike pytest's own directories."""
    with tempfile.TemporaryDirectory(prefix="fleet-home-") as home:
        Path(home).chmod(0o755)
        yield Path(home)


@contextmanager
def unprivileged():
    """File modes mean nothing to root, so root steps down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


class TestBadDisks:
    def test_a_home_that_cannot_be_written_is_said_plainly(self, open_home):
        """No queue can be made there; the error names the file, and nothing is left behind."""
        open_home.chmod(0o555)
        with unprivileged(), pytest.raises(QueueUnavailable) as caught:
            open_embedded(open_home)
        assert str(open_home / FILE) in caught.value.message
        assert list(open_home.iterdir()) == []

    def test_a_queue_that_became_read_only_keeps_what_it_has(self, open_home):
        """A write fails with a typed error and changes nothing."""
        with closing(open_embedded(open_home)) as queue:
            task = queue.add(Draft(title="t"))
        for path in (open_home / FILE, open_home):
            path.chmod(path.stat().st_mode & ~0o222)
        if os.geteuid() == 0:
            for path in (open_home, *open_home.iterdir()):
                os.chown(path, NOBODY, -1)  # who may read then
        with unprivileged(), pytest.raises(QueueUnavailable):
            open_embedded(open_home)
        open_home.chmod(0o755)
        (open_home / FILE).chmod(0o644)
        with closing(open_embedded(open_home)) as queue:
            assert list(queue.find(Filter())) == [task]

    @pytest.mark.parametrize("disk", ["small_disk", "small_files"])
    def test_a_full_disk_loses_and_halves_nothing(self, request, tmp_path, disk):
        """What was acknowledged is there, what failed is not, and space heals the same handle."""
        full = request.getfixturevalue(disk)
        (home := tmp_path / "home").mkdir(exist_ok=True)
        with closing(open_embedded(home)) as queue:
            kept = set()
            with full():
                with pytest.raises(QueueUnavailable):
                    for n in range(5000):
                        kept.add(queue.add(Draft(title=f"t{n}", description="x" * 4000)).id)
                assert len(kept) > 10
                with pytest.raises(QueueUnavailable):
                    queue.add(Draft(title="too much", description="x" * 6_000_000))
                assert {task.id for task in queue.find(Filter())} == kept
            kept.add(queue.add(Draft(title="there is room again")).id)
            (lease,) = queue.claim("a", ttl=TTL)
            assert settled(queue, lease, Closed(reason="done")).status == "closed"
            found = {task.id for task in queue.find(Filter(include_closed=True))}
            assert (found, integrity(queue)) == (kept, "ok")


@pytest.fixture
def small_disk(tmp_path):
    """`home` on a disk of its own, of which a filler takes half until the story frees it."""
    (home := tmp_path / "home").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(home)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    filler = home / "filler"
    filler.write_bytes(b"x" * 1_000_000)

    @contextmanager
    def full():
        yield
        filler.unlink()

    yield full
    subprocess.run(["umount", "-l", str(home)], check=True)


@pytest.fixture
def small_files():
    """No file may grow beyond half a megabyte for a while."""

    @contextmanager
    def full():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return full
