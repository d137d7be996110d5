"""`fleet doctor --context`: what each CLI loads before the task, which content is loaded twice, and
how much each of the three contexts loads.
"""

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from fleet import coders as registry
from fleet import config
from fleet.accounts import credentials
from fleet.accounts.kept_secret import SecretTrouble
from fleet.coders import claude
from fleet.coders.base import Coder, Options
from fleet.config import Config
from fleet.control import Control
from fleet.doctor.check_coders import environment
from fleet.doctor.check_result import Installation
from fleet.doctor.context import claude_reported
from fleet.doctor.context.cli_loads import claude_loads, codex_loads
from fleet.doctor.context.load import Load, Survey, duplicates, total
from fleet.home import home_from
from fleet.schemas import Account, Context
from fleet.schemas.policy import CONTEXTS

__all__ = ["COUNTS", "MEASURED", "surveys"]

#: The first request of a lean run against a full one's, as `make bench` measures it.
MEASURED: Mapping[str, float] = {"claude": 0.27, "codex": 0.54}

#: The CLIs whose files and reports fleet can read.
_KNOWN = ("claude", "codex")
_ESTIMATE = "an estimate from the files: bytes / 4"
#: The CLI that counts by itself, in a process that obeys the directory: its MCP servers begin, and
#: helpers that the project's settings name.
COUNTS = "claude"


def surveys(
    cwd: Path,
    only: str | None,
    env: Mapping[str, str] = os.environ,
    *,
    account: str | None = None,
    start: bool = False,
) -> list[Survey]:
    """What the installed CLIs load, or the one that `only` or `account` names, installed or not.

    By their files alone: no program is started, so that nothing of the project runs. With `start`
    claude is started in the directory to count by itself, as in a run without a box. A CLI on an
    account loads from the directory of the account, not of the user.
    """
    home = home_from(env)
    settings = config.load(home.config) if home.config.exists() else Config()
    installation = Installation(home=home, env=env, now=datetime.now(UTC), config=settings)
    if account is not None:
        only = Control(home, settings).account(account).coder
    names = [only] if only else [n for n in _KNOWN if shutil.which(n, path=env.get("PATH"))]
    found: list[Survey] = []
    for name in names or _KNOWN:
        driver = registry.make(name, settings.model, home=home.path, inherited=True)
        chosen = _account(name, account, settings)
        given = _variables(chosen, type(driver), env) if chosen else {}
        envs: dict[Context, Mapping[str, str]] = {
            context: environment(installation, name, given, options=Options(context=context))
            for context in CONTEXTS
        }
        survey = _survey(name, envs, cwd, driver.model, start=start)
        found.append(structs.replace(survey, account=chosen.name if chosen else ""))
    return found


def _variables(account: Account, kind: type[Coder], env: Mapping[str, str]) -> dict[str, str]:
    """The variables for the account's directory and secret; claude needs both to count."""
    try:
        return credentials.variables(account, kind, env)
    except SecretTrouble:
        return {kind.state_variable: account.directory} if kind.state_variable else {}


def _account(coder: str, wanted: str | None, settings: Config) -> Account | None:
    """The wanted account, or the first that gets work; None: the user's own login."""
    if wanted is not None:
        return settings.accounts[wanted]
    own = [each for each in settings.accounts.values() if each.coder == coder]
    return next((each for each in own if each.enabled and each.weight), own[0] if own else None)


def _survey(
    coder: str,
    envs: Mapping[Context, Mapping[str, str]],
    cwd: Path,
    model: str,
    *,
    start: bool,
) -> Survey:
    """What one coder's CLI loads in a directory, in the environment of each context."""
    if coder not in _KNOWN:
        source = f"fleet does not know what {coder} loads"
        return Survey(coder=coder, cwd=str(cwd), source=source, totals={})
    read = claude_loads if coder == COUNTS else codex_loads
    files, findings = read(envs["full"], cwd)
    by_files = Survey(
        coder=coder,
        cwd=str(cwd),
        source=_ESTIMATE,
        loads=tuple(files),
        duplicates=duplicates(files, coder),
        totals={
            context: total(load for load in files if _is_loaded(coder, context, load))
            for context in CONTEXTS
        },
        beyond="and the CLI's own prompt and tools",
        findings=tuple(findings),
    )
    if coder != COUNTS:
        return by_files
    if not start:
        return structs.replace(by_files, source=f"{_ESTIMATE} (claude was not started)")
    reports = _reports(envs, cwd, model)
    full = reports["full"]
    if isinstance(full, str):
        return structs.replace(by_files, source=f"{_ESTIMATE} ({full})")
    return structs.replace(
        by_files,
        source="claude's own count, for which no model was asked",
        counted=True,
        loads=tuple(claude_reported.with_files(full, files)),
        totals={
            context: None if isinstance(report, str) else total(report)
            for context, report in reports.items()
        },
        beyond="",
    )


def _reports(
    envs: Mapping[Context, Mapping[str, str]], cwd: Path, model: str
) -> dict[Context, list[Load] | str]:
    """Claude's own count for each context, or why there is none."""
    program = shutil.which("claude", path=envs["full"].get("PATH"))
    if program is None:
        return dict.fromkeys(CONTEXTS, "claude is not installed")

    def ask(context: Context) -> list[Load] | str:
        flags = claude.context_flags(Options(context=context))
        return claude_reported.ask_claude(program, flags, envs[context], cwd, model)

    with ThreadPoolExecutor(max_workers=3) as pool:
        return dict(zip(CONTEXTS, pool.map(ask, CONTEXTS), strict=True))


def _is_loaded(coder: str, context: Context, load: Load) -> bool:
    if context == "full" or (coder == "codex" and load.kind == "rules"):
        return True
    if context == "project":
        return load.origin in ("cli", "project")
    return load.origin == "project" and load.kind == "rules"
