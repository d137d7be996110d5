"""`fleet account`: add, log in, check, pause, resume and remove accounts."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet import coders, config
from fleet.accounts import candidates, credentials
from fleet.accounts.account_state import EMPTY, AccountReset
from fleet.accounts.account_store import open_accounts
from fleet.accounts.kept_secret import SecretTrouble
from fleet.accounts.login_faults import LOGIN
from fleet.config import runtime_toml
from fleet.config.accounts import name_problem, problem
from fleet.control import Control
from fleet.control.accounts import trouble
from fleet.control.edit_config import change_settings
from fleet.control.hosts.tell_reset import tell_reset
from fleet.control.resume import wake
from fleet.errors import BadInput
from fleet.processes.cli_versions import VersionAnswer, asked
from fleet.schemas import Account, Task
from fleet.schemas.account import read_chain

#: The lines of a CLI's output that are about the login.
_ABOUT_LOGIN = re.compile(r"logged in|login method|api key|token", re.IGNORECASE)
_OUT = re.compile(r"not logged in", re.IGNORECASE)
#: The directory of the home that holds accounts' state, unless another is given.
FOLDER = "accounts"


class AddedAccount(Struct, frozen=True, kw_only=True):
    """An account that was declared."""

    account: Account
    #: The user's own login was declared beside the account, so that it goes on being used.
    keeps_own: bool = False


def add(
    fleet: Control, name: str, settings: Mapping[str, str | int | None], *, only: bool = False
) -> AddedAccount:
    """Declare an account, and make the account's directory if there is none. Raises BadInput.

    With a coder's first account the user's own login is declared too if there may be one, unless
    `only`: declared accounts are all that a coder runs on.
    """
    if wrong := name_problem(name):
        raise BadInput(wrong)
    if name in fleet.config.accounts:
        raise BadInput(
            f"there is an account {name!r} already",
            hint=f"Change it in {fleet.home.config}, or: fleet account remove {name}",
        )
    coder = str(settings["coder"])
    fleet.check_coder(coder)
    if name != coder and coders.exists(name, fleet.home.path):
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
    # What is known of an earlier account of this name does not hold for this one.
    _forget(fleet, name)
    declared = any(each.coder == coder for each in fleet.config.accounts.values())
    keeps_own = not (only or declared or name == coder)
    keeps_own = keeps_own and credentials.may_be_logged_in(kind, os.environ)
    if keeps_own:  # first: at no moment is the new account the only one
        _change(fleet, coder, {"coder": coder})
    fresh = _change(fleet, name, given)
    if "directory" in given:
        Path(str(given["directory"])).mkdir(mode=0o700, parents=True, exist_ok=True)
    return AddedAccount(account=fresh.accounts[name], keeps_own=keeps_own)


#: The flag of the command line for a key, where that is not the key itself.
_FLAGS: Mapping[str, str] = {"directory": "dir", "max_concurrent": "max", "stop_at": "stop-at"}


def pause(fleet: Control, name: str) -> bool:
    """Give an account no new work. False: the account was paused already."""
    if not fleet.account(name).enabled:
        return False
    _change(fleet, name, {"enabled": False})
    return True


def resume(fleet: Control, name: str) -> list[Task] | None:
    """Give an account work again; returns the tasks that waited, None: the account was open.

    What was known of the account's limits is forgotten: the person knows better.
    """
    state = structs.replace(open_accounts(fleet.home.path).state(name), used=False)
    # The user's own login is an account too, and may have met a limit.
    account = (
        candidates.own_login(name, fleet.config) if _is_own(fleet, name) else fleet.account(name)
    )
    if account.enabled and state == EMPTY:
        return None
    _forget(fleet, name)
    if not account.enabled:
        _change(fleet, name, {"enabled": True})
    return wake(fleet, account.coder)


def login(fleet: Control, name: str) -> int:
    """Log in with the coder's own program, into the account's directory; returns the exit code.

    After a login the account gets work again, whatever was held against its login before.
    """
    account = fleet.account(name)
    kind = coders.find(account.coder, fleet.home.path)
    if account.secret:
        raise BadInput(
            f"account {name} has a secret and needs no login",
            hint=f"See whether it works: fleet account check {name}",
        )
    program = shutil.which(kind.program or account.coder)
    if program is None:
        raise BadInput(f"{kind.program or account.coder} is not on PATH", hint="Install it first.")
    env = environment(account, fleet.home.path)
    Path(account.directory).mkdir(mode=0o700, parents=True, exist_ok=True)
    # Ctrl-C is for the program: a handler of our own is not passed on to it, SIG_IGN would be.
    before = signal.signal(signal.SIGINT, _let_pass)
    try:
        done = subprocess.run([program, *kind.login_args], env=env, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if done.returncode == 0:
        _logged_in(fleet, account)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _let_pass(number: int, frame: object) -> None:
    del number, frame


def _logged_in(fleet: Control, account: Account) -> None:
    """Forget what was held against the login before."""
    if LOGIN in open_accounts(fleet.home.path).state(account.name).faults:
        _forget(fleet, account.name)
    if account.enabled:
        wake(fleet, account.coder)


def _forget(fleet: Control, name: str) -> None:
    """Drop what is known of the limits of an account."""
    open_accounts(fleet.home.path).apply({name: AccountReset()}, datetime.now(UTC))
    tell_reset(fleet, [name])


def _is_own(fleet: Control, name: str) -> bool:
    return name not in fleet.config.accounts and coders.exists(name, fleet.home.path)


def _change(
    fleet: Control, name: str, changes: Mapping[str, str | int | bool] | None
) -> config.Config:
    path = fleet.home.config
    return change_settings(
        fleet, lambda text: runtime_toml.changed(text, changes, path, "accounts", name)
    )


def remove(fleet: Control, name: str) -> Account:
    """Remove an account from runtime.toml. Its directory, with its login, stays."""
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
    """Each chain of runtime.toml, by the place of the setting: empty, or ` of DIR` for
    a project.
    """
    own = {path: each.settings.get("fallback") for path, each in settings.projects.items()}
    projects = {f" of {path}": str(chain) for path, chain in own.items() if chain is not None}
    return {"": settings.fallback, **projects}


class AccountCheck(Struct, frozen=True, kw_only=True):
    """Whether an account can be used, found out without spending a token."""

    name: str
    coder: str
    #: Why the account cannot be used; empty if nothing is wrong.
    problem: str = ""
    #: What the account's CLI says of the login.
    said: str = ""


def check(fleet: Control, names: tuple[str, ...]) -> list[AccountCheck]:
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
            except SecretTrouble as error:
                found[account.name] = error.message
                continue
            asks[account.name] = ([program, *kind.status_args], env)
    answers = asked(asks)
    return [_checked(account, found[account.name], answers.get(account.name)) for account in chosen]


def _checked(account: Account, problem: str, answer: VersionAnswer | None) -> AccountCheck:
    said = next(filter(_ABOUT_LOGIN.search, answer.lines if answer else ()), "")
    # Not every CLI counts a key in a variable as a login.
    if not problem and answer is not None and answer.problem and not account.secret:
        problem, said = said or answer.problem, ""
        if not account.is_own:
            # The CLI's own advice is about the user's login.
            problem = credentials.NO_LOGIN if _OUT.search(problem) else problem.rstrip(".")
            problem += f". Log in: fleet account login {account.name}"
    elif account.secret and not problem:
        said = f"its secret is there ({account.secret.partition(':')[0]})"
    return AccountCheck(name=account.name, coder=account.coder, problem=problem, said=said)


def environment(account: Account, home: Path) -> dict[str, str]:
    """The environment of this process, with the account's login in the place of the user's own."""
    kind = coders.find(account.coder, home)
    given = credentials.variables(account, kind, os.environ)
    own = {name: value for name, value in os.environ.items() if name not in kind.credentials}
    return {**(own if given else os.environ), **given}
