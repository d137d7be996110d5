"""What claude keeps for a user: where, which settings, and what a smaller context goes without.

A file that cannot be read counts as missing, as claude itself treats it.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

from fleet.files import lenient_read

#: No settings that a person wrote are longer; claude's own record of projects can be.
LARGEST = 4 << 20

#: In the state's directory if $CLAUDE_CONFIG_DIR names one, else in the user's home.
STATE_FILE = ".claude.json"
_LARGEST_STATE = 64 << 20
#: What a box gets of that file: who the user is, and what the user said of one project.
_OF_USER = ("hasCompletedOnboarding", "oauthAccount", "primaryApiKey", "userID")
_OF_PROJECT = (
    "allowedTools", "disabledMcpServers", "disabledMcpjsonServers", "enableAllProjectMcpServers",
    "enabledMcpjsonServers", "hasClaudeMdExternalIncludesApproved", "hasTrustDialogAccepted",
    "mcpServers",
)  # fmt: skip

#: What of a user's settings a run may miss, by its path in the file.
_MISSED = ("env", "apiKeyHelper", "permissions.deny", "hooks")


def place(env: Mapping[str, str]) -> Path:
    """$CLAUDE_CONFIG_DIR."""
    return Path(env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "/"), ".claude"))


def state_file(env: Mapping[str, str]) -> Path:
    """The file in which claude keeps the user's MCP servers, among much else."""
    if own := env.get("CLAUDE_CONFIG_DIR"):
        return Path(own, STATE_FILE)
    return Path(env.get("HOME", "/"), STATE_FILE)


def boxed_state(
    env: Mapping[str, str], cwd: str, servers: Collection[str] | None = None
) -> dict[str, Any]:
    """What a box gets of the user's state file, with the project of `cwd` and no other.

    `servers` are the names of the only MCP servers that it gets; None: all of the user's.
    """
    state, _ = read_json(state_file(env), _LARGEST_STATE)
    project = table(table(state.get("projects")).get(cwd))
    kept = {name: state[name] for name in _OF_USER if name in state}
    of_project = {name: project[name] for name in _OF_PROJECT if name in project}
    for found in (state, project):
        named = table(found.get("mcpServers"))
        wanted = {name: named[name] for name in named if servers is None or name in servers}
        (kept if found is state else of_project)["mcpServers"] = wanted
    return {**kept, "projects": {cwd: of_project}}


def account_of(env: Mapping[str, str]) -> str:
    """The vendor's account that the user is logged in to; empty: not known."""
    state, _ = read_json(state_file(env), _LARGEST_STATE)
    found = table(state.get("oauthAccount")).get("accountUuid")
    return found if isinstance(found, str) else ""


def read_json(path: Path, largest: int = LARGEST) -> tuple[dict[str, Any], str]:
    """An object from a file, and what is wrong with the file; empty if nothing is."""
    content = lenient_read.read(path, largest)
    if content is None:
        return {}, ""
    if not content.whole:
        return {}, content.problem or f"it is too long: {content.size:,} bytes"
    try:
        found: object = json.loads(content.data)
    except (ValueError, RecursionError) as error:
        return {}, f"it is not JSON: {error}"
    own = table(found)
    return own, "" if own or found == {} else "it is no JSON object"


def table(value: object) -> dict[str, Any]:
    """The value of a JSON object, else an empty object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def lost(env: Mapping[str, str]) -> list[str]:
    """What of the user's own settings.json does not reach a run outside of `full`."""
    settings, _ = read_json(place(env) / "settings.json")
    missed: list[str] = []
    for name in _MISSED:
        value: Any = settings
        for part in name.split("."):
            value = table(value).get(part)
        if value:
            missed.append(name)
    return missed
