"""Renews a login outside of every box: by the CLI itself, where the CLI keeps the login.

A refresh token is spent once, and the answer to it is lost with the process that asked. So the CLI
is started in a session of its own and with no pipe to fleet: it stores its new login also where the
supervisor is killed meanwhile. It holds the lock of the login until it ends.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from shutil import which

from msgspec import Struct

from fleet.accounts import box_login
from fleet.coders.agent_environment import plain_env
from fleet.coders.base import Coder
from fleet.coders.login import Login
from fleet.files.file_lock import locked
from fleet.files.put_aside import open_or_put_aside
from fleet.files.safe_read import tail

FOLDER = "logins"
#: Seconds until a CLI that does not end is killed.
PATIENCE = 120.0
#: Holds the lock in its standard input for as long as the CLI runs, which does not inherit it.
_SHELL = ("/bin/sh", "-c", '"$@" </dev/null; exit $?', "renew")
#: How much of a CLI's words may tell why it failed, and how much of that is told.
_WORDS, _MOST_WORDS = 1 << 12, 200


class LoginPlace(Struct, frozen=True, kw_only=True):
    """Where a CLI keeps one login, and what leads the CLI there."""

    coder: type[Coder]
    directory: Path
    env: Mapping[str, str]

    @property
    def file(self) -> Path:
        return self.directory / self.coder.login_file

    @property
    def key(self) -> str:
        """Names the login in fleet's home."""
        real = os.path.realpath(self.file)
        return f"{self.coder.name}-{sha256(real.encode()).hexdigest()[:16]}"

    def read(self) -> Login | None:
        """The login as it is now; None: none that fleet knows."""
        return box_login.read(self.coder, self.directory, self.env)


class BusyLogin(Struct, frozen=True):
    """Another process is renewing the login."""


class NotRenewed(Struct, frozen=True):
    """The login could not be renewed."""

    why: str


def place_of(coder: type[Coder], directory: str, parent: Mapping[str, str]) -> LoginPlace | None:
    """The login in an account's directory; an empty one: the user's own, as `parent` leads to it.
    None: this CLI's login is in no file, or cannot be renewed.
    """
    if not (coder.login_file and coder.renew_args):
        return None
    own = {name: value for name, value in parent.items() if name not in coder.credentials}
    passed = {name: own[name] for name in coder.passes if name in own}
    env = {**plain_env(own), **passed, **coder.quiet_env}
    env.pop("FLEET_HOME", None)
    state = directory or parent.get(coder.state_variable, "")
    if state and coder.state_variable:
        env[coder.state_variable] = state
    place = coder.state_place(env)
    return LoginPlace(coder=coder, directory=Path(place), env=env) if place else None


def renew(
    place: LoginPlace, home: Path, now: datetime, refused: str = ""
) -> Login | BusyLogin | NotRenewed:
    """Have the CLI renew its login, and return the new one. One that another process has renewed
    before is returned as it is.

    `refused` is the mark of an access token that the vendor does not take, whatever its end. Raises
    OSError where fleet's home cannot be written.
    """
    folder = home / FOLDER
    empty = folder / "empty"
    empty.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder / f"{place.key}.lock") as lock:
        if lock is None:
            return BusyLogin()
        before = place.read()
        if before is None:
            return NotRenewed("it is logged out")
        if not before.is_due(now) and before.mark != refused:
            return before
        if not before.renewable:
            return NotRenewed("its login has ended and holds no refresh token")
        why = ""
        for words in place.coder.renew_args:
            why = _run(place, words, lock.fd, folder, empty)
            after = place.read()
            if after is not None and after.supersedes(before):
                return after
        return NotRenewed(why)


def _run(place: LoginPlace, words: tuple[str, ...], lock: int, folder: Path, empty: Path) -> str:
    """Run one command of the CLI to the end; return the last words of the CLI."""
    program = which(place.coder.program, path=place.env.get("PATH"))
    if program is None:
        return f"{place.coder.program} is not on PATH"
    said = folder / f"{place.key}.out"
    out = open_or_put_aside(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        process = subprocess.Popen(
            (*_SHELL, program, *words), cwd=empty, env=dict(place.env), stdin=lock,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return f"{program} cannot be started: {error.strerror}"
    finally:
        os.close(out)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"{place.coder.program} did not end within {PATIENCE:g} s"
    lines = tail(said, _WORDS).strip().splitlines()
    return lines[-1][-_MOST_WORDS:] if lines else f"{place.coder.program} said nothing"
