"""`fleet doctor --context`: what each CLI loads before it reads a task, what is there twice, and
what each of the three contexts would load.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
from fleet.doctor.context import claude_files, claude_reported, codex_files, duplicates
from fleet.doctor.context.load import Load, Piece, Survey, estimate, total
from fleet.doctor.context.rule_files import HEAVY_WORDS
from fleet.doctor.finding import Finding, Patient
from fleet.home import home_from
from fleet.schemas import Account, Context
from fleet.schemas.policy import CONTEXTS

__all__ = ["MEASURED", "survey", "surveys"]

#: The first request of a lean run against a full one's, as `make bench` measures it.
MEASURED: Mapping[str, float] = {"claude": 0.26, "codex": 0.48}

#: The CLIs whose files and words fleet understands.
_KNOWN = ("claude", "codex")
_ESTIMATE = "an estimate from the files: bytes / 4"


def surveys(
    cwd: Path, only: str | None, env: Mapping[str, str] = os.environ, *, account: str | None = None
) -> list[Survey]:
    """What the CLIs load that are installed, or the one that is named, installed or not.

    An account has a directory of its own, so what is loaded is the account's and not the user's.
    """
    home = home_from(env)
    settings = config.load(home.config) if home.config.exists() else Config()
    patient = Patient(home=home, env=env, now=datetime.now(UTC), config=settings)
    if account is not None:
        only = Control(home, settings).account(account).coder
    if only is not None:
        names = [only]
        registry.find(only, home.path)  # says what is wrong with a name that nobody has
    else:
        names = [name for name in _KNOWN if shutil.which(name, path=env.get("PATH"))]

    def one(name: str) -> Survey:
        driver = registry.make(name, settings.model, home=home.path, inherited=True)
        program = shutil.which(driver.program or name, path=env.get("PATH"))
        chosen = _account(name, account, settings)
        given = _variables(chosen, type(driver), env) if chosen else {}
        found = survey(patient, name, program, cwd, driver.model, given)
        return structs.replace(found, account=chosen.name if chosen else "")

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(one, names or _KNOWN))


def _variables(account: Account, kind: type[Coder], env: Mapping[str, str]) -> dict[str, str]:
    """Where the account has its state; and its secret, without which nothing is counted."""
    try:
        return credentials.variables(account, kind, env)
    except AccountTrouble:
        return {kind.state_variable: account.directory} if kind.state_variable else {}


def _account(coder: str, wanted: str | None, settings: Config) -> Account | None:
    """The account that is asked for, or the first that gets work; None: the user's own login."""
    if wanted is not None:
        return settings.accounts[wanted]
    own = [each for each in settings.accounts.values() if each.coder == coder]
    return next((each for each in own if each.enabled and each.weight), own[0] if own else None)


