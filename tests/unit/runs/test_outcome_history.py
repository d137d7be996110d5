"""What runs came to, counted once: outcome.json, .failures, and what a person forgives."""

import msgspec
import pytest
from msgspec import structs, to_builtins

from fleet.files import seals
from fleet.runs.outcome_history import (
    FORGIVEN,
    History,
    forgive,
    history,
    last_to_speak,
    read_ending,
    spent_before,
    write_ending,
)
from fleet.schemas import (
    Blocked,
    Closed,
    ContextFull,
    Failed,
    Lost,
    RateLimit,
    RateLimited,
    Released,
    Spend,
    Stopped,
)
from fleet.schemas.decision import SHUTDOWN, Decision
from fleet.schemas.waits import Asks, OutOfAttempts, SetAside, ToLand
from tests.builders import a_run, an_ending

FAILED = Failed(reason="api_error")
LIMITED = RateLimited(limit=RateLimit(kind="usage"))


def end(task, outcome, settlement, *, counts=True, started=True, progress=False):
    """One more run of a task, with its ending written as the supervisor does."""
    run = a_run(task)
    decision = Decision(settlement=settlement, counts=counts, why="it did")
    past = history(task, before=run.number)
    after = past.after(outcome, decision, started=started, progress=progress)
    ending = an_ending(
        outcome, settlement, counts=counts, why="it did", progress=progress,
        attempts=after.attempts, full_contexts=after.full_contexts,
        never_started=after.never_started,
    )  # fmt: skip
    write_ending(run, ending)
    return run, ending


def failures(task):
    return (task / ".failures").read_text()


def test_a_new_task_has_no_history(tmp_path):
    """Nothing was tried."""
    assert history(tmp_path) == History()


def test_only_what_counts_is_counted(tmp_path):
    """Limits and lost starts in between change nothing."""
    end(tmp_path, FAILED, Released())
    end(tmp_path, LIMITED, Released(), counts=False)
    end(tmp_path, Lost(), Released(), counts=False, started=False)
    end(tmp_path, FAILED, Released())
    assert history(tmp_path).attempts == 2
    assert failures(tmp_path) == "2\n"


def test_a_success_is_no_failure(tmp_path):
    """.failures says how often it failed before."""
    end(tmp_path, FAILED, Released())
    end(tmp_path, FAILED, Closed(reason="done"))
    assert failures(tmp_path) == "1\n"


@pytest.mark.parametrize(
    "settlement", [Blocked(waits=SetAside(note="look")), Closed(reason="done")]
)
def test_what_a_person_opens_again_starts_from_nothing(tmp_path, settlement):
    """Blocked at the limit and opened by hand: it has all its attempts before it."""
    end(tmp_path, FAILED, Released())
    end(tmp_path, FAILED, settlement)
    assert history(tmp_path) == History(last=history(tmp_path).last)
    end(tmp_path, FAILED, Released())
    assert history(tmp_path).attempts == 1


def test_a_person_can_forgive_in_between(tmp_path):
    """After `fleet retry` the count begins anew, and goes on from there."""
    end(tmp_path, FAILED, Released())
    end(tmp_path, FAILED, Released())
    forgive(tmp_path)
    assert failures(tmp_path) == "0\n"
    assert history(tmp_path).attempts == 0
    end(tmp_path, FAILED, Released())
    assert history(tmp_path).attempts == 1


def test_a_fresh_start_knows_no_run_before_it(tmp_path):
    """Neither how the last one ended nor its session, also after it is tried again without a run
    in between; what comes later is followed.
    """
    end(tmp_path, FAILED, Blocked(waits=SetAside(note="look")))
    forgive(tmp_path, fresh=True)
    forgive(tmp_path)
    assert history(tmp_path) == History()
    assert last_to_speak(tmp_path) is None
    run, _ = end(tmp_path, FAILED, Released())
    forgive(tmp_path)
    assert last_to_speak(tmp_path)[0].number == run.number
    assert history(tmp_path).last is not None


def test_what_an_earlier_fleet_forgave_stays_forgiven(tmp_path):
    """It wrote one number."""
    end(tmp_path, FAILED, Released())
    seals.write_sealed(tmp_path, FORGIVEN, b"1\n")
    assert history(tmp_path) == History(last=history(tmp_path).last)
    assert history(tmp_path).last is not None


def test_forgiving_what_never_ran_is_nothing(tmp_path):
    """There is nothing to forgive."""
    forgive(tmp_path)
    assert history(tmp_path) == History()


def test_full_contexts_count_in_a_row_without_progress(tmp_path):
    """Progress, or a run that counts, ends the row; a limit or a lost start does not."""
    full = {"outcome": ContextFull(), "settlement": Released(), "counts": False}
    end(tmp_path, **full)
    end(tmp_path, LIMITED, Released(), counts=False)
    end(tmp_path, Lost(), Released(), counts=False, started=False)
    end(tmp_path, **full)
    assert history(tmp_path).full_contexts == 2
    end(tmp_path, **full, progress=True)
    assert history(tmp_path).full_contexts == 0
    end(tmp_path, **full)
    end(tmp_path, FAILED, Released())
    assert history(tmp_path).full_contexts == 0


