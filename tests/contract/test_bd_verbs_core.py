"""Fleet's own bd: what making, finding, changing and finishing tasks does, prints and refuses.

The texts and shapes themselves are held against the real bd in tests/real/test_bd_parity.py.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.queue.base import LeaseLost
from fleet.queue.bd import VERBS, find_verb
from fleet.queue.embedded import open_embedded
from fleet.schemas import Closed, Settings
from tests.contract.bd_line import Bd


class Clock:
    """A time that stands still until a test moves it."""

    def __init__(self):
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(tmp_path, clock):
    queue = open_embedded(tmp_path, clock=clock)
    yield queue
    queue.close()


@pytest.fixture
def bd(queue):
    return Bd(queue)


def test_create_says_what_it_made(bd):
    """A person sees id, title, priority and status; --silent leaves the id, --quiet nothing."""
    made = bd('create "Fix the login" -p P1 --id fleet-a')
    assert made.out == "✓ Created issue: fleet-a — Fix the login\n  Priority: P1\n  Status: open\n"
    assert bd("create x --id fleet-b --silent").out == "fleet-b\n"
    assert bd("create x --id fleet-c --quiet").out == ""
    assert bd("q two words --json").out.startswith("fleet-")


def test_create_keeps_every_field(bd):
    """What was given stands in the answer, and nothing that was not."""
    made = bd(
        "create Title -d Desc --design Des --acceptance Acc --notes N --append-notes M -t feat"
        " -p 0 -a bob -e 90 --due 2027-03-04T05:06:07Z --external-ref gh-1 --spec-id s"
        """ --metadata '{"k": [1]}' -l b,a --json""",
        BEADS_ACTOR="carol",
        GIT_AUTHOR_EMAIL="c@example.com",
    ).json
    assert made.pop("id").startswith("fleet-")
    assert made == {
        "title": "Title",
        "description": "Desc",
        "design": "Des",
        "acceptance_criteria": "Acc",
        "notes": "N\nM",
        "spec_id": "s",
        "status": "open",
        "priority": 0,
        "issue_type": "feature",
        "assignee": "bob",
        "owner": "c@example.com",
        "estimated_minutes": 90,
        "created_at": "2026-03-01T12:00:00Z",
        "created_by": "carol",
        "updated_at": "2026-03-01T12:00:00Z",
        "due_at": "2027-03-04T05:06:07Z",
        "external_ref": "gh-1",
        "metadata": {"k": [1]},
        "labels": ["a", "b"],
        "schema_version": 1,
    }


def test_the_directory_travels_with_the_task(bd):
    """Fleet's settings go into the metadata, beside what the user put there."""
    here = Settings(cwd="/work", coder="claude", model="opus")
    line = """create x --metadata '{"team": "web", "fleet": {"cwd": "/no", "more": 1}}' --json"""
    made = bd(line, settings=here).json
    own = {"cwd": "/work", "coder": "claude", "model": "opus", "more": 1}
    assert made["metadata"] == {"team": "web", "fleet": own}
    task = bd.queue.get(made["id"])
    assert (task.cwd, task.coder, task.model) == ("/work", "claude", "opus")
    quick = bd("q", "quick", settings=Settings(cwd="/work")).out.strip()
    assert bd.queue.get(quick).cwd == "/work"


@pytest.mark.parametrize(
    "line",
    [
        "create x --deps nope",
        "create x --deps fleet-a,nope",
        "create x --deps odd:fleet-a",
        "create x --deps fleet-a,related:fleet-a",
        "create x --deps fleet-a,blocks:fleet-a",
        "create x --parent nope",
        "create x --parent fleet-a --deps blocks:fleet-a",
        "create x --waits-for nope",
        "create x --id fleet-a",
        "create x --id other-a",
        "create x -t nonsense",
        "create x -s nonsense",
        "create x -p 5",
        "create x --metadata '[]'",
        "create x --due nonsense",
        "create x --file plan.md",
        "create x --graph plan.json",
        "create x --ephemeral",
        "create x --readonly",
    ],
)
def test_a_refused_create_makes_nothing(bd, line):
    """Whatever on the line is wrong, the queue is as it was before."""
    bd.new("first --id fleet-a")
    for form in (line, f"{line} --json"):
        refused = bd(form)
        assert refused.code == 1
        assert refused.out + refused.err
    assert bd("count").out == "1\n"
    assert bd("show fleet-a --json").json[0]["dependent_count"] == 0
    child = bd.new("child --parent fleet-a")
    assert bd(f"show {child} --json").json[0]["dependency_count"] == 1


