"""What codex loads, by the files that it reads, and how large it says that its prompt is."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fleet.coders.claude.home import table
from fleet.coders.codex import home as codex_home
from fleet.doctor.check_result import CheckResult
from fleet.doctor.context.claude_files import server_load
from fleet.doctor.context.instruction_files import Rules, parents, skills
from fleet.doctor.context.load import Load, Origin, estimate, total
from fleet.processes.bounded_call import call

#: Seconds for one answer.
PATIENCE = 20.0
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


def prompt_size(
    program: str, flags: Sequence[str], env: Mapping[str, str], cwd: Path, model: str
) -> int | str:
    """The bytes of codex's prompt without its tools and the task; a sentence if unknown."""
    settings = ("-c", f"model={json.dumps(model)}") if model else ()
    argv = [program, "debug", "prompt-input", "--disable", "plugins", *settings, *flags]
    answer = call(argv, env=env, cwd=cwd, timeout=PATIENCE)
    if answer.problem or answer.code != 0:
        return f"codex {answer.problem or 'did not tell its prompt'}"
    try:
        messages = json.loads(answer.text)
    except (ValueError, RecursionError):
        return "codex answered with something else than its prompt"
    size = sum(len(text.encode()) for text in _texts(messages))
    return size or "codex answered with something else than its prompt"


def _texts(messages: object) -> list[str]:
    found: list[str] = []
    for message in cast("list[object]", messages) if isinstance(messages, list) else []:
        content: Any = table(message).get("content")
        for part in cast("list[object]", content) if isinstance(content, list) else []:
            text = table(part).get("text")
            if isinstance(text, str):
                found.append(text)
    return found


def fix(load: Load) -> str:
    """How to remove a load."""
    if load.kind == "server" and load.origin == "user":
        return f"codex mcp remove {load.name}"
    if load.kind == "server":
        return f"take {load.name} out of {load.where}"
    return f"delete {load.where}" if load.kind == "rules" else f"rm -r {Path(load.where).parent}"
