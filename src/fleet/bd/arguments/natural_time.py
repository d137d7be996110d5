"""Moments as people type them after --due, --defer and --until. Pure: the time is passed in.

What bd reads, this reads alike; what bd would quietly read as another day (`in 1 month`,
`2027-01-01 10:00`) means here what it says, and the rest is refused.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_COMPACT = re.compile(r"([+-]?)(\d{1,6})([hdwmy])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?")
_IN = re.compile(r"in ([a-z]+|\d{1,6})(?: (an?|few))? (second|minute|hour|day|week|month|year)s?")
_AGO = re.compile(r"([a-z]+|\d{1,6}) (second|minute|hour|day|week|month|year)s? ago")
_CLOCK = re.compile(r"(?:at )?(\d{1,2})(?::(\d{2}))? ?(am|pm)?")

_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"morning": 8, "noon": 12, "afternoon": 15, "evening": 18, "tonight": 23}
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip
_LETTERS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}


def read_time(text: str, now: datetime, zone: tzinfo | None = None) -> datetime | None:
    """The moment that a text means, in UTC; None if it means none.

    `+6h`, `1d`, `-2w`, `3m` (months), `1y`; `2027-01-31`, `2027-01-31 18:00:00`, RFC 3339;
    `tomorrow`, `next monday`, `in 2 hours`, `3 days ago`, each perhaps with an hour: `9am`.
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
        meant = _compact(words, wall) or _spoken(words, wall)
        return None if meant is None else _aware(meant, zone)
    except (ValueError, OverflowError):
        return None  # the 31st of June, the hour 25, the year 99999


def _aware(wall: datetime, zone: tzinfo | None) -> datetime:
    if zone is None and not 1970 <= wall.year < 9999:
        zone = UTC  # beyond what this machine's own calendar can convert
    return (wall.astimezone() if zone is None else wall.replace(tzinfo=zone)).astimezone(UTC)


def _compact(words: str, wall: datetime) -> datetime | None:
    found = _COMPACT.fullmatch(words)
    if not found:
        return None
    sign = -1 if found[1] == "-" else 1
    return _shifted(wall, sign * int(found[2]), _LETTERS[found[3]])


def _shifted(wall: datetime, count: int, unit: str) -> datetime:
    """A month from the 31st spills into the one after, as bd counts."""
    if unit in ("month", "year"):
        months = wall.year * 12 + wall.month - 1 + count * (12 if unit == "year" else 1)
        first = wall.replace(year=months // 12, month=months % 12 + 1, day=1)
        return first + timedelta(days=wall.day - 1)
    return wall + count * timedelta(**{f"{unit}s": 1})


def _spoken(words: str, wall: datetime) -> datetime | None:
    """A day, an hour, or a day and an hour."""
    whole = _day(words, wall) or _hour(words, wall)
    if whole is not None:
        return whole
    first, *rest = words.split(" ")
    for size in range(len(rest)):
        day = _day(" ".join([first, *rest[:size]]), wall)
        if day is not None:
            return _hour(" ".join(rest[size:]).removeprefix("at "), day)
    return None


def _day(words: str, wall: datetime) -> datetime | None:
    if words in _DAYS:
        return wall + timedelta(days=_DAYS[words])
    if found := _IN.fullmatch(words):
        if found[1] == "half" and found[2] in ("a", "an") and found[3] == "hour":
            return wall + timedelta(minutes=30)
        count = _number("few" if found[2] == "few" else found[1])
        return None if count is None else _shifted(wall, count, found[3])
    if found := _AGO.fullmatch(words):
        count = _number(found[1])
        return None if count is None else _shifted(wall, -count, found[2])
    return _weekday(words, wall)


def _number(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    if word in ("a", "an"):
        return 1
    if word == "few":
        return 3
    return _WORDS.index(word) if word in _WORDS else None


def _weekday(words: str, wall: datetime) -> datetime | None:
    which, _, name = words.rpartition(" ")
    if which not in ("", "next", "this", "last", "past") or len(name) < 3:
        return None
    for number, full in enumerate(_NAMES):
        if name in (full, full[:3]):
            ahead = (number - wall.weekday()) % 7
            if which in ("last", "past"):
                return wall + timedelta(days=ahead - 7)
            if ahead == 0 and which != "this":
                ahead = 7
            return wall + timedelta(days=ahead)
    return None


def _hour(words: str, day: datetime) -> datetime | None:
    words = words.removeprefix("this ")
    if words in _HOURS:
        return day.replace(hour=_HOURS[words], minute=0, second=0, microsecond=0)
    found = _CLOCK.fullmatch(words)
    if not found or not (found[2] or found[3]):
        return None
    hour = int(found[1])
    if found[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    return day.replace(hour=hour, minute=int(found[2] or 0), second=0, microsecond=0)
