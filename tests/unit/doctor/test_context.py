"""What the CLIs say that they load, what the files add, and CLIs that say nothing of use."""

import json
import os
import re
import sys
import time
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from fleet.cli.setup import doctor
from fleet.cli.setup.doctor import command
from fleet.config import default_text
from fleet.doctor import context
from fleet.doctor.context import claude_reported
from fleet.home import Home, make_home
from tests import baggage
from tests.builders import a_program

USAGE = {
    "categories": [
        {"name": "System prompt", "tokens": 7000},
        {"name": "System tools", "tokens": 18_000},
        {"name": "MCP tools", "tokens": 1200},
        {"name": "Free space", "tokens": 100_000},
        {"name": "Autocompact buffer", "tokens": 33_000},
    ],
    "memoryFiles": [{"path": "/p/CLAUDE.md", "type": "Project", "tokens": 90}],
    "mcpTools": [
        {"name": "mcp__lookup__a", "serverName": "lookup", "tokens": 600},
        {"name": "mcp__lookup__b", "serverName": "lookup", "tokens": 600},
    ],
    "agents": [{"agentType": "critic", "source": "userSettings", "tokens": 25}],
    "skills": {
        "skillFrontmatter": [
            {"name": "verify", "source": "built-in", "tokens": 80},
            {"name": "run", "source": "built-in", "tokens": 20},
            {"name": "poetry", "source": "userSettings", "tokens": 86},
            {"name": "ship", "source": "plugin", "pluginName": "plug", "tokens": 6},
            {"name": "shared-skill", "source": "userSettings", "tokens": 9},
            {"name": "shared-skill", "source": "projectSettings", "tokens": 9},
            {"name": "shared-skill", "source": "plugin", "pluginName": "plug", "tokens": 9},
        ]
    },
}
#: Answers each question of the protocol, after a line that is none.
TALKER = """
import json, sys
usage = json.loads({usage!r})
print("not json", flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    what = ask["request"]["subtype"]
    answer = usage if what == "get_context_usage" else {{"mcpServers": []}}
    if "--tools" in sys.argv and what == "get_context_usage":
        answer = {{"categories": [{{"name": "System prompt", "tokens": 5000}}]}}
    own = {{"subtype": "success", "request_id": ask["request_id"], "response": answer}}
    print(json.dumps({{"type": "control_response", "response": own}}), flush=True)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user with baggage in a project, with programs to be put on the PATH."""
    project = tmp_path / "project"
    baggage.for_project(project)
    baggage.for_claude(tmp_path / ".claude")
    (tmp_path / ".claude/.claude.json").rename(tmp_path / ".claude.json")
    (tmp_path / ".codex").mkdir()
    baggage.for_codex(tmp_path / ".codex")
    (tmp_path / "bin").mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "FLEET_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def talker(home, usage=USAGE):
    script = home / "talker.py"
    script.write_text(TALKER.format(usage=json.dumps(usage)))
    return a_program(home / "bin/claude", f'exec {sys.executable} -I {script} "$@"')


def survey(home, coder):
    (found,) = context.surveys(home / "project", coder, start=True)
    return found


def shown(*args):
    done = CliRunner().invoke(command, ["--context", *args], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.output


# What claude says.


def test_claudes_own_count_is_taken(home):
    """For each context one question; the files tell whose a server is, and which is missing."""
    talker(home)
    found = survey(home, "claude")
    assert found.counted
    assert found.totals == {"full": 26_534, "project": 26_534, "lean": 5000}
    by_name = {load.name: load for load in found.loads}
    assert by_name["its own tools"].tokens == 18_000
    assert by_name["verify"].origin == "cli"
    assert (by_name["lookup"].tokens, by_name["lookup"].where) == (1200, "2 tools")
    assert by_name["poetry"].origin == "user"
    assert by_name["plug:ship"].origin == "plugin"
    assert by_name["projects"].tokens is None  # it did not come up


def test_an_account_loads_what_is_in_its_own_directory(home):
    """Its runs never see what the user has; the first that gets work stands for the others."""
    fleet_home = home / ".fleet"
    make_home(Home(fleet_home))
    text = default_text(queue="embedded")
    for name in ("first", "other"):
        (home / name / "skills" / name).mkdir(parents=True)
        rules = f"---\nname: {name}\ndescription: of {name}\n---\n"
        (home / name / "skills" / name / "SKILL.md").write_text(rules)
        text += f'[accounts.{name}]\ncoder = "claude"\ndirectory = "{home / name}"\n'
    (fleet_home / "runtime.toml").write_text(text)
    found = survey(home, "claude")
    mine = [each.name for each in found.loads if each.kind == "skill" and each.origin == "user"]
    assert (found.account, mine) == ("first", ["first"])
    _, words = shown("--cwd", str(home / "project"), "--account", "other")
    assert words.startswith("claude on other in ~/project\n")
    assert "other/SKILL.md" in words


def test_without_a_login_noughts_are_not_taken_for_costs(home):
    """Claude answers with noughts: names and sizes come from the files."""
    talker(home, {**USAGE, "categories": [{"name": "Skills", "tokens": 1956}]})
    found = survey(home, "claude")
    assert not found.counted
    assert "could not count" in found.source
    by_name = {load.name: load for load in found.loads}
    assert by_name["lookup"].tokens is None
    assert by_name[f"{home}/project/CLAUDE.md"].tokens > 50


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "did not tell"),
        ("echo garbage", "did not tell"),
        ("sleep 60", "did not tell"),
        ("cat /dev/zero", "did not tell"),
        ('yes \'{"type": "noise"}\'', "did not tell"),
    ],
)
def test_a_claude_that_tells_nothing_leaves_the_files(home, monkeypatch, script, why):
    """One that ends, hangs, floods or prints garbage; in bounded time."""
    monkeypatch.setattr(claude_reported, "PATIENCE", 1.0)
    a_program(home / "bin/claude", script)
    begun = time.monotonic()
    found = survey(home, "claude")
    assert time.monotonic() - begun < 20
    assert why in found.source
    assert {"poetry", "lookup", "critic"} <= {load.name for load in found.loads}
    assert found.totals["full"] > found.totals["project"] > found.totals["lean"] > 0


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"categories": 3, "skills": [], "mcpTools": {}},
        {"categories": [3, {"name": None}], "memoryFiles": [None]},
        {"categories": [{"name": "System prompt", "tokens": -5}], "agents": [{}]},
        {"categories": [{"name": "System prompt", "tokens": "many"}]},
    ],
)
def test_answers_of_other_shapes_are_no_crash(home, usage):
    """Nor do they count for anything."""
    talker(home, usage)
    found = survey(home, "claude")
    assert not found.counted
    assert found.loads


