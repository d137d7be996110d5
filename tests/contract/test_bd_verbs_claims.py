"""bd's commands for who does a task and when: assign, priority, defer, unclaim."""

from datetime import timedelta

import pytest

from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed
from tests.contract.bd_answers import START
from tests.settled import settle


class TestEdits:
    def test_assigning(self, bd):
        """An open task is given away freely, and `""` takes it back."""
        bd.tasks("a")
        assert bd.ok("assign a bob") == "Assigned to bob: fleet-a Task a\n"
        assert bd.json("assign a zoe")["assignee"] == "zoe"
        assert bd.ok("assign a ''") == "Unassigned: fleet-a Task a\n"
        assert bd.refused("assign nope bob") == 'no issue found matching "nope"'

    def test_work_in_progress_is_not_given_away_over_its_holders_head(self, bd):
        """Another's claim needs --force; the holder's own does not."""
        bd.tasks("a")
        bd.ok("update a --claim --actor bob")
        said = bd.refused("assign a zoe")
        assert said.startswith('cannot reassign fleet-a: held by "bob" (in_progress)')
        assert bd.queue.get("fleet-a").assignee == "bob"
        bd.ok("assign a zoe --force")
        bd.ok("assign a ann --actor zoe")
        assert bd.queue.get("fleet-a").assignee == "ann"

    def test_priorities(self, bd):
        """0 to 4, with or without a P; words are refused."""
        bd.tasks("a")
        assert bd.ok("priority a 1") == "Priority P1: fleet-a Task a\n"
        assert bd.json("priority a P0")["priority"] == 0
        assert bd.refused("priority a 9") == 'invalid priority "9" (expected 0-4 or P0-P4)'
        assert bd.refused("priority a high").startswith('invalid priority "high"')

    def test_deferring_until_a_time(self, bd):
        """A dated deferral hides the task until then and wakes by itself."""
        bd.tasks("a", "b")
        assert bd.ok("defer a --until +6h --reason 'too early'") == "Deferred: fleet-a Task a\n"
        task = bd.queue.get("fleet-a")
        assert task.status == "deferred"
        assert task.defer_until == START + timedelta(hours=6, seconds=2)
        assert task.notes == "too early"
        assert [row["id"] for row in bd.json("ready")] == ["fleet-b"]
        bd.clock.pass_(hours=7)
        assert [row["id"] for row in bd.json("ready")] == ["fleet-a", "fleet-b"]

    def test_deferring_for_good(self, bd):
        """Without a time it stays away until `undefer`, which says when there is nothing to do."""
        bd.tasks("a", "b")
        assert [row["status"] for row in bd.json("defer a b")] == ["deferred", "deferred"]
        bd.clock.pass_(days=400)
        assert bd.json("ready") == []
        assert bd.ok("undefer a") == "Open again: fleet-a Task a\n"
        assert bd.json("undefer b")[0]["status"] == "open"
        said = bd("undefer a --json")
        assert (said.code, said.out) == (0, "")
        assert "fleet-a is not deferred (status: open)" in said.err

    def test_a_past_date_is_warned_of(self, bd):
        """It is stored, and the person is told that it has no effect."""
        bd.tasks("a")
        said = bd("defer a --until 2020-01-01")
        assert said.err.startswith("Warning: --until names a moment in the past")
        assert [row["id"] for row in bd.json("ready")] == ["fleet-a"]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("defer nope", 'no issue found matching "nope"'),
            ("defer a nope", 'no issue found matching "nope"'),
            ("undefer nope", 'no issue found matching "nope"'),
            ("defer a --until whenever", 'invalid --until "whenever"'),
            ("defer", "requires at least 1 arg(s), only received 0"),
        ],
    )
    def test_a_refused_line_defers_nothing(self, bd, line, said):
        """One wrong word, and every task on the line stays as it was."""
        bd.tasks("a")
        assert bd.refused(line).startswith(said)
        assert bd.queue.get("fleet-a").status == "open"


class TestClaims:
    def test_unclaim_gives_the_task_back(self, bd):
        """The holder releases it; a reason becomes a comment."""
        bd.tasks("a")
        bd.ok("update a --claim")
        assert bd.ok("unclaim a --reason 'I stop'") == "Unclaimed: fleet-a Task a\n"
        task = bd.queue.get("fleet-a")
        assert (task.status, task.assignee, task.started_at) == ("open", "", None)
        assert [one["text"] for one in bd.json("comments a")] == ["I stop"]
        bd.ok("update a --claim")
        assert bd.json("unclaim a")[0]["status"] == "open"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("unclaim a", "a: fleet-a is held by bob; use --force only if"),
            ("unclaim a --if-assignee zed", "a: assignee mismatch: fleet-a is held"),
            ("unclaim b", "b: fleet-b is open and not claimed"),
            ("unclaim c", "c: fleet-c is closed and not claimed"),
            ("unclaim nope", 'nope: no issue found matching "nope"'),
        ],
    )
    def test_what_unclaim_refuses(self, bd, line, said):
        """One line on standard error for each, exit 1, and nothing on standard output."""
        bd.tasks("a", "b", "c")
        bd.ok("update a --claim --actor bob")
        bd.ok("update c --assignee ann")
        bd.ok("close c")
        for more in ("", " --json"):
            answer = bd(line + more)
            assert (answer.code, answer.out) == (1, "")
            assert answer.err.startswith(said)
        assert bd.queue.get("fleet-a").assignee == "bob"

    def test_some_released_some_not(self, bd):
        """The released ones are told on standard output, the exit code is 1."""
        bd.tasks("a", "b")
        bd.ok("update a --claim --actor bob")
        said = bd("unclaim a b --force --json")
        assert [row["id"] for row in said.json] == ["fleet-a"]
        assert (said.code, said.err) == (1, "b: fleet-b is open and not claimed\n")
        assert "--if-assignee needs a name" in bd.refused("unclaim a --force --if-assignee x")
        assert "--if-assignee needs a name" in bd.refused("unclaim a --if-assignee ''")

    def test_a_claim_that_ended_is_freed_by_force(self, bd):
        """As in bd, a claim past its end stays; --force frees it for another actor."""
        bd.tasks("a")
        bd.ok("update a --claim --actor bob")
        bd.clock.pass_(seconds=3600)
        assert bd("update a --claim --actor ann").code == 1
        assert bd("unclaim a --actor ann").code == 1
        bd.ok("unclaim a --force --actor ann")
        bd.ok("update a --claim --actor ann")
        assert bd.queue.get("fleet-a").assignee == "ann"

    def test_a_supervisors_lease_is_its_own(self, bd):
        """Another actor needs --force to take it away, and the supervisor then settles nothing."""
        bd.tasks("a")
        [lease] = bd.queue.claim("cw01", ttl=timedelta(minutes=1))
        assert bd("unclaim a").code == 1
        assert bd.queue.get("fleet-a").lease_owner == "cw01"
        bd.ok("unclaim a --force")
        task = bd.queue.get("fleet-a")
        assert (task.status, task.lease_owner, task.lease_until) == ("open", None, None)
        assert isinstance(settle(bd.queue, lease, Closed(reason="late")), LeaseLost)

    def test_deferring_a_running_task_ends_its_lease(self, bd):
        """The supervisor learns from its next write that another decision was made."""
        bd.tasks("a")
        [lease] = bd.queue.claim("cw01", ttl=timedelta(minutes=1))
        bd.ok("defer a")
        assert isinstance(settle(bd.queue, lease, Closed(reason="late")), LeaseLost)
        assert bd.queue.get("fleet-a").status == "deferred"
