"""Notes that a person closes a task, for the supervisor that may find the task closed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from fleet.bd.actor import actor
from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import FlagError, parse
from fleet.errors import FleetError
from fleet.home import Home
from fleet.queue import PREFIX
from fleet.runs import closed_by_hand
from fleet.schemas import STATUSES

#: Any other status closes the task, or may: a client of bd can add some of category `done`.
_UNCLOSED = frozenset(STATUSES) - {"closed"}


def note_closing(home: Home, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Note which tasks a line may close, and the actor."""
    name, rest = split_command(args)
    verb = find_verb(name)
    if verb is None:
        return
    try:
        line = parse((*verb.flags, *(OWN if name == "update" else ()), *GLOBAL), rest)
    except FlagError:
        return  # the tracker says what is wrong with the line
    if name == "update" and line.text("status") in ("", *_UNCLOSED):
        return
    for word in line.words if name in ("close", "update") else line.words[:1]:
        for task_id in (word, f"{PREFIX}-{word}"):
            with suppress(FleetError, OSError):  # no id at all, or a full disk
                closed_by_hand.note(home.task(task_id), actor(env))
