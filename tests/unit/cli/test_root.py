"""`fleet` itself: what holds for every command."""

import json
import sys
from datetime import timedelta

import pytest

from fleet.cli.root import fleet as run_fleet
from fleet.config import default_text
from fleet.control.queue.queue_care import back_up
from fleet.errors import BadInput, Refused
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked, Closed
from fleet.schemas.waits import SetAside
from tests.builders import NOW
from tests.settled import settle

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("wanted", [True, False])
def test_no_color_holds_for_every_command(home, monkeypatch, capsys, wanted):
    """On a terminal, too: the variable is the person's word."""
    home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(home.path))
    monkeypatch.setenv("NO_COLOR", "" if wanted else "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run_fleet(["config", "show"]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is wanted


@pytest.mark.parametrize("group", ["plan", "host", "queue", "schedule"])
def test_help_of_a_group_says_whole_sentences(capsys, group):
    """The line of each command breaks between words, and is never cut."""
    assert run_fleet([group, "--help"]) == 0
    _, _, commands = capsys.readouterr().out.partition("Commands:\n")
    assert commands.rstrip().endswith(".")
    assert "..." not in commands


@pytest.fixture
def fleet_home(fleet, monkeypatch):
    """A home that commands find by themselves."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    return fleet


def test_a_task_without_a_second_word_is_shown(fleet_home, capsys):
    """A person who does not know the words yet sees the task, and the words."""
    task = fleet_home.queue.add(Draft(title="Fix the bug"))
    assert run_fleet(["task", task.id]) == 0
    shown = capsys.readouterr().out
    assert "title:       Fix the bug\n" in shown
    assert f"More: fleet task {task.id} WORD, which is one of log, plan, knowledge, " in shown


def test_the_copies_of_a_queue_are_told_as_json_too(fleet_home, capsys):
    """A home has one after its first day, and a script that watches back-ups reads them."""
    fleet_home.queue.add(Draft(title="t"))
    back_up(fleet_home.home, fleet_home.config, NOW)
    assert run_fleet(["queue", "status", "--json"]) == 0
    (copy,) = json.loads(capsys.readouterr().out)["copies"]
    assert copy["path"].startswith(str(fleet_home.home.path))


@pytest.mark.parametrize("words", [["queue", "restore"], ["queue", "accept"]])
def test_without_a_terminal_a_question_names_the_flag_that_answers_it(fleet_home, words):
    """A script learns how to go on, and nothing was done."""
    fleet_home.queue.add(Draft(title="t"))
    back_up(fleet_home.home, fleet_home.config, NOW)
    with pytest.raises(BadInput) as refused:
        run_fleet(words)
    assert refused.value.hint == "To go on without a question: --yes"


def test_one_task_that_is_refused_does_not_keep_the_others(fleet_home, capsys):
    """`fleet retry A B`: the first was closed, and the second stayed blocked."""
    first, second = (fleet_home.queue.add(Draft(title=title)) for title in "ab")
    leases = {each.task.id: each for each in fleet_home.queue.claim("me", count=2, ttl=MINUTE)}
    settle(fleet_home.queue, leases[first.id], Closed(reason="done"))
    settle(fleet_home.queue, leases[second.id], Blocked(waits=SetAside(note="look")))
    assert run_fleet(["retry", first.id, second.id]) == Refused.exit_code
    told = capsys.readouterr()
    assert f"{first.id} is closed" in told.err
    assert told.out == f"{second.id} is open again; its attempts are forgotten.\n"
