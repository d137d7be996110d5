"""Fleet's own bd: update, close and reopen, and what they do to a claim and to a lease."""

from datetime import timedelta

import pytest

from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed
from tests.settled import settle, settled


def test_a_person_claims_without_a_lease(bd):
    """A claim gives status, holder, start, a sign of life and a higher fence, and no lease."""
    task = bd.new("first")
    bd.clock.pass_(minutes=1)
    claimed = bd(f"update {task} --claim --json").json[0]
    assert (claimed["status"], claimed["assignee"]) == ("in_progress", "ann")
    assert claimed["started_at"] == claimed["heartbeat_at"] == "2026-11-15T12:01:00Z"
    assert claimed["lease_expires_at"] == "2026-11-15T12:06:00Z"
    assert claimed["claim_fence"] == 1
    row = bd.queue.get(task)
    assert (row.lease_owner, row.lease_until, row.fence) == (None, None, 1)
    assert bd.queue.claim("worker", ttl=timedelta(minutes=1)) == []
    again = bd(f"update {task} --claim --json").json[0]
    assert again == claimed
    other = bd(f"update {task} --claim --actor bob")
    assert other.code == 1
    assert f"Error updating {task}: issue already claimed by ann" in other.err


def test_ready_claim_gives_each_a_task_of_their_own(bd):
    """Each caller gets the next ready task without an assignee; the last gets an empty list."""
    mine = bd.new("mine -a ann -p 0")
    tasks = [bd.new(f"t{n}") for n in range(3)]
    given = [bd(f"ready --claim --json --actor w{n}").json for n in range(4)]
    assert [rows[0]["id"] for rows in given[:3]] == sorted(
        tasks, key=lambda id_: (bd.queue.get(id_).created_at, id_)
    )
    assert given[3] == []
    assert bd("ready --json").ids == [mine]
    assert bd("ready --claim").out == "No ready work to claim.\n"


def test_changing_a_running_tasks_status_takes_the_lease_away(bd):
    """The supervisor that held it can settle nothing more."""
    ttl = timedelta(minutes=5)
    for line in (
        "update {} -s blocked --notes why",
        "update {} -s open -a '' --force",
        "update {} -a bob --force",
        "update {} --defer +1d",
        "close {} --force",
        "update {} -s closed",
    ):
        task = bd.new("first")
        lease = bd.queue.claim("worker", ttl=ttl)[0]
        assert lease.task.id == task
        assert bd(line.format(task)).code == 0
        row = bd.queue.get(task)
        assert (row.lease_owner, row.lease_until) == (None, None)
        assert isinstance(settle(bd.queue, lease, Closed(reason="done")), LeaseLost), line
        assert bd.queue.get(task) == row
        bd(f"close {task} --force")


def test_other_changes_leave_the_lease_alone(bd):
    """Notes, labels, priority and the like do not disturb a run."""
    task = bd.new("first")
    lease = bd.queue.claim("worker", ttl=timedelta(minutes=5))[0]
    line = "--append-notes n --add-label l -p 0 --title new -d d --set-metadata k=v"
    assert bd(f"update {task} {line} -s in_progress").code == 0
    shown = bd(f"show {task} --json").json[0]
    assert shown["lease_expires_at"] == "2026-11-15T12:05:00Z"
    done = settled(bd.queue, lease, Closed(reason="done"))
    assert done.status == "closed"
    assert (done.title, done.notes, done.labels) == ("new", "n", ("l",))


def test_a_held_task_is_not_taken_over_its_holders_head(bd):
    """Closing, reassigning and claiming another's work is refused; with --force it is not."""
    task = bd.new("first")
    bd.queue.claim("worker", ttl=timedelta(minutes=5))
    refused = bd(f"close {task}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f'cannot close {task}: assignee is "worker", actor is "ann" (use --force to override)\n'
    )
    refused = bd(f"update {task} -a '' --json")
    assert refused.code == 1
    assert refused.failed["failed"][0]["error"].startswith(
        f'cannot reassign {task}: held by "worker" (in_progress)'
    )
    assert bd(f"update {task} --claim").code == 1
    assert bd(f"update {task} -a worker").code == 0
    assert bd.queue.get(task).lease_owner == "worker"
    assert bd(f"close {task} --actor worker").code == 0


