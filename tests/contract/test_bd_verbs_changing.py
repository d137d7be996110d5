"""Fleet's own bd: update, close and reopen, and what they do to a claim and to a lease."""

from datetime import timedelta

import pytest

from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed


def test_a_person_claims_without_a_lease(desk):
    """A claim gives status, holder, start, a sign of life and a higher fence, and no lease."""
    task = desk.new("first")
    desk.clock.pass_(minutes=1)
    claimed = desk(f"update {task} --claim --json").json[0]
    assert (claimed["status"], claimed["assignee"]) == ("in_progress", "ann")
    assert claimed["started_at"] == claimed["heartbeat_at"] == "2026-11-15T12:01:00Z"
    assert claimed["lease_expires_at"] == "2026-11-15T12:06:00Z"
    assert claimed["claim_fence"] == 1
    row = desk.queue.get(task)
    assert (row.lease_owner, row.lease_until, row.fence) == (None, None, 1)
    assert desk.queue.claim("worker", ttl=timedelta(minutes=1)) == []
    again = desk(f"update {task} --claim --json").json[0]
    assert again == claimed
    other = desk(f"update {task} --claim --actor bob")
    assert other.code == 1
    assert f"Error updating {task}: issue already claimed by ann" in other.err


def test_ready_claim_gives_each_a_task_of_their_own(desk):
    """Each caller gets the next ready task that nobody has; the last gets an empty list."""
    mine = desk.new("mine -a ann -p 0")
    tasks = [desk.new(f"t{n}") for n in range(3)]
    given = [desk(f"ready --claim --json --actor w{n}").json for n in range(4)]
    assert [rows[0]["id"] for rows in given[:3]] == sorted(
        tasks, key=lambda id_: (desk.queue.get(id_).created_at, id_)
    )
    assert given[3] == []
    assert desk("ready --json").ids == [mine]
    assert desk("ready --claim").out == "\n○ No ready work to claim\n\n"


def test_changing_a_running_tasks_status_takes_the_lease_away(desk):
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
        task = desk.new("first")
        lease = desk.queue.claim("worker", ttl=ttl)[0]
        assert lease.task.id == task
        assert desk(line.format(task)).code == 0
        row = desk.queue.get(task)
        assert (row.lease_owner, row.lease_until) == (None, None)
        settled = desk.queue.settle(lease, Closed(reason="done"))
        assert isinstance(settled, LeaseLost), line
        assert desk.queue.get(task) == row
        desk(f"close {task} --force")


def test_other_changes_leave_the_lease_alone(desk):
    """Notes, labels, priority and the like do not disturb a run."""
    task = desk.new("first")
    lease = desk.queue.claim("worker", ttl=timedelta(minutes=5))[0]
    line = "--append-notes n --add-label l -p 0 --title new -d d --set-metadata k=v"
    assert desk(f"update {task} {line} -s in_progress").code == 0
    shown = desk(f"show {task} --json").json[0]
    assert shown["lease_expires_at"] == "2026-11-15T12:05:00Z"
    settled = desk.queue.settle(lease, Closed(reason="done"))
    assert settled.status == "closed"
    assert (settled.title, settled.notes, settled.labels) == ("new", "n", ("l",))


def test_a_held_task_is_not_taken_over_its_holders_head(desk):
    """Closing, reassigning and claiming another's work is refused in bd's words; --force is not."""
    task = desk.new("first")
    desk.queue.claim("worker", ttl=timedelta(minutes=5))
    refused = desk(f"close {task}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f'cannot close {task}: assignee is "worker", actor is "ann";'
        " reclaim or use --force to override\n"
    )
    refused = desk(f"update {task} -a '' --json")
    assert refused.code == 1
    assert refused.failed["failed"][0]["error"].startswith(
        f'cannot reassign {task}: held by "worker" (in_progress)'
    )
    assert desk(f"update {task} --claim").code == 1
    assert desk(f"update {task} -a worker").code == 0
    assert desk.queue.get(task).lease_owner == "worker"
    assert desk(f"close {task} --actor worker").code == 0


