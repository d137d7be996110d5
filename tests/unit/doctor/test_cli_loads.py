"""What claude and codex will load, by their files; and files that are anything."""

import json
import os
import time

import pytest

from fleet.doctor.context.cli_loads import Rules, claude_loads, codex_loads
from tests import baggage


@pytest.fixture
def env(tmp_path):
    """A user with baggage, in a project with some."""
    baggage.for_claude(tmp_path / "claude")
    (tmp_path / "codex").mkdir()
    baggage.for_codex(tmp_path / "codex")
    project = tmp_path / "project"
    baggage.for_project(project)
    (project / ".git").mkdir()
    return {
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CODEX_HOME": str(tmp_path / "codex"),
    }


@pytest.fixture
def project(env, tmp_path):
    return tmp_path / "project"


def found(loads, kind):
    return [(load.name, load.origin) for load in loads if load.kind == kind]


def rules_of(tmp_path, name, *, imports=True):
    rules = Rules(tmp_path)
    rules.add(tmp_path / name, "project", imports=imports)
    names = [load.name.removeprefix(f"{tmp_path}/") for load in rules.loads]
    return names, [finding.what for finding in rules.findings]


# claude.


def test_claude_loads_rules_skills_plugins_agents_commands_and_servers(env, project):
    """The user's, the plugin's and the project's, each told apart."""
    loads, findings = claude_loads(env, project)
    assert findings == []
    assert [origin for _, origin in found(loads, "rules")] == ["user", "project"]
    assert found(loads, "skill") == [
        ("deploying", "user"), ("poetry", "user"), ("shared-skill", "user"),
        ("parsing", "project"), ("shared-skill", "project"), ("plug:shared-skill", "plugin"),
    ]  # fmt: skip
    assert found(loads, "command") == [("haiku", "user"), ("plug:ship", "plugin")]
    assert found(loads, "agent") == [("critic", "user")]
    assert found(loads, "plugin") == [("plug@market", "plugin")]
    assert found(loads, "server") == [("lookup", "user"), ("projects", "project")]


def test_what_a_skill_costs_is_what_it_says_of_itself(env, project):
    """Its body is read only when it is used."""
    (project / ".claude/skills/parsing/SKILL.md").write_text(
        "---\nname: parsing\ndescription: Parses.\n---\n" + "long " * 10_000
    )
    loads, _ = claude_loads(env, project)
    (tokens,) = [load.tokens for load in loads if load.name == "parsing"]
    assert tokens == 4


def test_a_plugin_that_is_switched_off_is_not_loaded(env, project, tmp_path):
    """The project's word comes after the user's."""
    settings = project / ".claude/settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"plug@market": False}}))
    loads, _ = claude_loads(env, project)
    assert found(loads, "plugin") == []


def test_rules_of_all_directories_above_count(env, project):
    """And those of a directory below do not."""
    inner = project / "src/deep"
    inner.mkdir(parents=True)
    (project / "src/CLAUDE.md").write_text("inner rules")
    (inner / "CLAUDE.local.md").write_text("local rules")
    (project / ".claude/rules").mkdir()
    (project / ".claude/rules/style.md").write_text("style")
    (inner / "below").mkdir()
    (inner / "below/CLAUDE.md").write_text("no")
    loads, _ = claude_loads(env, inner)
    own = [name for name, origin in found(loads, "rules") if origin == "project"]
    names = [name.removeprefix(f"{project}/") for name in own]
    assert names == [
        "CLAUDE.md", ".claude/rules/style.md", "src/CLAUDE.md", "src/deep/CLAUDE.local.md",
    ]  # fmt: skip


def test_a_users_own_directory_is_not_a_projects(tmp_path):
    """When the project lies in the home, or is it."""
    baggage.for_claude(tmp_path / ".claude")
    loads, _ = claude_loads({"HOME": str(tmp_path)}, tmp_path)
    assert {load.origin for load in loads} == {"user", "plugin"}
    assert len(found(loads, "rules")) == 1


def test_servers_of_one_project_of_the_user_count_there(env, project, tmp_path):
    """And nowhere else."""
    state = {"projects": {str(project): {"mcpServers": {"mine": {"command": "x"}}}}}
    (tmp_path / "claude/.claude.json").write_text(json.dumps(state))
    assert ("mine", "user") in found(claude_loads(env, project)[0], "server")
    assert ("mine", "user") not in found(claude_loads(env, tmp_path)[0], "server")


@pytest.mark.parametrize("text", ["{", "[]", "\x00\xff", '"x"', "[" * 50_000])
def test_broken_settings_are_findings(env, project, tmp_path, text):
    """Each file by its name; the rest is told."""
    for path in (tmp_path / "claude/settings.json", tmp_path / "claude/.claude.json"):
        path.write_text(text)
    (project / ".mcp.json").write_text(text)
    loads, findings = claude_loads(env, project)
    assert len(findings) == 3
    assert all("is passed over" in finding.what for finding in findings)
    assert ("poetry", "user") in found(loads, "skill")


