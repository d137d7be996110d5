"""What claude reports to have loaded, by the control protocol. No model is asked.

Claude counts tokens by a request that is free; without a login or a network all counts are 0.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from fleet.coders.claude.home import table
from fleet.doctor.context.load import Load, LoadKind, Origin
from fleet.processes.bounded_call import Dialogue, dialogue

#: Seconds for one conversation. A start takes half a second, and eight on a busy machine.
PATIENCE = 45.0
#: Seconds for MCP servers to come up, or as many times what claude itself took to start: on a
#: busy machine its servers are slow too. And seconds between two questions for that.
_SERVERS, _TIMES_THE_START = 8.0, 4.0
_PAUSE = 0.1

_SOURCES: Mapping[str, Origin] = {
    "built-in": "cli", "userSettings": "user", "projectSettings": "project",
    "localSettings": "project", "plugin": "plugin", "User": "user", "Managed": "user",
    "Project": "project", "Local": "project",
}  # fmt: skip


def ask_claude(
    program: str, flags: Sequence[str], env: Mapping[str, str], cwd: Path, model: str
) -> list[Load] | str:
    """What claude loads in a run with these flags; a sentence if claude does not count that."""
    argv = [
        program, "-p", "--input-format", "stream-json", "--output-format", "stream-json",
        "--verbose", "--no-session-persistence", *(("--model", model) if model else ()),
        # No hook of the user or the project runs for a question.
        "--settings", '{"disableAllHooks": true}', *flags,
    ]  # fmt: skip
    try:
        with dialogue(argv, env=env, cwd=cwd, timeout=PATIENCE) as talk:
            _servers_up(talk)
            usage = _request(talk, "get_context_usage", 0)
    except OSError as error:
        return f"claude cannot be started: {error.strerror}"
    if usage is None:
        return f"claude did not tell within {PATIENCE:g} s"
    return read_report(usage) or "claude could not count: no login, or no network"


def read_report(usage: Mapping[str, Any]) -> list[Load]:
    """The loads in an answer to `get_context_usage`; empty if claude could not count."""
    own = {str(c.get("name")): _count(c) for c in _objects(usage.get("categories"))}
    if not own.get("System prompt"):
        return []
    found = [
        _load("prompt", "its own prompt", "built-in", own["System prompt"]),
        _load("tools", "its own tools", "built-in", own.get("System tools", 0)),
    ]
    found += [
        _load("rules", str(file.get("path")), file.get("type"), _count(file))
        for file in _objects(usage.get("memoryFiles"))
    ]
    found += [
        _load("skill", _full_name(skill), skill.get("source"), _count(skill))
        for skill in _objects(table(usage.get("skills")).get("skillFrontmatter"))
    ]
    found += [
        _load("agent", str(agent.get("agentType")), agent.get("source"), _count(agent))
        for agent in _objects(usage.get("agents"))
    ]
    servers: defaultdict[str, list[int]] = defaultdict(list)
    for tool in _objects(usage.get("mcpTools")):
        servers[str(tool.get("serverName"))].append(_count(tool))
    for name, tools in servers.items():
        load = _load("server", name, "userSettings", sum(tools))
        found.append(structs.replace(load, where=f"{len(tools)} tools"))
    return found


def with_files(reported: Sequence[Load], files: Sequence[Load]) -> list[Load]:
    """The reported loads, with what claude does not tell: whose a server is, servers that did not
    come up, and plugins.
    """
    names = {load.name for load in reported}
    servers = {load.name: load.origin for load in files if load.kind == "server"}
    unnamed = [x for x in files if x.kind in ("server", "plugin") and x.name not in names]
    known = [
        structs.replace(load, origin=servers[load.name]) if load.name in servers else load
        for load in reported
    ]
    return [*known, *unnamed]


def _load(kind: LoadKind, name: str, source: object, tokens: int) -> Load:
    origin = _SOURCES.get(str(source), "user")
    return Load(kind=kind, name=name[:300], origin=origin, tokens=tokens, counted=True)


def _full_name(skill: Mapping[str, Any]) -> str:
    """The name of a skill with the plugin, which claude sometimes leaves out."""
    name, plugin = str(skill.get("name")), skill.get("pluginName")
    return f"{plugin}:{name}" if plugin and ":" not in name else name


def _servers_up(talk: Dialogue) -> None:
    """Wait until every server has come up or failed, for a while at most."""
    begun = time.monotonic()
    until = None
    for number in count(1):
        status = _request(talk, "mcp_status", number)
        servers = _objects((status or {}).get("mcpServers"))
        now = time.monotonic()
        until = until or now + max(_SERVERS, _TIMES_THE_START * (now - begun))
        if now >= until or not any(server.get("status") == "pending" for server in servers):
            return
        time.sleep(_PAUSE)


def _request(talk: Dialogue, what: str, number: int) -> dict[str, Any] | None:
    name = f"fleet-{number}"
    request = {"type": "control_request", "request_id": name, "request": {"subtype": what}}
    if not talk.send(json.dumps(request).encode()):
        return None
    while (line := talk.receive()) is not None:
        try:
            answer = table(table(json.loads(line)).get("response"))
        except (ValueError, RecursionError):
            continue  # not a line of the protocol
        if answer.get("request_id") == name:
            return table(answer.get("response"))
    return None


def _objects(value: object) -> list[dict[str, Any]]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [table(each) for each in found]


def _count(about: Mapping[str, Any]) -> int:
    tokens = about.get("tokens")
    return tokens if isinstance(tokens, int) and 0 <= tokens < 1 << 40 else 0
