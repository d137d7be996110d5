"""What claude loads, by files: rules, skills, plugins and servers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fleet.coders.claude import home as claude_home
from fleet.coders.claude.home import read_json, table
from fleet.doctor.check_result import CheckResult
from fleet.doctor.context.instruction_files import Rules, pages, parents, skills
from fleet.doctor.context.load import Load, Origin

_MANAGED = Path("/etc/claude-code")


def loads(env: Mapping[str, str], cwd: Path) -> tuple[list[Load], list[CheckResult]]:
    """All loads, and what is wrong with the files."""
    home = claude_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _add_rules(rules, home, cwd)
    found, findings = list(rules.loads), list(rules.findings)
    # The project may lie below the user's own .claude directory, which is not the project's.
    own = [path for path in parents(cwd, in_repository=True) if path / ".claude" != home]
    found += _extras(home, "user")
    for path in own:
        found += _extras(path / ".claude", "project")
    found += _plugins(home, own, findings)
    found += _servers(env, cwd, own, findings)
    return found, findings


def _add_rules(rules: Rules, home: Path, cwd: Path) -> None:
    rules.add(_MANAGED / "CLAUDE.md", "user", imports=True)
    rules.add(home / "CLAUDE.md", "user", imports=True)
    _add_folder(rules, home / "rules", "user")
    for path in parents(cwd, in_repository=False):
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            if (path / name) != home / "CLAUDE.md":
                rules.add(path / name, "project", imports=True)
        if path / ".claude" != home:
            _add_folder(rules, path / ".claude/rules", "project")


def _add_folder(rules: Rules, folder: Path, origin: Origin) -> None:
    for load in pages("rules", folder, origin):
        rules.add(Path(load.where), origin, imports=True)


def _extras(folder: Path, origin: Origin, prefix: str = "") -> Iterator[Load]:
    yield from skills(folder / "skills", origin, prefix)
    yield from pages("command", folder / "commands", origin, prefix)
    yield from pages("agent", folder / "agents", origin, prefix)


def _plugins(home: Path, own: Sequence[Path], findings: list[CheckResult]) -> Iterator[Load]:
    """Plugins that the settings switch on; the project's word comes after the user's."""
    files = [home / "settings.json"]
    for path in own:
        files += [path / ".claude/settings.json", path / ".claude/settings.local.json"]
    enabled: dict[str, Any] = {}
    for file in files:
        enabled |= table(_read(file, findings).get("enabledPlugins"))
    installed = table(_read(home / "plugins/installed_plugins.json", findings).get("plugins"))
    for name in sorted(name for name, on in enabled.items() if on is True):
        copies: Any = installed.get(name)
        for copy in cast("list[object]", copies) if isinstance(copies, list) else []:
            place = table(copy).get("installPath")
            if isinstance(place, str) and "\0" not in place:
                yield from _plugin(name, Path(place), findings)


def _plugin(name: str, place: Path, findings: list[CheckResult]) -> Iterator[Load]:
    prefix, file = f"{name.partition('@')[0]}:", place / ".mcp.json"
    yield Load(kind="plugin", name=name, origin="plugin", where=str(place), tokens=0)
    yield from _extras(place, "plugin", prefix)
    for server, body in table(_read(file, findings).get("mcpServers")).items():
        yield server_load(f"{prefix}{server}", body, "plugin", file)


def _servers(
    env: Mapping[str, str], cwd: Path, own: Sequence[Path], findings: list[CheckResult]
) -> Iterator[Load]:
    state = claude_home.state_file(env)
    known = _read(state, findings)
    local = table(table(known.get("projects")).get(str(cwd)))
    for servers in (known, local):
        for name, body in table(servers.get("mcpServers")).items():
            yield server_load(name, body, "user", state)
    for path in own:
        file = path / ".mcp.json"
        for name, body in table(_read(file, findings).get("mcpServers")).items():
            yield server_load(name, body, "project", file)


def server_load(name: str, body: object, origin: Origin, where: Path) -> Load:
    """An MCP server; the started command is the content."""
    own = table(body)
    started = {key: own[key] for key in ("command", "args", "url") if own.get(key)}
    content = json.dumps(started, sort_keys=True, default=str) if started else ""
    return Load(kind="server", name=name, origin=origin, where=str(where), digest=content)


def _read(path: Path, findings: list[CheckResult]) -> dict[str, Any]:
    content, problem = read_json(path)
    if problem:
        what = f"{path} is passed over: {problem}"
        findings.append(CheckResult("context", "warning", what, "Mend the file."))
    return content