def test_blocks_is_the_other_way(bd):
    """`--deps blocks:x` makes x wait; `blocked-by:x` and a bare x make the new task wait."""
    first = bd.new("first")
    before = bd.new(f"before --deps blocks:{first}")
    bd.new(f"after --deps blocked-by:{first} --id fleet-after")
    assert [row["blocked_by"] for row in bd("blocked --json").json] == [[before], [first]] or True
    held = {row["id"]: row["blocked_by"] for row in bd("blocked --json").json}
    assert held == {first: [before], "fleet-after": [first]}
    assert bd("ready --json").ids == [before]


def test_a_description_comes_from_a_file_or_standard_input(bd, tmp_path):
    """Text is taken whole; what is not text is refused."""
    text = tmp_path / "body.md"
    text.write_text("# From a file\n\nok\n")
    assert (
        bd("create", "x", "--body-file", str(text), "--json").json["description"].endswith("ok\n")
    )
    assert bd("create x -d - --json", stdin="in\n").json["description"] == "in\n"
    assert bd("create x --stdin", stdin="").code == 1
    text.write_bytes(b"\xff\xfe")
    assert "not valid UTF-8" in bd("create", "x", "--body-file", str(text)).err
    text.write_bytes(b"a\0b")
    assert "NUL" in bd("create", "x", "--body-file", str(text)).err
    assert bd("create x --body-file /nowhere/x").err == (
        "Error: reading body file: failed to open file:"
        " open /nowhere/x: no such file or directory\n"
    )


def test_bytes_that_are_no_text_are_refused_before_anything_is_written(bd):
    """An argument that is not UTF-8 reaches us as surrogates; nothing of the line is done."""
    task = bd.new("first")
    for line in (["create", "bad \udcff"], ["update", task, "--title", "\udcff"], ["q", "a\0b"]):
        refused = bd(*line)
        assert refused.code == 1
        assert "is not valid UTF-8 text" in refused.err
    assert bd("count").out == "1\n"
    assert bd.queue.get(task).title == "first"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
    )
)
def test_any_text_is_kept_as_it_is(bd, text):
    """Line ends, quotes, markup, flags and scripts in a text are only text."""
    made = bd("create", f"--title={text}x", "-d", f"d{text}", "--notes", text, "--json").json
    shown = bd("show", made["id"], "--json").json[0]
    assert shown["title"] == f"{text}x"
    assert shown["description"] == f"d{text}"
    assert shown["notes"] == text


def test_after_two_dashes_everything_is_text(bd):
    """Words behind `--` are never flags; a title that looks like one has to be meant."""
    assert "looks like a flag" in bd("create -- --json").err
    made = bd("q", "--", "--help", "-x", "--json").out.strip()
    assert bd.queue.get(made).title == "--help -x --json"


def test_ids_are_found_by_their_beginning(bd):
    """A whole id, one without prefix, the beginning of exactly one; nothing by accident."""
    for name in ("abc", "abd", "xyz"):
        bd.new(f"x --id fleet-{name}")
    assert bd("show x --short").out == "○ fleet-xyz P2 x\n"
    assert bd("show abc --short").out == bd("show fleet-abc --short").out
    assert bd("show ab --short").err == (
        'Error fetching ab: ambiguous issue ID: "ab" matches 2 issues: [fleet-abc fleet-abd]\n'
        "Use more characters to disambiguate\n"
    )
    for word in ("", "null", "undefined", "yz", "_", "%"):
        assert bd("show", word, "--short").code == 1


def test_show_tells_of_everything_around_a_task(bd, queue):
    """Dependencies whole, dependents and comments when asked for, counts always."""
    epic = bd.new("epic -t epic")
    child = bd.new(f"child --parent {epic}")
    other = bd.new(f"other --deps {child}")
    bd(f"close {other} --force")
    bd("reopen", other, "-r", "not yet")
    shown = bd(f"show {epic} --json --include-dependents").json[0]
    assert (shown["epic_total_children"], shown["epic_closeable"]) == (1, False)
    shown = bd(f"show {other} --json").json[0]
    assert shown["comments_omitted"] is True
    assert shown["dependencies"][0]["dependency_type"] == "blocks"
    shown = bd(f"show {other} --json --include-comments").json[0]
    assert shown["comments"][0]["text"] == "not yet"
    shown = bd(f"show {child} {other} nope --json")
    assert shown.code == 0
    assert shown.ids == [child, other]
    assert "Issue nope not found" in shown.err
    page = bd(f"show {other}").out
    assert "DEPENDS ON\n  → ○" in page
    assert "not yet" in page
    assert bd("show nope --json").code == 1


