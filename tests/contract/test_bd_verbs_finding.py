"""Fleet's own bd: list, search, ready, show, count and stats find what they should."""

import pytest
from msgspec.structs import replace

from fleet.schemas import Dependency


def test_ids_are_found_by_their_beginning(desk):
    """A whole id, one without prefix, the beginning of exactly one; nothing by accident."""
    for name in ("abc", "abd", "xyz"):
        desk.new(f"x --id fleet-{name}")
    assert desk("show x --short").out == "○ fleet-xyz P2 x\n"
    assert desk("show abc --short").out == desk("show fleet-abc --short").out
    assert desk("show ab --short").err == (
        'Error fetching ab: ambiguous issue ID: "ab" matches 2 issues: [fleet-abc fleet-abd]\n'
        "Use more characters to disambiguate\n"
    )
    for word in ("", "null", "undefined", "yz", "_", "%"):
        assert desk(["show", word, "--short"]).code == 1


def test_show_tells_of_everything_around_a_task(desk):
    """Dependencies whole, dependents and comments when asked for, counts always."""
    epic = desk.new("epic -t epic")
    child = desk.new(f"child --parent {epic}")
    other = desk.new(f"other --deps {child}")
    desk(f"close {other} --force")
    desk(["reopen", other, "-r", "not yet"])
    shown = desk(f"show {epic} --json --include-dependents").json[0]
    assert (shown["epic_total_children"], shown["epic_closeable"]) == (1, False)
    shown = desk(f"show {other} --json").json[0]
    assert shown["comments_omitted"] is True
    assert shown["dependencies"][0]["dependency_type"] == "blocks"
    shown = desk(f"show {other} --json --include-comments").json[0]
    assert shown["comments"][0]["text"] == "not yet"
    shown = desk(f"show {child} {other} nope --json")
    assert shown.code == 0
    assert shown.ids == [child, other]
    assert "Issue nope not found" in shown.err
    page = desk(f"show {other}").out
    assert "DEPENDS ON\n  → ○" in page
    assert "not yet" in page
    assert desk("show nope --json").code == 1


def test_a_revision_changes_with_the_task(desk):
    """Two reads of the same state agree, a change of any field or label shows."""
    task = desk.new("first")

    def revision():
        return desk(f"show {task} --json").json[0]["revision"]

    seen = [revision()]
    assert revision() == seen[0]
    for change in ("--title new", "--add-label x", "--claim"):
        desk(f"update {task} {change}")
        assert revision() not in seen
        seen.append(revision())


def _shelf(desk):
    """Tasks of several kinds, each a minute younger than the one before."""
    lines = (
        "alpha --id fleet-a -l be,fe -d 'About the LOGIN'",
        "Beta --id fleet-b -p 1 -t bug -a bob --notes 'login too'",
        '100%_x --id fleet-c -p 0 --metadata \'{"k": 1, "s": "v"}\' --spec-id docs/x.md',
        "delta --id fleet-d -t epic --due 2026-03-01 --external-ref GH-9",
        "child --parent fleet-d -l tech-debt",
        "later --id fleet-e --defer +3d",
        "done --id fleet-f -a ann",
        "nail --id fleet-g",
        "gate --id fleet-h -t gate",
    )
    for line in lines:
        desk.new(line)
        desk.clock.pass_(minutes=1)
    desk("close fleet-f")
    desk("update fleet-g -s pinned")


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
        ("--created-after 2026-11-15T12:03:30Z", "e d.1"),
        ("--created-before 2026-11-15T12:00:30Z", "a"),
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
def test_list_finds_what_its_filters_say(desk, filters, names):
    """Each filter narrows; the order is priority, then youngest first."""
    _shelf(desk)
    found = desk(f"list --json {filters}")
    assert found.code == 0, found.err
    assert [name.removeprefix("fleet-") for name in found.ids] == names.split()


def test_a_list_of_a_thousand_takes_a_few_queries(desk):
    """Edges and counts are read for all rows together."""
    root = desk.queue.get(desk.new("root"))
    with desk.queue.db.writing():
        for number in range(999):
            task = replace(root, id=f"fleet-x{number}", title=f"x{number}", labels=("l",))
            desk.queue.insert(task)
            edge = Dependency(task_id=task.id, depends_on_id=root.id, created_at=root.created_at)
            desk.queue.depend(edge)
    asked = []
    rows = desk.queue.db.rows
    desk.queue.db.rows = lambda sql, values=None: (asked.append(sql), rows(sql, values))[1]
    for line in ("list --json", "list --flat", "list", "ready --json -n 0", "blocked --json"):
        asked.clear()
        assert desk(line).code == 0
        assert len(asked) <= 6, line
    asked.clear()
    assert len(desk("list --json").json) == 1000
    assert len(desk("search x --json").json) == 50


def test_ready_is_first_come_first_served_within_a_priority(desk):
    """Blocked, deferred, held back by a parent: none of it is ready."""
    one = desk.new("one")
    desk.clock.pass_(seconds=1)
    two = desk.new("two")
    desk.clock.pass_(seconds=1)
    top = desk.new("top -p 0")
    waits = desk.new(f"waits -p 0 --deps {top}")
    epic = desk.new(f"epic -t epic --deps {top}")
    desk.new(f"child --parent {epic}")
    desk.clock.pass_(seconds=1)
    desk.new("late --defer +1d")
    assert desk("ready --json").ids == [top, one, two]
    assert desk("ready --json --limit 2").ids == [top, one]
    assert desk("ready --json --limit 2").err.startswith("Showing 2 of 3 ready issues.")
    desk(f"close {top}")
    assert desk("ready --json").ids[0] == waits
    desk.clock.pass_(days=2)
    woken = desk("ready --json").json[-1]
    assert (woken["title"], woken["status"], "defer_until" in woken) == ("late", "open", False)


def test_a_readonly_ready_wakes_nobody(desk):
    """What was put off is ready when its time has come, even if nothing may be written."""
    task = desk.new("late --defer +1d")
    desk.clock.pass_(days=2)
    assert desk("--readonly ready --json").ids == [task]
    assert desk.queue.get(task).status == "deferred"


def test_count_and_stats_add_up(desk):
    """Groups are counted once each, closed tasks too."""
    _shelf(desk)
    assert desk("count --json").json == {"count": 9, "schema_version": 1}
    groups = desk("count --by-status --json").json
    assert {row["group"]: row["count"] for row in groups["groups"]} == {
        "closed": 1, "deferred": 1, "open": 6, "pinned": 1,
    }  # fmt: skip
    assert (
        desk("count --by-label").out == "Total: 9\n\n(no labels): 7\nbe: 1\nfe: 1\ntech-debt: 1\n"
    )
    assert desk("count --by-priority").out == "Total: 9\n\nP0: 1\nP1: 1\nP2: 7\n"
    assert desk("count --by-status --by-type").code == 1
    summary = desk("stats --json").json["summary"]
    assert summary["total_issues"] == 9
    assert summary["ready_issues"] == 6
    mine = desk("stats --assigned --json --actor bob").json["summary"]
    assert mine["total_issues"] == 1


def test_the_graph_can_be_drawn(desk):
    """Ids and titles are quoted, so that no title can break the picture."""
    one = desk(["create", '--title=say "hi"', "--silent"]).out.strip()
    two = desk.new(f"two --deps {one}")
    assert desk("list --format digraph").out == f"{two} {one}\n"
    picture = desk("list --format dot").out
    assert 'say \\"hi\\"' in picture
    assert f'"{two}" -> "{one}" [label="blocks"];' in picture
    assert desk("list --format {{.id}}").code == 1
