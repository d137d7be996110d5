"""Keeps the logins of boxed runs good: has them renewed outside, and gives each new access token to
the runs at work.

A box has no refresh token, so its CLI renews nothing. All of it is remembered for this process
only: another supervisor finds the same files.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.accounts import box_login
from fleet.accounts.kept_secret import Workers
from fleet.accounts.renew_login import BusyLogin, LoginPlace, NotRenewed, place_of, renew
from fleet.coders.base import Coder
from fleet.coders.login import Login
from fleet.errors import FleetError
from fleet.extend import TickingDuty
from fleet.files.safe_read import stamp_of
from fleet.home.journal import Log
from fleet.runs.cli_state.state_directory import state_directory
from fleet.schemas import Account, Failed, Outcome
from fleet.schemas.backoff import Backoff
from fleet.supervisor.assignments import ActiveRun

if TYPE_CHECKING:
    from fleet.supervisor.state import SupervisorState

FileStamp = tuple[int, int, int]
#: When a login that could not be renewed is tried again. A file
#: that has changed is tried at once.
_BACKOFF = Backoff(timedelta(minutes=5), timedelta(hours=1))
#: When to look whether another process has renewed the login.
_BUSY = timedelta(seconds=1)


class LoginHold(Struct, frozen=True):
    """A login is not good now. Empty words: it is being renewed."""

    why: str = ""


class _Kept(Struct):
    """What is remembered of one login."""

    place: LoginPlace
    #: The accounts that use it, for messages.
    name: str
    #: The file as it was read last, and what it held then.
    stamp: FileStamp = (0, 0, 0)
    login: Login | None = None
    #: The runs at work that have it in their box.
    runs: tuple[ActiveRun, ...] = ()
    renewing: bool = False
    #: Until when nothing is tried, and how long that is.
    until: datetime | None = None
    pause: timedelta = timedelta()
    #: Why the login could not be renewed, and the file that this was about.
    why: str = ""
    failed: FileStamp = (0, 0, 0)
    #: The mark of the access token that the vendor refused before its end, and of the one that came
    #: in its place: if that is refused too, a person has to look.
    refused: str = ""
    after_refusal: str = ""


class LoginKeeper:
    """The logins of the accounts that boxed runs use."""

    def __init__(
        self,
        home: Path,
        *,
        pool: Workers,
        log: Log,
        env: Mapping[str, str],
        on_failure: Callable[[str, str, datetime], None],
    ) -> None:
        self._home, self._pool, self._log, self._env = home, pool, log, env
        #: Takes the account and the reason.
        self._on_failure = on_failure
        #: None: a login that fleet has no part in.
        self._kept: dict[tuple[str, str, str], _Kept | None] = {}

    def hold(self, account: Account, coder: type[Coder], now: datetime) -> LoginHold | None:
        """Why a boxed run on this account has to wait; None: its login is good, or fleet has no
        part in it. A login that has to be renewed is.
        """
        kept = self._find(account, coder)
        if kept is None:
            return None
        stamp = stamp_of(kept.place.file)
        has_failed = bool(kept.why) and stamp == kept.failed
        login = self._read(kept, stamp)
        if kept.renewing and (login is None or _needs_renewal(kept, login, now)):
            return LoginHold()  # a CLI that is refused empties its login before it ends
        if login is None:
            return LoginHold(kept.why) if has_failed else None
        if not _needs_renewal(kept, login, now):
            return None
        if has_failed and _rests(kept, now):
            return LoginHold(kept.why)
        self._renew(kept, now)
        return LoginHold()

    def is_stale(
        self, run: ActiveRun, outcome: Outcome, account: Account, coder: type[Coder]
    ) -> bool:
        """Whether a boxed run ended because its access token had, while the login is good: the next
        run has a new one.
        """
        match outcome:
            case Failed(reason="auth") if run.spec.boxed:
                pass
            case _:
                return False
        kept = self._find(account, coder)
        login = None if kept is None else self._read(kept, stamp_of(kept.place.file))
        if kept is None or login is None or not login.renewable:
            return False
        had = run.memory.login
        if run.memory.has_new_login or (had or login).mark != login.mark:
            return True  # it may have asked with an older one
        if had is not None and not box_login.holds(coder, had, state_directory(run.run)):
            return False  # its agent spoilt it: no new token would help
        if login.mark == kept.after_refusal:
            return False
        kept.refused = login.mark
        return True

    def keep(self, runs: Iterable[tuple[ActiveRun, Account, type[Coder]]], now: datetime) -> None:
        """Have the logins of these boxed runs renewed before they end, and give each run the newest
        access token of its login.
        """
        known = [kept for kept in self._kept.values() if kept is not None]
        for kept in known:
            kept.runs = ()
        for run, account, coder in runs:
            if (kept := self._find(account, coder)) is not None:
                kept.runs += (run,)
        for kept in filter(None, self._kept.values()):
            if kept.runs:
                login = self._give(kept)
                is_due = login is not None and _needs_renewal(kept, login, now)
                if is_due and not _rests(kept, now):
                    self._renew(kept, now)

    def _give(self, kept: _Kept) -> Login | None:
        """Give the newest access token to the runs that have an older one; the login."""
        login = self._read(kept, stamp_of(kept.place.file))
        if login is None:
            return None
        late: list[Path] = []
        for run in kept.runs:
            if run.memory.login is None or login.supersedes(run.memory.login):
                run.memory.has_new_login = run.memory.login is not None
                run.memory.login = login
                late.append(state_directory(run.run))
        if late:
            give = partial(_put, kept.place.coder, login, late)
            self._pool.submit(give, partial(self._given, kept))
        return login

    def _find(self, account: Account, coder: type[Coder]) -> _Kept | None:
        """What is remembered of the login of an account; None: it has none that fleet renews."""
        if account.secret or (account.is_own and _has_key(coder, self._env)):
            return None
        if not coder.renew_args:
            return None
        key = (account.name, account.directory, coder.name)
        if key not in self._kept:
            place = place_of(coder, account.directory, self._env)
            self._kept[key] = _Kept(place, account.name) if place is not None else None
        return self._kept[key]

    def _read(self, kept: _Kept, stamp: FileStamp) -> Login | None:
        """The login, read again where the file has changed."""
        if stamp != kept.stamp:
            kept.stamp, kept.login = stamp, kept.place.read()
        return kept.login

    def _renew(self, kept: _Kept, now: datetime) -> None:
        if kept.renewing or (kept.login is not None and not kept.login.renewable):
            return
        kept.renewing = True
        job = partial(_renewed_or_error, kept.place, self._home, now, kept.refused)
        self._pool.submit(job, partial(self._renewed, kept, now))

    def _renewed(self, kept: _Kept, now: datetime, found: Login | BusyLogin | NotRenewed) -> None:
        kept.renewing = False
        match found:
            case BusyLogin():
                kept.until = now + _BUSY
            case NotRenewed(why=why):
                self._not_renewed(kept, why, now)
            case _:
                self._log.say("login", f"the login of {kept.name} was renewed")
                if kept.refused:
                    kept.after_refusal, kept.refused = found.mark, ""
                kept.why, kept.pause, kept.until = "", timedelta(), None
                self._give(kept)

    def _not_renewed(self, kept: _Kept, why: str, now: datetime) -> None:
        kept.failed = stamp_of(kept.place.file)
        kept.pause = _BACKOFF.after(kept.pause)
        kept.until = now + kept.pause
        kept.why = f"its login could not be renewed ({why.rstrip('.')}): {_way(kept)}"
        self._on_failure(kept.name, kept.why, now)

    def _given(self, kept: _Kept, trouble: list[str]) -> None:
        for text in trouble:
            self._log.say("login", f"{kept.name}: a run keeps its old access token: {text}")


class LoginDuty(TickingDuty):
    """Keeps the logins of boxed runs good, once a second."""

    def __init__(self, state: "SupervisorState") -> None:
        self._state = state

    def tick(self) -> None:
        self._state.accounts.keep_logins(self._state.config, self._state.now())


def _rests(kept: _Kept, now: datetime) -> bool:
    return kept.until is not None and now < kept.until


def _needs_renewal(kept: _Kept, login: Login, now: datetime) -> bool:
    return login.renewable and (login.is_due(now) or login.mark == kept.refused)


def _has_key(coder: type[Coder], env: Mapping[str, str]) -> bool:
    """The user's environment has a key or a token, which the CLI uses instead of its login."""
    return any(env.get(name) for name in coder.credentials if name != coder.state_variable)


def _way(kept: _Kept) -> str:
    """What a person does about a login that cannot be renewed."""
    coder = kept.place.coder
    if kept.name != coder.name:
        return f"fleet account login {kept.name}"
    log_in = " ".join((coder.program, *coder.login_args))
    return f"{log_in}, then: fleet account resume {kept.name}"


def _put(coder: type[Coder], login: Login, states: list[Path]) -> list[str]:
    """Put a login into the state directories of runs; why one could not be written."""
    trouble: list[str] = []
    for state in states:
        try:
            box_login.put(coder, login, state)
        except FileNotFoundError:
            continue  # the run is over
        except FleetError as error:
            trouble.append(error.message)
        except OSError as error:
            trouble.append(f"{state}: {error.strerror or error}")
    return trouble


def _renewed_or_error(
    place: LoginPlace, home: Path, now: datetime, refused: str
) -> Login | BusyLogin | NotRenewed:
    try:
        return renew(place, home, now, refused)
    except OSError as error:
        return NotRenewed(f"{error.filename or home}: {error.strerror or error}")