def survey(
    patient: Patient,
    coder: str,
    program: str | None,
    cwd: Path,
    model: str,
    given: Mapping[str, str] | None = None,
) -> Survey:
    """What one coder's CLI loads in a directory. `program` is None where it is not installed;
    `given` is what an account sets.
    """
    envs: dict[Context, Mapping[str, str]] = {
        context: environment(patient, coder, given, options=Options(context=context))
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
    pieces, findings = claude_files.pieces(envs["full"], cwd)
    answers: dict[Context, claude_reported.Said | str] = dict.fromkeys(
        CONTEXTS, "claude is not installed"
    )
    if program is not None:
        with ThreadPoolExecutor(max_workers=3) as pool:
            asked: dict[Context, Future[claude_reported.Said | str]] = {
                context: pool.submit(
                    claude_reported.ask,
                    program,
                    claude.context_flags(Options(context=context)),
                    envs[context],
                    cwd,
                    model,
                )
                for context in CONTEXTS
            }
            answers = {context: answer.result() for context, answer in asked.items()}
    full = answers["full"]
    if isinstance(full, str):
        return _from_files("claude", cwd, pieces, findings, f"{_ESTIMATE} ({full})")
    findings = _as_loaded(findings, pieces, full)
    loads = claude_reported.placed(full, pieces)
    if not full.counted:
        source = "names by claude's own account; it could not count (no login, or no network):"
        source = f"{source} sizes are {_ESTIMATE}"
        return _from_files("claude", cwd, pieces, findings, source, loads)
    totals: dict[Context, int | None] = {
        context: None if isinstance(said, str) or not said.counted else said.total
        for context, said in answers.items()
    }
    known = [Piece(load=load, text=p.text, same=p.same) for p, load in _matched(pieces, loads)]
    return Survey(
        coder="claude",
        cwd=str(cwd),
        source="claude's own count, for which no model was asked",
        counted=True,
        loads=loads,
        duplicates=tuple(duplicates.found(known, claude_files.fix)),
        totals=totals,
        findings=tuple(findings),
    )


def _as_loaded(
    findings: Sequence[Finding], pieces: Sequence[Piece], said: claude_reported.Said
) -> list[Finding]:
    """A file of rules that weighs too much may not be loaded at all: claude knows."""
    named = {load.name for load in said.loads if load.kind == "rules"}
    unread = {p.load.name for p in pieces if p.load.kind == "rules"} - named
    found: list[Finding] = []
    for each in findings:
        path = each.what.partition(HEAVY_WORDS)[0]
        if HEAVY_WORDS in each.what and path in unread:
            what = f"{path} is too long for claude: nothing of it is loaded"
            found.append(Finding("context", "warning", what, each.fix))
        else:
            found.append(each)
    return found


def _matched(pieces: Sequence[Piece], loads: Sequence[Load]) -> list[tuple[Piece, Load]]:
    """The pieces with the CLI's own figures, where it has one."""
    by_place = {(load.kind, load.where.partition(", ")[0], load.name): load for load in loads}
    return [
        (piece, by_place.get((piece.load.kind, piece.load.where, piece.load.name), piece.load))
        for piece in pieces
    ]


def _codex(
    program: str | None, envs: Mapping[Context, Mapping[str, str]], cwd: Path, model: str
) -> Survey:
    sizes: dict[Context, int | str] = dict.fromkeys(CONTEXTS, "codex is not installed")
    if program is not None:
        # A new home gets the CLI's own skills with its first start: that one is not weighed. And
        # one after the other, as they share the home.
        fresh = not (codex_home.place(envs["full"]) / "skills/.system").exists()
        asked: tuple[Context, ...] = ("full", *CONTEXTS) if fresh else CONTEXTS
        for context in asked:
            words = codex_home.left_out(envs[context], str(cwd), context, ())
            sizes[context] = codex_files.ask(program, words, envs[context], cwd, model)
            if isinstance(sizes["full"], str):
                break
    pieces, findings = codex_files.pieces(envs["full"], cwd)
    full = sizes["full"]
    if isinstance(full, str):
        return _from_files("codex", cwd, pieces, findings, f"{_ESTIMATE} ({full})")
    known = [piece.load for piece in pieces]
    rest = max(0, estimate(full) - total(known))
    own = Load(kind="prompt", name="its own prompt", origin="cli", tokens=rest)
    tools = Load(kind="tools", name="its own tools", origin="cli")
    totals: dict[Context, int | None] = {
        context: None if isinstance(size, str) else estimate(size)
        for context, size in sizes.items()
    }
    return Survey(
        coder="codex",
        cwd=str(cwd),
        source="the prompt that codex itself shows, bytes / 4: without its tools, and for some"
        " models without its instructions",
        loads=(own, tools, *known),
        duplicates=tuple(duplicates.found(pieces, codex_files.fix)),
        totals=totals,
        beyond="and its tools",
        findings=tuple(findings),
    )


def _from_files(
    coder: str,
    cwd: Path,
    pieces: Sequence[Piece],
    findings: Sequence[Finding],
    source: str,
    loads: tuple[Load, ...] = (),
) -> Survey:
    """A survey where nobody counted."""
    loads = loads or tuple(piece.load for piece in pieces)
    fix = claude_files.fix if coder == "claude" else codex_files.fix
    return Survey(
        coder=coder,
        cwd=str(cwd),
        source=source,
        loads=loads,
        duplicates=tuple(duplicates.found(pieces, fix)),
        totals={context: total(_kept(coder, context, loads)) for context in CONTEXTS},
        beyond="and the CLI's own prompt and tools",
        findings=tuple(findings),
    )


def _kept(coder: str, context: Context, loads: Sequence[Load]) -> list[Load]:
    """What of these a context still loads."""

    def stays(load: Load) -> bool:
        if context == "full" or (coder == "codex" and load.kind == "rules"):
            return True
        if context == "project":
            return load.origin in ("cli", "project")
        return load.origin == "project" and load.kind == "rules"

    return [load for load in loads if stays(load)]