def test_an_actor_is_the_same_whatever_stands_between_its_parts(desk):
    """Bd folds dots, dashes and underscores of a name; longer names are other actors."""
    task = desk.new("first")
    assert desk(f"update {task} --claim --actor w-1").code == 0
    assert desk(f"update {task} --claim --actor w_1").code == 0
    assert desk(f"update {task} --claim --actor w-1-x").code == 1
    assert desk(f"close {task} --actor w.1").code == 0


def test_update_fails_for_each_task_by_itself(desk):
    """The others are changed; the last line of standard error tells machines what failed."""
    first = desk.new("first")
    done = desk(f"update {first} nope -p 0 --json")
    assert done.code == 1
    assert [row["priority"] for row in done.json] == [0]
    assert done.failed == {
        "error": "1 of 2 issues failed to update",
        "failed": [{"id": "nope", "error": 'resolving issue: no issue found matching "nope"'}],
        "schema_version": 1,
    }
    assert desk(f"update {first} nope -p 1", BD_JSON_ENVELOPE="1").err.endswith(
        '  nope: resolving issue: no issue found matching "nope"\n'
    )
    enveloped = desk("update nope -p 1 --json", BD_JSON_ENVELOPE="1").failed
    assert set(enveloped) == {"data", "schema_version"}


@pytest.mark.parametrize("guard", ["--if-status closed", "--if-assignee bob", "--if-fence 7"])
def test_a_stale_guard_changes_nothing_and_says_so(desk, guard):
    """Exit code 13: the state was another one; with any other failure it is 1."""
    task = desk.new("first")
    before = desk.queue.get(task)
    stale = desk(f"update {task} -p 0 {guard} --json")
    assert (stale.code, stale.out) == (13, "")
    assert stale.failed["failed"][0]["guard_mismatch"] is True
    assert desk.queue.get(task) == before
    assert desk(f"update {task} nope -p 0 {guard}").code == 1


def test_a_guard_that_holds_lets_the_change_through(desk):
    """The fence of a claim is what a later write can be tied to."""
    task = desk.new("first")
    assert desk(f"update {task} -p 0 --if-status open --if-assignee '' --if-fence 0").code == 0
    fence = desk(f"update {task} --claim --json").json[0]["claim_fence"]
    assert desk(f"update {task} -s open --if-fence {fence}").code == 0
    assert desk(f"update {task} -p 1 --claim --if-status open --json").code == 1


def test_update_changes_what_it_names_and_nothing_else(desk):
    """Each field can be set and cleared again; without a change the time of change stays."""
    task = desk.new("first -l a,b --notes one")
    before = desk(f"show {task} --json").json[0]
    desk.clock.pass_(minutes=1)
    changed = desk(
        f"update {task} --title t -d d --design e --acceptance f --append-notes two --spec-id s"
        " --external-ref r -e 5 --due +1d --defer +1d --set-labels c --add-label d --remove-label c"
        """ -t bug -p 4 --metadata '{"a": 1}' --json"""
    ).json[0]
    assert changed["notes"] == "one\ntwo"
    assert changed["labels"] == ["d"]
    assert changed["status"] == "deferred"
    assert changed["updated_at"] == "2026-11-15T12:01:00Z"
    again = desk(f"update {task} --title t -d d --json").json[0]
    assert again == changed
    cleared = desk(
        f"update {task} --title first -d '' --design '' --acceptance '' --notes one --spec-id ''"
        " --external-ref '' --due '' --defer '' --set-labels a,b -t task -p 2"
        " --unset-metadata a"
    )
    assert "--notes replaced existing notes" in cleared.err
    after = desk(f"show {task} --json").json[0]
    for shape in (before, after):
        del shape["updated_at"], shape["revision"]
    assert after == {**before, "estimated_minutes": 5}


def test_update_moves_a_task_to_another_parent(desk):
    """A task has one parent; an empty one takes it out; circles are refused."""
    one, two = desk.new("one"), desk.new("two")
    child = desk.new(f"child --parent {one}")
    assert desk(f"update {child} --parent {two}").code == 0
    assert desk(f"show {child} --json").json[0]["parent"] == two
    refused = desk(f"update {two} --parent {child} --title no")
    assert "adding dependency would create a cycle" in refused.err
    assert desk.queue.get(two).title == "two"
    assert desk(f"update {child} --parent ''").code == 0
    assert "parent" not in desk(f"show {child} --json").json[0]


