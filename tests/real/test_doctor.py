"""`fleet doctor` with the real CLIs: their logins, and what they say that they load."""

import json
import os
from pathlib import Path

import pytest

from fleet.doctor.context import MEASURED
from tests import baggage, warm
from tests.conftest import only_slow
from tests.real import agents
from tests.real.test_codex import SETTINGS
from tests.scripted_model import Say, ScriptedModel


@pytest.fixture
def person(tmp_path):
    """Somebody with baggage and both CLIs, who asks the doctor."""
    programs = [str(agents.cli_directory(cli)) for cli in ("claude", "codex")]
    with ScriptedModel(Say()) as model:
        yield Person(tmp_path, programs, model)
        assert model.requests == [], "no question may ask a model"


class Person:
    def __init__(self, root, programs, model):
        self.project, self.root, self.model = root / "project", root, model
        baggage.for_project(self.project)
        baggage.for_claude(root / "claude")
        (root / "codex").mkdir()
        (root / "codex/config.toml").write_text(SETTINGS.format(url=model.url))
        baggage.for_codex(root / "codex")
        self.env = {
            "PATH": ":".join([*programs, os.environ["PATH"]]),
            "HOME": str(root),
            "FLEET_HOME": str(root / "home"),
            "CLAUDE_CONFIG_DIR": str(root / "claude"),
            "CODEX_HOME": str(root / "codex"),
            "ANTHROPIC_BASE_URL": model.url,
        }

    def doctor(self, *args, **env):
        words = ("doctor", "--json", *args)
        done = warm.fleet(words, cwd=self.project, env=self.env | env, timeout=100)
        assert done.stderr == b"", done.stderr.decode()
        return json.loads(done.stdout)

    def init(self):
        words = ("init", "--queue", "embedded", "--sandbox", "off")
        assert warm.fleet(words, cwd=self.project, env=self.env, timeout=100).returncode == 0

    def told(self, check, **env):
        return [found["what"] for found in self.doctor(**env) if found["check"] == check]


def test_claude_counts_what_it_loads_and_no_model_is_asked(person):
    """Each thing with its cost and its place, duplicates, and all three contexts."""
    words = ("--context", "--coder", "claude", "--start")
    (found,) = person.doctor(*words, CLAUDE_CODE_OAUTH_TOKEN="x")
    assert found["counted"]
    assert found["totals"]["full"] > found["totals"]["project"] > 2 * found["totals"]["lean"]
    names = {(load["kind"], load["name"], load["origin"]) for load in found["loads"]}
    assert {
        ("skill", "poetry", "user"), ("skill", "shared-skill", "project"),
        ("skill", "plug:shared-skill", "plugin"), ("server", "lookup", "user"),
        ("server", "projects", "project"), ("agent", "critic", "user"),
        ("rules", str(person.project / "CLAUDE.md"), "project"),
    } <= names  # fmt: skip
    assert all(load["tokens"] is not None for load in found["loads"])
    twice = [each["what"] for each in found["duplicates"]]
    assert twice == ["skill shared-skill"]


def test_looking_at_a_project_starts_none_of_its_servers(person):
    """A stranger's project names a program as its MCP server: only --start runs it."""
    evil = {"command": "sh", "args": ["-c", f"echo $PWD >> {person.project}.evil"]}
    (person.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": evil}}))
    trace = Path(f"{person.project}.evil")
    (found,) = person.doctor("--context", "--coder", "claude", CLAUDE_CODE_OAUTH_TOKEN="x")
    assert ("server", "evil") in {(load["kind"], load["name"]) for load in found["loads"]}
    assert not found["counted"]
    person.doctor(CLAUDE_CODE_OAUTH_TOKEN="x")
    assert not trace.exists()
    person.doctor("--context", "--coder", "claude", "--start", CLAUDE_CODE_OAUTH_TOKEN="x")
    assert trace.exists(), "claude starts what the project names, so it has to be asked for"


@only_slow
def test_claude_without_a_login_leaves_the_files_sizes(person):
    """What cannot be counted is not known, and never nought."""
    (found,) = person.doctor("--context", "--coder", "claude", "--start")
    assert not found["counted"]
    by_name = {load["name"]: load["tokens"] for load in found["loads"]}
    assert by_name["lookup"] is None
    assert by_name[str(person.project / "CLAUDE.md")] > 50


@only_slow
def test_logins_are_told_without_a_request(person):
    """None, a subscription's, and a key beside it."""
    person.init()
    said = person.told("login")
    assert said[0] == "claude: not logged in (it says)"
    assert "provider script logs in by CODEX_API_KEY, which agents do not get" in said[1]
    token = {"CLAUDE_CODE_OAUTH_TOKEN": "x", "CODEX_API_KEY": "y"}
    assert person.told("login", **token) == [
        "claude: logged in, oauth_token (it says)",
        "codex: provider script, by CODEX_API_KEY",
    ]
    assert person.told("billing", **token) == []
    (said,) = person.told("billing", **token, ANTHROPIC_API_KEY="z")
    assert "billed by the token" in said


@only_slow
def test_codex_itself_is_asked_where_it_has_no_provider_of_the_users(person):
    """It says it on stderr."""
    person.init()
    (person.root / "codex/config.toml").write_text("")
    said = person.told("login")
    assert said[1].startswith("codex: not logged in (it says)")
    (person.root / "codex/auth.json").write_text('{"OPENAI_API_KEY": "sk-abcdefghijkl"}')
    said = person.told("login")
    assert said[1].startswith("codex: API key configured")
    assert "abcde" not in said[1]


@pytest.mark.parametrize("cli", sorted(MEASURED))
def test_the_saving_that_fleet_tells_of_is_the_one_that_is_measured(requests, cli):
    """Within a few parts of a hundred: the CLIs grow with each version."""
    share = requests[cli, "lean"].size / requests[cli, "full"].size
    assert abs(share - MEASURED[cli]) < 0.08