def test_an_actor_is_the_same_whatever_stands_between_its_parts(bd):
    """Bd folds dots, dashes and underscores of a name; longer names are other actors."""
    task = bd.new("first")
    assert bd(f"update {task} --claim --actor w-1").code == 0
    assert bd(f"update {task} --claim --actor w_1").code == 0
    assert bd(f"update {task} --claim --actor w-1-x").code == 1
    assert bd(f"close {task} --actor w.1").code == 0


def test_update_fails_for_each_task_by_itself(bd):
    """The others are changed; the last line of standard error tells machines what failed."""
    first = bd.new("first")
    done = bd(f"update {first} nope -p 0 --json")
    assert done.code == 1
    assert [row["priority"] for row in done.json] == [0]
    assert done.failed == {
        "error": "1 of 2 issues failed to update",
        "failed": [{"id": "nope", "error": 'no issue found matching "nope"'}],
        "schema_version": 1,
    }
    assert bd(f"update {first} nope -p 1").err == (
        'Error updating nope: no issue found matching "nope"\n'
    )
    enveloped = bd("update nope -p 1 --json", BD_JSON_ENVELOPE="1").failed
    assert set(enveloped) == {"data", "schema_version"}


@pytest.mark.parametrize("guard", ["--if-status closed", "--if-assignee bob", "--if-fence 7"])
def test_a_stale_guard_changes_nothing_and_says_so(bd, guard):
    """Exit code 13: the state was another one; with any other failure it is 1."""
    task = bd.new("first")
    before = bd.queue.get(task)
    stale = bd(f"update {task} -p 0 {guard} --json")
    assert (stale.code, stale.out) == (13, "")
    assert stale.failed["failed"][0]["guard_mismatch"] is True
    assert bd.queue.get(task) == before
    assert bd(f"update {task} nope -p 0 {guard}").code == 1


def test_a_guard_that_holds_lets_the_change_through(bd):
    """The fence of a claim is what a later write can be tied to."""
    task = bd.new("first")
    assert bd(f"update {task} -p 0 --if-status open --if-assignee '' --if-fence 0").code == 0
    fence = bd(f"update {task} --claim --json").json[0]["claim_fence"]
    assert bd(f"update {task} -s open --if-fence {fence}").code == 0
    assert bd(f"update {task} -p 1 --claim --if-status open --json").code == 1


def test_update_changes_what_it_names_and_nothing_else(bd):
    """Each field can be set and cleared again; without a change the time of change stays."""
    task = bd.new("first -l a,b --notes one")
    before = bd(f"show {task} --json").json[0]
    bd.clock.pass_(minutes=1)
    changed = bd(
        f"update {task} --title t -d d --design e --acceptance f --append-notes two --spec-id s"
        " --external-ref r -e 5 --due +1d --defer +1d --set-labels c --add-label d --remove-label c"
        """ -t bug -p 4 --metadata '{"a": 1}' --json"""
    ).json[0]
    assert changed["notes"] == "one\ntwo"
    assert changed["labels"] == ["d"]
    assert changed["status"] == "deferred"
    assert changed["updated_at"] == "2026-11-15T12:01:00Z"
    again = bd(f"update {task} --title t -d d --json").json[0]
    assert again == changed
    bd(
        f"update {task} --title first -d '' --design '' --acceptance '' --notes one --spec-id ''"
        " --external-ref '' --due '' --defer '' --set-labels a,b -t task -p 2"
        " --unset-metadata a"
    )
    after = bd(f"show {task} --json").json[0]
    for shape in (before, after):
        del shape["updated_at"], shape["revision"]
    assert after == {**before, "estimated_minutes": 5}


def test_update_moves_a_task_to_another_parent(bd):
    """A task has one parent; an empty one takes it out; circles are refused."""
    one, two = bd.new("one"), bd.new("two")
    child = bd.new(f"child --parent {one}")
    assert bd(f"update {child} --parent {two}").code == 0
    assert bd(f"show {child} --json").json[0]["parent"] == two
    refused = bd(f"update {two} --parent {child} --title no")
    assert "adding dependency would create a cycle" in refused.err
    assert bd.queue.get(two).title == "two"
    assert bd(f"update {child} --parent ''").code == 0
    assert "parent" not in bd(f"show {child} --json").json[0]


