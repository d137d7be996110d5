"""The state directory of a boxed run: what it holds, and that the user's own is never writable."""

import json
import os
from itertools import product

import pytest
from msgspec import structs

from fleet.coders.agy import AgyCoder
from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder
from fleet.coders.toml import load
from fleet.config import Config
from fleet.home import Home, make_home
from fleet.runs.cli_state.state_directory import followed_env, state_directory
from fleet.runs.run_directory import reserve_run
from fleet.schemas import Account, Policy, Sandbox
from fleet.supervisor.start import run_box
from fleet.supervisor.start.own_state import own_state
from fleet.supervisor.start.run_box import RunCommand, box_run

TOML = """
argv = ["mine", "{prompt}"]
state_variable = "MINE_HOME"
[state]
login_file = "login.json"
folder = ".mine"
config = ["rules.md", "extensions/"]
sessions = ["chats/{id}.json"]
"""
BARE_TOML = 'argv = ["mine", "{prompt}"]\nstate_variable = "MINE_HOME"\n'
LOGINS = {
    ClaudeCoder: {"claudeAiOauth": {"accessToken": "at", "refreshToken": "canary"}},
    CodexCoder: {"tokens": {"access_token": "at", "refresh_token": "canary"}},
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(run_box, "require_box", lambda: "/usr/bin/bwrap")
    return Machine(tmp_path)


class Machine:
    """A user, a home of fleet's with an account, a project, and a reserved run."""

    def __init__(self, root):
        self.user, self.project, self.dotfiles = root / "user", root / "project", root / "dotfiles"
        self.home = Home(root / "home")
        make_home(self.home)
        self.account = self.home.path / "accounts/work"
        for folder in (self.user, self.project, self.dotfiles, self.account):
            folder.mkdir(parents=True)
        self.run = reserve_run(self.home.task("fleet-1"))
        (self.run.task_dir / "artifacts").mkdir()
        self.run.spool.mkdir()
        self.env = {"HOME": str(self.user), "PATH": "/usr/bin:/bin"}

    def coder(self, kind, context="full", needs=()):
        if isinstance(kind, str):
            path = self.dotfiles / "mine.toml"
            path.write_text(kind)
            kind = load(path)
        coder = kind("m")
        coder.options = structs.replace(coder.options, context=context, needs=needs)
        return coder

    def state(self, kind, **more):
        coder = self.coder(kind, **more)
        return own_state(self.run, coder, self.env, str(self.project))

    def boxed(self, coder, level):
        """The words of the box, and the agent's environment."""
        own = own_state(self.run, coder, self.env, str(self.project))
        env = {**self.env, **(own.env if own else {})}
        accounts = {"work": Account(name="work", coder="claude", directory=str(self.account))}
        command = box_run(
            RunCommand(argv=("sh",), cwd=str(self.project), env=env), home=self.home,
            config=Config(accounts=accounts), run=self.run, coder=coder, own=own,
            policy=Policy(sandbox=Sandbox(level=level)), programs=self.home.path / "bin",
        )  # fmt: skip
        return command.argv, command.env


def sources(argv, kind):
    return {argv[at + 1] for at, word in enumerate(argv) if word == kind}


def holds(path, other):
    return os.path.commonpath([path, other]) == path


@pytest.mark.parametrize(
    ("kind", "place", "level"),
    list(
        product(
            (ClaudeCoder, CodexCoder, AgyCoder, TOML, BARE_TOML),
            ("own", "link", "account", "missing"),
            ("workspace", "strict"),
        )
    ),
)
def test_nothing_of_the_users_state_is_writable_in_a_box(machine, kind, place, level):
    """Neither the directory nor a part of it nor one that holds it, wherever it lies; and the box
    has the run's own in its place.
    """
    coder = machine.coder(kind)
    folder = coder.state_folder or ".mine"
    theirs = {"own": machine.user / folder, "missing": machine.user / folder,
              "account": machine.account, "link": machine.dotfiles / "state"}[place]  # fmt: skip
    if coder.state_variable == "HOME":
        theirs = machine.user / folder if place != "account" else machine.account / folder
        machine.env["HOME"] = str(machine.user if place != "account" else machine.account)
    elif place == "account" or not coder.state_folder:
        machine.env[coder.state_variable] = str(theirs)
    if place != "missing":
        theirs.mkdir(parents=True, exist_ok=True)
    if place == "link" and coder.state_folder and coder.state_variable != "HOME":
        (machine.user / folder).symlink_to(theirs)
    argv, env = machine.boxed(coder, level)
    written = sources(argv, "--bind")
    assert not [path for path in written if holds(path, str(theirs)) or holds(str(theirs), path)]
    assert str(state_directory(machine.run)) in written
    at = argv.index(str(state_directory(machine.run)))
    assert argv[at - 1 : at + 2] == ("--bind", str(state_directory(machine.run)), str(theirs))
    assert env["HOME"] in sources(argv, "--tmpfs")
    if coder.state_variable != "HOME":
        named = env[coder.state_variable]
        assert os.path.realpath(named) == str(theirs)


@pytest.mark.parametrize("kind", LOGINS)
def test_the_state_holds_a_login_without_its_refresh_token(machine, kind):
    """And nothing but fleet's own files and the login: no history, no other project."""
    theirs = machine.user / kind.state_folder
    theirs.mkdir()
    for name in (".env", "history.jsonl", ".config.json", "settings.local.json"):
        (theirs / name).write_text("canary")
    (theirs / kind.login_file).write_text(json.dumps(LOGINS[kind]))
    machine.state(kind)
    state = state_directory(machine.run)
    found = {path.name: path.read_text() for path in state.iterdir()}
    assert set(found) - {".claude.json"} == {kind.login_file}
    assert "canary" not in str(found)
    assert state.stat().st_mode & 0o777 == 0o700


def test_claudes_state_file_tells_of_the_user_and_of_this_project(machine):
    """Not of other projects, and not what the CLI keeps for itself."""
    own = {
        "userID": "u", "hasCompletedOnboarding": True, "numStartups": 9,
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}},
        "projects": {
            str(machine.project): {"hasTrustDialogAccepted": True, "history": ["canary"]},
            "/other": {"mcpServers": {"canary": {}}},
        },
    }  # fmt: skip
    (machine.user / ".claude.json").write_text(json.dumps(own))
    machine.state(ClaudeCoder)
    written = json.loads((state_directory(machine.run) / ".claude.json").read_text())
    assert written == {
        "userID": "u", "hasCompletedOnboarding": True, "mcpServers": own["mcpServers"],
        "projects": {str(machine.project): {"hasTrustDialogAccepted": True, "mcpServers": {}}},
    }  # fmt: skip


