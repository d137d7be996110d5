"""A runtime.toml of an earlier fleet means what it meant, and is written in today's words."""

import pytest

from fleet import config
from fleet.config import runtime_toml
from fleet.errors import BadInput
from tests.docs.test_docs import ROOT

#: What `fleet init` wrote before `work_in`, with a comment of a person's.
EARLIER = (ROOT / "tests/data/earlier_runtime.toml").read_text()


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "runtime.toml"
        path.write_text(text)
        return config.load(path)

    return load


def with_values(**values):
    text = EARLIER
    for name, value in values.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{name} = "))
        text = text.replace(before, f'{name} = "{value}"')
    return text


@pytest.mark.parametrize(
    ("values", "work_in", "land"),
    [
        ({}, "directory", "branch"),
        ({"isolation": "clone"}, "clone", "branch"),
        ({"land": "auto"}, "clone", "auto"),
        ({"land": "ask"}, "clone", "ask"),
        ({"sandbox": "workspace"}, "clone", "branch"),
        ({"verify_in": "directory"}, "directory", "branch"),
    ],
)
def test_a_home_works_and_lands_as_it_did(load, values, work_in, land):
    """Landing and a box took a clone then, whatever `isolation` said."""
    found = load(with_values(**values))
    assert (found.work_in, found.land) == (work_in, land)
    assert (found.expect, found.require, found.max_concurrent) == ("any", "approved", 2)
    assert "require = plausible is now require = approved" in found.converted


PROJECTS = """
[projects."/stays"]
isolation = "none" # the monorepo
[projects."/clones"]
isolation = "clone"
[projects."/lands"]
land = "auto"
[projects."/boxed"]
isolation = "none"
sandbox = "strict"
[projects."/pinned"]
pins = ["tests"]
require = "plausible"
"""


def test_a_project_works_and_lands_as_it_did(load):
    """A project differed from the home by the same rules; pins need a clone today."""
    found = load(EARLIER + PROJECTS).projects
    own = {path: dict(project.settings) for path, project in found.items()}
    assert own == {
        "/stays": {"work_in": "directory"},
        "/clones": {"work_in": "clone"},
        "/lands": {"work_in": "clone", "land": "auto"},
        "/boxed": {"work_in": "clone", "sandbox": "strict"},
        "/pinned": {"work_in": "clone", "require": "approved"},
    }
    landing = load(with_values(land="auto") + PROJECTS).projects
    assert landing["/stays"].settings == {"work_in": "directory"}
    assert landing["/boxed"].settings["land"] == "branch"


def test_the_file_is_written_in_todays_words_with_a_persons_comments(load, tmp_path):
    """With the next change that fleet writes; what it means stays."""
    before = load(EARLIER + PROJECTS)
    path = tmp_path / "runtime.toml"
    text = runtime_toml.changed(EARLIER + PROJECTS, {"coder": "codex"}, path)
    after = load(text)
    assert after.converted == ()
    assert (after.projects, after.work_in, after.land) == (
        before.projects, before.work_in, before.land,
    )  # fmt: skip
    assert "# mine: two at night\n" in text
    assert "# the monorepo" not in text or "work_in" in text
    for gone in ("isolation", "verify_in", "plausible", "off (it stays"):
        assert gone not in text


def test_a_file_of_today_is_not_converted(load):
    """What init writes has none of the earlier words."""
    assert load(config.default_text(queue="embedded", land="branch")).converted == ()


@pytest.mark.parametrize(
    ("word", "new"),
    [
        ("isolation=clone", "work_in=clone"),
        ("verify_in=directory", "is gone"),
        ("land=off", "land = branch"),
        ("require=plausible", "require = approved"),
    ],
)
def test_an_earlier_word_on_a_line_is_refused_with_the_new_one(word, new):
    """For all projects and for one."""
    for read in (runtime_toml.read_assignment, runtime_toml.read_project_assignment):
        with pytest.raises(BadInput, match=new):
            read(word)


def test_a_way_to_land_that_is_gone_becomes_a_merge(load):
    """One line says so, and nothing else of the file is read as an earlier one's."""
    found = load('land_how = "rebase"\n')
    assert (found.land_how, found.land, found.expect) == ("merge", "auto", "change")
    assert found.converted == ("land_how = rebase is now land_how = merge",)
