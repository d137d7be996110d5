"""People's messages on their way to a running agent: `spool/messages/` of the run.

`N.posted` says that message N was put there, by the first process that came; `N.waiting` holds its
text, and the hook of the agent's CLI takes it by renaming it to `N.given`. `tells/` keeps the
record (`home/messages.py`): what is here is only on its way.
"""

import os
import re
from contextlib import suppress

import msgspec

from fleet.errors import FleetError
from fleet.home import messages
from fleet.home.messages import Delivery
from fleet.runs.run_directory import Run
from fleet.spool.drop_box import DropBox, put_at

_GIVEN = re.compile(r"(\d{6})\.given")
#: Names that one look takes in.
_MOST_NAMES = 1000


def post_messages(run: Run, box: DropBox) -> None:
    """Put the messages that wait for this task's agent where the hook of this run finds them.

    What the disk or the agent hinders is for the next look, or for the next run.
    """
    with suppress(OSError, FleetError):
        waiting = [each for each in messages.read(run.task_dir) if each.run is None]
        if not waiting:
            return
        with box.messages(make=True) as folder:
            if folder is not None:
                for delivery in waiting:
                    _post(folder, delivery)


def _post(folder: int, delivery: Delivery) -> None:
    name = f"{delivery.number:06}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):  # the message was posted before
        os.close(os.open(f"{name}.posted", flags, 0o600, dir_fd=folder))
        words = f"A message from the person who runs this task ({delivery.line})"
        # Without the quotes, so that a hook in plain sh can join several.
        put_at(folder, f"{name}.waiting", msgspec.json.encode(f"{words}\n\n")[1:-1])


def note_taken(run: Run, box: DropBox) -> None:
    """Record which messages the agent of this run has taken; what the disk hinders is for later."""
    with suppress(OSError, FleetError), box.messages() as folder:
        taken = _taken(folder) if folder is not None else set[int]()
        if taken:
            known = messages.read(run.task_dir)
            given = [each.number for each in known if each.run is None and each.number in taken]
            messages.give(run.task_dir, given, run.number)


def _taken(folder: int) -> set[int]:
    with os.scandir(folder) as entries:
        names = [entry.name for _, entry in zip(range(_MOST_NAMES), entries, strict=False)]
    return {int(found[1]) for name in names if (found := _GIVEN.fullmatch(name))}
