"""What `add` keeps, and what it refuses without leaving anything behind."""

from datetime import UTC, datetime, timedelta

import pytest

from fleet.errors import BadInput, NotFound, Refused
from fleet.queue.protocol import Draft, Filter

FULL = Draft(
    title="Fix the login page — ünïcode, 'quotes' and %s",
    description="Line one\nline two",
    priority=1,
    issue_type="bug",
    labels=("ui", "auth"),
    assignee="ann",
    owner="ann@example.org",
    created_by="bob",
    design="as the mock-up shows",
    acceptance_criteria="a user can log in",
    notes="seen on Friday",
    spec_id="spec-7",
    external_ref="gh-12",
    estimated_minutes=90,
    due_at=datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC),
    metadata={
        "fleet": {"cwd": "/srv/project", "coder": "claude", "model": "opus"},
        "ticket": {"n": [1, 2.5, None, True]},
    },
)
#: Fields that come back under the same name.
PLAIN = (
    "title", "description", "priority", "issue_type", "assignee", "owner", "created_by",
    "design", "acceptance_criteria", "notes", "spec_id", "external_ref", "estimated_minutes",
    "due_at", "metadata",
)  # fmt: skip


class Adding:
    #: Draft fields that this queue has no place for.
    not_kept: frozenset[str] = frozenset()

    def test_a_task_comes_back_as_it_was_given(self, queue):
        """Every field of a draft can be read again with `get`."""
        task = queue.get(queue.add(FULL).id)
        kept = [name for name in PLAIN if name not in self.not_kept]
        assert {n: getattr(task, n) for n in kept} == {n: getattr(FULL, n) for n in kept}
        assert set(task.labels) == {"auth", "ui"}
        assert task.status == "open"

    def test_add_answers_with_the_stored_task(self, queue):
        """What `add` returns is what `get` reads."""
        added = queue.add(Draft(title="one", labels=("x",)))
        assert queue.get(added.id) == added

    def test_fleet_settings_are_read_from_the_metadata(self, queue):
        """cwd, coder and model of a task stand under metadata["fleet"]."""
        task = queue.add(FULL)
        assert (task.cwd, task.coder, task.model) == ("/srv/project", "claude", "opus")

    def test_a_plain_task_has_the_defaults(self, queue):
        """A title alone makes an open task of priority 2 without a lease."""
        task = queue.add(Draft(title="plain"))
        assert (task.status, task.priority, task.issue_type) == ("open", 2, "task")
        assert (task.assignee, task.lease_owner, task.cwd) == ("", None, None)
        assert task.id.startswith("fleet-")

    def test_two_tasks_with_one_title_get_two_ids(self, queue):
        """The same title at the same moment is no collision."""
        assert queue.add(Draft(title="twin")).id != queue.add(Draft(title="twin")).id

    def test_an_id_can_be_chosen_once(self, queue):
        """A given id is used as it is, and a taken one is refused."""
        assert queue.add(Draft(title="mine", id="fleet-mine")).id == "fleet-mine"
        with pytest.raises(Refused):
            queue.add(Draft(title="mine too", id="fleet-mine"))
        assert queue.get("fleet-mine").title == "mine"

    @pytest.mark.parametrize("bad", ["../etc", "a/b", "-rf", ""])
    def test_an_id_that_is_no_file_name_is_refused(self, queue, bad):
        """Ids become directories, so a path or a flag can never be one."""
        with pytest.raises(BadInput):
            queue.add(Draft(title="bad id", id=bad))

    @pytest.mark.parametrize(
        "bad",
        [
            Draft(title=""),
            Draft(title="   "),
            Draft(title="x" * 501),
            Draft(title="x", priority=9),
            Draft(title="x", priority=-1),
        ],
        ids=["empty", "blank", "long", "priority 9", "priority -1"],
    )
    def test_a_bad_draft_is_refused_whole(self, queue, bad):
        """An impossible title or priority adds nothing."""
        with pytest.raises(BadInput):
            queue.add(bad)
        assert list(queue.find(Filter(include_closed=True))) == []

    def test_a_title_may_be_as_long_as_the_limit(self, queue):
        """500 characters fit, counted as characters and not as bytes."""
        assert queue.add(Draft(title="ü" * 500)).title == "ü" * 500

    def test_a_task_put_off_is_deferred(self, queue, clock):
        """A defer date ahead makes the task wait under the status `deferred`."""
        later = clock() + timedelta(days=2)
        task = queue.add(Draft(title="later", defer_until=later))
        assert (task.status, task.defer_until) == ("deferred", later)
        assert queue.claim("a", ttl=timedelta(minutes=5)) == []

    def test_an_unknown_task_is_not_found(self, queue):
        """`get` of an unknown id raises NotFound."""
        with pytest.raises(NotFound):
            queue.get("fleet-nope")
