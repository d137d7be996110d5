"""The beads queue against a `bd` that hangs, dies, lies and forgets."""

import os
import sys
import threading
import time
import tracemalloc
from contextlib import closing
from datetime import timedelta

import psutil
import pytest

from fleet.errors import (
    FleetError,
    NotFound,
    QueueBusy,
    QueueError,
    QueueUnavailable,
    Refused,
    WrongQueue,
)
from fleet.queue import identity
from fleet.queue.beads.bd_cli import bd_process
from fleet.queue.beads.queue import open_beads
from fleet.queue.beads.write_lock import FILE
from fleet.queue.identity import LEDGER
from fleet.queue.protocol import Draft, Filter, LeaseLost
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import SetAside
from tests.builders import a_program
from tests.settled import settle, settled
from tests.simulated.beads import SimulatedBeads

TTL = timedelta(minutes=5)
SOON = timedelta(seconds=1)


class TestTyped:
    """Whatever bd does, the caller hears it as one of fleet's errors, and bd can be used again."""

    @pytest.mark.parametrize(
        ("fault", "error", "words"),
        [
            ("segv", QueueUnavailable, "SIGSEGV"),
            ("half", QueueUnavailable, "not JSON"),
            ("locked", QueueBusy, "database is locked"),
            ("fail", QueueError, "something odd happened"),
        ],
    )
    def test_a_broken_call_is_an_error_and_the_next_one_works(
        self, beads, queue, fault, error, words
    ):
        """The error carries bd's own words, and nothing of it sticks."""
        task_id = queue.add(Draft(title="t")).id
        beads.fault(fault)
        with pytest.raises(error, match=words):
            queue.get(task_id)
        assert queue.get(task_id).id == task_id

    def test_a_missing_bd_is_unavailable_and_says_what_to_do(self, beads, tmp_path):
        """No traceback for a program that is not installed."""
        with (
            closing(open_beads(beads.home, bd=str(tmp_path / "no-bd"))) as queue,
            pytest.raises(QueueUnavailable, match="no-bd") as caught,
        ):
            queue.find(Filter())
        assert "fleet init" in caught.value.hint

    def test_a_file_that_is_no_program_is_unavailable(self, beads, tmp_path):
        """A text file without a mode or format for running is reported, not raised raw."""
        plain = tmp_path / "bd.txt"
        plain.write_text("hello")
        with (
            closing(open_beads(beads.home, bd=str(plain))) as queue,
            pytest.raises(QueueUnavailable, match="cannot be started"),
        ):
            queue.find(Filter())

    def test_a_home_without_beads_is_unavailable(self, tmp_path):
        """Opening says that `fleet init` is missing."""
        with pytest.raises(QueueUnavailable, match="no beads database"):
            open_beads(tmp_path)

    def test_a_hanging_bd_is_stopped_with_all_its_children(self, beads):
        """The deadline holds, and the group that bd started dies with it."""
        beads.fault("hang")
        with closing(beads.open(timeout=SOON)) as queue:
            started = time.monotonic()
            with pytest.raises(QueueBusy, match="did not answer within 1 s"):
                queue.find(Filter())
            assert time.monotonic() - started < 10
        assert not running(beads)

    def test_a_flood_is_cut_off_and_memory_stays_bounded(self, beads, queue):
        """100 MB on standard output cost a few, and end in an error that says so."""
        queue.tracker.client.limit = 4 * 1024 * 1024
        beads.fault("flood")
        tracemalloc.start()
        try:
            with pytest.raises(QueueUnavailable, match="more than 4 MiB"):
                queue.find(Filter())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 16 * 1024 * 1024
        assert not running(beads)

    def test_a_server_left_behind_does_not_hold_a_call_up(self, tmp_path):
        """A server that bd started may keep its output open; the call ends with bd itself."""
        script = "echo '[]'; sleep 30 & echo $! >&2"
        started = time.monotonic()
        ended = bd_process.capture(["sh", "-c", script], cwd=tmp_path, env=os.environ, timeout=20)
        assert time.monotonic() - started < 10
        assert (ended.code, ended.out) == (0, b"[]\n")
        psutil.Process(int(ended.err)).kill()  # it was left alive

    @pytest.mark.parametrize("odd", ["", "-x", "a,b", "--help", "../x"])
    def test_what_cannot_be_an_id_is_not_found_without_asking(self, beads, queue, odd):
        """A flag or a list in place of an id never reaches bd."""
        with pytest.raises(NotFound):
            queue.get(odd)
        assert beads.calls == []

    def test_text_that_no_argument_can_carry_is_bad_input(self, queue):
        """A NUL in a title is the user's mistake, not a crash."""
        with pytest.raises(FleetError, match="null"):
            queue.add(Draft(title="a\0b"))
        assert list(queue.find(Filter())) == []

    def test_no_more_than_two_calls_run_at_once(self, tmp_path):
        """However many threads ask, bd's engine is started twice at most."""
        log = tmp_path / "log"
        script = f'echo + >> {log}\nsleep 0.2\necho - >> {log}\necho "[]"'
        bd = a_program(tmp_path / "bd", script)
        beads = SimulatedBeads(tmp_path / "more")
        with closing(open_beads(beads.home, bd=bd)) as queue:
            threads = [threading.Thread(target=queue.find, args=(Filter(),)) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        running = peak = 0
        for line in log.read_text().split():
            running += 1 if line == "+" else -1
            peak = max(peak, running)
        assert peak == 2


def running(beads):
    """Processes of this home's bd that stay; one that was killed ends when it gets a core."""
    mine = str(beads.beads)
    found = []
    for one in psutil.process_iter():
        try:
            if one.environ().get("BEADS_DIR") == mine and one.pid != os.getpid():
                found.append(one)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    end = time.monotonic() + 30
    while (found := [one for one in found if is_alive(one)]) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class TestClaims:
    """A claim is what both the ledger and bd say, and heals when only one of them does."""

    def test_a_claim_that_bd_gave_to_another_is_given_back(self, beads, queue):
        """Bd exits with 0 and names another assignee: no lease, and none is left in the ledger."""
        task_id = queue.add(Draft(title="t")).id
        beads.fault("lie", on="update")
        assert queue.claim("a", ttl=TTL) == []
        assert queue.get(task_id).lease_owner is None

    def test_a_claim_that_bd_lost_is_given_back(self, beads, queue):
        """It confirms and stores nothing: the next claim gets the task."""
        task_id = queue.add(Draft(title="t")).id
        beads.fault("lose", on="update")
        assert queue.claim("a", ttl=TTL) == []
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.id == task_id

    def test_the_next_best_task_is_claimed_instead(self, beads, queue):
        """One task that bd gives to another does not leave the slot empty."""
        queue.add(Draft(title="taken", priority=0))
        free = queue.add(Draft(title="free", priority=1)).id
        beads.fault("lie", on="update")
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.id == free

    @pytest.mark.parametrize("fault", ["segv", "locked", "half", "fail"])
    @pytest.mark.parametrize("step", ["list", "ready", "update", "show"])
    def test_a_claim_cut_short_anywhere_is_taken_later(self, beads, queue, step, fault):
        """Whichever call of a claim fails, the task is claimed once bd works again."""
        task_id = queue.add(Draft(title="t")).id
        beads.fault(fault, on=step)
        with pytest.raises(QueueError):
            queue.claim("a", ttl=TTL)
        (lease,) = queue.claim("b", ttl=TTL)
        assert (lease.task.id, lease.task.assignee) == (task_id, "b")
        assert beads.issue(task_id).assignee == "b"

    def test_a_claim_that_timed_out_after_the_commit_is_taken_over(self, beads, queue, clock):
        """It committed the claim and hung: what it did is found and used, not lost."""
        task_id = queue.add(Draft(title="t")).id
        beads.fault("hang after", on="update")
        with closing(beads.open(timeout=SOON, clock=clock)) as slow, pytest.raises(QueueBusy):
            slow.claim("a", ttl=TTL)
        assert beads.issue(task_id).assignee == "a"
        (lease,) = queue.claim("b", ttl=TTL)
        assert beads.issue(task_id).assignee == "b"
        assert lease.task.id == task_id

    @pytest.mark.parametrize("step", ["take", "claim", "show", "verified"])
    def test_a_supervisor_killed_in_a_claim_leaves_a_task_that_heals(
        self, beads, queue, clock, monkeypatch, step
    ):
        """After a death behind any step the lease runs out and the task is claimed again."""
        task_id = queue.add(Draft(title="t")).id
        with closing(beads.open(clock=clock)) as doomed:
            part = doomed.ledger if step in ("take", "verified") else doomed.tracker
            die_after(part, step, monkeypatch)
            with pytest.raises(Killed):
                doomed.claim("a", ttl=TTL)
        assert queue.claim("b", ttl=TTL) == []
        clock.advance(TTL + SOON)
        (lease,) = queue.claim("b", ttl=TTL)
        assert (lease.task.id, beads.issue(task_id).assignee) == (task_id, "b")

    @pytest.mark.parametrize("step", ["take", "hand_over", "show"])
    def test_a_supervisor_killed_in_a_take_over_leaves_a_task_that_heals(
        self, beads, queue, clock, monkeypatch, step
    ):
        """The name in bd may be that of any earlier holder: the ledger remembers whose it was."""
        queue.add(Draft(title="t"))
        (first,) = queue.claim("a", ttl=TTL)
        clock.advance(TTL + SOON)
        with closing(beads.open(clock=clock)) as doomed:
            die_after(doomed.ledger if step == "take" else doomed.tracker, step, monkeypatch)
            with pytest.raises(Killed):
                doomed.claim("b", ttl=TTL)
        clock.advance(TTL + SOON)
        (third,) = queue.claim("c", ttl=TTL)
        assert third.fence > first.fence + 1
        assert beads.issue(third.task.id).assignee == "c"

    def test_a_lost_ledger_does_not_strand_what_was_running(self, beads, queue):
        """Leases are not forgotten unasked; once a person accepted that, a supervisor still finds
        the tasks that carry its name in bd.
        """
        queue.add(Draft(title="t"))
        queue.claim("a", ttl=TTL)
        for file in beads.home.glob("ledger.db*"):
            file.unlink()
        with pytest.raises(WrongQueue, match="gone"):
            beads.open()
        identity.forget(beads.home, LEDGER)
        with closing(beads.open()) as fresh:
            assert fresh.claim("b", ttl=TTL) == []
            assert len(fresh.claim("a", ttl=TTL)) == 1

    def test_what_a_person_took_is_not_taken_back(self, beads, queue, clock):
        """A lease that ran out on a task that a person claimed by hand is over."""
        task_id = queue.add(Draft(title="t")).id
        queue.claim("a", ttl=TTL)
        beads.change(task_id, assignee="ann")
        clock.advance(TTL + SOON)
        assert queue.claim("b", ttl=TTL) == []
        assert queue.get(task_id).lease_owner is None

    def test_an_abandoned_task_that_now_waits_is_left_waiting(self, beads, queue, clock):
        """A blocker that was added meanwhile counts for a take-over too."""
        task_id = queue.add(Draft(title="t")).id
        queue.claim("a", ttl=TTL)
        blocker = queue.add(Draft(title="first", blocks=(task_id,))).id
        clock.advance(TTL + SOON)
        (lease,) = queue.claim("b", count=5, ttl=TTL)
        assert lease.task.id == blocker

    def test_a_claim_of_many_costs_as_few_calls_as_one(self, beads, queue):
        """Ready, update, and one look at all of them."""
        for number in range(5):
            queue.add(Draft(title=f"t{number}"))
        assert queue.claim("a", count=0, ttl=TTL) == []
        queue.claim("nobody", ttl=-TTL)  # the first claim also looks at what is in progress
        before = len(beads.calls)
        assert len(queue.claim("a", count=4, ttl=TTL)) == 4
        assert len(beads.calls) - before <= 6


class TestSettling:
    """A settlement is written, seen, and only then believed."""

    @pytest.fixture
    def lease(self, queue):
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        return lease

    def test_a_close_that_bd_lost_is_written_again(self, beads, queue, lease):
        """It confirmed it and forgot it: reading again shows that, and the second write counts."""
        beads.fault("lose", on="close")
        done = settled(queue, lease, Closed(reason="done"))
        assert done.status == "closed"
        assert beads.issue(lease.task.id).status == "closed"

    def test_a_bd_that_keeps_losing_closes_keeps_the_lease(self, beads, queue, lease):
        """Two lost writes are an error; the lease stays, and settling works once bd does."""
        beads.fault("lose", on="close", times=2)
        with pytest.raises(QueueUnavailable, match="does not show it"):
            settle(queue, lease, Closed(reason="done"))
        assert queue.get(lease.task.id).lease_owner == "a"
        assert settled(queue, lease, Closed(reason="done")).status == "closed"

    @pytest.mark.parametrize("fault", ["segv", "locked", "half"])
    @pytest.mark.parametrize("step", ["show", "close"])
    def test_a_settle_cut_short_can_be_repeated(self, beads, queue, lease, step, fault):
        """Whichever call fails, the lease stays ours and the second try settles."""
        beads.fault(fault, on=step)
        with pytest.raises(QueueError):
            settle(queue, lease, Closed(reason="done"))
        assert settled(queue, lease, Closed(reason="done")).status == "closed"

    @pytest.mark.parametrize(
        "settlement",
        [Closed(reason="done"), Released(note="later"), Blocked(waits=SetAside(note="why?"))],
    )
    def test_a_settle_killed_after_its_write_is_found_done(
        self, beads, queue, clock, lease, monkeypatch, settlement
    ):
        """The next try sees what bd has, writes nothing twice, and ends the lease."""
        verb = "close" if isinstance(settlement, Closed) else "put"
        with closing(beads.open(clock=clock)) as doomed:
            die_after(doomed.tracker, verb, monkeypatch)
            with pytest.raises(Killed):
                settle(doomed, lease, settlement)
        monkeypatch.undo()
        notes = beads.issue(lease.task.id).notes
        done = settled(queue, lease, settlement)
        assert done.lease_owner is None
        assert beads.issue(lease.task.id).notes == notes

    def test_a_release_killed_after_its_write_still_waits(self, beads, queue, clock, monkeypatch):
        """`not_before` is on record before bd shows the task as open."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        with closing(beads.open(clock=clock)) as doomed:
            die_after(doomed.tracker, "put", monkeypatch)
            with pytest.raises(Killed):
                settle(doomed, lease, Released(not_before=clock() + 3 * TTL))
        clock.advance(TTL + SOON)
        assert queue.claim("b", ttl=TTL) == []
        clock.advance(3 * TTL)
        assert len(queue.claim("b", ttl=TTL)) == 1

    def test_a_stale_settle_never_reaches_bd(self, beads, queue, clock, lease):
        """Under a lost lease no call writes, whatever the exit code would have been."""
        clock.advance(TTL + SOON)
        queue.claim("b", ttl=TTL)
        before = beads.issue(lease.task.id)
        calls = len(beads.calls)
        assert isinstance(settle(queue, lease, Closed(reason="late")), LeaseLost)
        assert beads.issue(lease.task.id) == before
        assert beads.verbs()[calls:] == []

    @pytest.mark.parametrize(
        "change", [{"assignee": "ann"}, {"status": "closed"}, {"status": "deferred"}]
    )
    def test_what_a_person_changed_is_not_overwritten(self, beads, queue, lease, change):
        """A task that a person took or ended in bd stays as that person left it."""
        beads.change(lease.task.id, **change)
        lost = settle(queue, lease, Released(note="mine"))
        assert isinstance(lost, LeaseLost)
        assert "was changed in beads" in lost.why
        issue = beads.issue(lease.task.id)
        assert {key: getattr(issue, key) for key in change} == change

    def test_a_task_that_bd_freed_can_still_be_closed(self, beads, queue, lease):
        """A `bd reclaim` on the machine does not cost a verified run."""
        beads.change(lease.task.id, status="open", assignee="")
        assert settled(queue, lease, Closed(reason="done")).status == "closed"

    def test_a_question_of_the_agent_is_joined_by_fleets_note(self, beads, queue, lease):
        """An agent that set its own task to blocked does not make blocking it a surprise."""
        beads.change(lease.task.id, status="blocked", notes="QUESTION: which?")
        done = settled(queue, lease, Blocked(waits=SetAside(note="waits for an answer")))
        assert (done.status, done.assignee) == ("blocked", "")
        assert done.notes == "QUESTION: which?\nwaits for an answer"

    def test_a_close_that_bd_refuses_is_left_to_a_person(self, beads, queue, lease):
        """A blocker added during the run: the task is blocked with bd's words and not run."""
        queue.add(Draft(title="first", blocks=(lease.task.id,)))
        done = settled(queue, lease, Closed(reason="12 tests pass"))
        assert (done.status, done.lease_owner) == ("blocked", None)
        assert "blocked by open issues" in done.notes
        assert "12 tests pass" in done.notes

    def test_a_task_taken_at_the_last_moment_is_lost(self, beads, queue, lease, monkeypatch):
        """Between our look and our write a person can be faster; theirs counts."""
        show = queue.tracker.show

        def look_and_lose(ids):
            shown = show(ids)
            beads.change(lease.task.id, assignee="ann")
            return shown

        monkeypatch.setattr(queue.tracker, "show", look_and_lose)
        lost = settle(queue, lease, Closed(reason="done"))
        assert isinstance(lost, LeaseLost)
        assert "ann" in lost.why
        assert beads.issue(lease.task.id).status == "in_progress"

    def test_a_text_that_no_argument_carries_is_made_to_fit(self, queue, lease):
        """Settling never fails for what an agent wrote."""
        done = settled(queue, lease, Blocked(waits=SetAside(note="a\0b \ud800 " + "x" * 300_000)))
        assert done.notes.startswith("ab ? x")
        assert done.notes.endswith("[cut by fleet]")


class TestShapes:
    """Every JSON shape that a bd has printed is read."""

    @pytest.mark.parametrize("shape", ["data", "items", "bare"])
    @pytest.mark.parametrize("version", ["1.0.5", "1.3.0"])
    def test_a_task_goes_its_way_in_every_shape(self, tmp_path, version, shape):
        """Add, claim, settle and find, whatever the envelope."""
        beads = SimulatedBeads(tmp_path, version=version, shape=shape)
        with closing(beads.open()) as queue:
            task = queue.add(Draft(title="t", metadata={"fleet": {"cwd": "/srv"}}))
            (lease,) = queue.claim("a", ttl=TTL)
            assert (lease.task.id, lease.task.cwd) == (task.id, "/srv")
            assert settled(queue, lease, Closed(reason="done")).close_reason == "done"
            assert [found.id for found in queue.find(Filter(include_closed=True))] == [task.id]

    @pytest.mark.parametrize("version", ["1.0.5", "1.3.0"])
    def test_a_refusal_is_read_from_wherever_it_stands(self, tmp_path, version):
        """Plain text on the error stream, or the trailing object: the reason is bd's."""
        beads = SimulatedBeads(tmp_path, version=version, shape="bare")
        with closing(beads.open()) as queue:
            blocker = queue.add(Draft(title="first", priority=4)).id
            task_id = queue.add(Draft(title="t")).id
            (lease,) = queue.claim("a", ttl=TTL)
            assert lease.task.id == task_id
            queue.add(Draft(title="late", blocks=(task_id,)))
            done = settled(queue, lease, Closed(reason="done"))
            assert f"close it: cannot close {task_id}: blocked by" in done.notes.replace(
                f"Error updating {task_id}: ", ""
            )
            assert queue.get(blocker).status == "open"


class TestAdding:
    def test_everything_that_a_task_is_travels_in_one_call(self, beads, queue):
        """Killed right after bd committed, a task still has its directory and its blockers."""
        blocker = queue.add(Draft(title="first")).id
        before = len(beads.calls)
        queue.add(
            Draft(title="t", depends_on=(("blocks", blocker),), metadata={"fleet": {"cwd": "/srv"}})
        )
        (create,) = [call for call in beads.calls[before:] if "create" in call]
        assert f"--deps={blocker}" in create
        assert '--metadata={"fleet":{"cwd":"/srv"}}' in create

    def test_text_never_becomes_a_flag(self, beads, queue):
        """Each value is bound to its flag, so a title may look like anything."""
        for title in ("--help", "-x", "--metadata={}", "[red]x[/red]", "a\nb", "'\"`$(id)`"):
            assert queue.add(Draft(title=title, assignee="--json")).title == title
        creates = [call for call in beads.calls if "create" in call]
        assert all(part.startswith("--") for call in creates for part in call if part != "create")

    def test_long_text_reaches_bd_through_a_file(self, queue):
        """A description over the kernel's limit for one argument is kept whole, and so is `-`."""
        long = "ü" * 200_000
        task = queue.add(Draft(title="t", description=long, design="-", metadata={"big": long}))
        assert (task.description, task.design, task.metadata["big"]) == (long, "-", long)

    def test_a_dependency_that_bd_dropped_unmakes_the_task(self, beads, queue):
        """For bd it is a warning; fleet reads again, removes the task and says why."""
        one = queue.add(Draft(title="one")).id
        with pytest.raises(Refused, match="cycle"):
            queue.add(Draft(title="two", depends_on=(("blocks", one),), blocks=(one,)))
        assert [task.id for task in queue.find(Filter())] == [one]


class TestWaking:
    def test_a_bare_bd_is_noticed_without_starting_one(self, beads, queue):
        """A change that rang no bell is seen in bd's files, within seconds and for free."""
        task_id = queue.add(Draft(title="t")).id
        while queue.wait(timedelta(0)):
            pass
        calls = len(beads.calls)
        beads.change(task_id, priority=0)
        assert queue.wait(timedelta(seconds=10)) is True
        assert queue.wait(timedelta(0)) is False
        assert len(beads.calls) == calls

    def test_reading_is_no_news(self, queue):
        """A supervisor that looks does not wake itself."""
        queue.add(Draft(title="t"))
        while queue.wait(timedelta(0)):
            pass
        queue.find(Filter(ready=True))
        assert queue.wait(timedelta(0)) is False

    def test_a_renewal_is_no_news(self, queue):
        """Fifty leases that are renewed do not start a bd each time."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        while queue.wait(timedelta(0)):
            pass
        queue.renew(lease, ttl=TTL)
        assert queue.wait(timedelta(0)) is False


class TestLock:
    def test_writers_of_several_processes_take_turns(self, beads, queue):
        """While another process writes, a claim waits, and gives up with a clear error."""
        with closing(beads.open(timeout=timedelta(milliseconds=100))) as hasty:
            with queue.locked(), pytest.raises(QueueBusy, match=r"beads\.lock"):
                hasty.claim("a", ttl=TTL)
            hasty.claim("a", ttl=TTL)

    def test_a_killed_holder_frees_the_lock(self, beads, queue):
        """The lock dies with its process: no stale file has to be removed."""
        code = (
            "import fcntl, os, sys, time; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT);"
            "fcntl.flock(fd, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
        )
        with psutil.Popen(
            [sys.executable, "-c", code, str(beads.home / FILE)], stdout=-1
        ) as holder:
            assert holder.stdout.readline() == b"held\n"
            holder.kill()
        queue.add(Draft(title="t"))


class Killed(BaseException):
    """Stands for `kill -9`: no handler of ours runs for it."""


def die_after(part, name, monkeypatch):
    """The step is done, and then nothing more of this process happens."""
    step = getattr(part, name)

    def last(*args, **kwargs):
        step(*args, **kwargs)
        raise Killed

    monkeypatch.setattr(part, name, last)
