"""What `fleet status` says of the tasks that only a person can set going."""

from datetime import timedelta

import pytest

from fleet.cli.run.status import rows
from fleet.control.list_coders import trust_coders
from fleet.control.queue.needs_person import begun_tasks
from fleet.control.status import fleet_status
from fleet.queue.protocol import Draft
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Failed, Finished, Released
from fleet.schemas.waits import OutOfAttempts, OutOfScope, SetAside
from tests.builders import NOW, a_run, an_ending
from tests.settled import settle


@pytest.fixture
def coder_file(fleet):
    """The file of a coder that no person has trusted."""
    folder = fleet.home.path / "coders"
    folder.mkdir()
    (folder / "mine.toml").write_text('argv = ["true"]\n')


def told(fleet, name):
    return [value for row, value in rows(fleet_status(fleet, NOW), NOW) if row == name]


def ended(fleet, task, *whys):
    """Runs that failed as attempts for these reasons, the last of which blocked the task."""
    for number, why in enumerate(whys, start=1):
        (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
        last = number == len(whys)
        settlement = Blocked(waits=waits_of(why, number)) if last else Released(not_before=NOW)
        settle(fleet.queue, lease, settlement)
        ending = an_ending(Finished() if last else Failed(reason="denied"), settlement, why=why)
        write_ending(a_run(fleet.home.task(task.id)), ending)


def waits_of(why, number):
    """What the last of some attempts blocks the task with."""
    return OutOfAttempts(why=why, made=number, limit=number) if number > 1 else SetAside(note=why)


def test_the_reason_of_a_block_is_told_and_not_the_last_line_of_the_notes(fleet):
    """The notes end with a hint, or with what a verify command printed."""
    task = fleet.queue.add(Draft(title="t"))
    ended(fleet, task, "out of scope: changed_outside: a.py")
    fleet.queue.reopen_task(
        fleet.get(task.id), by="me", waits=OutOfScope(what="out of scope: changed_outside: a.py")
    )
    (found,) = begun_tasks(fleet, NOW).first
    assert (found.why, found.before) == ("out of scope: changed_outside: a.py", ())
    assert told(fleet, "failed") == [
        f"{task.id} t: out of scope: changed_outside: a.py (fleet retry {task.id})"
    ]


def test_the_reasons_of_earlier_attempts_are_told_too(fleet):
    """The last attempt may have failed for something small, and the first for what is wrong."""
    task = fleet.queue.add(Draft(title="t"))
    closing = "finished without closing the task"
    ended(fleet, task, "it was denied Bash", closing, closing)
    (line,) = told(fleet, "failed")
    why = f"{closing} (attempt 3 of 3); before: it was denied Bash"
    assert line == f"{task.id} t: {why} (fleet retry {task.id})"


def test_a_remark_of_a_person_below_the_reason_counts(fleet):
    """It is what was said last."""
    task = fleet.queue.add(Draft(title="t"))
    ended(fleet, task, "its CLI ended without a word")
    fleet.queue.reopen_task(
        fleet.get(task.id), by="me", waits=SetAside(note="waits for the vendor")
    )
    assert begun_tasks(fleet, NOW).first[0].why.endswith("waits for the vendor")


def test_tasks_that_wait_for_trust_are_named_with_the_command(fleet, coder_file):
    """`fleet status` said only that a task is open."""
    stranger = fleet.queue.add(
        Draft(title="a", metadata={"fleet": {"cwd": "/", "verify": ["make"]}})
    )
    mine = fleet.queue.add(Draft(title="b", metadata={"fleet": {"coder": "mine"}}))
    fleet.queue.add(Draft(title="c"))
    command = "its verify command came with an import or a shared queue"
    coder = "no person has trusted the file of the coder mine"
    assert told(fleet, "waits") == [
        f"{stranger.id}: {command} (fleet trust {stranger.id})",
        f"{mine.id}: {coder} (fleet coders trust mine)",
    ]


def test_trust_in_a_coder_wakes_its_tasks(fleet, coder_file):
    """They were put off for an hour, as nothing but this command changes anything."""
    task = fleet.queue.add(Draft(title="b", metadata={"fleet": {"coder": "mine"}}))
    (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
    settle(fleet.queue, lease, Released(not_before=NOW + timedelta(days=900)))
    trust_coders(fleet, ["mine"], every=False)
    assert fleet.get(task.id).not_before is None
    assert told(fleet, "waits") == []


def test_a_queue_that_is_gone_is_told_with_the_way_out(fleet):
    """The way back is `fleet queue restore`, which status did not name."""
    fleet.queue.add(Draft(title="t"))
    fleet.close()
    for path in fleet.home.path.glob("queue.db*"):
        path.unlink()
    found = rows(fleet_status(fleet, NOW), NOW)
    at = [name for name, _ in found].index("queue")
    assert "is gone" in found[at][1]
    assert "fleet queue restore" in found[at + 1][1]


def test_a_task_that_is_listed_is_not_counted_beside_it(fleet):
    """One line in `fleet status` for each task."""
    task = fleet.queue.add(Draft(title="t"))
    fleet.queue.reopen_task(task, by="us", waits=SetAside(note="later"))
    found = begun_tasks(fleet, NOW)
    assert (found.needing, dict(found.states)) == (1, {})
