"""Which project a directory belongs to: by what it is, however it is spelled."""

import pytest

from fleet import config
from fleet.config import projects, runtime_toml
from fleet.config.projects import Project
from fleet.control import Control
from fleet.control.edit_config import set_project_settings
from fleet.control.task_directory import checked_directory
from fleet.home import Home, make_home
from fleet.home.task_policy import policy_of
from fleet.schemas import Settings


@pytest.fixture
def places(tmp_path):
    for name in ("app/src", "other/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "app")
    return tmp_path


def known(*paths):
    return {str(path): Project(path=str(path)) for path in paths}


@pytest.mark.parametrize("spelled", ["app", "other/../app", "link", "link/../app"])
@pytest.mark.parametrize("cwd", ["app", "app/src", "link", "link/src", "other/deep/../../app"])
def test_a_project_is_found_however_it_and_the_task_are_spelled(places, spelled, cwd):
    """Also one that a person wrote down with `..` in it."""
    table = known(places / spelled)
    assert projects.of(table, f"{places}/{cwd}").path in table


def test_dots_do_not_make_a_task_part_of_the_project_that_they_begin_in(places):
    """The directory is another project's, whatever its name begins with."""
    table = known(places / "app", places / "other")
    assert projects.of(table, f"{places}/other/deep/../../app").path == str(places / "app")


def test_the_innermost_project_counts_and_a_link_out_of_one_stays_with_it(places):
    """What is linked into a project belongs to it, unless it is part of another."""
    (places / "app/ext").symlink_to(places / "other")
    table = known(places / "app", places / "app/src")
    assert projects.of(table, str(places / "link/src")).path == str(places / "app/src")
    assert projects.of(table, str(places / "app/ext")).path == str(places / "app")
    both = known(places / "app", places / "other")
    assert projects.of(both, str(places / "app/ext")).path == str(places / "other")


def test_a_directory_is_written_down_without_dots_and_as_the_person_names_it(places, monkeypatch):
    """A link stays a link, unless `..` leads through it: then the directory behind it counts."""
    monkeypatch.chdir(places / "other")
    assert checked_directory("../app") == str(places / "app")
    assert checked_directory("../link/src/..") == str(places / "link")
    (places / "far").symlink_to(places / "other/deep")
    assert checked_directory("../far/..") == str(places / "other")


def test_settings_of_a_directory_go_to_the_table_that_it_has_under_another_spelling(places):
    """Two tables for one directory would contradict each other."""
    home = Home(places / "home")
    make_home(home)
    odd = f"{places}/other/../app"
    home.config.write_text(config.default_text() + f'[projects."{odd}"]\nverify = ["one"]\n')
    fleet = Control(home, config.load(home.config))
    set_project_settings(fleet, str(places / "link"), ["land=ask", "verify+=two"])
    found = config.load(home.config)
    assert list(found.projects) == [odd]
    policy = policy_of(found, Settings(), str(places / "app")).policy
    assert (policy.land.mode, policy.verify) == ("ask", ("one", "two"))


def test_the_scope_of_a_project_is_from_its_directory_on_when_a_task_comes_by_a_link(places):
    """The patterns are seen from the task's directory."""
    text = config.default_text() + f'[projects."{places}/link"]\nscope = ["docs/**"]\n'
    found = runtime_toml.checked(text, places / "runtime.toml")
    assert policy_of(found, Settings(), str(places / "app/src")).policy.scope == ("../docs/**",)
