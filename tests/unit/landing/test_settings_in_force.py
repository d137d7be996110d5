"""Work lands by the settings that are in force then, not by those that its run was started with."""

import pytest
from msgspec import structs

from fleet import config
from fleet.home import landing_json, task_json
from fleet.schemas import Settings
from tests.landings import LandHome


@pytest.fixture
def place(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def configure(place, lines, **settings):
    """What runtime.toml says from now on, with a table of the project."""
    text = config.default_text(queue="embedded", **{"land": "auto", **settings})
    place.home.config.write_text(f'{text}\n[projects."{place.repo.root}"]\n{lines}\n')


def accepted(place, title="Add one", *, own=(), **given):
    """A task that was made in the project, verified while all of it landed by itself."""
    task = place.accepted(title, **{"part_1": "one\n", **given})
    own = Settings(cwd=str(place.repo.root), branch="main", verify=own or None)
    task_json.write(place.home, task, own)
    return task


@pytest.mark.parametrize("state", ["new", "waiting", "testing"])
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('land = "ask"', "land = ask"),
        ('land = "branch"', "land = branch now"),
        ('land_protect = ["part-1"]', "it changes what is protected: part-1"),
    ],
)
def test_what_asks_by_now_asks(place, state, line, why):
    """However far the work had come, short of the branch; and lands once it is approved."""
    task = accepted(place)
    if state != "new":
        configure(place, 'land = "ask"')
        place.land()
        place.approve(task)
        landing_json.change(
            place.home, task, lambda now: structs.replace(now, state=state, approved_by="")
        )
    configure(place, line)
    place.land()
    assert place.state(task) == "asks"
    assert place.landing(task).why.startswith(why)
    place.approve(task)
    place.land()
    assert place.state(task) == "landed"


def test_a_command_that_was_mistyped_is_mended_in_the_settings(place):
    """The branch is not to blame for it, and nothing is verified with it any more."""
    configure(place, 'verify = ["true"]\nland_verify = ["no-such-command"]')
    task = accepted(place)
    place.land()
    assert "main itself fails `no-such-command`" in place.landing(task).why
    configure(place, 'verify = ["true"]\nland_verify = ["test -e part-1"]')
    place.approve(task)
    place.land()
    assert place.landing(task).landed.checks == (".: test -e part-1",)


def test_how_work_lands_is_asked_when_it_lands(place):
    """A squash is one commit without a second parent."""
    task = accepted(place)
    configure(place, 'land_how = "squash"')
    place.land()
    assert len(place.landing(task).landed.parents) == 1


def test_what_the_task_asks_for_itself_still_counts(place):
    """Its own verify command beside the project's, whatever became of that."""
    configure(place, 'verify = ["true"]')
    task = accepted(place, own=("test -e part-1",))
    configure(place, 'verify = ["test -e README"]')
    place.land()
    checks = place.landing(task).landed.checks
    assert checks == (".: test -e README", ".: test -e part-1")


def test_settings_that_cannot_be_read_land_nothing(place):
    """And the work waits until they can be."""
    task = accepted(place)
    place.home.config.write_text("land = [")
    (report,) = place.land()
    assert "not valid TOML" in report.problem
    assert place.state(task) == "waiting"
