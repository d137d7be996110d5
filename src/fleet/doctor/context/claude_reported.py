"""What claude itself reports to have loaded, by its control protocol. No model is asked.

Claude counts tokens by a request that is free; without a login or a network the counts are 0.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, structs

from fleet.coders.claude.home import table
from fleet.doctor.context.load import Kind, Load, Origin, total
from fleet.processes.bounded_call import Dialogue, dialogue

#: Seconds for one conversation. A start takes half a second, and eight on a busy machine.
PATIENCE = 25.0
#: Seconds for MCP servers to come up, and between two questions for that.
_SERVERS = 8.0
_PAUSE = 0.1

_SOURCES: Mapping[str, Origin] = {
    "built-in": "cli", "userSettings": "user", "projectSettings": "project",
    "localSettings": "project", "plugin": "plugin", "User": "user", "Managed": "user",
    "Project": "project", "Local": "project",
}  # fmt: skip


class ClaudeReport(Struct, frozen=True, kw_only=True):
    """What claude loads, by its own account."""

    loads: tuple[Load, ...]
    #: The tokens were counted.
    counted: bool
    total: int


def ask_claude(
    program: str, flags: Sequence[str], env: Mapping[str, str], cwd: Path, model: str
) -> ClaudeReport | str:
    """Claude's report on a run with these flags; a sentence if claude gives none."""
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
    return read_report(usage)


def read_report(usage: Mapping[str, Any]) -> ClaudeReport | str:
    """The report in an answer to `get_context_usage`."""
    own = {str(c.get("name")): _count(c) for c in _objects(usage.get("categories"))}
    counted = bool(own.get("System prompt"))
    loads: list[Load] = []
    kinds: tuple[tuple[Kind, str], ...] = (("prompt", "System prompt"), ("tools", "System tools"))
    for kind, category in kinds:
        tokens = own.get(category, 0) if counted else None
        name = f"its own {kind}"
        loads.append(Load(kind=kind, name=name, origin="cli", tokens=tokens, counted=counted))
    for file in _objects(usage.get("memoryFiles")):
        path = str(file.get("path", ""))
        loads.append(_load("rules", path, str(file.get("type")), file, path, counted=counted))
    # Claude counts skills without a request.
    loads += [
        _load("skill", _full_name(skill), str(skill.get("source")), skill, "")
        for skill in _objects(table(usage.get("skills")).get("skillFrontmatter"))
    ]
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
    return ClaudeReport(loads=tuple(loads), counted=counted, total=sum(kept))


def with_files(report: ClaudeReport, files: Sequence[Load]) -> tuple[Load, ...]:
    """The reported loads with what the files know: their place, their content, and an estimate
    where claude did not count. Hooks, plugins and servers that did not come up are added.
    """
    by_name: dict[tuple[Kind, str, Origin | None], Load] = {}
    for load in files:
        # Claude calls commands skills, and does not say whose a server is.
        kind = "skill" if load.kind == "command" else load.kind
        by_name.setdefault((kind, load.name, None if kind == "server" else load.origin), load)
    found: list[Load] = []
    own_skills: list[Load] = []
    for load in report.loads:
        server = load.kind == "server"
        known = by_name.get((load.kind, load.name, None if server else load.origin))
        if load.kind == "skill" and load.origin == "cli":
            own_skills.append(load)
        elif known is None:
            found.append(load)
        else:
            where = f"{known.where}, {load.where}" if server else known.where
            tokens = load.tokens if load.counted or load.tokens else known.tokens
            found.append(
                structs.replace(
                    load, origin=known.origin, where=where, tokens=tokens, digest=known.digest
                )
            )
    if own_skills:
        name = f"its own {len(own_skills)} skills"
        found.append(Load(kind="skill", name=name, origin="cli", tokens=total(own_skills)))
    up = {load.name for load in report.loads if load.kind == "server"}
    found += [load for load in files if load.kind in ("hooks", "plugin")]
    found += [load for load in files if load.kind == "server" and load.name not in up]
    return tuple(found)


def _load(
    kind: Kind,
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
    """The name of a skill with its plugin, which claude sometimes leaves out."""
    name, plugin = str(skill.get("name")), skill.get("pluginName")
    return f"{plugin}:{name}" if plugin and ":" not in name else name


def _servers_up(talk: Dialogue) -> None:
    """Wait until every server has come up or failed, for _SERVERS seconds at most."""
    until = time.monotonic() + _SERVERS
    number = 1
    while time.monotonic() < until:
        status = _request(talk, "mcp_status", number)
        servers = _objects((status or {}).get("mcpServers"))
        if not any(server.get("status") == "pending" for server in servers):
            return
        number += 1
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
