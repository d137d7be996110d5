"""Lines of cron: what they may say, and the moments that they stand for. Pure.

Moments are read in a zone, as cron does: with daylight saving a line for 2:30 fires once a day.
"""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from fleet.errors import BadInput

#: Names that cron has for common lines.
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

#: How many values each field has: a step beyond them would fire once an hour, a day and so on.
_FIELDS = (("minute", 60), ("hour", 24), ("day", 31), ("month", 12), ("weekday", 7))
_STEP = re.compile(r"/(\d+)")


def check_cron(line: str, zone: str) -> str:
    """The line as five fields. Raises BadInput for one that cannot be read or never comes."""
    fields = _NAMED.get(line.strip(), line).split()
    if len(fields) != 5:
        raise _unreadable(line, f"it has {len(fields)} fields")
    for (name, most), field in zip(_FIELDS, fields, strict=True):
        for step in _STEP.findall(field):
            if int(step) > most:
                raise _unreadable(line, f"the {name} has a step of {step}, and only {most} values")
    try:
        next(CronSim(" ".join(fields), datetime(2024, 1, 1, tzinfo=_zone(zone))))
    except CronSimError as error:
        raise _unreadable(line, str(error)) from None
    except StopIteration:
        raise _unreadable(line, "there is no such day") from None
    return " ".join(fields)


def next_due(line: str, zone: str, after: datetime) -> datetime:
    """The first moment of a checked line after this one."""
    return next(CronSim(line, after.astimezone(_zone(zone)))).astimezone(UTC)


def _unreadable(line: str, why: str) -> BadInput:
    return BadInput(
        f"{line!r} is no line of cron: {why}",
        hint='Five fields: minute hour day month weekday, as in "0 3 * * *"; or @daily.',
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        hint = "As in Europe/Berlin, or UTC."
        raise BadInput(f"there is no time zone {name!r}", hint=hint) from None