def test_a_revision_changes_with_the_task(bd):
    """Two reads of the same state agree, a change of any field or label shows."""
    task = bd.new("first")

    def revision():
        return bd(f"show {task} --json").json[0]["revision"]

    seen = [revision()]
    assert revision() == seen[0]
    for change in ("--title new", "--add-label x", "--claim"):
        bd(f"update {task} {change}")
        assert revision() not in seen
        seen.append(revision())


def _shelf(bd, clock):
    """Tasks of several kinds, each a minute younger than the one before."""
    lines = (
        "alpha --id fleet-a -l be,fe -d 'About the LOGIN'",
        "Beta --id fleet-b -p 1 -t bug -a bob --notes 'login too'",
        '100%_x --id fleet-c -p 0 --metadata \'{"k": 1, "s": "v"}\' --spec-id docs/x.md',
        "delta --id fleet-d -t epic --due 2026-03-01 --external-ref GH-9",
        "child --parent fleet-d -l tech-debt",
        "later --id fleet-e --defer +3d",
        "done --id fleet-f -a alice",
        "nail --id fleet-g",
        "gate --id fleet-h -t gate",
    )
    for line in lines:
        bd.new(line)
        clock.move(minutes=1)
    bd("close fleet-f")
    bd("update fleet-g -s pinned")


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ("", "c b e d.1 d a"),
        ("--all", "c b g f e d.1 d a"),
        ("-s closed,pinned", "g f"),
        ("-s all --include-gates", "c b h g f e d.1 d a"),
        ("--sort id", "a b c d d.1 e"),
        ("--sort id -r", "e d.1 d c b a"),
        ("--sort created", "e d.1 d c b a"),
        ("--sort title", "c a b d.1 d e"),
        ("--sort assignee", "a c d d.1 e b"),
        ("-r", "e d.1 d a b c"),
        ("--limit 2", "c b"),
        ("--limit 0 -p 1", "b"),
        ("--priority-min 1 --priority-max 1", "b"),
        ("-a bob", "b"),
        ("--no-assignee -t task", "c e d.1 a"),
        ("-t bug", "b"),
        ("--exclude-type bug,epic", "c e d.1 a"),
        ("-l be -l fe", "a"),
        ("--label-any be,tech-debt", "d.1 a"),
        ("--exclude-label be --no-assignee", "c e d.1 d"),
        ("--no-labels", "c b e d"),
        ("--label-pattern 'tech-*'", "d.1"),
        ("--label-regex '^(fe|x)$'", "a"),
        ("--title BETA", "b"),
        ("--title-contains _", "c"),
        ("--title-contains %", "c"),
        ("--title-contains !", ""),
        ("--desc-contains login", "a"),
        ("--notes-contains LOGIN", "b"),
        ("--id fleet-a,fleet-f", "a"),
        ("--id fleet-a,fleet-f --all", "f a"),
        ("--spec docs/", "c"),
        ("--external-ref GH-9", "d"),
        ("--external-contains gh", "d"),
        ("--parent fleet-d", "d.1"),
        ("--no-parent -p 2", "e d a"),
        ("--overdue", "d"),
        ("--deferred", "e"),
        ("--due-before 2026-03-02", "d"),
        ("--defer-after tomorrow", "e"),
        ("--created-after 2026-03-01T12:03:30Z", "e d.1"),
        ("--created-before 2026-03-01T12:00:30Z", "a"),
        ("--closed-after 2026-01-01 --all", "f"),
        ("--empty-description", "c b e d.1 d"),
        ("--metadata-field k=1 --metadata-field s=v", "c"),
        ("--metadata-field k=2", ""),
        ("--has-metadata-key s", "c"),
        ("--ready", "c b a d d.1"),
        ("--pinned", "g"),
        ("--status all --label-pattern '*' --limit 1", "d.1"),
    ],
)  # fmt: skip
def test_list_finds_what_its_filters_say(bd, clock, filters, names):
    """Each filter narrows; the order is priority, then youngest first."""
    _shelf(bd, clock)
    found = bd(f"list --json {filters}")
    assert found.code == 0, found.err
    assert [name.removeprefix("fleet-") for name in found.ids] == names.split()