def test_lost_starts_count_in_a_row(tmp_path):
    """Until one starts."""
    for _ in range(3):
        end(tmp_path, Lost(), Released(), counts=False, started=False)
    assert history(tmp_path).never_started == 3
    end(tmp_path, LIMITED, Released(), counts=False)
    assert history(tmp_path).never_started == 0


def test_an_ending_written_twice_counts_once(tmp_path):
    """A supervisor that finds the run undecided decides again, with the same counts before it."""
    end(tmp_path, FAILED, Released())
    run, ending = end(tmp_path, FAILED, Released())
    before = history(tmp_path, before=run.number)
    write_ending(run, structs.replace(ending, why="again"))
    assert history(tmp_path, before=run.number) == before
    assert history(tmp_path).attempts == 2
    assert read_ending(run).why == "again"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"outcome":1}', b"\xff", None])
def test_a_damaged_ending_is_none(tmp_path, damage):
    """The run counts as undecided, and the ones before it still count."""
    end(tmp_path, FAILED, Released())
    run, _ = end(tmp_path, FAILED, Released())
    path = run.path / "outcome.json"
    if damage is None:
        path.unlink()
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(damage)
    assert read_ending(run) is None
    assert history(tmp_path).attempts == 1


def test_a_damaged_mark_of_forgiveness_forgives_nothing(tmp_path):
    """A person can edit it, so it may hold anything."""
    end(tmp_path, FAILED, Released())
    (tmp_path / ".forgiven").write_text("all")
    assert history(tmp_path).attempts == 1
    (tmp_path / ".forgiven").unlink()
    (tmp_path / ".forgiven").mkdir()
    assert history(tmp_path).attempts == 1


def test_what_a_task_spent_is_added_up_over_all_its_runs(tmp_path):
    """By the sum in the latest ending, or run by run without one; a reopened task keeps it."""
    for cost in (1.0, 2.0):
        run, ending = end(tmp_path, FAILED, Released())
        write_ending(run, structs.replace(ending, tokens=10, cost_usd=cost))
    assert spent_before(tmp_path) == Spend(runs=2, tokens=20, usd=3.0)
    run, ending = end(tmp_path, FAILED, Blocked(waits=SetAside(note="enough")))
    write_ending(run, structs.replace(ending, spent=Spend(runs=3, tokens=25, usd=7.0)))
    forgive(tmp_path)
    run, ending = end(tmp_path, FAILED, Released())
    write_ending(run, structs.replace(ending, tokens=5, estimated_usd=0.5))
    whole = Spend(runs=4, tokens=30, usd=7.5, estimated_usd=0.5)
    assert spent_before(tmp_path) == whole
    assert spent_before(tmp_path, before=3) == Spend(runs=2, tokens=20, usd=3.0)


def test_a_run_that_never_spoke_leaves_its_session_to_the_next(tmp_path):
    """A shutdown before the CLI's first line says nothing of the session that it was to resume."""
    first = a_run(tmp_path)
    write_ending(first, an_ending(LIMITED, session_id="s1"))
    for outcome in (Stopped(by=SHUTDOWN), Lost(why="its keeper was killed")):
        write_ending(a_run(tmp_path), an_ending(outcome, resumed=True))
    run, ending = last_to_speak(tmp_path)
    assert (run.number, ending.session_id) == (1, "s1")


@pytest.mark.parametrize(
    ("outcome", "facts"),
    [
        (Stopped(by=SHUTDOWN), {"resumed": True, "session_id": "s1"}),
        (Stopped(by=SHUTDOWN), {"resumed": False}),
        (Failed(reason="session_not_found"), {"resumed": True}),
    ],
)
def test_a_run_that_spoke_or_failed_is_the_last(tmp_path, outcome, facts):
    """A session that cannot be resumed is not tried again and again."""
    write_ending(a_run(tmp_path), an_ending(LIMITED, session_id="s1"))
    second = a_run(tmp_path)
    write_ending(second, an_ending(outcome, **facts))
    run, _ = last_to_speak(tmp_path)
    assert run.number == 2
    assert last_to_speak(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("outcome", "settlement", "waits"),
    [
        ("NeedsHuman", {"note": "QUESTION: tabs?"}, Asks(text="tabs?")),
        ("NeedsHuman", {"note": "Tabs?"}, Asks(text="Tabs?")),
        ("Finished", {"note": "verified; waits to land on main: fleet land", "verified": True},
         ToLand(into="main")),
        ("Failed", {"note": "Boom (attempt 3 of 3)"}, OutOfAttempts(why="Boom", made=3, limit=3)),
    ],
)  # fmt: skip
def test_the_record_of_an_earlier_fleet_is_read(tmp_path, outcome, settlement, waits):
    """Its reason was a note: the task is gone on with as before."""
    run = a_run(tmp_path)
    fields = to_builtins(an_ending(Lost()))
    fields["outcome"] = {"type": outcome} | ({"reason": "empty"} if outcome == "Failed" else {})
    fields["settlement"] = {"type": "Blocked", **settlement}
    (run.path / "outcome.json").write_bytes(msgspec.json.encode(fields))
    found = read_ending(run)
    assert found.settlement == Blocked(waits=waits)
    assert found.settlement.to_land is isinstance(waits, ToLand)
