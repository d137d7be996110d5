"""What codex loads, by files: rules, skills and servers."""

from collections.abc import Mapping
from pathlib import Path

from fleet.coders.codex import home as codex_home
from fleet.doctor.check_result import CheckResult
from fleet.doctor.context.claude_files import server_load
from fleet.doctor.context.instruction_files import Rules, parents, skills
from fleet.doctor.context.load import Load, Origin, estimate, total

#: How many bytes of a project's AGENTS.md files codex reads by default, all together.
_READ = 32 << 10
#: codex reads one of the two in each directory, the first that exists.
_NAMES = ("AGENTS.override.md", "AGENTS.md")


def loads(env: Mapping[str, str], cwd: Path) -> tuple[list[Load], list[CheckResult]]:
    """All loads, and what is wrong with the files."""
    home = codex_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _add_first(rules, home, "user")
    own = parents(cwd, in_repository=True)
    for path in own:
        _add_first(rules, path, "project")
    found, findings = list(rules.loads), list(rules.findings)
    long = total(load for load in found if load.origin == "project")
    if long > estimate(_READ):
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
    found += _servers(home / "config.toml", "user")
    for file in codex_home.project_configs(str(cwd)):
        found += _servers(file, "project")
    return found, findings


def _add_first(rules: Rules, folder: Path, origin: Origin) -> None:
    any(rules.add(folder / name, origin, imports=False) for name in _NAMES)


def _servers(config: Path, origin: Origin) -> list[Load]:
    return [
        server_load(name, body, origin, config)
        for name, body in codex_home.servers_of(config).items()
        if body.get("enabled") is not False
    ]