def test_a_lean_run_gets_the_servers_that_it_needs_and_no_configuration(machine):
    """But for what codex cannot reach its model without."""
    for name in (".claude", ".codex"):
        (machine.user / name / "skills/poetry").mkdir(parents=True)
    (machine.user / ".claude/CLAUDE.md").write_text("mine")
    (machine.user / ".codex/config.toml").write_text("")
    (machine.user / ".codex/AGENTS.md").write_text("mine")
    servers = {"a": {"command": "x"}, "b": {"command": "y"}}
    (machine.user / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    own = machine.state(ClaudeCoder, context="lean", needs=("mcp:b",))
    assert [mount.write for mount in own.mounts] == [True]
    written = json.loads((state_directory(machine.run) / ".claude.json").read_text())
    assert written["mcpServers"] == {"b": {"command": "y"}}
    machine.run = reserve_run(machine.run.task_dir)
    own = machine.state(CodexCoder, context="lean")
    assert [mount.target for mount in own.mounts[1:]] == [f"{machine.user}/.codex/config.toml"]


def test_the_users_configuration_is_bound_as_it_is_through_links(machine):
    """Many keep it in a repository of their own, as a whole or by single skills."""
    theirs, mine = machine.user / ".codex", machine.dotfiles
    for folder in (theirs / "skills/.system", theirs / "skills/plain", mine / "poetry", mine / "r"):
        folder.mkdir(parents=True)
    (theirs / "skills/linked").symlink_to(mine / "poetry")
    (theirs / "skills/lost").symlink_to(mine / "gone")
    (theirs / "rules").symlink_to(mine / "r")
    (mine / "r/own.rules").symlink_to(mine / "poetry")
    (theirs / "AGENTS.md").symlink_to(mine / "AGENTS.md")
    (mine / "AGENTS.md").write_text("mine")
    (machine.user / ".agents/skills").mkdir(parents=True)
    own = machine.state(CodexCoder)
    found = {mount.target: mount.source for mount in own.mounts if not mount.write}
    assert found == {
        f"{theirs}/AGENTS.md": f"{mine}/AGENTS.md",
        f"{theirs}/skills/linked": f"{mine}/poetry",
        f"{theirs}/skills/plain": f"{theirs}/skills/plain",
        f"{theirs}/rules/own.rules": f"{mine}/poetry",
        f"{machine.user}/.agents/skills": f"{machine.user}/.agents/skills",
    }


def test_plugins_are_listed_in_the_state_and_their_files_bound(machine):
    """The CLI writes beside the list."""
    plugins = machine.user / ".claude/plugins"
    (plugins / "cache/market").mkdir(parents=True)
    (plugins / "installed_plugins.json").write_text("{}")
    (plugins / "store").mkdir()
    own = machine.state(ClaudeCoder)
    state = state_directory(machine.run)
    assert [path.name for path in (state / "plugins").iterdir()] == ["installed_plugins.json"]
    assert f"{plugins}/cache" in {mount.source for mount in own.mounts}
    assert f"{plugins}/store" not in {mount.source for mount in own.mounts}


def test_a_coder_that_names_no_state_gets_none(machine):
    """Nothing of the user's is opened for it either."""
    coder = machine.coder('argv = ["mine", "{prompt}"]\n')
    assert own_state(machine.run, coder, machine.env, str(machine.project)) is None
    assert not state_directory(machine.run).exists()


def test_fleet_reads_the_state_where_the_agent_writes_it(machine):
    """Session files are followed in the run's own directory while the run lives."""
    coder = machine.coder(CodexCoder)
    assert followed_env(machine.run, coder.state_variable, machine.env) == machine.env
    own_state(machine.run, coder, machine.env, str(machine.project))
    env = followed_env(machine.run, coder.state_variable, machine.env)
    assert coder.session_record("s", env) == (
        state_directory(machine.run), "sessions/*/*/*/rollout-*-s.jsonl",
    )  # fmt: skip


def test_a_toml_coder_names_its_login_and_its_configuration(machine):
    """Whatever the form of the login: nothing that is named like a refresh token enters a box."""
    theirs = machine.user / ".mine"
    (theirs / "extensions").mkdir(parents=True)
    (theirs / "rules.md").write_text("mine")
    login = {"oauth": [{"token": "at", "refreshToken": "canary"}], "refresh_token": "canary"}
    (theirs / "login.json").write_text(json.dumps(login))
    own = machine.state(TOML)
    written = (state_directory(machine.run) / "login.json").read_text()
    assert json.loads(written) == {
        "oauth": [{"token": "at", "refreshToken": ""}],
        "refresh_token": "",
    }
    shown = {mount.target for mount in own.mounts if not mount.write}
    assert shown == {f"{theirs}/rules.md", f"{theirs}/extensions"}
    assert own.env == {"MINE_HOME": str(theirs)}
