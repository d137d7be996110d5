"""One word for how a task stands: every surface is asked about a task in each situation."""

from typing import get_args

import pytest

from fleet.control.pause import pause, unpause
from fleet.processes.supervisor_lock import LOCK
from fleet.schemas.task_state import TaskState
from tests.conftest import need
from tests.docs.state_words import FILE, SURFACES, asked, at, page

#: Surfaces that list every task.
WHOLE = {"`tasks --all`", "`top`", "page", "`show`", "agents (MCP)", "`bd list --all`"}
#: No surface is asked about these words here: an agent's run has to end first.
ELSEWHERE = {"verifying"}
#: The words of open tasks.
OPEN = {"ready", "waiting", "sent back"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    need("git")
    with pytest.MonkeyPatch.context() as env:
        env.setenv("FLEET_HOME", "")
        made = at(tmp_path_factory.mktemp("states"))
        yield made
        made.fleet.close()


@pytest.fixture(scope="module")
def said(home):
    return asked(home)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_has_the_same_word(home, said, surface):
    """Whatever its row, its notes and the record of its landing say beside each other."""
    words = {what: said[surface].get(task, {word}) for what, (task, word) in home.made.items()}
    assert words == {what: {word} for what, (_, word) in home.made.items()}


@pytest.mark.parametrize("surface", SURFACES)
def test_an_open_task_has_the_same_word_without_a_supervisor(home, surface):
    """That no supervisor runs is a fact of the home: what could start is ready."""
    (home.home.path / LOCK).unlink(missing_ok=True)
    found = SURFACES[surface](home)
    opened = {task: word for task, word in home.made.values() if word in OPEN}
    assert {task: found.get(task, {word}) for task, word in opened.items()} == {
        task: {word} for task, word in opened.items()
    }


def test_a_task_of_a_paused_home_waits_on_every_surface(home):
    """Also where nothing of its own is in its way."""
    task = home.made["nothing is in its way"][0]
    pause(home.home)
    try:
        words = {name: read(home).get(task, {"waiting"}) for name, read in SURFACES.items()}
    finally:
        unpause(home.home)
    assert words == {name: {"waiting"} for name in SURFACES}


@pytest.mark.parametrize("surface", sorted(WHOLE))
def test_a_list_of_all_tasks_leaves_none_out(home, said, surface):
    """A task that is missing in a list has no word there."""
    assert {task for task, _ in home.made.values()} <= said[surface].keys()


def test_every_other_surface_lists_some(home, said):
    """A surface whose lines are not found would pass."""
    ids = {task for task, _ in home.made.values()}
    assert [name for name, words in said.items() if len(ids & words.keys()) < 5] == []


def test_every_word_has_a_situation(home):
    """Except for the words that need an agent."""
    assert {word for _, word in home.made.values()} == set(get_args(TaskState)) - ELSEWHERE


def test_the_page_is_the_answer_of_the_surfaces(home, said):
    """`make docs` writes it."""
    assert FILE.read_text(encoding="utf-8") == page(home, said)
