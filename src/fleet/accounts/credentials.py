"""The environment that puts an agent on an account: directory and secret, and what is wrong.

A secret goes from where it is kept to the agent, never to the disk.
"""

import os
import stat
import sys
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from fleet.accounts.kept_secret import (
    KeyringAnswer,
    SecretTrouble,
    check_private,
    keyring_place,
    read_secret,
)
from fleet.coders.base import Coder
from fleet.errors import InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.schemas import Account

_LARGEST = 64 << 10
#: The trouble of an account that a person has to log in to.
NO_LOGIN = "it is not logged in"


def variables(
    account: Account,
    coder: type[Coder],
    parent: Mapping[str, str],
    *,
    answer: KeyringAnswer | None = None,
    hidden: bool = False,
) -> dict[str, str]:
    """The variables that put an agent on this account. Raises SecretTrouble.

    `answer` is the keyring's, if it was read before. `hidden`: with `?` in the place of the secret,
    which is not read.
    """
    if account.is_own:
        return {}
    given: dict[str, str] = {}
    if account.directory:
        if not coder.state_variable:
            raise SecretTrouble(
                f"{account.coder} cannot keep its state in a directory of its own",
                hint="Give the account a secret instead, or name the variable in the coder.",
            )
        given[coder.state_variable] = account.directory
        if coder.state_variable == "HOME" and parent.get("HOME"):
            # The agent's git still needs the name and address of its user.
            given["GIT_CONFIG_GLOBAL"] = _git_settings(parent)
    if account.secret:
        variable = account.variable or coder.secret_variable
        if not variable:
            raise SecretTrouble(
                f"nothing says how {account.coder} takes a secret",
                hint=f'Name it: variable = "…" in [accounts.{account.name}]',
            )
        given[variable] = "?" if hidden else read_secret(account.secret, parent, answer)
    return given


def _git_settings(parent: Mapping[str, str]) -> str:
    """The user's own git settings, at the one of two places where they are."""
    usual = f"{parent['HOME']}/.gitconfig"
    other = f"{parent.get('XDG_CONFIG_HOME') or parent['HOME'] + '/.config'}/git/config"
    there = os.path.exists  # False, too, for a directory that may not be read
    return other if there(other) and not there(usual) else usual


def trouble(
    account: Account,
    coder: type[Coder],
    parent: Mapping[str, str],
    *,
    answer: KeyringAnswer | None = None,
) -> str:
    """Why the account cannot be used; empty if files, and the keyring's `answer` if there is one,
    name no reason.
    """
    try:
        if account.directory:
            _check_directory(Path(account.directory), coder)
            _check_settings(Path(account.directory), coder)
        unread = bool(keyring_place(account.secret)) and answer is None
        variables(account, coder, parent, answer=answer, hidden=unread)
    except SecretTrouble as error:
        return error.message
    return ""


def _check_directory(directory: Path, coder: type[Coder]) -> None:
    try:
        about = directory.stat()
    except OSError as error:
        raise SecretTrouble(
            f"its directory {directory} cannot be used: {error.strerror}"
            + (f" (mkdir -m 700 {directory})" if isinstance(error, FileNotFoundError) else "")
        ) from None
    if not stat.S_ISDIR(about.st_mode):
        raise SecretTrouble(f"{directory} is no directory")
    if coder.login_file:
        check_private(directory / coder.login_file, needed=False)


def _check_settings(directory: Path, coder: type[Coder]) -> None:
    """Refuse settings that hold a key: each run on the account would be ended for that."""
    if key := coder.key_in(directory):
        raise SecretTrouble(
            f"the settings.json in {directory} sets {key}, which is used instead of its login"
        )


def no_login(account: Account, coder: type[Coder]) -> str:
    """The trouble of a directory without a login; empty if files cannot tell.

    A Mac keeps logins elsewhere, and settings in the directory may name a helper or a key.
    """
    if account.secret or not account.directory or not coder.login_file or sys.platform == "darwin":
        return ""
    if _has_files(coder, Path(account.directory)):
        return ""
    return f"{NO_LOGIN}: fleet account login {account.name}"


def may_be_logged_in(coder: type[Coder], env: Mapping[str, str]) -> bool:
    """Whether the user's own login of a coder may exist, as far as files and variables tell."""
    if not coder.login_file or not coder.state_folder or sys.platform == "darwin":
        return True
    keys = (env.get(name) for name in coder.credentials if name != coder.state_variable)
    return any(keys) or _has_files(coder, _own_directory(coder, env))


def _has_files(coder: type[Coder], directory: Path) -> bool:
    """Whether a directory holds a login, or settings that may name a helper or a key."""
    names = filter(None, (coder.login_file, coder.settings_file))
    return any((directory / name).exists() for name in names)


def key_mark(
    account: Account,
    coder: type[Coder],
    parent: Mapping[str, str],
    answer: KeyringAnswer | None = None,
) -> str:
    """A text that is the same wherever the same key is used, and tells nothing of the key; empty
    for a login, which belongs to one machine, and for a key that cannot be read now.
    """
    names = [name for name in coder.credentials if name != coder.state_variable]
    own = [parent[name] for name in names if parent.get(name)] if account.is_own else []
    key = own[0] if own else ""
    if account.secret:
        if keyring_place(account.secret) and answer is None:
            return ""
        try:
            key = read_secret(account.secret, parent, answer)
        except SecretTrouble:
            return ""
    return sha256(f"{account.coder} {key}".encode()).hexdigest()[:24] if key else ""


def own_key(coder: type[Coder], env: Mapping[str, str]) -> str:
    """The setting of the user's own that gives the CLI a key; empty if there is none."""
    return coder.key_in(_own_directory(coder, env)) if coder.state_folder else ""


def _own_directory(coder: type[Coder], env: Mapping[str, str]) -> Path:
    """Where the CLI keeps state in this environment."""
    named = env.get(coder.state_variable, "")
    return Path(named) if named else Path(env.get("HOME", "/"), coder.state_folder)


def login_ends(
    account: Account, coder: type[Coder], parent: Mapping[str, str], now: datetime
) -> datetime | None:
    """When the login's tokens end, if that is so soon that the CLI has to renew them."""
    if account.secret or not coder.login_file:
        return None
    own = _own_directory(coder, parent)
    directory = Path(account.directory) if account.directory else own
    try:
        data = read_bounded(directory / coder.login_file, _LARGEST)
        login = coder.read_login(data) if data else None
    except (InvalidTask, OSError):
        return None  # the CLI itself says what is wrong with the file
    return login.ends if login is not None and login.is_due(now) else None
