"""With which login fleet goes to a forge."""

import base64

import pytest

from fleet.errors import FleetError
from fleet.forge.connect import connect
from fleet.forge.github import GitHub
from fleet.git import repository
from fleet.git.own.own_repository import own_repository
from tests.repos import ENV, Repo

URL = "https://git.example.org/team/app.git"


@pytest.fixture
def own(tmp_path):
    Repo(tmp_path / "project").commit("first", a="one\n")
    return own_repository(tmp_path / "home", repository.find(str(tmp_path / "project")))


@pytest.fixture
def operator(tmp_path):
    """An operator whose git has a credential helper."""
    user = tmp_path / "user"
    user.mkdir()
    (user / ".gitconfig").write_text("[credential]\n\thelper = store\n")
    (user / ".git-credentials").write_text("https://ann:s3cret-pass@git.example.org\n")
    return {"PATH": ENV["PATH"], "HOME": str(user)}


def login(forge):
    return forge._api._headers["Authorization"]


def test_a_token_comes_from_where_the_setting_says(own, operator):
    """The setting holds a place, and never a token."""
    env = {**operator, "GITEA_TOKEN": "abc-123456"}
    assert login(connect(URL, "auto", "env:GITEA_TOKEN", own, env)) == "token abc-123456"


def test_a_place_without_a_token_says_so(own, operator):
    """An error with the way out, and no request without a login."""
    with pytest.raises(FleetError, match="forge_token: its secret is gone"):
        connect(URL, "auto", "env:GITEA_TOKEN", own, operator)


def test_without_a_setting_the_login_of_the_operators_git_is_taken(own, operator):
    """What pushes the branch opens the pull request."""
    pair = base64.b64encode(b"ann:s3cret-pass").decode()
    assert login(connect(URL, "auto", "", own, operator)) == f"Basic {pair}"


def test_a_host_without_a_login_is_an_error_and_no_question(own, operator):
    """Nothing waits for a person at a terminal."""
    with pytest.raises(FleetError, match="no login for https://other") as caught:
        connect("https://other.example.org/team/app.git", "auto", "", own, operator)
    assert "forge_token" in caught.value.hint


def test_a_helper_in_the_projects_configuration_is_not_asked(own, operator, tmp_path):
    """An agent can write that file."""
    mark = tmp_path / "ran"
    Repo(tmp_path / "project").git("config", "credential.helper", f"!touch {mark}; true")
    connect(URL, "auto", "", own, operator)
    assert not mark.exists()


def test_github_goes_by_gh(own, operator):
    """Which has a login of its own."""
    assert isinstance(connect("git@github.com:team/app.git", "auto", "", own, operator), GitHub)
