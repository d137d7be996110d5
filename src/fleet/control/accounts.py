"""Accounts for people: what is known of each, and adding, checking, opening and closing them."""

import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from fleet import coders, config
from fleet.accounts import candidates, credentials
from fleet.accounts.account_state import EMPTY, AccountReset, AccountState
from fleet.accounts.account_store import open_accounts
from fleet.accounts.breaker_store import Breaker
from fleet.accounts.circuit_breaker import Blamed
from fleet.accounts.concurrency import agents_allowed
from fleet.accounts.credentials import AccountTrouble
from fleet.accounts.rate_windows import is_current
from fleet.accounts.resting import resting
from fleet.config.accounts import name_problem, problem
from fleet.control import Control
from fleet.control.edit_config import change_settings
from fleet.control.resume import wake
from fleet.errors import BadInput
from fleet.home.status_file import read_snapshot
from fleet.processes.cli_versions import Answer, asked
from fleet.processes.supervisor_lock import supervisor_of
from fleet.schemas import Account, Task, Window
from fleet.schemas.account import read_chain

#: Of all that a CLI prints, what is about the login.
_ABOUT_LOGIN = re.compile(r"logged in|login method|api key|token", re.IGNORECASE)
_OUT = re.compile(r"not logged in", re.IGNORECASE)
#: Where an account's state is, if nobody says otherwise.
FOLDER = "accounts"


class AccountNow(Struct, frozen=True, kw_only=True):
    """An account as it stands."""

    account: Account
    #: Nobody declared it: it is the user's own login.
    own: bool = False
    windows: tuple[Window, ...] = ()
    #: Why it gets no new work, and until when; empty: it does.
    shut: str = ""
    until: datetime | None = None
    #: How many agents it may have at once for now; None: as many as its own limit says.
    pace: int | None = None
    #: It is not known yet whether it works again after a wait.
    unproven: bool = False
    #: Tasks that run on it now.
    tasks: tuple[str, ...] = ()


def accounts_now(fleet: Control, now: datetime) -> list[AccountNow]:
    """Every account, declared ones first, then the logins that have been used."""
    states = open_accounts(fleet.home.path).states
    tasks = read_snapshot(fleet.home).on_account if supervisor_of(fleet.home) else {}
    declared = fleet.config.accounts
    theirs = {account.coder for account in declared.values()}
    used = [*states, *tasks, fleet.config.coder]
    own = [name for name in dict.fromkeys(used) if name not in declared and name not in theirs]
    known = coders.names(fleet.home.path)
    everyone = [
        *declared.values(),
        *(candidates.own_login(name, fleet.config) for name in own if name in known),
    ]
    found: list[AccountNow] = []
    for account in everyone:
        wrong = "" if account.is_own else trouble(account, fleet.home.path)
        state, on_it = states.get(account.name, EMPTY), tasks.get(account.name, ())
        found.append(_account_now(account, state, wrong, on_it, now))
    return found


def _account_now(
    account: Account, state: AccountState, wrong: str, tasks: tuple[str, ...], now: datetime
) -> AccountNow:
    rest = resting(account, state, now)
    return AccountNow(
        account=account,
        own=account.is_own,
        windows=tuple(each for each in state.windows.values() if is_current(each, now)),
        shut=wrong or (rest.why if rest else ""),
        until=rest.until if rest and not rest.person and not wrong else None,
        pace=agents_allowed(state.pace, now),
        unproven=state.pace.unproven,
        tasks=tasks,
    )


def trouble(account: Account, home: Path, *, asking: bool = False) -> str:
    """Why an account cannot be used, as far as files tell; empty if it can.

    `asking`: its CLI will be asked about the login, and knows better.
    """
    try:
        kind = coders.find(account.coder, home)
    except BadInput as error:
        return error.message
    found = credentials.trouble(account, kind, os.environ)
    return found or ("" if asking else credentials.no_login(account, kind))


def add(fleet: Control, name: str, settings: Mapping[str, str | int | None]) -> Account:
    """Declare an account; its directory is made if it is not there. Raises BadInput."""
    if wrong := name_problem(name):
        raise BadInput(wrong)
    if name in fleet.config.accounts:
        raise BadInput(
            f"there is an account {name!r} already",
            hint=f"Change it in {fleet.home.config}, or: fleet account remove {name}",
        )
    coder = str(settings["coder"])
    fleet.check_coder(coder)
    if name in coders.names(fleet.home.path) and name != coder:
        raise BadInput(f"{name!r} is another coder's name", hint="Call the account something else.")
    kind = coders.find(coder, fleet.home.path)
    given = {key: value for key, value in settings.items() if value is not None}
    directory = fleet.home.path / FOLDER / name
    made = kind.state_variable and "directory" not in given
    if made:
        given["directory"] = str(directory)
    for key, value in given.items():
        if wrong := problem(key, value):
            raise BadInput(f"--{_FLAGS.get(key, key)} {wrong}")
    # What a run on an account that was called so has told since says nothing of this one.
    _forget(fleet, name)
    fresh = _change(fleet, name, given)
    if "directory" in given:
        Path(str(given["directory"])).mkdir(mode=0o700, parents=True, exist_ok=True)
    return fresh.accounts[name]


#: What the command line calls a key, where it is not the key itself.
_FLAGS: Mapping[str, str] = {"directory": "dir", "max_concurrent": "max", "stop_at": "stop-at"}