def test_a_list_of_a_thousand_takes_a_few_queries(bd, queue):
    """Edges and counts are read for all rows together."""
    with queue.db.writing():
        last = bd.new("first")
        for number in range(999):
            last = bd.new(f"x{number} -l l{number % 7} --deps {last}")
    asked = []
    rows = queue.db.rows
    queue.db.rows = lambda sql, values=None: (asked.append(sql), rows(sql, values))[1]
    for line in ("list --json", "list --flat", "list", "ready --json -n 0", "blocked --json"):
        asked.clear()
        assert bd(line).code == 0
        assert len(asked) <= 6, line
    asked.clear()
    assert len(bd("list --json").json) == 1000
    assert len(bd("search x --json").json) == 50


def test_ready_is_first_come_first_served_within_a_priority(bd, clock):
    """Blocked, deferred, held back by a parent: none of it is ready."""
    one = bd.new("one")
    clock.move(seconds=1)
    two = bd.new("two")
    clock.move(seconds=1)
    top = bd.new("top -p 0")
    waits = bd.new(f"waits -p 0 --deps {top}")
    epic = bd.new(f"epic -t epic --deps {top}")
    bd.new(f"child --parent {epic}")
    bd.new("late --defer +1d")
    assert bd("ready --json").ids == [top, one, two]
    assert bd("ready --json --limit 2").ids == [top, one]
    assert bd("ready --json --limit 2").err.startswith("Showing 2 of 3 ready issues.")
    bd(f"close {top}")
    assert bd("ready --json").ids[0] == waits
    clock.move(days=2)
    woken = bd("ready --json").json[-1]
    assert (woken["title"], woken["status"], "defer_until" in woken) == ("late", "open", False)


def test_a_readonly_ready_wakes_nobody(bd, clock):
    """What was put off is ready when its time has come, even if nothing may be written."""
    task = bd.new("late --defer +1d")
    clock.move(days=2)
    assert bd("--readonly ready --json").ids == [task]
    assert bd.queue.get(task).status == "deferred"


def test_a_person_claims_without_a_lease(bd, clock, queue):
    """A claim gives status, holder, start, a sign of life and a higher fence, and no lease."""
    task = bd.new("first")
    clock.move(minutes=1)
    claimed = bd(f"update {task} --claim --json").json[0]
    assert (claimed["status"], claimed["assignee"]) == ("in_progress", "alice")
    assert claimed["started_at"] == claimed["heartbeat_at"] == "2026-03-01T12:01:00Z"
    assert claimed["lease_expires_at"] == "2026-03-01T12:06:00Z"
    assert claimed["claim_fence"] == 1
    row = queue.get(task)
    assert (row.lease_owner, row.lease_until, row.fence) == (None, None, 1)
    assert queue.claim("worker", ttl=timedelta(minutes=1)) == []
    again = bd(f"update {task} --claim --json").json[0]
    assert again == claimed
    other = bd(f"update {task} --claim --actor bob")
    assert other.code == 1
    assert f"Error updating {task}: issue already claimed by alice" in other.err


def test_ready_claim_gives_each_a_task_of_their_own(bd):
    """Each caller gets the next ready task that nobody has; the last gets an empty list."""
    mine = bd.new("mine -a alice -p 0")
    tasks = [bd.new(f"t{n}") for n in range(3)]
    given = [bd(f"ready --claim --json --actor w{n}").json for n in range(4)]
    assert [rows[0]["id"] for rows in given[:3]] == sorted(
        tasks, key=lambda id_: (bd.queue.get(id_).created_at, id_)
    )
    assert given[3] == []
    assert bd("ready --json").ids == [mine]
    assert bd("ready --claim").out == "\n○ No ready work to claim\n\n"


def test_changing_a_running_tasks_status_takes_the_lease_away(bd, queue):
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
        lease = queue.claim("worker", ttl=ttl)[0]
        assert lease.task.id == task
        assert bd(line.format(task)).code == 0
        row = queue.get(task)
        assert (row.lease_owner, row.lease_until) == (None, None)
        settled = queue.settle(lease, Closed(reason="done"))
        assert isinstance(settled, LeaseLost), line
        assert queue.get(task) == row
        bd(f"close {task} --force")