@pytest.mark.parametrize(
    "settings",
    [
        {"enabledPlugins": ["plug@market"]},
        {"enabledPlugins": {"plug@market": "yes"}},
    ],
)
def test_settings_of_other_shapes_are_no_crash(env, project, tmp_path, settings):
    """Whatever stands where something else was expected."""
    (tmp_path / "claude/settings.json").write_text(json.dumps(settings))
    odd = {"plugins": {"plug@market": [3, {"installPath": 4}, {"installPath": "a\0b"}]}}
    (tmp_path / "claude/plugins/installed_plugins.json").write_text(json.dumps(odd))
    (tmp_path / "claude/.claude.json").write_text('{"mcpServers": [1], "projects": 3}')
    loads, _ = claude_loads(env, project)
    assert found(loads, "plugin") == []


# Rules and what they import.


def test_imports_are_followed_from_the_file_that_names_them(tmp_path):
    """Relative, from the home, and through each other; not from code."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text(
        "See @sub/b.md, and @~/c.md.\n`@sub/no.md`\n```\n@sub/no.md\n```"
    )
    (tmp_path / "sub/b.md").write_text("@d.md me@example.org")
    for name in ("sub/d.md", "c.md", "sub/no.md"):
        (tmp_path / name).write_text("x")
    names, problems = rules_of(tmp_path, "a.md")
    assert names == ["a.md", "sub/b.md", "sub/d.md", "c.md"]
    assert problems == []


def test_imports_are_only_followed_where_the_cli_does(tmp_path):
    """Codex has none."""
    (tmp_path / "a.md").write_text("@b.md")
    (tmp_path / "b.md").write_text("x")
    assert rules_of(tmp_path, "a.md", imports=False)[0] == ["a.md"]


def test_a_circle_of_imports_ends_with_a_finding(tmp_path):
    """Each file once."""
    (tmp_path / "a.md").write_text("@b.md")
    (tmp_path / "b.md").write_text("@c.md")
    (tmp_path / "c.md").write_text("@a.md @c.md")
    names, problems = rules_of(tmp_path, "a.md")
    assert names == ["a.md", "b.md", "c.md"]
    assert len(problems) == 2
    assert "imports itself" in problems[0]


def test_imports_end_somewhere(tmp_path):
    """In depth as claude has it, and in number."""
    for number in range(10):
        (tmp_path / f"{number}.md").write_text(f"@{number + 1}.md")
    assert len(rules_of(tmp_path, "0.md")[0]) == 6
    for number in range(1000):
        (tmp_path / f"w{number}.md").write_text("x")
    (tmp_path / "wide.md").write_text(" ".join(f"@w{number}.md" for number in range(1000)))
    assert len(rules_of(tmp_path, "wide.md")[0]) == 200


def test_a_file_of_fifty_megabytes_is_weighed_and_not_read(tmp_path):
    """Its cost is told, in no time and little memory."""
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(50_000_000)
    begun = time.monotonic()
    rules = Rules(tmp_path)
    rules.add(tmp_path / "big.md", "project", imports=True)
    assert time.monotonic() - begun < 5
    assert rules.loads[0].tokens == 12_500_000
    assert rules.loads[0].digest == ""
    assert "12,500,000 tokens, which count at every turn" in rules.findings[0].what


def test_what_is_no_file_is_a_finding(tmp_path):
    """A pipe does not block, a directory does not crash."""
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "gone.md").symlink_to("nowhere")
    for name in ("pipe.md", "folder.md", "loop.md"):
        names, problems = rules_of(tmp_path, name)
        assert (names, len(problems)) == ([], 1), name
    assert rules_of(tmp_path, "gone.md") == ([], [])


def test_a_file_that_may_not_be_read_is_a_finding(tmp_path):
    """By its name."""
    if os.geteuid() == 0:
        pytest.skip("root may read anything")
    (tmp_path / "a.md").touch(0o000)
    assert "Permission denied" in rules_of(tmp_path, "a.md")[1][0]


# codex.


def test_codex_loads_its_chain_of_rules_skills_and_servers(env, project):
    """From the top of the repository on; an override comes first."""
    (project / "sub").mkdir()
    (project / "sub/AGENTS.md").write_text("no")
    (project / "sub/AGENTS.override.md").write_text("yes")
    loads, findings = codex_loads(env, project / "sub")
    assert findings == []
    names = [name.rpartition("/")[2] for name, _ in found(loads, "rules")]
    assert names == ["AGENTS.md", "AGENTS.md", "AGENTS.override.md"]
    assert found(loads, "skill") == [
        ("deploying", "user"), ("poetry", "user"), ("shared-skill", "user"), ("parsing", "project"),
    ]  # fmt: skip
    assert found(loads, "server") == [("lookup", "user"), ("projects", "project")]


def test_codex_does_not_read_more_than_it_says(env, project):
    """Codex does not see the rest of a long AGENTS.md."""
    (project / "AGENTS.md").write_text("x" * 40_000)
    _, findings = codex_loads(env, project)
    assert "codex reads the first 8,192" in findings[-1].what
