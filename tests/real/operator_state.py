"""An operator with one canary word in each kind of configuration that a CLI obeys."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests import baggage
from tests.real.test_codex import SETTINGS

#: What each kind of configuration puts into the first request.
WORDS = {
    "claude": {
        "instructions": "CANARY-INSTRUCTIONS", "rule": "CANARY-RULE", "skill": "canary-skill",
        "linked skill": "canary-linked", "agent": "canary-agent", "command": "canary-command",
        "output style": "CANARY-STYLE", "hook": "CANARY-HOOK", "plugin's skill": "canary-plugged",
        "plugin's hook": "CANARY-PLUGIN-HOOK", "server": "mcp__lookup__look_up_0",
    },
    "codex": {
        "instructions": "CANARY-INSTRUCTIONS", "skill": "canary-skill",
        "linked skill": "canary-linked", "skill of all agents": "canary-shared",
        "server": "mcp__lookup",
    },
}  # fmt: skip
_HOOK = "#!/bin/sh\necho '{word}'\n"


def equip(cli: str, user: Path, url: str) -> None:
    """Give the operator's home a state of this CLI, at the usual place."""
    state, shared = user / f".{cli}", user / "dotfiles"
    state.mkdir()
    server = user / ".local/bin/lookup-server.py"
    server.parent.mkdir(parents=True)
    shutil.copy(baggage.MCP_SERVER, server)
    baggage.skill(state / "skills/canary-skill", "canary-skill")
    baggage.skill(shared / "canary-linked", "canary-linked")
    (state / "skills/canary-linked").symlink_to(shared / "canary-linked")
    _write(state / "history.jsonl", "{}\n")
    fill = {"claude": _for_claude, "codex": _for_codex}[cli]
    fill(state, user, url, [str(server), "lookup", "1"])


def _for_claude(state: Path, user: Path, url: str, server: list[str]) -> None:
    del url
    _write(state / "CLAUDE.md", "CANARY-INSTRUCTIONS\n")
    _write(state / "rules/mine.md", "CANARY-RULE\n")
    _write(state / "agents/a.md", "---\nname: canary-agent\ndescription: Judges.\n---\nYou.")
    _write(state / "commands/canary-command.md", "---\ndescription: Ship it\n---\nShip it.")
    _write(state / "output-styles/mine.md", "---\nname: mine\ndescription: Mine\n---\nCANARY-STYLE")
    _program(state / "hooks/start.sh", _HOOK.format(word="CANARY-HOOK"))
    plugin = state / "plugins/cache/market/plug/1.0.0"
    _write(plugin / ".claude-plugin/plugin.json", json.dumps({"name": "plug", "version": "1.0.0"}))
    baggage.skill(plugin / "skills/canary-plugged", "canary-plugged")
    _program(plugin / "start.sh", _HOOK.format(word="CANARY-PLUGIN-HOOK"))
    hooks = {"hooks": _at_start("${CLAUDE_PLUGIN_ROOT}/start.sh")}
    _write(plugin / "hooks/hooks.json", json.dumps(hooks))
    about = {"scope": "user", "installPath": str(plugin), "version": "1.0.0"}
    installed = {"version": 2, "plugins": {"plug@market": [about]}}
    _write(state / "plugins/installed_plugins.json", json.dumps(installed))
    market = state / "plugins/marketplaces/market"
    shutil.copytree(plugin, market / "plug")
    offered = [{"name": "plug", "source": "./plug", "description": "A plugin."}]
    listed = {"name": "market", "owner": {"name": "x"}, "plugins": offered}
    _write(market / ".claude-plugin/marketplace.json", json.dumps(listed))
    source = {"source": {"source": "github", "repo": "x/market"}}
    known = {"market": {**source, "installLocation": str(market)}}
    _write(state / "plugins/known_marketplaces.json", json.dumps(known))
    settings = {
        "env": {"CLAUDE_CODE_MAX_RETRIES": "0"}, "outputStyle": "mine",
        "enabledPlugins": {"plug@market": True}, "hooks": _at_start(f"{state}/hooks/start.sh"),
    }  # fmt: skip
    _write(state / "settings.json", json.dumps(settings))
    login = {"accessToken": "sk-ant-oat01-script", "refreshToken": "canary-refresh",
             "expiresAt": 4_000_000_000_000, "scopes": ["user:inference"]}  # fmt: skip
    _write(state / ".credentials.json", json.dumps({"claudeAiOauth": login}))
    (state / ".credentials.json").chmod(0o600)
    own = {
        "hasCompletedOnboarding": True, "userID": "0" * 64,
        "mcpServers": {"lookup": {"type": "stdio", "command": sys.executable, "args": server}},
    }  # fmt: skip
    _write(user / ".claude.json", json.dumps(own))


def _for_codex(state: Path, user: Path, url: str, server: list[str]) -> None:
    _write(state / "AGENTS.md", "CANARY-INSTRUCTIONS\n")
    baggage.skill(user / ".agents/skills/canary-shared", "canary-shared")
    words = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(server)}\n"
    _write(state / "config.toml", f"{SETTINGS.format(url=url)}\n[mcp_servers.lookup]\n{words}")


def _at_start(command: str) -> dict[str, object]:
    return {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _program(path: Path, text: str) -> None:
    _write(path, text)
    path.chmod(0o755)


def digest(top: Path) -> dict[str, str]:
    """Every file, directory and link below a directory, by what it is and holds."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(top):
        for name in (*folders, *names):
            path = Path(folder, name)
            about = path.lstat()
            what = oct(about.st_mode)
            if path.is_symlink():
                what += f" -> {path.readlink()}"
            elif stat.S_ISREG(about.st_mode):
                what += f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
            found[str(path.relative_to(top))] = what
    return found


def looked_for(argv: list[str], env: dict[str, str], cwd: Path, user: Path) -> set[str]:
    """Start a CLI without a box, as the operator would: every path below its state, and beside it
    in the operator's home, that the CLI opened, listed, or looked for in vain.
    """
    log = cwd / "trace"
    words = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file", "-o", str(log)]
    subprocess.run(
        [*words, *argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=120, check=False,
    )  # fmt: skip
    calls = re.findall(r'\b\w+\((?:AT_FDCWD, )?"([^"]*)"', log.read_text(errors="replace"))
    mine = re.compile(rf"{re.escape(str(user))}/\.({argv[0]}|agents)([./-]|$)")
    return {path for path in map(os.path.normpath, calls) if mine.match(path)}
