"""The acts that every surface shares."""

import shlex

import pytest

from fleet.cli.root import fleet as run_fleet
from fleet.cli.root import root
from fleet.config import default_text
from fleet.control.acts import create
from fleet.control.acts.act_table import ACTS, carry_out, shown_acts
from fleet.control.pause import unpause
from fleet.errors import BadInput, NotFound, Refused
from fleet.home import task_json
from fleet.processes.process_identity import MARK
from fleet.queue.protocol import Draft

ENV = {"USER": "ada"}


@pytest.fixture
def fleet(fleet):
    """The home of a person by the name of ada."""
    fleet.env = ENV
    return fleet


def test_a_created_task_has_its_settings_and_its_command_line(fleet, tmp_path):
    """As `fleet bd create` with these flags would make it, and its verify command is trusted."""
    wish = {
        "title": "Add a parser", "cwd": str(tmp_path), "priority": 1, "labels": ["a"],
        "flags": {"verify": ["make test"], "budget": "$5"},
    }  # fmt: skip
    end = carry_out(fleet, "create", wish, surface="test")
    made = fleet.queue.get(end.id)
    assert (made.title, made.priority, made.labels) == ("Add a parser", 1, ("a",))
    own = task_json.read(fleet.home, end.id)
    assert (own.cwd, own.verify, own.budget.usd) == (str(tmp_path), ("make test",), 5)
    words = shlex.split(end.line)
    assert words[:4] == ["fleet", "bd", "create", "Add a parser"]
    assert {"--verify=make test", "--budget=$5", "--priority=1", "--labels=a"} <= set(words)


def test_a_key_that_is_asked_for_twice_at_once_makes_one_task(fleet, tmp_path, monkeypatch):
    """Both found no task, and the queue takes one: the other gets that one, and no refusal."""
    wish = {"title": "Prune", "cwd": str(tmp_path), "key": "issue-17"}
    first = carry_out(fleet, "create", wish, surface="test")
    real, looks = create._known, []

    def late(*args):
        looks.append(args)
        return None if len(looks) == 1 else real(*args)

    monkeypatch.setattr(create, "_known", late)
    assert carry_out(fleet, "create", wish, surface="test").id == first.id
    assert len(looks) == 2


def test_a_task_that_is_in_the_queue_is_told_of_even_without_its_task_json(
    fleet, tmp_path, monkeypatch
):
    """An error would only have the person create the task a second time."""

    def full(*_):
        raise OSError(28, "No space left on device", "task.json")

    monkeypatch.setattr(task_json, "write", full)
    end = carry_out(fleet, "create", {"title": "t", "cwd": str(tmp_path)}, surface="test")
    assert fleet.queue.get(end.id).title == "t"
    assert end.words.startswith(f"{end.id} is in the queue. But {end.id} has no task.json to edit")


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("create", {"title": "t"}),
        ("create", {"title": "t", "cwd": "/nowhere"}),
        ("create", {"title": "two\nlines", "cwd": "/"}),
        ("create", {"title": "a bell\x07", "cwd": "/"}),
        ("create", {"title": "t", "cwd": "/", "flags": {"args": "--x"}}),
        ("create", {"title": "t", "cwd": "/", "flags": {"cwd": "/etc"}}),
        ("create", {"title": "t", "cwd": "/", "priority": 9}),
        ("create", {"title": "t", "cwd": "/", "type": "wish"}),
        ("answer", {"id": "x"}),
        ("retry", {"id": "x", "fersh": True}),
        ("stop", {"id": "x", "now": "yes"}),
        ("stop_all", {"confirm": "yes"}),
    ],
)
def test_fields_that_cannot_be_used_are_refused(fleet, verb, given):
    """A misspelt one too: it would be left out silently."""
    with pytest.raises(BadInput):
        carry_out(fleet, verb, given, surface="test")
    assert fleet.queue.counts() == {}


def test_an_unknown_verb_is_refused(fleet):
    """With those that there are."""
    with pytest.raises(NotFound, match="no act"):
        carry_out(fleet, "rm", {}, surface="test")


@pytest.mark.parametrize("verb", ACTS)
def test_no_act_is_an_agents(fleet, verb):
    """An agent would answer its own question, or approve its own work."""
    fleet.env = {**ENV, MARK: "x"}
    with pytest.raises(Refused, match="an agent cannot"):
        carry_out(fleet, verb, {}, surface="test")


def test_pause_and_resume_say_what_they_did(fleet):
    """Twice is no error."""
    said = [
        carry_out(fleet, verb, {}, surface="test").words
        for verb in ("pause", "pause", "resume", "resume")
    ]
    assert said == [
        "Paused: no new runs.", "Paused already: no new runs.", "Resumed.", "Nothing was paused.",
    ]  # fmt: skip


def test_a_message_waits_for_the_next_run(fleet):
    """And its command line quotes what was said."""
    task = fleet.queue.add(Draft(title="t"))
    wish = {"id": task.id, "text": "use SQLite; it's there"}
    end = carry_out(fleet, "tell", wish, surface="test")
    assert end.words == f"Told {task.id}: the message waits for the task's next run."
    assert shlex.split(end.line) == ["fleet", "tell", task.id, "use SQLite; it's there"]


def test_every_act_is_a_command_too():
    """A surface shows the line, and the line works."""
    from click import Context

    commands = root.list_commands(Context(root))
    wishes = {
        "create": {"title": "t", "cwd": "/"}, "answer": {"id": "x", "text": "t"},
        "tell": {"id": "x", "text": "t"}, "pause": {}, "resume": {}, "reject": {"id": "x"},
        "stop_all": {"confirm": "stop"}, "pick": {"id": "x", "entry": "y"},
    }  # fmt: skip
    for act in ACTS.values():
        assert act(**wishes.get(act.verb, {"id": "x"})).line()[1] in commands
    assert {act.verb for act in shown_acts()} == set(ACTS)


@pytest.mark.parametrize(
    ("verb", "given", "line"),
    [
        ("tell", {"text": "use SQLite"}, ["tell", "ID", "use SQLite"]),
        ("answer", {"text": "yes", "force": True}, ["answer", "ID", "yes", "--force"]),
        ("retry", {"fresh": True}, ["retry", "ID", "--fresh"]),
        ("pause", {}, ["pause"]),
        ("resume", {}, ["resume"]),
        ("stop_all", {"confirm": "stop"}, ["stop", "--all"]),
    ],
)
def test_a_command_says_what_its_act_says(fleet, monkeypatch, capsys, verb, given, line):
    """They are one: a person reads the same sentence wherever the act was asked for."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    first, second = (fleet.queue.add(Draft(title=title)).id for title in "ab")
    wish = {"id": first, **given} if "ID" in line else given
    words = carry_out(fleet, verb, wish, surface="test").words
    unpause(fleet.home)
    assert run_fleet([second if word == "ID" else word for word in line]) == 0
    assert words.replace(first, second) in capsys.readouterr().out
