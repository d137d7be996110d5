"""What codex will load, by the files that it reads, and what it says of that itself."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fleet.coders.claude.home import table
from fleet.coders.codex import home as codex_home
from fleet.doctor.context.load import Load, Origin, Piece, estimate
from fleet.doctor.context.rule_files import Rules, above
from fleet.doctor.context.skills import skills
from fleet.doctor.finding import Finding
from fleet.processes.bounded_call import call

PATIENCE = 20.0
#: What it reads of a project's AGENTS.md files by default, all together.
_READ = 32 << 10
#: One of the two in each directory; the first wins.
_NAMES = ("AGENTS.override.md", "AGENTS.md")


def pieces(env: Mapping[str, str], cwd: Path) -> tuple[list[Piece], list[Finding]]:
    """All of it, and what is wrong with the files."""
    home = codex_home.place(env)
    rules = Rules(Path(env.get("HOME", "/")))
    _first(rules, home, "user")
    before = len(rules.pieces)
    own = above(cwd, stop_at_top=True)
    for path in own:
        _first(rules, path, "project")
    found, findings = list(rules.pieces), list(rules.findings)
    long = sum(piece.load.tokens or 0 for piece in found[before:])
    if long > estimate(_READ):
        what = (
            f"the project's AGENTS.md files hold about {long:,} tokens; codex reads the first 8,192"
        )
        fix = "Shorten them, or raise project_doc_max_bytes in config.toml."
        findings.append(Finding("context", "warning", what, fix))
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


def _first(rules: Rules, folder: Path, origin: Origin) -> None:
    for name in _NAMES:
        if rules.add(folder / name, origin, imports=False):
            return


def _servers(config: Path, origin: Origin) -> list[Piece]:
    found: list[Piece] = []
    for name, body in codex_home.servers_of(config).items():
        if body.get("enabled") is not False:
            what = {key: body[key] for key in ("command", "args", "url") if body.get(key)}
            same = json.dumps(what, sort_keys=True, default=str) if what else ""
            load = Load(kind="server", name=name, origin=origin, where=str(config))
            found.append(Piece(load=load, same=same))
    return found


def ask(
    program: str, flags: Sequence[str], env: Mapping[str, str], cwd: Path, model: str
) -> int | str:
    """The bytes of all that it would tell the model besides the task; a sentence if unknown.

    Its tools are not in this account.
    """
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
    """How one of these goes away."""
    if load.kind == "server" and load.origin == "user":
        return f"codex mcp remove {load.name}"
    if load.kind == "server":
        return f"take {load.name} out of {load.where}"
    return f"delete {load.where}" if load.kind == "rules" else f"rm -r {Path(load.where).parent}"
