"""What claude and codex load, by their files: rules with their imports, skills, commands, agents,
plugins and servers.

Of a skill, a command or an agent a CLI loads only the name and the description.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fleet.coders.claude import home as claude_home
from fleet.coders.claude.home import read_json, table
from fleet.coders.codex import home as codex_home
from fleet.doctor.check_result import CheckResult
from fleet.doctor.context.load import Load, LoadKind, Origin, digest, estimate, total
from fleet.files import lenient_read

#: How many bytes of a file are read.
READ = 256 << 10
#: Bytes from which on a file of rules is worth a finding.
_HEAVY = 40_000
#: How deep claude follows imports, and how many files are read at most.
_DEPTH = 5
_MOST_RULES = 200
_MOST_NAMES = 500

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?:^|\s)@(~?[\w./\-][^\s]*)")
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(name|description):[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_MANAGED = Path("/etc/claude-code")
#: How many bytes of a project's AGENTS.md files codex reads by default, all together.
_CODEX_READS = 32 << 10
#: codex reads one of the two in each directory, the first that exists.
_CODEX_RULES = ("AGENTS.override.md", "AGENTS.md")


class Rules:
    """Collects files of rules (CLAUDE.md, AGENTS.md) and their imports, each file once."""

    def __init__(self, user_home: Path) -> None:
        self.loads: list[Load] = []
        self.findings: list[CheckResult] = []
        self._home = user_home
        self._read: set[Path] = set()

    def add(
        self, path: Path, origin: Origin, *, imports: bool, importers: Sequence[Path] = ()
    ) -> bool:
        """Add a file, with imports if the CLI follows them. False if there is no such file."""
        content = lenient_read.read(path, READ)
        if content is None:
            return False
        real = Path(os.path.realpath(path))
        if content.problem:
            self._warn(f"{path} cannot be read: {content.problem}", "Mend it, or take it away.")
        elif real in importers:
            importer = importers[-1]
            what = f"{path} imports itself, by way of {importer}"
            self._warn(what, f"Take the @ out of {importer}.")
        elif real not in self._read and len(self.loads) < _MOST_RULES:
            self._read.add(real)
            tokens = estimate(content.size)
            load = Load(
                kind="rules", name=str(path), origin=origin, where=str(path), tokens=tokens,
                digest=digest(content),
            )  # fmt: skip
            self.loads.append(load)
            if content.size > _HEAVY:
                what = f"{path} holds about {tokens:,} tokens, which count at every turn"
                rest = "move the rest to a skill, or to files read on demand."
                self._warn(what, f"Keep what every task needs; {rest}")
            if imports and len(importers) < _DEPTH:
                for imported in self._imports(path, content.text):
                    self.add(imported, origin, imports=True, importers=(*importers, real))
        return True

    def _warn(self, what: str, fix: str) -> None:
        self.findings.append(CheckResult("context", "warning", what, fix))

    def _imports(self, path: Path, text: str) -> Iterator[Path]:
        for word in _IMPORT.findall(_CODE.sub(" ", text)):
            name = word.rstrip(".,;:)")
            if name.startswith("~/"):
                yield self._home / name[2:]
            elif "\0" not in name:
                yield path.parent / name


def parents(cwd: Path, *, in_repository: bool) -> list[Path]:
    """A directory and those above, the outermost first; or only those of the repository."""
    chain = [cwd, *cwd.parents]
    if in_repository:
        top = next((n for n, path in enumerate(chain) if os.path.exists(path / ".git")), 0)  # noqa: PTH110 - no error for an unreadable directory
        chain = chain[: top + 1]
    return chain[::-1]


def skills(folder: Path, origin: Origin, prefix: str = "") -> Iterator[Load]:
    """`<folder>/<name>/SKILL.md`."""
    for name in _names(folder):
        yield from _described("skill", folder / name / "SKILL.md", name, origin, prefix)


def pages(kind: LoadKind, folder: Path, origin: Origin, prefix: str = "") -> Iterator[Load]:
    """`<folder>/<name>.md`: commands, agents or rules."""
    for name in _names(folder):
        if name.endswith(".md"):
            yield from _described(kind, folder / name, name.removesuffix(".md"), origin, prefix)


def _described(
    kind: LoadKind, path: Path, name: str, origin: Origin, prefix: str
) -> Iterator[Load]:
    content = lenient_read.read(path, READ)
    if content is None or content.problem:
        return
    front = _FRONT_MATTER.match(content.text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    full_name = prefix + (fields.get("name", "").strip().strip("'\"") or name)
    loaded = f"{full_name}: {fields.get('description', '')}"
    yield Load(
        kind=kind, name=full_name, origin=origin, where=str(path),
        tokens=estimate(len(loaded.encode())), digest=digest(content),
    )  # fmt: skip


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_NAMES]  # noqa: PTH208
    except (OSError, ValueError):
        return []


def claude_loads(env: Mapping[str, str], cwd: Path) -> tuple[list[Load], list[CheckResult]]:
    """All that claude loads, and what is wrong with the files."""
    home = claude_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _add_claude_rules(rules, home, cwd)
    found, findings = list(rules.loads), list(rules.findings)
    # The project may lie below the user's own .claude directory, which is not the project's.
    own = [path for path in parents(cwd, in_repository=True) if path / ".claude" != home]
    found += _extras(home, "user")
    for path in own:
        found += _extras(path / ".claude", "project")
    found += _plugins(home, own, findings)
    found += _claude_servers(env, cwd, own, findings)
    return found, findings


def _add_claude_rules(rules: Rules, home: Path, cwd: Path) -> None:
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


def _claude_servers(
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


def codex_loads(env: Mapping[str, str], cwd: Path) -> tuple[list[Load], list[CheckResult]]:
    """All that codex loads, and what is wrong with the files."""
    home = codex_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _add_first(rules, home, "user")
    own = parents(cwd, in_repository=True)
    for path in own:
        _add_first(rules, path, "project")
    found, findings = list(rules.loads), list(rules.findings)
    long = total(load for load in found if load.origin == "project")
    if long > estimate(_CODEX_READS):
        what = (
            f"the project's AGENTS.md files hold about {long:,} tokens; codex reads the first 8,192"
        )
        fix = "Shorten them, or raise project_doc_max_bytes in config.toml."
        findings.append(CheckResult("context", "warning", what, fix))
    found += skills(home / "skills/.system", "cli")
    for folder in (home / "skills", Path(env.get("HOME", "/")) / ".agents/skills"):
        found += skills(folder, "user")
    for path in own:
        for name in (".codex/skills", ".agents/skills"):
            found += skills(path / name, "project")
    found += _codex_servers(home / "config.toml", "user")
    for file in codex_home.project_configs(str(cwd)):
        found += _codex_servers(file, "project")
    return found, findings


def _add_first(rules: Rules, folder: Path, origin: Origin) -> None:
    any(rules.add(folder / name, origin, imports=False) for name in _CODEX_RULES)


def _codex_servers(config: Path, origin: Origin) -> list[Load]:
    return [
        server_load(name, body, origin, config)
        for name, body in codex_home.servers_of(config).items()
        if body.get("enabled") is not False
    ]
