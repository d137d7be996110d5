"""bd's commands for who does a task and when: assign, priority, defer, claims and leases."""

from datetime import timedelta

import pytest

from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed
from tests.contract.bd_desk import START


class TestTriage:
    def test_assigning(self, desk):
        """An open task is given away freely, and `""` takes it back."""
        desk.tasks("a")
        assert desk.ok("assign a bob") == "✓ Assigned fleet-a — Task a to bob\n"
        assert desk.json("assign a zoe")["assignee"] == "zoe"
        assert desk.ok("assign a ''") == "✓ Unassigned fleet-a — Task a\n"
        assert desk.refused("assign nope bob").startswith("resolving nope: ")

    def test_work_in_progress_is_not_given_away_over_its_holders_head(self, desk):
        """Another's claim needs --force; the holder's own does not."""
        desk.tasks("a")
        desk.ok("update a --claim --actor bob")
        said = desk.refused("assign a zoe")
        assert said.startswith('cannot reassign fleet-a: held by "bob" (in_progress); coordinate')
        assert desk.queue.get("fleet-a").assignee == "bob"
        desk.ok("assign a zoe --force")
        desk.ok("assign a ann --actor zoe")
        assert desk.queue.get("fleet-a").assignee == "ann"

    def test_priorities(self, desk):
        """0 to 4, with or without a P; words are refused."""
        desk.tasks("a")
        assert desk.ok("priority a 1") == "✓ Set priority of fleet-a — Task a to P1\n"
        assert desk.json("priority a P0")["priority"] == 0
        assert desk.refused("priority a 9").startswith(
            'invalid priority "9" (expected 0-4 or P0-P4'
        )
        assert desk.refused("priority a high").startswith('invalid priority "high"')

    def test_deferring_until_a_time(self, desk):
        """A dated deferral hides the task until then and wakes by itself."""
        desk.tasks("a", "b")
        assert desk.ok("defer a --until +6h --reason 'too early'") == "* Deferred fleet-a\n"
        task = desk.queue.get("fleet-a")
        assert task.status == "deferred"
        assert task.defer_until == START + timedelta(hours=6, seconds=2)
        assert task.notes == "too early"
        assert [row["id"] for row in desk.json("ready")] == ["fleet-b"]
        desk.clock.pass_(hours=7)
        assert [row["id"] for row in desk.json("ready")] == ["fleet-a", "fleet-b"]

    def test_deferring_for_good(self, desk):
        """Without a time it stays away until `undefer`, which says when there is nothing to do."""
        desk.tasks("a", "b")
        assert [row["status"] for row in desk.json("defer a b")] == ["deferred", "deferred"]
        desk.clock.pass_(days=400)
        assert desk.json("ready") == []
        assert desk.ok("undefer a") == "* Undeferred fleet-a (now open)\n"
        assert desk.json("undefer b")[0]["status"] == "open"
        said = desk("undefer a --json")
        assert (said.code, said.out) == (0, "")
        assert said.err == "fleet-a is not deferred (status: open)\n"

    def test_a_past_date_is_warned_of(self, desk):
        """It is stored, and the person is told that it has no effect."""
        desk.tasks("a")
        said = desk("defer a --until 2020-01-01")
        assert said.err.startswith('! Defer date "2020-01-01 00:00" is in the past.')
        assert [row["id"] for row in desk.json("ready")] == ["fleet-a"]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("defer nope", 'no issue found matching "nope"'),
            ("defer a nope", 'no issue found matching "nope"'),
            ("undefer nope", 'no issue found matching "nope"'),
            ("defer a --until whenever", 'invalid --until format "whenever". Examples: +1h,'),
            ("defer", "requires at least 1 arg(s), only received 0"),
        ],
    )
    def test_errors_are_plain_text(self, desk, line, said):
        """Bd writes these to standard error even for JSON, and defers nothing."""
        desk.tasks("a")
        assert desk.misused(line).startswith(said)
        assert desk.queue.get("fleet-a").status == "open"


