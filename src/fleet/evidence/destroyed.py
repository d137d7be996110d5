"""Commands of a run that destroy what lies outside of the task's project. Pure.

Whether they ran into a box or into the machine, a person reads them before the work counts: the box
throws away what they did, and not what the agent meant to do.
"""

from collections.abc import Sequence

from fleet.schemas import Command
from fleet.schemas.shown_text import one_line
from fleet.tripwire.rules import trips

#: Commands that are named.
_MOST = 20


def destroyed(commands: Sequence[Command], cwd: str, own: str) -> tuple[str, ...]:
    """The commands with what they do. `own`: where the task's notes lie, beside its directory."""
    found = [
        f"`{one_line(trip.command)}` {one_line(trip.what)}"
        for command in commands
        if not command.denied
        for trip in trips(command.text, cwd, own)
        if trip.outside and trip.grade == "high"
    ]
    return tuple(dict.fromkeys(found))[:_MOST]


def why_destroyed_asks(found: Sequence[str]) -> tuple[str, ...]:
    """Why a person has to approve the work of a run that ran these."""
    if not found:
        return ()
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (f"outside of the project it ran {found[0]}{more}",)
