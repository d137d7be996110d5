"""Schedules: kept by every queue, and moved on by one process only."""

from datetime import UTC, datetime, timedelta

from msgspec import structs

from fleet.queue.schedules import Schedule

DUE = datetime(2031, 5, 4, 3, 0, tzinfo=UTC)
NIGHTLY = Schedule(
    name="nightly", cron="0 3 * * *", zone="Europe/Berlin", cwd="/srv/ünï", args=("A 'title'",),
    owner="fleet1", made_by="ann", made_at=DUE - timedelta(days=9), due=DUE,
)  # fmt: skip


class Scheduling:
    def test_a_schedule_is_kept_as_it_is(self, queue, open_queue):
        """Every process of the queue sees it, and a second of its name is refused."""
        assert queue.schedules.all() == []
        assert queue.schedules.add(NIGHTLY)
        assert not queue.schedules.add(structs.replace(NIGHTLY, cron="0 4 * * *"))
        assert open_queue().schedules.all() == [NIGHTLY]

    def test_of_two_that_move_a_schedule_on_one_succeeds(self, queue, open_queue):
        """Two supervisors of one home never both go on from the same moment."""
        queue.schedules.add(NIGHTLY)
        later = structs.replace(NIGHTLY, due=DUE + timedelta(days=1), last_task="fleet-1")
        assert queue.schedules.move(later, DUE)
        assert not open_queue().schedules.move(later, DUE)
        assert queue.schedules.all() == [later]

    def test_a_removed_schedule_is_gone(self, queue):
        """It neither fires again nor comes back when its last task is noted."""
        queue.schedules.add(NIGHTLY)
        assert queue.schedules.remove("nightly")
        assert not queue.schedules.remove("nightly")
        assert not queue.schedules.move(NIGHTLY, DUE)
        assert queue.schedules.all() == []
