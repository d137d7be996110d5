"""`[notify]` in runtime.toml: who is told of what needs a person, where, and when."""

import re
from datetime import time
from typing import Any, Literal, cast, get_args

from msgspec import Struct

from fleet.config.key_kinds import check_secret_places, read_table
from fleet.errors import BadInput
from fleet.schemas import units

TABLE = "notify"

Topic = Literal[
    "question", "blocked", "landing", "trust", "held", "supervisor", "idle", "closed",
]  # fmt: skip
#: What a person is told of at once where the file does not say; the rest comes with the digest.
AT_ONCE: tuple[Topic, ...] = (
    "question", "blocked", "landing", "trust", "held", "supervisor", "idle",
)  # fmt: skip
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"


class TelegramSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notify.telegram]`: a bot that tells and takes answers."""

    #: Where the bot's token is; never the token.
    token: str
    #: The numeric ids of the people that are told and may answer; none: no one.
    users: tuple[int, ...] = ()
    answers: bool = True
    base_url: str = "https://api.telegram.org"


class NtfySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notify.ntfy]`: a topic that tells, and another that takes what a button sends."""

    #: Where the topic's name is, which is as good as a password.
    topic: str
    #: Where an access token is, if the server wants one.
    token: str = "none"  # noqa: S105 - where a token is, and no token
    answers: bool = True
    url: str = "https://ntfy.sh"


class NotifySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What leaves the machine, and when."""

    #: Addresses of apprise; one with a secret in it is env:NAME, file:/PATH or keyring:….
    to: tuple[str, ...] = ()
    #: A program that gets each message as JSON on its standard input.
    command: tuple[str, ...] = ()
    on: tuple[Topic, ...] = AT_ONCE
    #: Hours in which only urgent questions pass, `22:00-07:30`; empty: none.
    quiet: str = ""
    #: When the rest is told, once a day.
    digest: str = "08:00"
    #: After how long an open question is told again; three times at most.
    again: str = "30m"
    #: `title`: no text of an agent leaves the machine.
    detail: Literal["full", "title"] = "full"
    telegram: TelegramSettings | None = None
    ntfy: NtfySettings | None = None

    @property
    def is_on(self) -> bool:
        """There is somewhere to tell."""
        return bool(self.to or self.command or self.telegram or self.ntfy)

    def quiet_hours(self) -> tuple[time, time] | None:
        begin, _, end = self.quiet.partition("-")
        return (_time(begin), _time(end)) if self.quiet else None

    def digest_time(self) -> time:
        return _time(self.digest)


def read(table: object) -> tuple[NotifySettings, str]:
    """The settings of a file, and what is wrong with the table; empty if nothing is."""
    is_table = isinstance(table, dict)
    topics = cast("dict[str, Any]", table).get("on") if is_table else None
    for topic in cast("list[Any]", topics) if isinstance(topics, list) else ():
        if topic not in get_args(Topic):
            known = ", ".join(get_args(Topic))
            return NotifySettings(), f"cannot be used: on: there is no {topic!r}; known: {known}"
    return read_table(TABLE, table, NotifySettings, _check)


def _check(found: NotifySettings) -> None:
    """Raise BadInput for what a type cannot say."""
    if found.quiet and not re.fullmatch(f"{_CLOCK}-{_CLOCK}", found.quiet):
        raise BadInput(f"quiet is written 22:00-07:30, not {found.quiet!r}")
    if not re.fullmatch(_CLOCK, found.digest):
        raise BadInput(f"digest is written 08:00, not {found.digest!r}")
    if units.seconds(found.again) < 60:
        raise BadInput("again is at least 1m")
    places = {"telegram.token": found.telegram.token} if found.telegram else {}
    if found.ntfy:
        places |= {"ntfy.topic": found.ntfy.topic, "ntfy.token": found.ntfy.token}
    check_secret_places(places)
    for each in (found.telegram and found.telegram.base_url, found.ntfy and found.ntfy.url):
        if each and not re.fullmatch(r"https?://[^\s@?#]+", each):
            raise BadInput(f"{each!r} is no address: https://host")


def _time(text: str) -> time:
    hour, _, minute = text.partition(":")
    return time(int(hour), int(minute))