def test_nothing_is_closed_before_what_it_waits_for(bd):
    """Blockers, gates, children, pins and another's claim hold a close up; --force does not ask."""
    blocker = bd.new("blocker")
    blocked = bd.new(f"blocked --deps {blocker}")
    epic = bd.new("epic -t epic")
    child = bd.new(f"child --parent {epic}")
    gate = bd.new(f"gate --waits-for {epic}")
    pinned = bd.new("pinned -s pinned")
    assert bd(f"close {blocked}").err == (
        f"cannot close blocked issue: {blocked} is blocked by [{blocker}]"
        " (use --force to override)\n"
    )
    assert bd(f"close {epic}").err == (
        f"cannot close {epic}: 1 open child issue(s);"
        " close children first or use --force to override\n"
    )
    assert f"[{epic} (waits-for)]" in bd(f"close {gate}").err
    assert bd(f"close {pinned}").err == (
        f"cannot close pinned issue {pinned} (use --force to override)\n"
    )
    assert bd(f"update {blocked} -s closed").code == 1
    partly = bd(f"close {blocker} {epic} --json")
    assert (partly.code, partly.ids) == (0, [blocker])
    assert bd(f"close {child} {gate} {epic} {blocked}").code == 0
    assert bd(f"close {pinned} --force").code == 0
    assert bd("list").out == "No issues found.\n"


def test_close_takes_a_reason_in_every_form_that_bd_knows(bd):
    """One for all, one for each, from a file, as the last word of `done`."""
    one, two, three, four = (bd.new(f"t{n}") for n in range(4))
    bd(["close", one, two, "-r", "first", "-r", "second"])
    assert [bd.queue.get(id_).close_reason for id_ in (one, two)] == ["first", "second"]
    bd(f"close {three} --reason-file -", stdin="from a file")
    assert bd.queue.get(three).close_reason == "from a file"
    assert bd(["done", four, "the last word"]).out == f"Closed {four}: t3 (the last word)\n"
    assert bd(["close", four, "-r", "again"]).code == 0
    assert bd.queue.get(four).close_reason == "the last word"
    assert bd(["close", one, "-r", "a", "-r", "b"]).code == 1
    assert bd(["close", one, "-r", "a", "--reason-file", "x"]).code == 1
    assert bd.refused("close nope") == 'no issue found matching "nope"'


def test_an_unknown_id_closes_nothing(bd):
    """A line with a mistake in one id does not close the others."""
    task = bd.new("first")
    assert bd(f"close {task} nope").code == 1
    assert bd.queue.get(task).status == "open"


def test_close_goes_on_to_what_is_next(bd):
    """--suggest-next names what was waiting, --claim-next takes the next ready task."""
    first = bd.new("first")
    after = bd.new(f"after --deps {first} -p 1")
    answer = bd(f"close {first} --suggest-next --claim-next --json").json
    assert [row["id"] for row in answer["unblocked"]] == [after]
    assert answer["claimed"]["id"] == after
    assert bd.queue.get(after).assignee == "ann"
    assert "No ready issue to claim" in bd(f"close {after} --claim-next").out


def test_reopen_makes_it_open_again(bd):
    """Close time, reason and deferral go; whatever waited for it waits again."""
    task = bd.new("first --defer +1d")
    after = bd.new(f"after --deps {task}")
    bd(f"close {task} -r done --session s1")
    assert bd(f"show {task} --json").json[0]["closed_by_session"] == "s1"
    assert bd("ready --json").ids == [after]
    opened = bd(f"reopen {task} --json").json[0]
    assert not {"closed_at", "close_reason", "defer_until", "closed_by_session"} & set(opened)
    assert bd("ready --json").ids == [task]
    again = bd(f"reopen {task}")
    assert again.code == 0
    assert again.err == f"{task} is already open\n"
    assert bd(f"reopen {task} nope").code == 1
    bd(f"close {task}")
    assert bd(f"reopen {task}").out == f"Reopened {task}: first\n"
