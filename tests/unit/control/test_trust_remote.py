"""A person confirms where fleet pushes to."""

import json
import os

import pytest
from click.testing import CliRunner

from fleet import config
from fleet.cli.run.trust import command as trust_command
from fleet.cli.setup.config import set_ as config_set
from fleet.control.landing.trust_remote import trust_upstream
from fleet.errors import BadInput, Refused
from fleet.git.remote.trusted_remotes import FILE, is_trusted
from fleet.git.remote.upstream import Upstream
from fleet.processes.process_identity import MARK
from tests.repos import Repo

URL = "git@example.org:team/app.git"


@pytest.fixture
def project(fleet, tmp_path, monkeypatch):
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    fleet.home.config.write_text(config.default_text())
    fleet.home.path.chmod(0o700)
    repo = Repo(tmp_path / "project")
    repo.commit("first", a="one\n")
    repo.git("remote", "add", "origin", URL)
    return repo


def test_the_address_that_a_person_saw_is_trusted_until_the_project_leads_elsewhere(fleet, project):
    """What an agent writes into the project's configuration is not confirmed by that."""
    found = trust_upstream(fleet, str(project.root))
    common = os.path.realpath(project.root / ".git")
    tracking = "refs/remotes/origin/main"
    assert found == Upstream(remote="origin", url=URL, branch="main", tracking=tracking)
    assert is_trusted(fleet.home.path, common, found.url)


def test_an_agent_cannot_say_where_fleet_pushes_to(fleet, project):
    """It would lead the operator's logins elsewhere."""
    fleet.env = {MARK: "a run"}
    with pytest.raises(Refused):
        trust_upstream(fleet, str(project.root))


def test_outside_of_git_there_is_nothing_to_trust(fleet, tmp_path):
    """The error names the directory."""
    with pytest.raises(BadInput, match="in no git repository"):
        trust_upstream(fleet, str(tmp_path))


def test_the_command_shows_what_it_trusts(fleet, project):
    """Without the address a person would confirm what they have not seen."""
    done = CliRunner().invoke(trust_command, ["--remote", str(project.root)])
    assert done.output == f"trusted: origin is {URL}, branch main\n"


def test_setting_land_to_for_a_project_confirms_its_remote(fleet, project):
    """The person who has work pushed sees where to."""
    args = ["--project", str(project.root), "land_to=push"]
    done = CliRunner().invoke(config_set, args)
    assert f"fleet pushes to {URL}, branch main" in done.output
    assert len(json.loads((fleet.home.path / FILE).read_text())) == 1


def test_a_project_without_a_remote_says_what_to_do(fleet, project):
    """The setting is taken; the rest can follow."""
    project.git("remote", "remove", "origin")
    done = CliRunner().invoke(config_set, ["--project", str(project.root), "land_to=pr"])
    assert done.exit_code == 0
    assert "push -u" in done.output