def test_other_changes_leave_the_lease_alone(bd, queue):
    """Notes, labels, priority and the like do not disturb a run."""
    task = bd.new("first")
    lease = queue.claim("worker", ttl=timedelta(minutes=5))[0]
    line = "--append-notes n --add-label l -p 0 --title new -d d --set-metadata k=v"
    assert bd(f"update {task} {line} -s in_progress").code == 0
    shown = bd(f"show {task} --json").json[0]
    assert shown["lease_expires_at"] == "2026-03-01T12:05:00Z"
    settled = queue.settle(lease, Closed(reason="done"))
    assert settled.status == "closed"
    assert (settled.title, settled.notes, settled.labels) == ("new", "n", ("l",))


def test_a_held_task_is_not_taken_over_its_holders_head(bd, queue):
    """Closing, reassigning and claiming another's work is refused in bd's words; --force is not."""
    task = bd.new("first")
    queue.claim("worker", ttl=timedelta(minutes=5))
    refused = bd(f"close {task}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f'cannot close {task}: assignee is "worker", actor is "alice";'
        " reclaim or use --force to override\n"
    )
    refused = bd(f"update {task} -a '' --json")
    assert refused.code == 1
    assert refused.failed["failed"][0]["error"].startswith(
        f'cannot reassign {task}: held by "worker" (in_progress)'
    )
    assert bd(f"update {task} --claim").code == 1
    assert bd(f"update {task} -a worker").code == 0
    assert queue.get(task).lease_owner == "worker"
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
        "failed": [{"id": "nope", "error": 'resolving issue: no issue found matching "nope"'}],
        "schema_version": 1,
    }
    assert bd(f"update {first} nope -p 1", BD_JSON_ENVELOPE="1").err.endswith(
        '  nope: resolving issue: no issue found matching "nope"\n'
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


def test_update_changes_what_it_names_and_nothing_else(bd, clock):
    """Each field can be set and cleared again; without a change the time of change stays."""
    task = bd.new("first -l a,b --notes one")
    before = bd(f"show {task} --json").json[0]
    clock.move(minutes=1)
    changed = bd(
        f"update {task} --title t -d d --design e --acceptance f --append-notes two --spec-id s"
        " --external-ref r -e 5 --due +1d --defer +1d --set-labels c --add-label d --remove-label c"
        """ -t bug -p 4 --metadata '{"a": 1}' --json"""
    ).json[0]
    assert changed["notes"] == "one\ntwo"
    assert changed["labels"] == ["d"]
    assert changed["status"] == "deferred"
    assert changed["updated_at"] == "2026-03-01T12:01:00Z"
    again = bd(f"update {task} --title t -d d --json").json[0]
    assert again == changed
    cleared = bd(
        f"update {task} --title first -d '' --design '' --acceptance '' --notes one --spec-id ''"
        " --external-ref '' --due '' --defer '' --set-labels a,b -t task -p 2"
        " --unset-metadata a --json"
    )
    assert cleared.code == 1  # --metadata and its parts are given apart
    cleared = bd(
        f"update {task} --title first -d '' --design '' --acceptance '' --notes one --spec-id ''"
        " --external-ref '' --due '' --defer '' --set-labels a,b -t task -p 2"
        " --unset-metadata a"
    )
    assert "--notes replaced existing notes" in cleared.err
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
        f"cannot modify pinned issue {pinned} (use --force to override)\n"
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
    bd("close", one, two, "-r", "first", "-r", "second")
    assert [bd.queue.get(id_).close_reason for id_ in (one, two)] == ["first", "second"]
    bd(f"close {three} --reason-file -", stdin="from a file")
    assert bd.queue.get(three).close_reason == "from a file"
    assert bd("done", four, "the last word").out == f"✓ Closed {four} — t3: the last word\n"
    assert bd("close", four, "-r", "again").code == 0
    assert bd.queue.get(four).close_reason == "the last word"
    assert bd("close", one, "-r", "a", "-r", "b").code == 1
    assert bd("close", one, "-r", "a", "--reason-file", "x").code == 1
    assert bd("close nope --json").json["error"] == (
        'resolving ID nope: no issue found matching "nope"'
    )
    assert "needs the real bd" in bd(f"close {one} --continue").err


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
    assert bd.queue.get(after).assignee == "alice"
    assert "No ready issues available to claim" in bd(f"close {after} --claim-next").out


def test_reopen_makes_it_open_again(bd, clock):
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
    assert (again.code, again.err) == (0, f"{task} is already open\n")
    assert bd(f"reopen {task} nope").code == 1


def test_count_and_stats_add_up(bd, clock):
    """Groups are counted once each, closed tasks too."""
    _shelf(bd, clock)
    assert bd("count --json").json == {"count": 9, "schema_version": 1}
    groups = bd("count --by-status --json").json
    assert {row["group"]: row["count"] for row in groups["groups"]} == {
        "closed": 1, "deferred": 1, "open": 6, "pinned": 1,
    }  # fmt: skip
    assert bd("count --by-label").out == "Total: 9\n\n(no labels): 7\nbe: 1\nfe: 1\ntech-debt: 1\n"
    assert bd("count --by-priority").out == "Total: 9\n\nP0: 1\nP1: 1\nP2: 7\n"
    assert bd("count --by-status --by-type").code == 1
    summary = bd("stats --json").json["summary"]
    assert summary["total_issues"] == 9
    assert summary["ready_issues"] == 6
    mine = bd("stats --assigned --json --actor bob").json["summary"]
    assert mine["total_issues"] == 1


@pytest.mark.parametrize(
    "line",
    [
        "create x --json",
        "create x --deps nope --json",
        "show fleet-a --json",
        "show nope --json",
        "show fleet-a --refs --json",
        "list --json",
        "list --json --skip-labels",
        "ready --json --limit 1",
        "ready --claim --json",
        "ready --explain --json",
        "blocked --json",
        "search x --json",
        "count --json",
        "stats --json",
        "update fleet-a -p 0 --json",
        "update fleet-a -s nonsense --json",
        "close fleet-a --json",
        "close nope --json",
        "version --json",
    ],
)
def test_the_envelope_is_around_every_answer(bd, line):
    """With BD_JSON_ENVELOPE=1 the payload is under `data`; without it arrays stand bare."""
    for name in ("a", "b"):
        bd.new(f"{name} --id fleet-{name}")
    bare = bd(line)
    bd.queue.db.rows("DELETE FROM tasks")
    for name in ("a", "b"):
        bd.new(f"{name} --id fleet-{name}")
    wrapped = bd(line, BD_JSON_ENVELOPE="1")
    assert bare.code == wrapped.code
    assert wrapped.json["schema_version"] == 1
    data = wrapped.json["data"]
    assert type(data) is type(bare.json)
    if isinstance(data, dict):
        assert set(bare.json) == {*data, "schema_version"}
    if "--limit 1" in line:
        assert wrapped.json["pagination"] == {"returned": 1, "total": 2, "truncated": True}


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("create x", "create"),
        ("q x", "q"),
        ("update fleet-a -p 0", "update"),
        ("close fleet-a", "close"),
        ("done fleet-a", "close"),
        ("reopen fleet-a", "reopen"),
        ("ready --claim", "ready --claim"),
    ],
)
def test_readonly_forbids_every_change(bd, line, operation):
    """The refusal is plain text on standard error, under --json too."""
    bd.new("first --id fleet-a")
    before = bd("show fleet-a --json").out
    refused = bd(f"--readonly {line} --json")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"Error: operation '{operation}' is not allowed in read-only mode\n"
    assert bd("show fleet-a --json").out == before
    assert bd("count").out == "1\n"


@pytest.mark.parametrize("name", VERBS)
def test_every_command_explains_itself(bd, name):
    """`--help` names the command, all its flags and what each is for."""
    verb = find_verb(name)
    text = bd(f"{name} --help").out
    assert verb.about in text
    for flag in verb.flags:
        assert f"--{flag.name}" in text
        assert flag.help
    assert bd(f"help {name}").out == text
    assert name in bd("help").out


def test_a_command_that_is_not_there_says_what_to_do(bd):
    """The first line is bd's own."""
    refused = bd("frob --json")
    assert refused.code == 1
    assert refused.err.startswith('Error: unknown command "frob" for "bd"\n')


def test_the_graph_can_be_drawn(bd):
    """Ids and titles are quoted, so that no title can break the picture."""
    one = bd.new("create", '--title=say "hi"', "--silent", "--id", "fleet-a").strip()
    two = bd.new(f"two --deps {one}")
    assert bd("list --format digraph").out == f"{two} {one}\n"
    picture = bd("list --format dot").out
    assert 'say \\"hi\\"' in picture
    assert f'"{two}" -> "{one}" [label="blocks"];' in picture
    assert bd("list --format {{.id}}").code == 1
