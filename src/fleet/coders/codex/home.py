"""What codex finds in a home and in a project, and the overrides that leave some of that out.

A configuration file or a skill that cannot be read is passed over: codex itself reports it.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from fleet.files import lenient_read
from fleet.schemas import Context

#: No configuration that a person wrote is longer.
_LARGEST = 1 << 20
#: More skills than this are not told one by one: the command line has an end.
_MOST_SKILLS = 200

#: What lean runs go without, and the override for each. By feature, not by `--disable`, which
#: stops a codex that does not know the word.
_LEAN: Mapping[str, str] = {
    "skills": "skills.include_instructions=false",
    "multi_agent": "features.multi_agent=false",
    "goals": "features.goals=false",
    "view_image": "features.view_image=false",
    "web_search": 'web_search="disabled"',
    "request_user_input": "tools.experimental_request_user_input.enabled=false",
}


def place(env: Mapping[str, str]) -> Path:
    """$CODEX_HOME."""
    return Path(env.get("CODEX_HOME") or Path(env.get("HOME", "/"), ".codex"))


def left_out(
    env: Mapping[str, str], cwd: str, context: Context, needs: tuple[str, ...]
) -> tuple[str, ...]:
    """The words that keep codex to a context.

    The user's AGENTS.md stays in every context: codex has no setting against it.
    """
    if context == "full":
        return ()
    servers = servers_of(place(env) / "config.toml")
    if context == "lean":
        for file in project_configs(cwd):
            servers |= servers_of(file)
    wanted = {need.removeprefix("mcp:") for need in needs if need.startswith("mcp:")}
    tools = {need.removeprefix("tool:") for need in needs if need.startswith("tool:")}
    settings = _switched_off({name: servers[name] for name in servers if name not in wanted})
    if context == "lean":
        settings += [_LEAN[name] for name in _LEAN if name not in tools]
    else:
        settings += _without_skills(env)
    return tuple(word for setting in settings for word in ("-c", setting))


def servers_of(config: Path) -> dict[str, dict[str, Any]]:
    """The MCP servers of a configuration file by name; none where the file cannot be read."""
    content = lenient_read.read(config, _LARGEST)
    if content is None or not content.whole:
        return {}
    try:
        found = tomllib.loads(content.data.decode())
    except ValueError:
        return {}
    tables = found.get("mcp_servers")
    if not isinstance(tables, dict):
        return {}
    named = cast("dict[str, Any]", tables).items()
    return {name: cast("dict[str, Any]", body) for name, body in named if isinstance(body, dict)}


def project_configs(cwd: str) -> Iterator[Path]:
    """The configuration files of a project, from the top to the directory."""
    above = [Path(cwd), *Path(cwd).parents]
    top = next((number for number, path in enumerate(above) if (path / ".git").exists()), 0)
    for path in reversed(above[: top + 1]):
        yield path / ".codex" / "config.toml"


def user_skills(env: Mapping[str, str]) -> Iterator[Path]:
    """The user's own skills, one SKILL.md each; those that codex ships are not among them."""
    for folder in (place(env) / "skills", Path(env.get("HOME", "/")) / ".agents" / "skills"):
        try:
            names = sorted(folder.iterdir())
        except OSError:
            continue
        for path in names:
            if not path.name.startswith(".") and (path / "SKILL.md").is_file():
                yield path / "SKILL.md"


def _switched_off(servers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One setting that disables all servers. Each table must be complete, although codex lays it
    over the one in the file: codex does not read the file of an untrusted project.
    """
    if not servers:
        return []
    off = [
        f"{json.dumps(name)}={{{_transport(body)},enabled=false}}" for name, body in servers.items()
    ]
    return [f"mcp_servers={{{','.join(off)}}}"]


def _transport(body: Mapping[str, Any]) -> str:
    return 'url="http://localhost"' if "url" in body else 'command="false"'


def _without_skills(env: Mapping[str, str]) -> list[str]:
    paths = list(user_skills(env))
    if not paths:
        return []
    if len(paths) > _MOST_SKILLS:
        return [_LEAN["skills"]]
    off = ",".join(f"{{path={json.dumps(str(path))},enabled=false}}" for path in paths)
    return [f"skills.config=[{off}]"]
