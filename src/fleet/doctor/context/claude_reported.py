"""What claude itself says that it has loaded. No model is asked; tokens are counted by a request
that costs nothing, and are noughts without a login or a network.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from fleet.coders.claude.home import table
from fleet.doctor.context.load import Load, Origin, Piece
from fleet.processes.bounded_call import Dialogue, dialogue

#: Seconds for one conversation. A start takes half of one, and eight where much is going on.
PATIENCE = 25.0
#: How long servers may take to come up before they are left out, in seconds.
_SERVERS = 8.0
_LOOK = 0.1

_SOURCES: Mapping[str, Origin] = {
    "built-in": "cli", "userSettings": "user", "projectSettings": "project",
    "localSettings": "project", "plugin": "plugin", "User": "user", "Managed": "user",
    "Project": "project", "Local": "project",
}  # fmt: skip


class Said(Struct, frozen=True, kw_only=True):
    """Its account."""

    loads: tuple[Load, ...]
    #: The tokens were counted.
    counted: bool
    total: int


def ask(
    program: str, flags: Sequence[str], env: Mapping[str, str], cwd: Path, model: str
) -> Said | str:
    """Its account of a run with these flags; a sentence if there is none to be had."""
    argv = [
        program, "-p", "--input-format", "stream-json", "--output-format", "stream-json",
        "--verbose", "--no-session-persistence", *(("--model", model) if model else ()),
        # Nobody's hooks are run for a question.
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
    return understood(usage)


def understood(usage: Mapping[str, Any]) -> Said | str:
    """Its answer in our words."""
    own = {str(c.get("name")): _count(c) for c in _objects(usage.get("categories"))}
    counted = bool(own.get("System prompt"))
    loads: list[Load] = []
    if counted:
        loads.append(_own("prompt", "its own prompt", own["System prompt"]))
        loads.append(_own("tools", "its own tools", own.get("System tools", 0)))
    else:
        loads += [_own("prompt", "its own prompt", None), _own("tools", "its own tools", None)]
    for file in _objects(usage.get("memoryFiles")):
        path = str(file.get("path", ""))
        loads.append(_load("rules", path, str(file.get("type")), file, path, counted=counted))
    skills = _objects(table(usage.get("skills")).get("skillFrontmatter"))
    for skill in skills:
        # It counts these without a request.
        loads.append(_load("skill", _full_name(skill), str(skill.get("source")), skill, ""))
    for agent in _objects(usage.get("agents")):
        name, source = str(agent.get("agentType")), str(agent.get("source"))
        loads.append(_load("agent", name, source, agent, "", counted=counted))
    servers: defaultdict[str, list[int]] = defaultdict(list)
    for tool in _objects(usage.get("mcpTools")):
        servers[str(tool.get("serverName"))].append(_count(tool))
    for name, tools in servers.items():
        loads.append(
            Load(
                kind="server", name=name, origin="user", where=f"{len(tools)} tools",
                tokens=sum(tools) if counted else None, counted=counted,
            )
        )  # fmt: skip
    if not own:
        return "claude answered with something else than its context"
    kept = [
        tokens for name, tokens in own.items() if name not in ("Free space", "Autocompact buffer")
    ]
    return Said(loads=tuple(loads), counted=counted, total=sum(kept))


def placed(said: Said, pieces: Sequence[Piece]) -> tuple[Load, ...]:
    """Its account with what the files know better: where things are, and estimates for noughts."""
    by_name: dict[tuple[str, str, Origin], Load] = {}
    servers: dict[str, Load] = {}
    for piece in pieces:
        load = piece.load
        if load.kind == "server":
            servers[load.name] = load
        by_name[load.kind, load.name, load.origin] = load
        if load.kind == "command":  # it calls them skills
            by_name.setdefault(("skill", load.name, load.origin), load)
    found: list[Load] = []
    for load in said.loads:
        known = by_name.get((load.kind, load.name, load.origin))
        if load.kind == "server" and (server := servers.get(load.name)):
            found.append(_with(load, server.origin, f"{server.where}, {load.where}", load.tokens))
        elif known is not None:
            tokens = load.tokens if load.counted or load.tokens else known.tokens
            found.append(_with(load, load.origin, known.where, tokens))
        else:
            found.append(load)
    extra = [p.load for p in pieces if p.load.kind in ("hooks", "plugin")]
    # A server that did not come up costs nothing, and is worth knowing of.
    named = {load.name for load in said.loads if load.kind == "server"}
    silent = [load for name, load in servers.items() if name not in named]
    return (*_folded(found), *extra, *silent)


def _folded(loads: Sequence[Load]) -> list[Load]:
    """The CLI's own skills in one line: nobody can choose among them."""
    own = [load for load in loads if load.origin == "cli" and load.kind == "skill"]
    rest = [load for load in loads if load not in own]
    if not own:
        return rest
    tokens = sum(load.tokens or 0 for load in own)
    return [
        *rest,
        Load(kind="skill", name=f"its own {len(own)} skills", origin="cli", tokens=tokens),
    ]


def _with(load: Load, origin: Origin, where: str, tokens: int | None) -> Load:
    return Load(
        kind=load.kind, name=load.name, origin=origin, where=where, tokens=tokens,
        counted=load.counted,
    )  # fmt: skip


def _own(kind: Any, name: str, tokens: int | None) -> Load:
    return Load(kind=kind, name=name, origin="cli", tokens=tokens, counted=tokens is not None)


def _load(
    kind: Any,
    name: str,
    source: str,
    about: Mapping[str, Any],
    where: str,
    *,
    counted: bool = False,
) -> Load:
    tokens = _count(about)
    return Load(
        kind=kind, name=name[:300], origin=_SOURCES.get(source, "user"), where=where,
        tokens=tokens if counted or tokens else None, counted=counted,
    )  # fmt: skip


def _full_name(skill: Mapping[str, Any]) -> str:
    """With the plugin that it comes with, which it sometimes leaves out."""
    name, plugin = str(skill.get("name")), skill.get("pluginName")
    return f"{plugin}:{name}" if plugin and ":" not in name else name


def _servers_up(talk: Dialogue) -> None:
    """Wait until every server has come up or failed, if that does not take too long."""
    until = time.monotonic() + _SERVERS
    number = 1
    while time.monotonic() < until:
        status = _request(talk, "mcp_status", number)
        servers = _objects((status or {}).get("mcpServers"))
        if not any(server.get("status") == "pending" for server in servers):
            return
        number += 1
        time.sleep(_LOOK)


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
