"""`web/sessions.json`: the sessions of the page, and `web/once.json`: one-time codes for new ones.

A key and a code are kept as digests only: reading the files gives no access. Both files are the
owner's alone. The page's server holds nothing in memory, so that a restart loses no session, and
`fleet web revoke` works while it runs.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from hashlib import sha256
from typing import get_args

from msgspec import Struct, structs

from fleet.control.acts.each_act import Role
from fleet.errors import BadInput, NotFound
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import stamp_of
from fleet.home import Home

FOLDER = "web"
_SESSIONS, _ONCE, _LOCK = "sessions.json", "once.json", "lock"
ROLES: tuple[Role, ...] = get_args(Role)
#: How long a session lives after its last use, a code of `fleet web`, and a code of `pair`.
LASTS, AT_ONCE, TO_PAIR = timedelta(days=30), timedelta(seconds=60), timedelta(minutes=5)
#: How often the last use of a session is written down: not with each request.
_NOTED = timedelta(minutes=5)
_MOST_SESSIONS, _MOST_DEVICE = 200, 120


class PageSession(Struct, frozen=True, kw_only=True):
    """One browser that may use the page."""

    id: str
    #: The digest of the session's key.
    digest: str
    role: Role
    #: What the browser calls itself; written by the client, so shown and never obeyed.
    device: str = ""
    created_at: datetime
    used_at: datetime

    @property
    def name(self) -> str:
        """What the audit calls this session: `fleet web sessions` lists the same id."""
        return f"session {self.id} ({self.role}{f', {self.device}' if self.device else ''})"


class OnceCode(Struct, frozen=True, kw_only=True):
    """A code that can be exchanged for a session, once."""

    digest: str
    role: Role
    until: datetime


_SESSION_FILE = JsonRecord(dict[str, PageSession], limit=1 << 20)
_ONCE_FILE = JsonRecord(tuple[OnceCode, ...], limit=1 << 16)


class SessionStore:
    """The sessions of one home. Reads again when the file has changed."""

    def __init__(self, home: Home, now: Callable[[], datetime]) -> None:
        self._folder = home.path / FOLDER
        self._now = now
        self._stamp: object = None
        self._known: Mapping[str, PageSession] = {}

    def sessions(self) -> list[PageSession]:
        """The sessions that are in force, the latest use first."""
        found = [each for each in self._read().values() if each.used_at + LASTS > self._now()]
        return sorted(found, key=lambda each: each.used_at, reverse=True)

    def of_key(self, key: str) -> PageSession | None:
        """The session of a key; None: the key is unknown, revoked, or was not used for long."""
        digest, now = _digest(key), self._now()
        known = self._read().values()
        found = [each for each in known if hmac.compare_digest(each.digest, digest)]
        if not found or found[0].used_at + LASTS <= now:
            return None
        session_id = found[0].id
        if now - found[0].used_at > _NOTED:
            self._change(lambda known: _used(known, session_id, now))
        return found[0]

    def is_in_force(self, session: PageSession) -> bool:
        """The session was not revoked since."""
        known = self._read().get(session.id)
        return known is not None and known.digest == session.digest

    def new_code(self, role: Role, lasts: timedelta) -> str:
        """A code for one new session; `exchange` takes the code from now on."""
        if role not in ROLES:
            raise BadInput(f"there is no role {role!r}", hint=f"Known: {', '.join(ROLES)}")
        code, now = secrets.token_urlsafe(32), self._now()
        with self._locked():
            fresh = [each for each in self._codes() if each.until > now]
            fresh.append(OnceCode(digest=_digest(code), role=role, until=now + lasts))
            _ONCE_FILE.write(self._folder / _ONCE, tuple(fresh[-20:]))
        return code

    def exchange(self, code: str, device: str) -> tuple[str, PageSession] | None:
        """A key and a new session for a code, which is used up by this; None: there is no such
        code.
        """
        digest, now = _digest(code), self._now()
        with self._locked():
            codes = self._codes()
            found = [each for each in codes if hmac.compare_digest(each.digest, digest)]
            if not found or found[0].until <= now:
                return None
            _ONCE_FILE.write(
                self._folder / _ONCE, tuple(each for each in codes if each not in found)
            )
        key = secrets.token_urlsafe(32)
        session = PageSession(
            id=secrets.token_hex(4),
            digest=_digest(key),
            role=found[0].role,
            device=device[:_MOST_DEVICE],
            created_at=now,
            used_at=now,
        )
        self._change(lambda known: _with(known, session))
        return key, session

    def revoke(self, session_id: str) -> PageSession:
        """End a session: the key opens nothing from now on. Raises NotFound."""
        found = self._read().get(session_id)
        if found is None:
            raise NotFound(f"there is no session {session_id}", hint="See: fleet web sessions")
        self._change(lambda known: {k: each for k, each in known.items() if k != session_id})
        return found

    def revoke_all(self) -> int:
        """End every session; returns how many there were."""
        count = len(self._read())
        self._change(lambda _: {})
        return count

    def _codes(self) -> tuple[OnceCode, ...]:
        return _ONCE_FILE.read_or_none(self._folder / _ONCE) or ()

    def _read(self) -> Mapping[str, PageSession]:
        stamp = stamp_of(self._folder / _SESSIONS)
        if stamp != self._stamp:
            self._known = _SESSION_FILE.read_or_none(self._folder / _SESSIONS) or {}
            self._stamp = stamp
        return self._known

    def _change(
        self, change: Callable[[Mapping[str, PageSession]], Mapping[str, PageSession]]
    ) -> None:
        with self._locked():
            known = _SESSION_FILE.read_or_none(self._folder / _SESSIONS) or {}
            now = self._now()
            fresh = {k: each for k, each in change(known).items() if each.used_at + LASTS > now}
            _SESSION_FILE.write(self._folder / _SESSIONS, dict(fresh))

    def _locked(self) -> AbstractContextManager[None]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return exclusive(self._folder / _LOCK)


def _with(known: Mapping[str, PageSession], session: PageSession) -> Mapping[str, PageSession]:
    """The sessions with one more; of too many the one that was not used for the longest goes."""
    kept = sorted(known.values(), key=lambda each: each.used_at)[-(_MOST_SESSIONS - 1) :]
    return {each.id: each for each in (*kept, session)}


def _used(
    known: Mapping[str, PageSession], session_id: str, now: datetime
) -> Mapping[str, PageSession]:
    return {
        k: structs.replace(each, used_at=now) if k == session_id else each
        for k, each in known.items()
    }


def _digest(secret: str) -> str:
    return sha256(secret.encode(errors="replace")).hexdigest()
