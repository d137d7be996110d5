"""The ledger of each day: every run once, whenever a supervisor dies or a file is lost."""

import os
import pickle
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fleet.home import Home, make_home
from fleet.processes import process_identity
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Receipt, Spend, Stopped, Usage
from fleet.schemas.waits import SetAside
from fleet.spending import day_ledger
from fleet.spending.budgets import day_of
from fleet.spending.day_ledger import DayLedger, SpendEntry
from tests.builders import a_run, an_ending

NOW = datetime.now(UTC)
TODAY = day_of(NOW)


def receipt(task="fleet-a", run=1, *, began=NOW, cost=1.0, project="/srv/app"):
    return Receipt(
        task_id=task, run=run, coder="claude", project=project, started_at=began, cost_usd=cost,
        usage=Usage(input=100),
    )  # fmt: skip


def put(home, found):
    """A run with its receipt, as a supervisor leaves it."""
    folder = home.task(found.task_id)
    folder.mkdir(parents=True, exist_ok=True)
    run = a_run(folder)
    receipt_json.write(run, found)
    return run


def fill_the_disk(home):
    """From now on no line can be written."""
    shutil.rmtree(home.path / "spent")
    (home.path / "spent").touch()


def books(home):
    return home.path / "spent" / f"{TODAY}.jsonl"


def spent(home, *, keeps=False):
    day = DayLedger(home, keeps=keeps).day(TODAY)
    return sum((spend for spend in day.sums().values()), Spend())


def test_what_was_paid_is_known_to_the_next_supervisor(home):
    """By the file, without a look at any receipt."""
    DayLedger(home, keeps=True).record(receipt(), NOW)
    assert spent(home) == Spend(runs=1, tokens=100, usd=1.0)


def test_a_run_that_is_settled_twice_counts_once(home):
    """With the latest line: after a crash the run is settled again."""
    mine = DayLedger(home, keeps=True)
    mine.record(receipt(cost=1.0), NOW)
    mine.record(receipt(cost=3.0), NOW)
    assert spent(home).usd == 3.0
    assert sum((spend for spend in mine.day(TODAY).sums().values()), Spend()).usd == 3.0


def test_a_day_takes_the_same_memory_after_any_number_of_runs(home):
    """The lines are in the file, and memory has the sums."""
    mine, sizes = DayLedger(home, keeps=True), []
    for number in range(200):
        mine.record(receipt(f"fleet-{number}"), NOW, again=False)
        sizes.append(len(pickle.dumps(vars(mine.day(TODAY)))))
    assert sizes[-1] - sizes[1] < 10  # the digits of the counts
    assert spent(home).runs == 200


def test_a_run_that_is_settled_again_leaves_other_hosts_runs_in_the_sums(home):
    """The file is read again for the run's first line, and it has only the runs of this host."""
    mine = DayLedger(home, keeps=True)
    mine.add_elsewhere(TODAY, SpendEntry(task="fleet-z", run=1, spend=Spend(runs=1, usd=5.0)))
    for cost in (1.0, 2.0):
        mine.record(receipt(cost=cost), NOW)
    assert sum(mine.day(TODAY).sums().values(), Spend()).usd == 7.0


def test_a_run_has_its_line_once_it_was_recorded(home):
    """For the next supervisor, which finds the run not yet settled."""
    mine = DayLedger(home, keeps=True)
    assert not mine.has(TODAY, "fleet-a", 1)
    mine.record(receipt(), NOW)
    assert mine.has(TODAY, "fleet-a", 1)
    assert not mine.has(TODAY, "fleet-a", 2)


def harm_remove(path):
    path.unlink()


def harm_cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def harm_garble(path):
    path.write_bytes(b"\xff\xfe{]\n" + path.read_bytes())


def harm_empty(path):
    path.write_bytes(b"")


def harm_link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


def harm_reboot(path):
    path.write_bytes(path.read_bytes().replace(process_identity.boot_id().encode(), b"before"))


