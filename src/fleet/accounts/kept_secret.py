"""Secrets of accounts, channels and forges, from where the settings say that each is kept:
`env:NAME`, `file:PATH` or `keyring:SERVICE/USER`.
"""

import stat
from collections.abc import Mapping
from pathlib import Path

from fleet.accounts.keyring import KeyringAnswer, read_keyring
from fleet.errors import FleetError, InvalidTask
from fleet.files.safe_read import read_bounded

_LARGEST = 64 << 10
#: The kind of a secret in the system's keyring.
_KEYRING = "keyring"
_KINDS = ("env", "file", _KEYRING)


class SecretTrouble(FleetError):
    """A secret cannot be read as it is kept."""


def is_secret_place(text: str) -> bool:
    """Whether a text of the settings says where something is kept, instead of being it."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind in _KINDS


def keyring_place(place: str) -> str:
    """SERVICE/USER of a secret in the keyring; empty if the secret is elsewhere."""
    kind, _, name = place.partition(":")
    return name if kind == _KEYRING else ""


def read_secret(place: str, env: Mapping[str, str], answer: KeyringAnswer | None = None) -> str:
    """The secret that is kept at `place`. Raises SecretTrouble.

    `answer` is the keyring's, if it was read before.
    """
    kind, _, name = place.partition(":")
    match kind:
        case "env":
            found = env.get(name, "")
            where = f"the variable {name} of the process that started fleet"
        case "file":
            found = _from_file(Path(name))
            where = name
        case _:
            answer = answer or read_keyring(name)
            if answer.trouble:
                raise SecretTrouble(answer.trouble)
            found = answer.secret
            where = f"the keyring, under {name}"
    if not found.strip():
        raise SecretTrouble(f"its secret is gone: there is nothing in {where}")
    if not found.strip().isprintable():
        raise SecretTrouble(f"its secret is no single line of text: {where}")
    return found.strip()


def _from_file(path: Path) -> str:
    try:
        check_private(path)
        data = read_bounded(path.resolve(), _LARGEST)  # a person may keep the file behind a link
    except InvalidTask as error:
        raise SecretTrouble(f"its secret cannot be read: {error.message}") from None
    return (data or b"").decode(errors="replace")


def check_private(path: Path, *, needed: bool = True) -> None:
    """Refuse a secret that other users of the machine can read. Raises SecretTrouble."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        if not needed:
            return
        raise SecretTrouble(f"its secret is gone: there is no {path}") from None
    except OSError as error:
        raise SecretTrouble(f"its secret cannot be read: {path}: {error.strerror}") from None
    if mode & 0o077:
        raise SecretTrouble(f"others can read its secret: chmod 600 {path} (it is {mode:04o})")
