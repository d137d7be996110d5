"""What claude keeps for a user: where, which settings, and what a smaller context goes without.

A file that cannot be read counts as missing, as claude itself treats it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fleet.files import lenient_read

#: No settings that a person wrote are longer; claude's own record of projects can be.
LARGEST = 4 << 20

#: What of a user's settings a run may miss, by its path in the file.
_MISSED = ("env", "apiKeyHelper", "permissions.deny", "hooks")


def place(env: Mapping[str, str]) -> Path:
    """$CLAUDE_CONFIG_DIR."""
    return Path(env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "/"), ".claude"))


def state_file(env: Mapping[str, str]) -> Path:
    """The file in which claude keeps the user's MCP servers, among much else."""
    if own := env.get("CLAUDE_CONFIG_DIR"):
        return Path(own, ".claude.json")
    return Path(env.get("HOME", "/"), ".claude.json")


def read_json(path: Path) -> tuple[dict[str, Any], str]:
    """An object from a file, and what is wrong with the file; empty if nothing is."""
    content = lenient_read.read(path, LARGEST)
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
