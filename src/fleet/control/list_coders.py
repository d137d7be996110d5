"""`fleet coders`: every coder, the origin of each, and whether this machine can run it; and a
person's trust in the files of added coders.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fleet.coders import trusted_files
from fleet.coders.installed import CoderHere, coders_on
from fleet.control import Control, refuse_agents
from fleet.control.queue.needs_person import tasks_of_coders
from fleet.errors import BadInput, FleetError, Refused
from fleet.processes import process_identity


def coders_here(fleet: Control) -> list[CoderHere]:
    """Every coder, fleet's own first; a broken coder has a problem."""
    return coders_on(fleet.home.path, fleet.config.coder)


def trust_coders(fleet: Control, names: Sequence[str], *, every: bool) -> list[Path]:
    """Trust the files of these coders, or of all, as they are now, and let their tasks begin.

    Returns the files.
    """
    refuse_agents(fleet.env, "trust the file of a coder")
    if process_identity.marks_above(os.getpid()):
        raise Refused("an agent cannot trust the file of a coder", hint="A person has to do it.")
    if every == bool(names):
        raise BadInput("name the coders to trust, or say --all", hint="See: fleet coders")
    home = fleet.home.path
    chosen = [path.name for path in trusted_files.files(home)] if every else names
    paths = trusted_files.trust(home, chosen, datetime.now(UTC))
    with suppress(FleetError):  # a supervisor that is not woken looks again later
        for task in tasks_of_coders(fleet, [path.stem for path in paths]):
            fleet.queue.reopen_task(task, by=fleet.by)
    return paths
