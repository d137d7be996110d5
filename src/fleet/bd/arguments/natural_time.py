"""Moments as people type them after --due, --defer and --until. Pure: the time is passed in."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_COMPACT = re.compile(r"([+-]?)(\d{1,6})([hdwmy])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?")
_SPAN = re.compile(r"(in )?(an?|\d{1,6}) (minute|hour|day|week|month|year)s?( ago)?")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))? ?(am|pm)?")

_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LETTERS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}


def read_time(text: str, now: datetime, zone: tzinfo | None = None) -> datetime | None:
    """The moment that a text means, in UTC; None if the text means none.

    `+6h`, `1d`, `-2w`, `3m` (months), `1y`; `2027-01-31`, `2027-01-31 18:00`, RFC 3339;
    `in 2 hours`, `3 days ago`; `tomorrow`, `next monday`, each perhaps with an hour: `9am`.
    Days and hours are those of `zone`; without one, of this machine.
    """
    words = " ".join(text.lower().split())
    wall = now.astimezone(zone).replace(tzinfo=None)
    try:
        if found := _STAMP.fullmatch(words):
            stamp = datetime.fromisoformat(words.upper())
            return stamp.astimezone(UTC) if found[3] else _aware(stamp, zone)
        if _DATE.fullmatch(words):
            return _aware(datetime.combine(date.fromisoformat(words), time()), zone)
        meant = _span(words, wall) or (words and _day_and_hour(words, wall)) or None
        return None if meant is None else _aware(meant, zone)
    except (ValueError, OverflowError):
        return None  # the 31st of June, the hour 25, the year 99999


def _aware(wall: datetime, zone: tzinfo | None) -> datetime:
    if zone is None and not 1970 <= wall.year < 9999:
        zone = UTC  # beyond what this machine's own calendar can convert
    return (wall.astimezone() if zone is None else wall.replace(tzinfo=zone)).astimezone(UTC)


def _span(words: str, wall: datetime) -> datetime | None:
    """`+6h`, `in 2 days`, `3 weeks ago`."""
    if found := _COMPACT.fullmatch(words):
        sign = -1 if found[1] == "-" else 1
        return _shifted(wall, sign * int(found[2]), _LETTERS[found[3]])
    found = _SPAN.fullmatch(words)
    if not found or bool(found[1]) == bool(found[4]):
        return None
    count = int(found[2]) if found[2].isdecimal() else 1
    return _shifted(wall, -count if found[4] else count, found[3])


def _shifted(wall: datetime, count: int, unit: str) -> datetime:
    """A month from the 31st spills into the month after, as bd counts."""
    if unit in ("month", "year"):
        months = wall.year * 12 + wall.month - 1 + count * (12 if unit == "year" else 1)
        first = wall.replace(year=months // 12, month=months % 12 + 1, day=1)
        return first + timedelta(days=wall.day - 1)
    return wall + count * timedelta(**{f"{unit}s": 1})


def _day_and_hour(words: str, wall: datetime) -> datetime | None:
    """`tomorrow`, `friday 9am`, `next monday at 14:30`, `17:00`."""
    which, _, rest = words.partition(" ")
    if which in ("next", "this"):
        name, _, rest = rest.partition(" ")
        day = _weekday(name, wall, this=which == "this")
    else:
        day = wall + timedelta(days=_DAYS[which]) if which in _DAYS else _weekday(which, wall)
        if day is None:
            day, rest = wall, words
    if day is None or not rest:
        return day
    return _at(rest.removeprefix("at "), day)


def _weekday(name: str, wall: datetime, *, this: bool = False) -> datetime | None:
    """The next day of that name; `this` one may be today."""
    for number, full in enumerate(_NAMES):
        if name in (full, full[:3]):
            ahead = (number - wall.weekday()) % 7
            return wall + timedelta(days=ahead if ahead or this else 7)
    return None


def _at(words: str, day: datetime) -> datetime | None:
    found = _CLOCK.fullmatch(words)
    if not found or not (found[2] or found[3]):
        return None
    hour = int(found[1])
    if found[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    return day.replace(hour=hour, minute=int(found[2] or 0), second=0, microsecond=0)


def in_utc(moment: datetime | None) -> datetime | None:
    """Bd writes UTC. A moment without a zone is taken as that."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
