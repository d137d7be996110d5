"""`create --file` and `create --graph`: all tasks of a plan, or none."""

import json

import pytest

from fleet.schemas import Settings

PLAN = """# A plan, whose title is left out

## First task
Loses to its own section.

### Priority
1

### Type
feature

### Description
What to do,
in two lines.

### Design
The design

### Acceptance Criteria
- it works

### Assignee
alice

### Labels
a, b c

### Dependencies
fleet-z, related:fleet-y

## Second task

Only a text.
- with a list
"""

GRAPH = {
    "commit_message": "ignored",
    "nodes": [
        {"key": "a", "title": "Alpha", "type": "epic", "priority": 0, "labels": ["l"]},
        {"key": "b", "title": "Beta", "parent_key": "a", "metadata_refs": {"top": "a"}},
        {"key": "c", "title": "Gamma", "assignee": "bob", "status": "blocked", "estimate": 30},
        {"key": "d", "title": "Delta", "deps": [{"target": "b"}], "metadata": {"n": 3}},
    ],
    "edges": [
        {"from_key": "b", "to_key": "c"},
        {"from_key": "c", "to_id": "fleet-z", "type": "related"},
    ],
}


@pytest.fixture
def plan(tmp_path):
    """Writes a plan and gives its path."""

    def write(content):
        path = tmp_path / "plan"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def test_a_file_makes_a_task_for_each_title(bd, plan):
    """Sections become fields, the text below a title its description."""
    bd.tasks("z", "y")
    first, second = bd.json(["create", "--file", plan(PLAN)])
    assert first["title"] == "First task"
    assert first["description"] == "What to do,\nin two lines."
    assert (first["priority"], first["issue_type"], first["assignee"]) == (1, "feature", "alice")
    assert (first["design"], first["acceptance_criteria"]) == ("The design", "- it works")
    assert first["labels"] == ["a", "b", "c"]
    assert second["description"] == "Only a text.\n- with a list"
    assert (second["priority"], second["issue_type"]) == (2, "task")
    edges = bd.json(f"dep list {first['id']}")
    assert {row["id"]: row["dependency_type"] for row in edges} == {
        "fleet-z": "blocks", "fleet-y": "related",
    }  # fmt: skip


def test_ids_are_printed_for_people_and_scripts(bd, plan):
    """A line for each task, or with --silent only the ids."""
    path = plan("## One\n## Two\n")
    lines = bd.ok(["create", "-f", path]).splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["One", "Two"]
    ids = bd.ok(["create", "-f", path, "--silent"]).split()
    assert [bd.queue.get(task_id).title for task_id in ids] == ["One", "Two"]


def test_a_graph_makes_its_nodes_and_edges(bd, plan):
    """Keys become ids, parents and dependencies become edges, references name the new ids."""
    bd.tasks("z")
    answer = bd.json(["create", "--graph", plan(GRAPH)])
    ids = answer["ids"]
    assert list(ids) == ["a", "b", "c", "d"]
    assert answer["schema_version"] == 1
    beta = bd.json(f"show {ids['b']}")[0]
    assert beta["parent"] == ids["a"]
    assert beta["metadata"] == {"top": ids["a"]}
    gamma = bd.queue.get(ids["c"])
    assert (gamma.status, gamma.assignee, gamma.estimated_minutes) == ("blocked", "bob", 30)
    edges = {(row["issue_id"], row["depends_on_id"]) for row in bd.json(
        f"dep list {ids['b']} {ids['c']} {ids['d']}"
    )}  # fmt: skip
    assert edges == {
        (ids["b"], ids["a"]), (ids["b"], ids["c"]), (ids["c"], "fleet-z"), (ids["d"], ids["b"]),
    }  # fmt: skip
    assert bd.queue.get(ids["d"]).metadata == {"n": 3}


def test_each_task_of_a_plan_gets_the_settings(bd, plan):
    """Where a task runs, and with what, is recorded in the same transaction."""
    here = Settings(cwd="/work", coder="claude", model="opus")
    for flag, content in (("--file", "## One\n## Two\n"), ("--graph", GRAPH | {"edges": []})):
        said = bd(["create", flag, plan(content), "--silent"], settings=here)
        for task_id in said.out.split():
            task = bd.queue.get(task_id)
            assert (task.cwd, task.coder, task.model) == ("/work", "claude", "opus")


@pytest.mark.parametrize(
    ("flag", "content", "why"),
    [
        ("--file", "no titles", "no tasks in the file"),
        ("--file", "## One\n## Two\n### Priority\nhigh\n", "invalid priority"),
        ("--file", "## One\n### Type\nnonsense\n", "invalid issue type"),
        ("--file", "## One\n### Other\nlost?\n", 'there is no section "Other"'),
        ("--file", "## One\n## Two\n### Dependencies\nnope\n", 'no issue found matching "nope"'),
        ("--file", "## One\n## " + "x" * 501, "title must be 500"),
        ("--graph", "[]", "invalid graph plan"),
        ("--graph", {"nodes": []}, "plan has no nodes"),
        ("--graph", {"nodes": [{"key": "a"}]}, "title"),
        ("--graph", {"nodes": [{"key": "a", "title": ""}]}, "title is required"),
        ("--graph", {"nodes": [{"key": "a", "title": "A", "blocks": []}]}, "blocks"),
        ("--graph", {"nodes": [{"key": "a", "title": "A"}, {"key": "a", "title": "B"}]}, '"a"'),
        ("--graph", {"nodes": [{"key": "a", "title": "A", "parent": "x"}]}, 'key "x"'),
        ("--graph", {"nodes": [{"key": "a", "title": "A", "parent_id": "x"}]}, 'matching "x"'),
        (
            "--graph",
            {
                "nodes": [{"key": "a", "title": "A"}, {"key": "b", "title": "B"}],
                "edges": [{"from_key": "a", "to_key": "b"}, {"from_key": "b", "to_key": "a"}],
            },
            "would create a cycle",
        ),
    ],
)
def test_a_wrong_plan_makes_nothing(bd, plan, flag, content, why):
    """Whatever is wrong with one task, no task of the plan is made."""
    assert why in bd.refused(["create", flag, plan(content)])
    assert bd.ok("count") == "0\n"


@pytest.mark.parametrize("more", [["title"], ["-p", "1"], ["--parent", "x"], ["--graph", "x"]])
def test_a_plan_takes_no_flags_of_a_single_task(bd, plan, more):
    """Fields are in the plan: a flag beside it would be lost."""
    assert "cannot be combined with" in bd.refused(["create", "-f", plan("## One\n"), *more])
    assert bd.ok("count") == "0\n"


def test_a_dry_run_checks_and_makes_nothing(bd, plan):
    """The counts are told, wrong plans are refused, and the queue stays as it is."""
    bd.tasks("z")
    said = bd.json(["create", "--graph", plan(GRAPH), "--dry-run"])
    assert (said["dry_run"], said["node_count"], said["edge_count"]) == (True, 4, 4)
    assert bd.ok(["create", "-f", plan("## One\n"), "--dry-run"]) == "Would create: One\n"
    assert bd.ok("count") == "1\n"
    assert bd("create x --dry-run --json").json["id"] == ""
    assert bd.ok("count") == "1\n"
