"""What codex is told to leave out, by what its home and a project hold."""

import os
import tomllib

import pytest

from fleet.coders import make
from fleet.coders.base import Options
from fleet.coders.codex import home as codex_home
from tests import baggage
from tests.builders import a_task

CONTEXTS = ("full", "project", "lean")


@pytest.fixture
def env(tmp_path):
    home = tmp_path / "codex"
    home.mkdir()
    baggage.for_codex(home)
    return {"CODEX_HOME": str(home), "HOME": str(tmp_path)}


def settings(env, cwd, context, *needs):
    """The overrides as codex reads them: each a line of TOML."""
    words = codex_home.left_out(env, str(cwd), context, needs)
    assert set(words[::2]) <= {"-c"}
    return tomllib.loads("\n".join(words[1::2]))


def test_a_full_run_is_told_nothing(env, tmp_path):
    """As codex does by itself."""
    assert codex_home.left_out(env, str(tmp_path), "full", ()) == ()


def test_a_project_run_leaves_the_users_servers_and_skills(env, tmp_path):
    """Each by its name; a table must be whole by itself."""
    baggage.for_project(tmp_path / "project")
    found = settings(env, tmp_path / "project", "project")
    assert found["mcp_servers"] == {"lookup": {"command": "false", "enabled": False}}
    skills = [entry["path"].split("/")[-2] for entry in found["skills"]["config"]]
    assert skills == ["deploying", "poetry", "shared-skill"]


def test_a_lean_run_leaves_the_projects_as_well(env, tmp_path):
    """From the top of the repository to the directory."""
    project = tmp_path / "project"
    baggage.for_project(project)
    (project / ".git").mkdir()
    (project / "sub").mkdir()
    found = settings(env, project / "sub", "lean")
    assert set(found["mcp_servers"]) == {"lookup", "projects"}
    assert found["features"] == {"multi_agent": False, "goals": False, "view_image": False}
    assert found["web_search"] == "disabled"


def test_what_a_task_needs_is_not_left_out(env, tmp_path):
    """Neither a server nor a tool."""
    found = settings(env, tmp_path, "lean", "mcp:lookup", "tool:web_search", "tool:goals")
    assert "mcp_servers" not in found
    assert "web_search" not in found
    assert found["features"] == {"multi_agent": False, "view_image": False}


def test_a_server_by_address_and_an_odd_name_are_told_as_well(env, tmp_path):
    """The name is quoted, and the address (which may hold a secret) is not repeated."""
    (tmp_path / "codex/config.toml").write_text(
        '[mcp_servers."a.b \\"c"]\nurl = "https://example.org/?key=s3cret"\n'
    )
    found = settings(env, tmp_path, "project")["mcp_servers"]
    assert found == {'a.b "c': {"url": "http://localhost", "enabled": False}}


@pytest.mark.parametrize("text", ["mcp_servers = 3", "not toml [", "\x00", "mcp_servers.x = 1"])
def test_a_broken_configuration_is_codexs_to_complain_of(env, tmp_path, text):
    """Nothing of it is left out, and nothing is thrown."""
    (tmp_path / "codex/config.toml").write_text(text)
    assert "mcp_servers" not in settings(env, tmp_path, "project")


def test_files_that_cannot_be_read_are_no_crash(env, tmp_path):
    """Neither a pipe without a writer, nor a directory, nor one of another kind."""
    config = tmp_path / "codex/config.toml"
    config.unlink()
    config.mkdir()
    (tmp_path / ".agents").write_text("")
    assert "mcp_servers" not in settings(env, tmp_path, "lean")
    config.rmdir()
    os.mkfifo(config)
    assert "mcp_servers" not in settings(env, tmp_path, "lean")


def test_very_many_skills_are_left_out_all_at_once(env, tmp_path):
    """The command line has an end."""
    for number in range(300):
        baggage.skill(tmp_path / "codex/skills" / f"s{number}", f"s{number}")
    assert settings(env, tmp_path, "project")["skills"] == {"include_instructions": False}


@pytest.mark.parametrize("context", CONTEXTS)
def test_the_words_stand_before_resume(env, tmp_path, context):
    """`resume` knows fewer options than `exec`."""
    coder = make("codex", options=Options(context=context, resume="5678"))
    words = coder.left_out(env, str(tmp_path))
    coder.leave_out = words
    argv = coder.build_argv(a_task(), tmp_path / "tasks/fleet-abc")
    assert argv[-3:] == ["resume", "5678", "-"]
    assert all(word in argv for word in words)