def test_codex_is_known_by_its_files(home):
    """No program is started for it."""
    a_program(home / "bin/codex", "exit 1")
    found = survey(home, "codex")
    assert "estimate from the files" in found.source
    assert {"poetry", "lookup"} <= {load.name for load in found.loads}
    assert found.totals["full"] > found.totals["project"] >= found.totals["lean"] > 0


# What a person sees.


def test_the_table_tells_costs_duplicates_and_contexts(home):
    """At a glance, with where each number comes from."""
    talker(home)
    code, out = shown("--cwd", str(home / "project"), "--coder", "claude", "--start")
    assert code == 2
    assert re.search(r"18,000 +tools +its own tools +cli", out)
    assert "loaded more than once" in out
    assert "claude plugin disable plug; rm -r ~/.claude/skills/shared-skill" in out
    assert "full 26,534 (1.00)   project 26,534 (1.00)   lean 5,000 (0.19)" in out
    assert "figures: claude's own count" in out


def noting(home):
    """A claude that notes its start, where an MCP server of the project would."""
    talker(home)
    counted = (home / "bin/claude").read_text()
    a_program(home / "bin/claude", f"touch {home}/started\n{counted}")
    return home / "started"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_nothing_of_a_project_runs_unasked(home, words):
    """Without a terminal claude is not started, nor with --json: the figures are estimates."""
    started = noting(home)
    _, out = shown("--cwd", str(home / "project"), "--coder", "claude", *words)
    assert not started.exists()
    assert "an estimate from the files: bytes / 4 (claude was not started)" in out


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_at_a_terminal_the_person_says_whether_claude_starts(home, monkeypatch, answer):
    """The question names the servers that the project would start; without a word it is no."""
    started = noting(home)
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    words = ["--context", "--cwd", str(home / "project"), "--coder", "claude"]
    done = CliRunner().invoke(command, words, standalone_mode=False, input=f"{answer}\n")
    assert "its MCP servers (projects)" in " ".join(done.output.split())
    assert started.exists() is (answer == "y")
    assert ("claude's own count" in done.output) is (answer == "y")


def test_a_clean_project_ends_with_nought(home):
    """Nothing is there twice."""
    (home / "clean").mkdir()
    for name in (".claude", ".codex"):
        (home / name).rename(home / f"old{name}")
    code, out = shown("--cwd", str(home / "clean"), "--coder", "codex")
    assert code == 0
    assert "as fleet measured it, a lean run's first request is 0.54" in out


def test_without_any_cli_both_are_told_from_the_files(home):
    """A user may want to know before installing one."""
    code, out = shown("--json", "--cwd", str(home / "project"))
    assert code == 2
    assert [each["coder"] for each in json.loads(out)] == ["claude", "codex"]


def test_a_coder_that_fleet_knows_nothing_of_is_said_to_be_one(home):
    """And an unknown coder is a mistake."""
    code, out = shown("--cwd", "/", "--coder", "agy")
    assert (code, "fleet does not know what agy loads" in out) == (0, True)
    done = CliRunner().invoke(command, ["--context", "--coder", "nobody"])
    assert "unknown coder: nobody" in str(done.exception)


def test_flags_of_the_context_need_it(home):
    """Rather than being passed over."""
    done = CliRunner().invoke(command, ["--cwd", "/"])
    assert "work with --context only" in str(done.exception)
    done = CliRunner().invoke(command, ["--start"])
    assert "work with --context only" in str(done.exception)
    done = CliRunner().invoke(command, ["--context", "--cwd", "/no/such/place"])
    assert "there is no directory" in str(done.exception)


def test_nothing_is_written_for_a_question(home):
    """Neither in the home of the user nor in the project, nor a home for fleet."""
    before = set(home.rglob("*"))
    shown("--cwd", str(home / "project"))
    assert set(home.rglob("*")) == before
    assert os.environ["HOME"] == str(home)
