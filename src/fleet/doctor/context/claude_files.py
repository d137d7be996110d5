"""What claude will load, by the files that it reads: rules, skills, plugins, servers, hooks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fleet.coders.claude import home as claude_home
from fleet.coders.claude.home import read_json, table
from fleet.doctor.context.load import Load, Origin, Piece
from fleet.doctor.context.rule_files import Rules, above
from fleet.doctor.context.skills import pages, skills
from fleet.doctor.finding import Finding

_MANAGED = Path("/etc/claude-code")


def pieces(env: Mapping[str, str], cwd: Path) -> tuple[list[Piece], list[Finding]]:
    """All of it, and what is wrong with the files."""
    home = claude_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _rules(rules, home, cwd)
    found, findings = list(rules.pieces), list(rules.findings)
    # The user's own folder may lie on the way: it is not the project's.
    own = [path for path in above(cwd, stop_at_top=True) if path / ".claude" != home]
    found += _extras(home, "user")
    for path in own:
        found += _extras(path / ".claude", "project")
    settings = _settings(home, own, findings)
    found += _plugins(home, settings, findings)
    found += _servers(env, cwd, own, findings)
    for path, origin, setting in settings:
        if count := _hooks(setting):
            name = "a hook" if count == 1 else f"{count} hooks"
            load = Load(kind="hooks", name=name, origin=origin, where=str(path), tokens=0)
            found.append(Piece(load=load))
    return found, findings


def _rules(rules: Rules, home: Path, cwd: Path) -> None:
    rules.add(_MANAGED / "CLAUDE.md", "user", imports=True)
    rules.add(home / "CLAUDE.md", "user", imports=True)
    _folder(rules, home / "rules", "user")
    for path in above(cwd, stop_at_top=False):
        for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
            # One that lies in the user's own configuration is there by another name already.
            if (path / name) != home / "CLAUDE.md":
                rules.add(path / name, "project", imports=True)
        if path / ".claude" != home:
            _folder(rules, path / ".claude/rules", "project")


def _folder(rules: Rules, folder: Path, origin: Origin) -> None:
    for piece in pages("rules", folder, origin):
        rules.add(Path(piece.load.where), origin, imports=True)


def _extras(folder: Path, origin: Origin, prefix: str = "") -> Iterator[Piece]:
    yield from skills(folder / "skills", origin, prefix)
    yield from pages("command", folder / "commands", origin, prefix)
    yield from pages("agent", folder / "agents", origin, prefix)


def _settings(
    home: Path, own: Sequence[Path], findings: list[Finding]
) -> list[tuple[Path, Origin, dict[str, Any]]]:
    places: list[tuple[Path, Origin]] = [(home / "settings.json", "user")]
    for path in own:
        places.append((path / ".claude/settings.json", "project"))
        places.append((path / ".claude/settings.local.json", "project"))
    return [(path, origin, _read(path, findings)) for path, origin in places]


def _plugins(
    home: Path, settings: Sequence[tuple[Path, Origin, dict[str, Any]]], findings: list[Finding]
) -> Iterator[Piece]:
    enabled: dict[str, bool] = {}
    for _, _, setting in settings:
        own = table(setting.get("enabledPlugins"))
        enabled |= {name: value is True for name, value in own.items()}
    installed = table(_read(home / "plugins/installed_plugins.json", findings).get("plugins"))
    for name in sorted(name for name, on in enabled.items() if on):
        copies = installed.get(name)
        for copy in cast("list[Any]", copies) if isinstance(copies, list) else []:
            place = table(copy).get("installPath")
            if isinstance(place, str) and "\0" not in place:
                yield from _plugin(name, Path(place), findings)


def _plugin(name: str, place: Path, findings: list[Finding]) -> Iterator[Piece]:
    prefix, file = f"{name.partition('@')[0]}:", place / ".mcp.json"
    yield Piece(load=Load(kind="plugin", name=name, origin="plugin", where=str(place), tokens=0))
    yield from _extras(place, "plugin", prefix)
    for server, body in table(_read(file, findings).get("mcpServers")).items():
        yield _server(f"{prefix}{server}", body, "plugin", file)


def _servers(
    env: Mapping[str, str], cwd: Path, own: Sequence[Path], findings: list[Finding]
) -> Iterator[Piece]:
    state = claude_home.state_file(env)
    known = _read(state, findings)
    local = table(table(known.get("projects")).get(str(cwd)))
    for servers in (known, local):
        for name, body in table(servers.get("mcpServers")).items():
            yield _server(name, body, "user", state)
    for path in own:
        file = path / ".mcp.json"
        for name, body in table(_read(file, findings).get("mcpServers")).items():
            yield _server(name, body, "project", file)


def _server(name: str, body: object, origin: Origin, where: Path) -> Piece:
    own = table(body)
    what = {key: own[key] for key in ("command", "args", "url") if own.get(key)}
    same = json.dumps(what, sort_keys=True, default=str) if what else ""
    return Piece(load=Load(kind="server", name=name, origin=origin, where=str(where)), same=same)


def _hooks(settings: Mapping[str, Any]) -> int:
    groups = (group for event in table(settings.get("hooks")).values() for group in _list(event))
    return sum(len(_list(table(group).get("hooks"))) for group in groups)


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _read(path: Path, findings: list[Finding]) -> dict[str, Any]:
    found, problem = read_json(path)
    if problem:
        what = f"{path} is passed over: {problem}"
        findings.append(Finding("context", "warning", what, "Mend the file."))
    return found


def fix(load: Load) -> str:
    """How one of these goes away."""
    match load.kind, load.origin:
        case "plugin", _:
            return f"claude plugin uninstall {load.name}"
        case _, "plugin":
            return f"claude plugin disable {load.name.partition(':')[0]}"
        case "server", "user":
            return f"claude mcp remove {load.name}"
        case "server", _:
            return f"take {load.name} out of {load.where}"
        case "rules", _:
            return f"delete {load.where}, or import it (@) from the other"
        case "skill", _:
            return f"rm -r {Path(load.where).parent}"
        case _:
            return f"rm {load.where}"
