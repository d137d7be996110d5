"""The hook that fleet gives to real CLIs: people's words arrive, commands are refused, and nothing
of the user's is touched.
"""

import json
from datetime import UTC, datetime

import pytest

from fleet.coders import make
from fleet.coders.base import HOOK_TIMEOUT, Options
from fleet.coders.codex import hook_digest
from fleet.home import HOOK, messages
from fleet.runs.run_directory import Run
from fleet.spool.drop_box import DropBox
from fleet.spool.post_messages import note_taken, post_messages
from fleet.supervisor.start.agent_bin import AgentPrograms
from tests.conftest import only_slow
from tests.real import agents
from tests.real.test_claude import LOGIN
from tests.real.test_codex import SETTINGS
from tests.scripted_model import Say, ScriptedModel, Shell

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
#: Quotes, a backslash, letters of other scripts, lines: all of it must arrive as it is.
TEXT = 'Use the "plum" table; C:\\new — nicht löschen.\nAnd a second line, $HOME `too`.'
CLIS = ("claude", "codex")


@pytest.fixture(params=CLIS)
def cli(request):
    with agents.desk(request.param) as desk:
        cli = Cli(desk, request.param)
        yield cli
        cli.box.close()


class Cli:
    """One CLI at its desk, with fleet's hook."""

    def __init__(self, desk, name):
        self.desk, self.name = desk, name
        self.account = desk.home / name
        self.account.mkdir()
        self.hook = str(AgentPrograms(desk.home).make() / HOOK)
        desk.spool.mkdir(exist_ok=True)
        self.run, self.box = Run(desk.task_dir / "runs/1"), DropBox(desk.spool)
        (desk.task_dir / "runs/1/started").touch()

    def work(self, model, **options):
        options = {"hook": self.hook, "permissions": "bypass"} | options
        if self.name == "claude":
            place = {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CONFIG_DIR": str(self.account)}
            return self.desk.work(make("claude", "sonnet", Options(**options)), **LOGIN, **place)
        config = self.account / "config.toml"
        own = config.read_text() if config.exists() else ""
        config.write_text(SETTINGS.format(url=model.url) + own, encoding="utf-8")
        place = {"CODEX_HOME": str(self.account), "CODEX_API_KEY": "script"}
        return self.desk.work(make("codex", "gpt-5", Options(**options)), **place)

    def tell(self, text=TEXT):
        messages.add(self.desk.task_dir, text, by="ada", at=NOW)
        post_messages(self.run, self.box)

    def given(self):
        note_taken(self.run, self.box)
        return [(tell.number, tell.run) for tell in messages.read(self.desk.task_dir)]

    def own_hook(self, path):
        """A hook of the user's own, as they would have it."""
        command = f"touch {path}"
        if self.name == "claude":
            entry = {"matcher": "*", "hooks": [{"type": "command", "command": command}]}
            settings = {"hooks": {"PostToolUse": [entry], "Stop": [{"hooks": entry["hooks"]}]}}
            (self.account / "settings.json").write_text(json.dumps(settings))
            return
        digest = hook_digest("post_tool_use", "*", command)
        (self.account / "config.toml").write_text(
            f'\n[[hooks.PostToolUse]]\nmatcher = "*"\n[[hooks.PostToolUse.hooks]]\n'
            f'type = "command"\ncommand = "{command}"\ntimeout = {HOOK_TIMEOUT}\n'
            f'[hooks.state."{self.account}/config.toml:post_tool_use:0:0"]\n'
            f'trusted_hash = "{digest}"\n'
        )


def said(request):
    """All texts of a request, as the model gets them."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            found.append(value)

    walk(request.get("messages") or request.get("input"))
    return "\n".join(found)


def test_a_message_arrives_with_the_next_request(cli):
    """Word for word, once, and marked as given to this run."""
    cli.tell()
    cli.tell("And this.")
    with ScriptedModel(Shell(command="echo one"), Shell(command="echo two"), Say()) as model:
        cli.work(model)
    first, second, third = map(said, model.requests)
    assert TEXT not in first
    assert TEXT in second
    assert second.index(TEXT) < second.index("And this.")
    assert third.count("And this.") == 1
    assert "ada" in second
    assert cli.given() == [(1, 1), (2, 1)]


def test_a_message_that_waits_at_the_end_is_read_before_it(cli):
    """An agent that uses no tool any more does not get away."""
    cli.tell()
    with ScriptedModel(Say(text="All done."), Say(text="I see.")) as model:
        outcome, _ = cli.work(model)
    assert len(model.requests) == 2
    assert "nicht löschen." in said(model.requests[1])
    assert outcome.text == "I see."
    assert cli.given() == [(1, 1)]


@only_slow
def test_without_a_message_nothing_is_said(cli):
    """The hook is silent, and output larger than a pipe holds does not trouble it."""
    with ScriptedModel(
        Shell(command="head -c 300000 /dev/zero | tr '\\0' x"), Shell(command="false"), Say()
    ) as model:
        outcome, reading = cli.work(model)
    assert outcome.text == "Done."
    assert len(model.requests) == 3
    assert "A message from" not in said(model.requests[2])
    assert reading.tools.count == 2


def test_the_users_own_hooks_go_on_and_the_project_is_left_alone(cli):
    """Ours come beside them, for this run only."""
    mark = cli.desk.root / "their-hook-ran"
    cli.own_hook(mark)
    cli.tell()
    with ScriptedModel(Shell(command="echo one"), Say()) as model:
        cli.work(model)
    assert mark.exists()
    assert TEXT in said(model.requests[1])
    assert list(cli.desk.project.iterdir()) == []


def test_the_tripwire_refuses_under_bypass(cli):
    """The command does not run, the agent is told why, and what is harmless runs."""
    outside = cli.desk.root / "precious"
    (outside / "work").mkdir(parents=True)
    inside = cli.desk.project / "build"
    inside.mkdir()
    with ScriptedModel(
        Shell(command=f"cd / && rm -r {outside}"), Shell(command="rm -r build; echo ok"), Say()
    ) as model:
        cli.work(model, refuse=True)
    assert (outside / "work").exists()
    assert not inside.exists()
    assert "Refused by fleet's tripwire" in said(model.requests[1])
    assert "rm-recursive" in said(model.requests[1])


@only_slow
def test_without_the_wish_nothing_is_refused(cli):
    """The default only reports. (codex has a rule of its own against `rm -rf`.)"""
    outside = cli.desk.root / "precious"
    outside.mkdir()
    with ScriptedModel(Shell(command=f"rm -r {outside}"), Say()) as model:
        cli.work(model)
    assert not outside.exists()