@pytest.mark.parametrize(
    "harm", [harm_remove, harm_cut, harm_garble, harm_empty, harm_link, harm_reboot]
)
def test_books_that_cannot_be_relied_on_are_read_from_the_receipts(home, harm):
    """After a power cut as well: the last lines may not have reached the disk."""
    yesterday = NOW - timedelta(days=1)
    found = [receipt(), receipt("fleet-b", cost=2.0), receipt("fleet-c", began=yesterday)]
    for each in found:
        put(home, each)
        DayLedger(home, keeps=True).record(each, each.started_at)
    before = spent(home)
    assert before.usd == 3.0
    harm(books(home))
    looks = books(home).read_bytes() if books(home).is_file() else None
    assert spent(home) == before
    assert (books(home).read_bytes() if books(home).is_file() else None) == looks  # only a look
    assert spent(home, keeps=True) == before
    assert day_ledger.DayLedger(home, keeps=False)._read(TODAY) is not None


def test_old_tasks_are_not_read_to_begin_a_day(home, monkeypatch):
    """A look at each, and no more."""
    old = NOW - timedelta(days=9)
    for number in range(5):
        put(home, receipt(f"fleet-{number}", began=old))
        os.utime(home.task(f"fleet-{number}") / "runs", (old.timestamp(), old.timestamp()))
    put(home, receipt("fleet-new"))
    read = []
    monkeypatch.setattr(receipt_json, "read", lambda run: read.append(run.task_dir.name))
    DayLedger(home, keeps=False).day(TODAY)
    assert read == ["fleet-new"]


def test_a_run_without_a_receipt_counts_by_its_ending(home):
    """A person stopped the run without a supervisor."""
    (folder := home.task("fleet-a")).mkdir(parents=True)
    run = a_run(folder, cwd="/srv/app")
    ending = an_ending(
        Stopped(by="ada"),
        Blocked(waits=SetAside(note="stopped")),
        counts=False,
        at=NOW,
        tokens=70,
        cost_usd=0.5,
    )
    write_ending(run, ending)
    assert spent(home) == Spend(runs=1, tokens=70, usd=0.5)


def test_a_warning_is_given_once_a_day(home):
    """Over restarts, and also where the disk is full."""
    assert DayLedger(home, keeps=True).warn_once(TODAY, "near:day")
    assert not DayLedger(home, keeps=True).warn_once(TODAY, "near:day")
    full = DayLedger(home, keeps=True)
    full.day(TODAY)
    fill_the_disk(home)
    assert full.warn_once(TODAY, "near:task")
    assert not full.warn_once(TODAY, "near:task")


def test_a_full_disk_loses_no_run(home):
    """The caller gets the error, and the run is settled later."""
    mine = DayLedger(home, keeps=True)
    mine.day(TODAY)
    fill_the_disk(home)
    with pytest.raises(OSError):
        mine.record(receipt(), NOW)
    assert mine.day(TODAY).sums() == {}


def test_days_are_kept_by_their_names_and_not_by_the_clock(home):
    """A clock that is wrong for a while takes no day away."""
    mine = DayLedger(home, keeps=True)
    for number in range(day_ledger.KEPT + 5):
        mine.day(f"2026-{1 + number // 28:02}-{1 + number % 28:02}")
    mine.day("1971-01-01")
    names = sorted(path.stem for path in (home.path / "spent").iterdir())
    assert len(names) == day_ledger.KEPT
    assert names[-1] == "2026-02-17"


@settings(max_examples=30, deadline=None)
@given(some.lists(some.tuples(some.integers(1, 4), some.sampled_from([-1, 0, 1])), max_size=30))
def test_however_the_clock_jumps_each_run_is_in_one_day(tmp_path_factory, payments):
    """Over midnight and back: no day holds what began on another, and none is lost."""
    home = Home(tmp_path_factory.mktemp("home") / "home")
    make_home(home)
    mine = DayLedger(home, keeps=True)
    noon = datetime(2026, 11, 15, 12, tzinfo=UTC).astimezone()
    last = {}
    for number, (run, shift) in enumerate(payments):
        began = noon + timedelta(days=shift)
        used, project = Usage(input=number + 1), f"/srv/{run}"
        found = Receipt(
            task_id=f"t{shift}", run=run, coder="c", started_at=began, usage=used, project=project
        )
        mine.record(found, noon)
        last[day_of(began), run] = number + 1
    again = DayLedger(home, keeps=True)
    for shift in (-1, 0, 1):
        name = day_of(noon + timedelta(days=shift))
        expected = {f"/srv/{run}": tokens for (day, run), tokens in last.items() if day == name}
        for one in (mine, again):
            found = {path: spend.tokens for (path, _), spend in one.day(name).sums().items()}
            assert found == expected