class TestClaims:
    def test_a_heartbeat_keeps_a_claim(self, desk):
        """Only the holder's, only in progress; it moves the end of the claim on."""
        desk.tasks("a")
        said = desk.refused("heartbeat a")
        assert said == "heartbeat fleet-a: issue not claimable: fleet-a status open"
        desk.ok("update a --claim")
        desk.clock.pass_(minutes=4)
        assert desk.ok("heartbeat a") == "✓ Heartbeat fleet-a — Task a (lease refreshed)\n"
        assert desk.json("hb a") == {
            "id": "fleet-a", "owner": "ann", "schema_version": 1, "status": "heartbeat",
        }  # fmt: skip
        assert desk.json("show a")[0]["lease_expires_at"] == "2026-11-15T12:09:01Z"
        said = desk.refused("hb a --actor zed")
        assert said == "heartbeat fleet-a: issue already claimed by ann"

    def test_unclaim_gives_the_task_back(self, desk):
        """The holder releases it; a reason becomes a comment."""
        desk.tasks("a")
        desk.ok("update a --claim")
        assert desk.ok("unclaim a --reason 'I stop'") == "✓ Unclaimed fleet-a: I stop\n"
        task = desk.queue.get("fleet-a")
        assert (task.status, task.assignee, task.started_at) == ("open", "", None)
        assert [one["text"] for one in desk.json("comments a")] == ["I stop"]
        desk.ok("update a --claim")
        assert desk.json("unclaim a")[0]["status"] == "open"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("unclaim a", "unclaiming fleet-a: issue claimed by a different actor: fleet-a is"),
            ("unclaim a --if-assignee zed", "unclaiming fleet-a: assignee mismatch: fleet-a is"),
            ("unclaim b", "unclaiming fleet-b: issue fleet-b is not assigned"),
            ("unclaim c", "unclaiming fleet-c: cannot unclaim closed issue fleet-c"),
            ("unclaim nope", 'resolving nope: no issue found matching "nope"'),
        ],
    )
    def test_what_unclaim_refuses(self, desk, line, said):
        """One line on standard error for each, exit 1, and nothing on standard output."""
        desk.tasks("a", "b", "c")
        desk.ok("update a --claim --actor bob")
        desk.ok("update c --assignee ann")
        desk.ok("close c")
        for more in ("", " --json"):
            answer = desk(line + more)
            assert (answer.code, answer.out) == (1, "")
            assert answer.err.startswith(f"Error {said}")
        assert desk.queue.get("fleet-a").assignee == "bob"

    def test_some_released_some_not(self, desk):
        """The released ones are told on standard output, the exit code is 1."""
        desk.tasks("a", "b")
        desk.ok("update a --claim --actor bob")
        said = desk("unclaim a b --force --json")
        assert [row["id"] for row in said.json] == ["fleet-a"]
        assert (said.code, said.err) == (
            1, "Error unclaiming fleet-b: issue fleet-b is not assigned\n",
        )  # fmt: skip
        both = desk("unclaim a --force --if-assignee x")
        assert "none of the others can be" in both.err
        assert "requires a non-empty assignee" in desk.refused("unclaim a --if-assignee ''")

    def test_only_forgotten_claims_are_reclaimed(self, desk):
        """A claim ends five minutes after its last sign of life, plus the grace that is given."""
        desk.tasks("a", "b", "c")
        desk.ok("update a --claim --actor bob")
        desk.ok("label add b lane")
        desk.clock.pass_(minutes=12)
        desk.ok("update b --claim --actor zoe")
        assert desk.ok("reclaim") == "✓ No stale leases to reclaim\n"
        desk.clock.pass_(minutes=3)
        nothing = {"count": 0, "reclaimed": None, "schema_version": 1}
        assert desk.json("reclaim --assignee zed") == {**nothing, "scoped": True}
        assert desk.json("reclaim") == {
            "count": 1,
            "reclaimed": [{"id": "fleet-a", "previous_owner": "bob"}],
            "schema_version": 1,
            "scoped": False,
        }
        desk.clock.pass_(minutes=3)
        assert desk.json("reclaim --older-than 0s --exclude-label lane") == {
            **nothing, "scoped": True,
        }  # fmt: skip
        assert desk.ok("reclaim --older-than 0s --label lane") == (
            "✓ Reclaimed 1 stale-lease issue(s):\n  fleet-b (was held by zoe)\n"
        )
        assert desk.queue.get("fleet-b").status == "open"
        assert desk.refused("reclaim --older-than -5m") == "--older-than must not be negative"
        assert 'invalid argument "5x"' in desk("reclaim --older-than 5x").err

    def test_a_supervisors_lease_is_its_own(self, desk):
        """Neither a heartbeat nor reclaim touches it; another needs --force to take it away."""
        desk.tasks("a")
        [lease] = desk.queue.claim("cw01", ttl=timedelta(minutes=1))
        desk.ok("heartbeat a --actor cw01")
        assert desk.queue.get("fleet-a").lease_until == lease.until
        desk.clock.pass_(hours=1)
        assert desk.json("reclaim --older-than 0s")["count"] == 0
        assert desk("unclaim a").code == 1
        assert desk.queue.get("fleet-a").lease_owner == "cw01"
        desk.ok("unclaim a --force")
        task = desk.queue.get("fleet-a")
        assert (task.status, task.lease_owner, task.lease_until) == ("open", None, None)
        assert isinstance(desk.queue.settle(lease, Closed(reason="late")), LeaseLost)

    def test_force_frees_a_lease_that_ran_out(self, desk):
        """`reclaim --force` also clears up after a supervisor that is gone."""
        desk.tasks("a")
        desk.queue.claim("cw01", ttl=timedelta(minutes=1))
        assert desk.json("reclaim --older-than 0s --force")["count"] == 0
        desk.clock.pass_(minutes=2)
        assert desk.json("reclaim --older-than 0s --force")["count"] == 1
        assert desk.queue.get("fleet-a").lease_owner is None

    def test_deferring_a_running_task_ends_its_lease(self, desk):
        """The supervisor learns from its next write that somebody else decided."""
        desk.tasks("a")
        [lease] = desk.queue.claim("cw01", ttl=timedelta(minutes=1))
        desk.ok("defer a")
        assert isinstance(desk.queue.settle(lease, Closed(reason="late")), LeaseLost)
        assert desk.queue.get("fleet-a").status == "deferred"
