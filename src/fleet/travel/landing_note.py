"""How far a task's work is on its way to the branch, in the task's row of a queue that hosts share.

The record that a lander acts on is `landing.json`, in the home of the host that lands the work. The
note is for the other hosts: they show it, and never act on it.
"""

from typing import Any

import msgspec
from msgspec import Struct, structs

from fleet.home.landing_json import Landing
from fleet.schemas import Task, typed

#: The key of the note in a task's metadata.
KEY = "landing"


class LandingNote(Struct, frozen=True, kw_only=True):
    """A landing as the responsible host noted last."""

    #: The name of that host.
    host: str
    landing: Landing


def note_of(landing: Landing, host: str) -> dict[str, Any]:
    """The note as metadata. What a verify command printed, and the list of what landed meanwhile,
    stay with the record.
    """
    short = structs.replace(landing, output="", against=())
    return {KEY: msgspec.to_builtins(LandingNote(host=host, landing=short))}


def read_note(task: Task) -> LandingNote | None:
    """The note in a task's row; None: there is none, or it cannot be read."""
    found = task.metadata.get(KEY)
    if found is None:
        return None
    try:
        return typed.convert(found, LandingNote)
    except msgspec.ValidationError:
        return None