def pause(fleet: Control, name: str) -> bool:
    """Give an account no new work. False: it had none already."""
    if not fleet.account(name).enabled:
        return False
    _change(fleet, name, {"enabled": False})
    return True


def resume(fleet: Control, name: str) -> list[Task] | None:
    """Give an account work again; the tasks that waited and do no more. None: it was open.

    Whoever opens one by hand knows better than what was told of its limits: that is forgotten.
    """
    known = name in open_accounts(fleet.home.path).states
    # The user's own login is an account too, and may have met a limit.
    account = (
        candidates.own_login(name, fleet.config) if _is_own(fleet, name) else fleet.account(name)
    )
    # What its login was refused for is held against it beside its limits.
    blamed = Blamed(coder=account.coder, account=name)
    held = Breaker(fleet.home.path).reset_login(blamed, datetime.now(UTC))
    if account.enabled and not known and not held:
        return None
    _forget(fleet, name)
    if not account.enabled:
        _change(fleet, name, {"enabled": True})
    return wake(fleet, account.coder)


def opened(fleet: Control, name: str) -> None:
    """Somebody has logged in anew: what was held against the login before is forgotten."""
    account = fleet.account(name)
    blamed = Blamed(coder=account.coder, account=name)
    if Breaker(fleet.home.path).reset_login(blamed, datetime.now(UTC)):
        _forget(fleet, name)
    if account.enabled:
        wake(fleet, account.coder)


def _forget(fleet: Control, name: str) -> None:
    """Drop what is known of the limits of an account."""
    open_accounts(fleet.home.path).apply({name: AccountReset()}, datetime.now(UTC))


def _is_own(fleet: Control, name: str) -> bool:
    return name not in fleet.config.accounts and name in coders.names(fleet.home.path)


def _change(
    fleet: Control, name: str, changes: Mapping[str, str | int | bool] | None
) -> config.Config:
    path = fleet.home.config
    return change_settings(fleet, lambda text: config.with_account(text, name, changes, path))


def remove(fleet: Control, name: str) -> Account:
    """Forget an account. Its directory, with its login, stays."""
    account = fleet.account(name)
    for where, chain in _chains(fleet.config).items():
        if any(step.kind == "account" and step.name == name for step in read_chain(chain)):
            raise BadInput(
                f"fallback{where} leads to {name}: {chain}",
                hint="Take it out first: fleet config set fallback=…"
                + (" --project DIR" if where else ""),
            )
    _change(fleet, name, None)
    _forget(fleet, name)
    return account


def _chains(settings: config.Config) -> dict[str, str]:
    """Each chain of runtime.toml, by the words for where it stands."""
    own = {path: each.settings.get("fallback") for path, each in settings.projects.items()}
    projects = {f" of {path}": str(chain) for path, chain in own.items() if chain is not None}
    return {"": settings.fallback, **projects}


def on_account(fleet: Control, name: str) -> tuple[str, ...]:
    """The tasks that a supervisor runs on an account now."""
    return read_snapshot(fleet.home).on_account.get(name, ()) if supervisor_of(fleet.home) else ()


class Checked(Struct, frozen=True, kw_only=True):
    """What is known of an account's login, at no cost."""

    name: str
    coder: str
    #: Why it cannot be used; empty if nothing speaks against it.
    problem: str = ""
    #: What its CLI says of the login.
    said: str = ""


def check(fleet: Control, names: tuple[str, ...]) -> list[Checked]:
    """Look at accounts without spending a token: files, secrets, and the CLI's own word."""
    everyone = list(fleet.config.accounts.values()) or [
        candidates.own_login(fleet.config.coder, fleet.config)
    ]
    chosen = [fleet.account(name) for name in names] if names else everyone
    found = {each.name: trouble(each, fleet.home.path, asking=True) for each in chosen}
    asks: dict[str, tuple[list[str], Mapping[str, str]]] = {}
    for account in chosen:
        if found[account.name]:
            continue
        kind = coders.find(account.coder, fleet.home.path)
        program = shutil.which(kind.program or account.coder)
        if program is None:
            found[account.name] = f"{kind.program or account.coder} is not on PATH"
        elif kind.status_args:
            try:
                env = environment(account, fleet.home.path)
            except AccountTrouble as error:
                found[account.name] = error.message
                continue
            asks[account.name] = ([program, *kind.status_args], env)
    answers = asked(asks)
    return [_checked(account, found[account.name], answers.get(account.name)) for account in chosen]


def _checked(account: Account, problem: str, answer: Answer | None) -> Checked:
    said = next(filter(_ABOUT_LOGIN.search, answer.lines if answer else ()), "")
    # A key in a variable is no login that every CLI would know of.
    if not problem and answer is not None and answer.problem and not account.secret:
        problem, said = said or answer.problem, ""
        if not account.is_own:
            # The CLI's own advice is about the user's login.
            problem = credentials.NO_LOGIN if _OUT.search(problem) else problem.rstrip(".")
            problem += f". Log in: fleet account login {account.name}"
    elif account.secret and not problem:
        said = f"its secret is there ({account.secret.partition(':')[0]})"
    return Checked(name=account.name, coder=account.coder, problem=problem, said=said)


def environment(account: Account, home: Path) -> dict[str, str]:
    """A person's environment with this account's login in the place of their own."""
    kind = coders.find(account.coder, home)
    given = credentials.variables(account, kind, os.environ)
    own = {name: value for name, value in os.environ.items() if name not in kind.credentials}
    return {**(own if given else os.environ), **given}
