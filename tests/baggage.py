"""A user with baggage: skills, a plugin, an MCP server and rules, for both CLIs.

What a run loads before it reads its task, as it is found on the machines of people who have tried
a few things. Some of it is there twice.
"""

import json
import sys
from pathlib import Path

MCP_SERVER = Path(__file__).parent / "fakes" / "mcp_server.py"
USER_RULE = "Always answer in the manner of the user's own rules, which are USER-RULE-7f3a."
PROJECT_RULE = "This project keeps its parsers in src/parsers: PROJECT-RULE-91cc."
#: In the user's file and in the project's.
SHARED_RULE = (
    "Write commit messages in the imperative and keep the subject below seventy characters, with"
    " a blank line before the body, and never mention the tools that were used to write the code."
)
TOOLS = 8
_MARKET = {
    "name": "market",
    "owner": {"name": "somebody"},
    "plugins": [{"name": "plug", "source": "./plug", "description": "A plugin."}],
}


def for_claude(config: Path) -> None:
    """Fill a CLAUDE_CONFIG_DIR, keeping the settings that are there."""
    _write(config / "CLAUDE.md", f"# My rules\n\n{USER_RULE}\n\n{SHARED_RULE}\n")
    for name in ("poetry", "deploying", "shared-skill"):
        skill(config / "skills" / name, name)
    _write(config / "agents/critic.md", "---\nname: critic\ndescription: Judges verse.\n---\nYou.")
    _write(config / "commands/haiku.md", "---\ndescription: Write a haiku\n---\nWrite a haiku.")
    plugin = config / "plugins/cache/market/plug/1.0.0"
    _write(plugin / ".claude-plugin/plugin.json", json.dumps({"name": "plug", "version": "1.0.0"}))
    skill(plugin / "skills/shared-skill", "shared-skill")
    _write(plugin / "commands/ship.md", "---\ndescription: Ship it\n---\nShip it.")
    about = {"scope": "user", "installPath": str(plugin), "version": "1.0.0"}
    installed = {"version": 2, "plugins": {"plug@market": [about]}}
    _write(config / "plugins/installed_plugins.json", json.dumps(installed))
    market = config / "market"
    _write(market / ".claude-plugin/marketplace.json", json.dumps(_MARKET))
    source = {"source": {"source": "directory", "path": str(market)}}
    known = {"market": {**source, "installLocation": str(market)}}
    _write(config / "plugins/known_marketplaces.json", json.dumps(known))
    settings = config / "settings.json"
    own = json.loads(settings.read_text()) if settings.exists() else {}
    _write(settings, json.dumps({**own, "enabledPlugins": {"plug@market": True}}))
    servers = {"mcpServers": {"lookup": _stdio("lookup")}, "hasCompletedOnboarding": True}
    _write(config / ".claude.json", json.dumps(servers))


def for_codex(home: Path) -> None:
    """Fill a CODEX_HOME, keeping the configuration that is there."""
    _write(home / "AGENTS.md", f"# My rules\n\n{USER_RULE}\n\n{SHARED_RULE}\n")
    for name in ("poetry", "deploying", "shared-skill"):
        skill(home / "skills" / name, name)
    with (home / "config.toml").open("a", encoding="utf-8") as config:
        config.write(_toml("lookup"))


def for_project(project: Path) -> None:
    """What a project has for both."""
    rules = f"# The project\n\n{PROJECT_RULE}\n\n{SHARED_RULE}\n"
    _write(project / "CLAUDE.md", rules)
    _write(project / "AGENTS.md", rules)
    skill(project / ".claude/skills/parsing", "parsing")
    skill(project / ".claude/skills/shared-skill", "shared-skill")
    _write(project / ".mcp.json", json.dumps({"mcpServers": {"projects": _stdio("projects")}}))
    skill(project / ".agents/skills/parsing", "parsing")
    _write(project / ".codex/config.toml", _toml("projects"))


def _stdio(name: str) -> dict[str, object]:
    args = [str(MCP_SERVER), name, str(TOOLS)]
    return {"type": "stdio", "command": sys.executable, "args": args}


def _toml(name: str) -> str:
    server = _stdio(name)
    words = (json.dumps(server[key]) for key in ("command", "args"))
    return "\n[mcp_servers.{}]\ncommand = {}\nargs = {}\n".format(name, *words)


def skill(folder: Path, name: str) -> None:
    about = f"Knows all about {name}. Use it whenever {name} is spoken of, and in doubt as well. "
    _write(folder / "SKILL.md", f"---\nname: {name}\ndescription: {about * 3}\n---\nBe good.\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
