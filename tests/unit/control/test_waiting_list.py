"""What waits to land, by the records and by the project's branches."""

import pytest
from msgspec import structs

from fleet.cli.landing.waiting_table import waiting_table
from fleet.control.landing.open_landings import landing_tasks
from fleet.control.landing.waiting_list import waiting_list
from fleet.home import task_json
from fleet.schemas import Settings
from tests.builders import NOW
from tests.conftest import need
from tests.unit.control.landed import WaitingHome


@pytest.fixture
def place(tmp_path):
    need("git")
    place = WaitingHome(tmp_path)
    yield place
    place.fleet.close()


def test_nothing_to_do_is_said_so(place):
    """An empty list is an answer."""
    found = waiting_list(place.fleet)
    assert found.is_empty
    assert list(waiting_table(found, NOW, 80)) == ["Nothing waits to land."]


def test_what_needs_a_person_comes_first(place):
    """Each with its state, its files, its verdict and the commit that is to land."""
    place.waits("back", title="Other", why_back="conflict", conflict=("a", "b"), tries=2)
    place.waits("waiting", files={"a": "1\n", "c": "new\n"}, checked=False)
    asks = place.waits("asks", title="Ask me", why="land = ask")
    found = waiting_list(place.fleet).work
    assert [each.step for each in found] == ["asks", "waiting", "back"]
    states = ["needs approval", "to land", "sent back"]
    assert [each.state for each in found] == states
    assert found[0].id == asks
    assert [each.files for each in found] == [1, 2, 1]
    assert [each.verdict for each in found] == ["checked", "unchecked", "checked"]
    assert found[2].words == "sent back: conflict in a and 1 more, 2 of 3"
    assert found[0].tip == place.repo.git("rev-parse", f"fleet/{asks}")


def test_what_only_an_agent_can_mend_is_not_offered_to_be_landed(place):
    """Approving would be refused."""
    place.waits("asks", why_back="rules", refused="markers_left: in a")
    *_, last = waiting_table(waiting_list(place.fleet), NOW, 120)
    assert last.startswith("What cannot land as it is: fleet retry ID")


def test_files_that_others_landed_since_are_not_the_task_s(place):
    """The branch went on: what it changed is not counted as the task's change."""
    task = place.waits(files={"a": "1\n"})
    place.repo.commit("main goes on", b="2\n", z="3\n")
    (found,) = waiting_list(place.fleet).work
    assert (found.id, found.files) == (task, 1)


def test_protected_paths_are_named(place):
    """A person sees why it asks."""
    place.configure(f'\n[projects."{place.repo.root}"]\nland_protect = ["migrations/**"]\n')
    place.waits("asks", files={"migrations__1": "x\n", "a": "y\n"})
    (found,) = waiting_list(place.fleet).work
    assert found.protected == ("migrations/1",)


def test_protected_paths_are_those_of_the_project_not_of_the_repository(place):
    """As for the lander: the patterns of a project in a subdirectory are from there on."""
    place.configure(f'\n[projects."{place.repo.root}/app"]\nland_protect = ["sql/**"]\n')
    (place.repo.root / "app").mkdir()
    task = place.waits("asks", files={"app__sql__1": "x\n", "sql__1": "y\n"})
    own = task_json.read(place.home, task) or Settings()
    task_json.write(place.home, task, structs.replace(own, cwd=f"{place.repo.root}/app"))
    (found,) = waiting_list(place.fleet).work
    assert found.protected == ("app/sql/1",)


def test_branches_of_closed_tasks_that_no_branch_has_are_listed(place):
    """Work of before is not forgotten; what was merged, or is still worked on, is not listed."""
    left, tip = place.task("Left behind", closed=True, a="left\n")
    merged, _ = place.task("Merged", closed=True, c="merged\n")
    place.repo.git("merge", "-q", "--no-ff", "-m", "by hand", f"fleet/{merged}")
    place.task("Still open", b="open\n")
    found = waiting_list(place.fleet)
    (before,) = found.before
    assert (before.id, before.title, before.tip, before.files) == (left, "Left behind", tip, 1)
    shown = "\n".join(waiting_table(found, NOW, 80))
    assert "finished but not merged" in shown
    assert "Take one: fleet land ID" in shown


def test_work_that_a_person_merged_and_closed_waits_no_more(place):
    """Its record says that it asks; the queue says that it is done."""
    task = place.waits("asks", why_back="rules", refused="markers_left: in a")
    place.repo.git("merge", "-q", f"fleet/{task}")
    assert [each.id for each in waiting_list(place.fleet).work] == [task]
    place.fleet.queue.close_task(place.fleet.get(task), by="ada", reason="by hand")
    assert waiting_list(place.fleet).is_empty
    assert landing_tasks(place.fleet) == ()


def test_work_that_a_person_closed_and_no_branch_has_is_left_over(place):
    """Closing loses nothing: the work is listed by its branch, and can be taken."""
    task = place.waits("asks")
    place.fleet.queue.close_task(place.fleet.get(task), by="ada", reason="not now")
    found = waiting_list(place.fleet)
    assert (found.work, [each.id for each in found.before]) == ((), [task])


def test_a_branch_behind_its_line_is_told(place):
    """A checkout is in the way of a commit that is no task's."""
    place.waits()
    line = place.repo.commit("landed", z="1\n")
    place.repo.git("update-ref", "refs/fleet/land/main", line)
    place.repo.git("reset", "-q", "--hard", place.base)
    (behind,) = waiting_list(place.fleet).behind
    assert (behind.branch, behind.commits) == ("main", 1)
    shown = " ".join(waiting_table(waiting_list(place.fleet), NOW, 80))
    assert "1 commit beyond main: look at git -C" in shown


def test_a_project_that_is_gone_hides_no_other(place, tmp_path):
    """What can be looked at is shown, and the rest is named."""
    task = place.waits()
    place.repo.root.rename(tmp_path / "elsewhere")
    found = waiting_list(place.fleet)
    assert [(each.id, each.files) for each in found.work] == [(task, None)]
    assert "is no git repository any more" in found.trouble[0]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_list_fits_its_terminal(place, width):
    """No line is longer than the terminal, and no word is broken in two."""
    long = "Make the parser of the configuration file understand comments at the end of a line"
    place.waits("asks", title=long, why="touches a protected path: migrations/0001_initial.sql")
    place.waits("back", title=long, why_back="verify", tries=1)
    place.task(long, closed=True, a="left\n")
    lines = list(waiting_table(waiting_list(place.fleet), NOW, width))
    if width >= 60:
        assert max(map(len, lines)) <= width
    assert "needs approval" in lines
