"""Copies of the queue: one a day, whole, private, few; and putting one back."""

import sqlite3
import stat
from contextlib import closing
from datetime import timedelta

import pytest

from fleet import config
from fleet.control.queue import queue_care
from fleet.errors import QueueError, QueueUnavailable, Refused
from fleet.queue import backups
from fleet.queue.beads.lease_ledger import Ledger
from fleet.queue.identity import EMBEDDED, LEDGER
from fleet.queue.protocol import Draft, Filter
from fleet.queue.restore_file import RunSeen, restore_file
from fleet.queue.sql.sqlite import open_embedded, utc_now
from tests.builders import NOW

DAY = timedelta(days=1)


@pytest.fixture
def home(home):
    home.config.write_text(config.default_text(queue="embedded"))
    return home


def titles(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT title FROM tasks ORDER BY created_at")]


class TestCopies:
    def test_a_copy_holds_what_was_committed_while_others_write(self, home):
        """The log is part of the queue: a plain copy of queue.db would miss the newest tasks."""
        with closing(open_embedded(home.path)) as queue:
            queue.add(Draft(title="first"))
            with queue.db.writing():
                queue.add(Draft(title="not yet"))
                copy = backups.back_up(home.path, EMBEDDED, NOW, "daily")
        assert titles(copy.path) == ["first"]
        assert stat.S_IMODE(copy.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(copy.path.parent.stat().st_mode) == 0o700
        assert [each.name for each in copy.path.parent.iterdir()] == [copy.path.name]

    def test_seven_days_are_kept_and_one_a_day_is_due(self, home):
        """Copies are bounded, and none is made twice a day."""
        open_embedded(home.path).close()
        for day in range(9):
            now = NOW + day * DAY
            assert backups.is_due(home.path, EMBEDDED, now)
            backups.back_up(home.path, EMBEDDED, now, "daily")
            assert not backups.is_due(home.path, EMBEDDED, now + DAY / 2)
        kept = [copy.at for copy in backups.backups(home.path, EMBEDDED)]
        assert kept == [NOW + day * DAY for day in range(8, 1, -1)]

    def test_a_damaged_queue_drives_out_no_good_copy(self, home):
        """Seven days after an accident the copies would all be of the damage."""
        with closing(open_embedded(home.path)) as queue:
            for number in range(200):
                queue.add(Draft(title=f"{number}", description="x" * 500))
        backups.back_up(home.path, EMBEDDED, NOW, "daily")
        data = bytearray((home.path / "queue.db").read_bytes())
        data[8192:65536] = bytes(65536 - 8192)
        (home.path / "queue.db").write_bytes(data)
        with pytest.raises(QueueUnavailable, match=r"damaged|cannot be copied"):
            backups.back_up(home.path, EMBEDDED, NOW + DAY, "daily")
        assert [copy.at for copy in backups.backups(home.path, EMBEDDED)] == [NOW]

    def test_a_full_disk_is_left_alone(self, home, monkeypatch):
        """A copy must not take the room that running agents need."""
        open_embedded(home.path).close()
        monkeypatch.setattr(backups, "FLOOR", 1 << 60)
        with pytest.raises(QueueError, match="MB of disk"):
            backups.back_up(home.path, EMBEDDED, NOW, "daily")
        assert backups.backups(home.path, EMBEDDED) == []


class TestRestoring:
    def settings(self, home):
        return config.load(home.config)

    def test_the_newest_copy_comes_back_and_the_other_is_kept_aside(self, home):
        """Nothing is lost by a restore, not even the queue that it replaces."""
        with closing(open_embedded(home.path)) as queue:
            queue.add(Draft(title="old"))
            backups.back_up(home.path, EMBEDDED, NOW, "daily")
            queue.add(Draft(title="new"))
        settings = self.settings(home)
        copy = queue_care.chosen_copy(home, settings, None)
        done = queue_care.restore(home, settings, copy, NOW + DAY)
        assert titles(home.path / "queue.db") == ["old"]
        assert titles(done.aside / "queue.db") == ["old", "new"]

    def test_a_copy_of_another_queue_is_refused(self, home, tmp_path):
        """A home's tasks do not fit another queue's rows."""
        open_embedded(home.path).close()
        other = tmp_path / "other"
        other.mkdir()
        open_embedded(other).close()
        copy = backups.back_up(other, EMBEDDED, NOW, "asked")
        with pytest.raises(Refused, match="another queue"):
            queue_care.restore(home, self.settings(home), copy.path, NOW)

    def test_a_lease_that_the_copy_does_not_know_is_taken_over(self, home):
        """The fence of the latest run is the least that the restored task may have."""
        with closing(open_embedded(home.path)) as queue:
            task = queue.add(Draft(title="t"))
            copy = backups.back_up(home.path, EMBEDDED, NOW, "asked")
        runs = [RunSeen(task_id=task.id, fence=7, settled=True)]
        done = restore_file(
            home.path, EMBEDDED, copy.path, identity=backups.identity_of(copy.path),
            owner="fleetme", runs=runs, now=utc_now(),
        )  # fmt: skip
        with closing(open_embedded(home.path)) as queue:
            found = queue.get(task.id)
            assert (found.fence, found.lease_owner) == (7, "fleetme")
            assert queue.claim("fleetother", count=9, ttl=DAY) == []
        assert done.leased == (task.id,)

    def test_a_ledger_keeps_the_fences_of_runs_and_the_leases_of_living_ones(self, home):
        """On beads status is bd's; what must not go back is the fence."""
        ledger = Ledger(home.path, clock=utc_now)
        ledger.added("fleet-a")
        copy = backups.back_up(home.path, LEDGER, NOW, "asked")
        ledger.close()
        runs = [
            RunSeen(task_id="fleet-a", fence=3, settled=True),
            RunSeen(task_id="fleet-b", fence=5, settled=False),
        ]
        restore_file(
            home.path, LEDGER, copy.path, identity=backups.identity_of(copy.path),
            owner="fleetme", runs=runs, now=utc_now(),
        )  # fmt: skip
        with closing(Ledger(home.path, clock=utc_now)) as ledger:
            ended, living = ledger.entry("fleet-a"), ledger.entry("fleet-b")
        assert (ended.fence, ended.owner) == (3, None)
        assert (living.fence, living.owner) == (5, "fleetme")

    def test_accepting_begins_an_empty_queue_once_a_person_said_so(self, home):
        """There is a way on without any copy."""
        with closing(open_embedded(home.path)) as queue:
            (home.tasks / queue.add(Draft(title="gone")).id).mkdir()
        for path in home.path.glob("queue.db*"):
            path.unlink()
        settings = self.settings(home)
        assert "gone" in queue_care.condition(home, settings).problem
        assert queue_care.accept(home, settings, NOW)
        assert queue_care.condition(home, settings).problem == ""
        with closing(open_embedded(home.path)) as queue:
            assert queue.find(Filter()) == []
