"""Fleet's own bd: list, search, ready, show, count and stats find what they should."""

import pytest
from msgspec.structs import replace


def test_ids_are_found_by_their_beginning(bd):
    """A whole id, one without prefix, the beginning of exactly one; nothing by accident."""
    for name in ("abc", "abd", "xyz"):
        bd.new(f"x --id fleet-{name}")
    assert bd("show x --short").out == "fleet-xyz  P2  open         x\n"
    assert bd("show abc --short").out == bd("show fleet-abc --short").out
    assert bd("show ab --short").err.startswith(
        'ambiguous issue ID: "ab" matches 2 issues: fleet-abc, fleet-abd\n'
    )
    for word in ("", "null", "undefined", "yz", "_", "%"):
        assert bd(["show", word, "--short"]).code == 1


def test_show_tells_of_everything_around_a_task(bd):
    """Dependencies whole, dependents and comments when asked for, counts always."""
    epic = bd.new("epic -t epic")
    child = bd.new(f"child --parent {epic}")
    other = bd.new(f"other --deps {child}")
    bd(f"close {other} --force")
    bd(["reopen", other, "-r", "not yet"])
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
    assert shown.err == 'no issue found matching "nope"\n'
    page = bd(f"show {other}").out
    assert f"depends on:\n  {child}" in page
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


def _shelf(bd):
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
        bd.new(line)
        bd.clock.pass_(minutes=1)
    bd("close fleet-f")
    bd("update fleet-g -s pinned")


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ("", "c b e d.1 d a"),
        ("--all", "c b g f e d.1 d a"),
        ("-s closed,pinned", "g f"),
        ("-s all", "c b g f e d.1 d a"),
        ("-t gate", "h"),
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
        ("--parent fleet-d", "d.1"),
        ("--no-parent -p 2", "e d a"),
        ("--overdue", "d"),
        ("--deferred", "e"),
        ("--due-before 2026-03-02", "d"),
        ("--created-after 2026-11-15T12:03:30Z", "e d.1"),
        ("--created-before 2026-11-15T12:00:30Z", "a"),
        ("--closed-after 2026-01-01 --all", "f"),
        ("--metadata-field k=1 --metadata-field s=v", "c"),
        ("--metadata-field k=2", ""),
        ("--has-metadata-key s", "c"),
        ("--ready", "c b a d d.1"),
    ],
)  # fmt: skip
def test_list_finds_what_its_filters_say(bd, filters, names):
    """Each filter narrows; the order is priority, then youngest first."""
    _shelf(bd)
    found = bd(f"list --json {filters}")
    assert found.code == 0, found.err
    assert [name.removeprefix("fleet-") for name in found.ids] == names.split()


def test_a_list_of_a_thousand_takes_a_few_queries(bd):
    """Edges and counts are read for all rows together."""
    root = bd.queue.get(bd.new("root"))
    with bd.queue.db.writing():
        for number in range(999):
            task = replace(root, id=f"fleet-x{number}", title=f"x{number}", labels=("l",))
            bd.queue.insert(task)
            bd.queue.depend(task.id, root.id)
    asked = []
    rows = bd.queue.db.rows
    bd.queue.db.rows = lambda sql, values=None: (asked.append(sql), rows(sql, values))[1]
    for line in ("list --json", "list --flat", "list", "ready --json -n 0", "blocked --json"):
        asked.clear()
        assert bd(line).code == 0
        assert len(asked) <= 6, line
    asked.clear()
    assert len(bd("list --json").json) == 1000
    assert len(bd("search x --json").json) == 50


def test_ready_is_first_come_first_served_within_a_priority(bd):
    """Blocked, deferred, held back by a parent: none of it is ready."""
    one = bd.new("one")
    bd.clock.pass_(seconds=1)
    two = bd.new("two")
    bd.clock.pass_(seconds=1)
    top = bd.new("top -p 0")
    waits = bd.new(f"waits -p 0 --deps {top}")
    epic = bd.new(f"epic -t epic --deps {top}")
    bd.new(f"child --parent {epic}")
    bd.clock.pass_(seconds=1)
    bd.new("late --defer +1d")
    assert bd("ready --json").ids == [top, one, two]
    assert bd("ready --json --limit 2").ids == [top, one]
    assert bd("ready --json --limit 2").err.startswith("Showing 2 of 3 ready issues")
    bd(f"close {top}")
    assert bd("ready --json").ids[0] == waits
    bd.clock.pass_(days=2)
    woken = bd("ready --json").json[-1]
    assert (woken["title"], woken["status"], "defer_until" in woken) == ("late", "open", False)


def test_a_readonly_ready_wakes_nobody(bd):
    """What was put off is ready when its time has come, even if nothing may be written."""
    task = bd.new("late --defer +1d")
    bd.clock.pass_(days=2)
    assert bd("--readonly ready --json").ids == [task]
    assert bd.queue.get(task).status == "deferred"


def test_count_and_stats_add_up(bd):
    """Groups are counted once each, closed tasks too."""
    _shelf(bd)
    assert bd("count --json").json == {"count": 9, "schema_version": 1}
    groups = bd("count --by-status --json").json
    assert {row["group"]: row["count"] for row in groups["groups"]} == {
        "closed": 1, "deferred": 1, "open": 6, "pinned": 1,
    }  # fmt: skip
    assert bd("count --by-label").out == "total: 9\n(no labels): 7\nbe: 1\nfe: 1\ntech-debt: 1\n"
    assert bd("count --by-priority").out == "total: 9\nP0: 1\nP1: 1\nP2: 7\n"
    assert bd("count --by-status --by-type").code == 1
    summary = bd("stats --json").json["summary"]
    assert summary["total_issues"] == 9
    assert summary["ready_issues"] == 6
    mine = bd("stats --assigned --json --actor bob").json["summary"]
    assert mine["total_issues"] == 1


def test_a_list_is_a_line_for_each_task(bd):
    """Id, priority, status and title; type, holder and labels stand behind."""
    bd.new("first --id fleet-a -t bug -a bob -l ui")
    bd.new("second --id fleet-b -p 0")
    assert bd.ok("list") == (
        "fleet-b  P0  open         second\n"
        "fleet-a  P2  open         first  (bug, @bob, ui)\n\n2 issues\n"
    )
    assert bd.ok("list --flat --long") == bd.ok("list")
    assert "unknown format" in bd("list --format dot").err
