"""Fleet's own bd: what it makes, and what holds for every answer it gives.

JSON shapes and exit codes are held against the real bd in tests/real/test_bd_parity.py.
"""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.bd.command_line import VERBS, find_verb
from fleet.schemas import Settings


def test_create_says_what_it_made(bd):
    """A person sees id and title; --silent leaves the id, --quiet nothing."""
    made = bd('create "Fix the login" -p P1 --id fleet-a')
    assert made.out == "Created fleet-a: Fix the login\n"
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
        "created_at": "2026-11-15T12:00:00Z",
        "created_by": "carol",
        "updated_at": "2026-11-15T12:00:00Z",
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
    quick = bd(["q", "quick"], settings=Settings(cwd="/work")).out.strip()
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
        "create x --file /nowhere/plan.md",
        "create --graph /nowhere/plan.json",
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
    held = {row["id"]: row["blocked_by"] for row in bd("blocked --json").json}
    assert held == {first: [before], "fleet-after": [first]}
    assert bd("ready --json").ids == [before]


def test_a_description_comes_from_a_file_or_standard_input(bd, tmp_path):
    """Text is taken whole; what is not text is refused."""
    text = tmp_path / "body.md"
    text.write_text("# From a file\n\nok\n")
    assert (
        bd(["create", "x", "--body-file", str(text), "--json"]).json["description"].endswith("ok\n")
    )
    assert bd("create x -d - --json", stdin="in\n").json["description"] == "in\n"
    assert bd("create x --stdin", stdin="").code == 1
    text.write_bytes(b"\xff\xfe")
    assert "not valid UTF-8" in bd(["create", "x", "--body-file", str(text)]).err
    text.write_bytes(b"a\0b")
    assert "zero byte" in bd(["create", "x", "--body-file", str(text)]).err
    assert bd("create x --body-file /nowhere/x").err == (
        "Error: cannot read /nowhere/x: No such file or directory\n"
    )


def test_bytes_that_are_no_text_are_refused_before_anything_is_written(bd):
    """An argument that is not UTF-8 reaches us as surrogates; nothing of the line is done."""
    task = bd.new("first")
    for line in (["create", "bad \udcff"], ["update", task, "--title", "\udcff"], ["q", "a\0b"]):
        refused = bd([*line])
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
    made = bd(["create", f"--title={text}x", "-d", f"d{text}", "--notes", text, "--json"]).json
    shown = bd(["show", made["id"], "--json"]).json[0]
    assert shown["title"] == f"{text}x"
    assert shown["description"] == f"d{text}"
    assert shown["notes"] == text


def test_after_two_dashes_everything_is_text(bd):
    """Words behind `--` are never flags; a title that looks like one has to be meant."""
    assert "looks like a flag" in bd("create -- --json").err
    made = bd(["q", "--", "--help", "-x", "--json"]).out.strip()
    assert bd.queue.get(made).title == "--help -x --json"


@pytest.mark.parametrize(
    "line",
    [
        "create x --json",
        "create x --deps nope --json",
        "show fleet-a --json",
        "show nope --json",
        "list --json",
        "list --json --brief",
        "ready --json --limit 1",
        "ready --claim --json",
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
        ("done fleet-a", "done"),
        ("reopen fleet-a", "reopen"),
        ("ready --claim", "ready --claim"),
    ],
)
def test_readonly_forbids_every_change(bd, line, operation):
    """The refusal names the operation, and nothing is written."""
    bd.new("first --id fleet-a")
    before = bd("show fleet-a --json").out
    said = bd.refused(f"--readonly {line}")
    assert said == f"operation '{operation}' is not allowed in read-only mode"
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
        assert not re.match("[A-Z][a-z]+[A-Z]", flag.help), "begins with the name of a class"
    assert bd(f"help {name}").out == text or " " in name or name == "help"


def test_bd_alone_gives_the_overview(bd):
    """So do `--help` and `help`, with a line for every command."""
    overview = bd("help").out
    assert overview == bd("--help").out == bd([]).out
    assert all(f"\n  {name} " in overview for name in VERBS)


def test_help_as_a_value_is_a_value(bd):
    """`-d --help` gives a task the description `--help`, as pflag reads it."""
    assert bd("create x -d --help --json").json["description"] == "--help"
    assert "Usage:" in bd("create x --help").out


def test_a_bare_group_lists_its_commands(bd):
    """`dep`, `label` and their like explain themselves."""
    for name in ("dep", "label", "epic", "human"):
        assert f"  bd {name} " in bd.ok(name)