def test_nothing_is_closed_before_what_it_waits_for(desk):
    """Blockers, gates, children, pins and another's claim hold a close up; --force does not ask."""
    blocker = desk.new("blocker")
    blocked = desk.new(f"blocked --deps {blocker}")
    epic = desk.new("epic -t epic")
    child = desk.new(f"child --parent {epic}")
    gate = desk.new(f"gate --waits-for {epic}")
    pinned = desk.new("pinned -s pinned")
    assert desk(f"close {blocked}").err == (
        f"cannot close blocked issue: {blocked} is blocked by [{blocker}]"
        " (use --force to override)\n"
    )
    assert desk(f"close {epic}").err == (
        f"cannot close {epic}: 1 open child issue(s);"
        " close children first or use --force to override\n"
    )
    assert f"[{epic} (waits-for)]" in desk(f"close {gate}").err
    assert desk(f"close {pinned}").err == (
        f"cannot modify pinned issue {pinned} (use --force to override)\n"
    )
    assert desk(f"update {blocked} -s closed").code == 1
    partly = desk(f"close {blocker} {epic} --json")
    assert (partly.code, partly.ids) == (0, [blocker])
    assert desk(f"close {child} {gate} {epic} {blocked}").code == 0
    assert desk(f"close {pinned} --force").code == 0
    assert desk("list").out == "No issues found.\n"


def test_close_takes_a_reason_in_every_form_that_bd_knows(desk):
    """One for all, one for each, from a file, as the last word of `done`."""
    one, two, three, four = (desk.new(f"t{n}") for n in range(4))
    desk(["close", one, two, "-r", "first", "-r", "second"])
    assert [desk.queue.get(id_).close_reason for id_ in (one, two)] == ["first", "second"]
    desk(f"close {three} --reason-file -", stdin="from a file")
    assert desk.queue.get(three).close_reason == "from a file"
    assert desk(["done", four, "the last word"]).out == f"✓ Closed {four} — t3: the last word\n"
    assert desk(["close", four, "-r", "again"]).code == 0
    assert desk.queue.get(four).close_reason == "the last word"
    assert desk(["close", one, "-r", "a", "-r", "b"]).code == 1
    assert desk(["close", one, "-r", "a", "--reason-file", "x"]).code == 1
    assert desk("close nope --json").json["error"] == (
        'resolving ID nope: no issue found matching "nope"'
    )
    assert "needs the real bd" in desk(f"close {one} --continue").err


def test_an_unknown_id_closes_nothing(desk):
    """A line with a mistake in one id does not close the others."""
    task = desk.new("first")
    assert desk(f"close {task} nope").code == 1
    assert desk.queue.get(task).status == "open"


def test_close_goes_on_to_what_is_next(desk):
    """--suggest-next names what was waiting, --claim-next takes the next ready task."""
    first = desk.new("first")
    after = desk.new(f"after --deps {first} -p 1")
    answer = desk(f"close {first} --suggest-next --claim-next --json").json
    assert [row["id"] for row in answer["unblocked"]] == [after]
    assert answer["claimed"]["id"] == after
    assert desk.queue.get(after).assignee == "ann"
    assert "No ready issues available to claim" in desk(f"close {after} --claim-next").out


def test_reopen_makes_it_open_again(desk):
    """Close time, reason and deferral go; whatever waited for it waits again."""
    task = desk.new("first --defer +1d")
    after = desk.new(f"after --deps {task}")
    desk(f"close {task} -r done --session s1")
    assert desk(f"show {task} --json").json[0]["closed_by_session"] == "s1"
    assert desk("ready --json").ids == [after]
    opened = desk(f"reopen {task} --json").json[0]
    assert not {"closed_at", "close_reason", "defer_until", "closed_by_session"} & set(opened)
    assert desk("ready --json").ids == [task]
    again = desk(f"reopen {task}")
    assert (again.code, again.err) == (0, f"{task} is already open\n")
    assert desk(f"reopen {task} nope").code == 1
