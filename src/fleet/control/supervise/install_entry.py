"""The entry that tells a client of the operator's server: printed, or written to the client's file.

What a file had is kept, and a file that cannot be read is not written.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import TOMLKitError

from fleet.errors import BadInput
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.home import Home
from fleet.processes.own_program import OWN_PROGRAM

OperatorClient = Literal["claude", "codex", "desktop"]
#: Not `fleet`, which is the server that fleet itself gives to the agents of its runs.
NAME = "fleet-operator"
_LARGEST = 16 << 20


class ClientEntry(Struct, frozen=True, kw_only=True):
    """The entry for one client: the file, and the file's new text."""

    path: Path
    text: str
    #: The whole file with the entry in it.
    whole: str


def entry_for(
    client: OperatorClient, home: Home, *, write: bool, env: Mapping[str, str] = os.environ
) -> ClientEntry:
    """The entry of one client; `write`: the client may act, and not only read. Raises BadInput."""
    command, *own = OWN_PROGRAM
    args = [*own, "mcp", "--operator", *(["--allow", "write"] if write else [])]
    entry = {"command": command, "args": args, "env": {"FLEET_HOME": str(home.path)}}
    path = _path(client, env)
    before = _read(path)
    if client == "codex":
        return _toml(path, before, entry)
    if client == "claude":
        entry = {"type": "stdio", **entry}
    return _json(path, before, entry)


def write_entry(entry: ClientEntry) -> None:
    """Put the entry into the client's file. Raises OSError."""
    entry.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A file that is a link elsewhere (a person's dotfiles) stays one.
    write_atomically(entry.path.resolve(), entry.whole.encode())


def _path(client: OperatorClient, env: Mapping[str, str]) -> Path:
    user = Path(env.get("HOME") or Path.home())
    if client == "codex":
        return Path(env.get("CODEX_HOME") or user / ".codex") / "config.toml"
    if client == "claude":
        return Path(env.get("CLAUDE_CONFIG_DIR") or user) / ".claude.json"
    if sys.platform == "darwin":
        return user / "Library/Application Support/Claude/claude_desktop_config.json"
    config = Path(env.get("XDG_CONFIG_HOME") or user / ".config")
    return config / "Claude/claude_desktop_config.json"


def _read(path: Path) -> str:
    data = read_bounded(path.resolve(), _LARGEST)
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None


def _json(path: Path, before: str, entry: Mapping[str, Any]) -> ClientEntry:
    try:
        found: Any = json.loads(before or "{}")
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    if not isinstance(found, dict):
        raise _unreadable(path, "it holds no object")
    whole = cast("dict[str, Any]", found)
    servers: Any = whole.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise _unreadable(path, "its mcpServers is no object")
    own = {**cast("dict[str, Any]", servers), NAME: entry}
    text = json.dumps({"mcpServers": {NAME: entry}}, indent=2, ensure_ascii=False)
    made = json.dumps({**whole, "mcpServers": own}, indent=2, ensure_ascii=False)
    return ClientEntry(path=path, text=f"{text}\n", whole=f"{made}\n")


def _toml(path: Path, before: str, entry: Mapping[str, Any]) -> ClientEntry:
    try:
        whole = tomlkit.parse(before)
    except TOMLKitError as error:
        raise _unreadable(path, str(error)) from None
    alone = tomlkit.document()
    for document in (whole, alone):
        servers = document.setdefault("mcp_servers", tomlkit.table(is_super_table=True))
        servers[NAME] = dict(entry)
    return ClientEntry(path=path, text=tomlkit.dumps(alone), whole=tomlkit.dumps(whole))


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(
        f"{path} cannot be changed: {why}", hint="Mend it, or put the printed entry in by hand."
    )
