"""`fleet doctor --context`: what each CLI loads before it reads a task, which content is loaded
twice, and how much each of the three contexts loads.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from fleet import coders as registry
from fleet import config
from fleet.accounts import credentials
from fleet.accounts.credentials import AccountTrouble
from fleet.coders import claude
from fleet.coders.base import Coder, Options
from fleet.coders.codex import home as codex_home
from fleet.config import Config
from fleet.control import Control
from fleet.doctor.check_coders import environment
from fleet.doctor.check_result import CheckResult, Installation
from fleet.doctor.context import claude_files, claude_reported, codex_files
from fleet.doctor.context.claude_reported import ClaudeReport
from fleet.doctor.context.load import Load, Survey, duplicates, estimate, total
from fleet.home import home_from
from fleet.schemas import Account, Context
from fleet.schemas.policy import CONTEXTS

__all__ = ["MEASURED", "survey", "surveys"]

#: The first request of a lean run against a full one's, as `make bench` measures it.
MEASURED: Mapping[str, float] = {"claude": 0.26, "codex": 0.48}

#: The CLIs whose files and reports fleet can read.
_KNOWN = ("claude", "codex")
_ESTIMATE = "an estimate from the files: bytes / 4"


def surveys(
    cwd: Path, only: str | None, env: Mapping[str, str] = os.environ, *, account: str | None = None
) -> list[Survey]:
    """What the installed CLIs load, or the one that `only` or `account` names, installed or not.

    A CLI on an account loads from the directory of the account, not of the user.
    """
    home = home_from(env)
    settings = config.load(home.config) if home.config.exists() else Config()
    installation = Installation(home=home, env=env, now=datetime.now(UTC), config=settings)
    if account is not None:
        only = Control(home, settings).account(account).coder
    if only is not None:
        names = [only]
        registry.find(only, home.path)  # raises for an unknown name
    else:
        names = [name for name in _KNOWN if shutil.which(name, path=env.get("PATH"))]

    def one(name: str) -> Survey:
        driver = registry.make(name, settings.model, home=home.path, inherited=True)
        program = shutil.which(driver.program or name, path=env.get("PATH"))
        chosen = _account(name, account, settings)
        given = _variables(chosen, type(driver), env) if chosen else {}
        found = survey(installation, name, program, cwd, driver.model, given)
        return structs.replace(found, account=chosen.name if chosen else "")

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(one, names or _KNOWN))


def _variables(account: Account, kind: type[Coder], env: Mapping[str, str]) -> dict[str, str]:
    """The variables for the account's directory and its secret; claude needs both to count."""
    try:
        return credentials.variables(account, kind, env)
    except AccountTrouble:
        return {kind.state_variable: account.directory} if kind.state_variable else {}


def _account(coder: str, wanted: str | None, settings: Config) -> Account | None:
    """The wanted account, or the first that gets work; None: the user's own login."""
    if wanted is not None:
        return settings.accounts[wanted]
    own = [each for each in settings.accounts.values() if each.coder == coder]
    return next((each for each in own if each.enabled and each.weight), own[0] if own else None)


def survey(
    installation: Installation,
    coder: str,
    program: str | None,
    cwd: Path,
    model: str,
    given: Mapping[str, str] | None = None,
) -> Survey:
    """What one coder's CLI loads in a directory. `program` is None if the CLI is not installed;
    `given` are the variables of an account.
    """
    envs: dict[Context, Mapping[str, str]] = {
        context: environment(installation, coder, given, options=Options(context=context))
        for context in CONTEXTS
    }
    if coder == "claude":
        return _claude(program, envs, cwd, model)
    if coder == "codex":
        return _codex(program, envs, cwd, model)
    return Survey(
        coder=coder, cwd=str(cwd), source=f"fleet does not know what {coder} loads", totals={}
    )


def _claude(
    program: str | None, envs: Mapping[Context, Mapping[str, str]], cwd: Path, model: str
) -> Survey:
    files, findings = claude_files.loads(envs["full"], cwd)

    def ask(context: Context) -> ClaudeReport | str:
        if program is None:
            return "claude is not installed"
        flags = claude.context_flags(Options(context=context))
        return claude_reported.ask_claude(program, flags, envs[context], cwd, model)

    with ThreadPoolExecutor(max_workers=3) as pool:
        reports = dict(zip(CONTEXTS, pool.map(ask, CONTEXTS), strict=True))
    full = reports["full"]
    if isinstance(full, str):
        return _from_files("claude", cwd, files, findings, f"{_ESTIMATE} ({full})")
    loads = claude_reported.with_files(full, files)
    if not full.counted:
        source = "names by claude's own account; it could not count (no login, or no network):"
        return _from_files("claude", cwd, loads, findings, f"{source} sizes are {_ESTIMATE}")
    return Survey(
        coder="claude",
        cwd=str(cwd),
        source="claude's own count, for which no model was asked",
        counted=True,
        loads=loads,
        duplicates=duplicates(loads, claude_files.fix),
        totals={
            context: None if isinstance(report, str) or not report.counted else report.total
            for context, report in reports.items()
        },
        findings=tuple(findings),
    )


def _codex(
    program: str | None, envs: Mapping[Context, Mapping[str, str]], cwd: Path, model: str
) -> Survey:
    sizes: dict[Context, int | str] = dict.fromkeys(CONTEXTS, "codex is not installed")
    if program is not None:
        # The first start in a new home adds codex's own skills, so that size does not count. The
        # questions follow one another because they share the home.
        fresh = not (codex_home.place(envs["full"]) / "skills/.system").exists()
        asked: tuple[Context, ...] = ("full", *CONTEXTS) if fresh else CONTEXTS
        for context in asked:
            flags = codex_home.left_out(envs[context], str(cwd), context, ())
            sizes[context] = codex_files.prompt_size(program, flags, envs[context], cwd, model)
            if isinstance(sizes["full"], str):
                break
    files, findings = codex_files.loads(envs["full"], cwd)
    full = sizes["full"]
    if isinstance(full, str):
        return _from_files("codex", cwd, files, findings, f"{_ESTIMATE} ({full})")
    rest = max(0, estimate(full) - total(files))
    own = Load(kind="prompt", name="its own prompt", origin="cli", tokens=rest)
    tools = Load(kind="tools", name="its own tools", origin="cli")
    return Survey(
        coder="codex",
        cwd=str(cwd),
        source="the prompt that codex itself shows, bytes / 4: without its tools, and for some"
        " models without its instructions",
        loads=(own, tools, *files),
        duplicates=duplicates(files, codex_files.fix),
        totals={
            context: None if isinstance(size, str) else estimate(size)
            for context, size in sizes.items()
        },
        beyond="and its tools",
        findings=tuple(findings),
    )


def _from_files(
    coder: str, cwd: Path, loads: Sequence[Load], findings: Sequence[CheckResult], source: str
) -> Survey:
    """A survey by the sizes of the files, where the CLI did not count."""
    fix = claude_files.fix if coder == "claude" else codex_files.fix
    return Survey(
        coder=coder,
        cwd=str(cwd),
        source=source,
        loads=tuple(loads),
        duplicates=duplicates(loads, fix),
        totals={
            context: total(load for load in loads if _is_loaded(coder, context, load))
            for context in CONTEXTS
        },
        beyond="and the CLI's own prompt and tools",
        findings=tuple(findings),
    )


def _is_loaded(coder: str, context: Context, load: Load) -> bool:
    if context == "full" or (coder == "codex" and load.kind == "rules"):
        return True
    if context == "project":
        return load.origin in ("cli", "project")
    return load.origin == "project" and load.kind == "rules"
