"""`fleet coders`: every coder, the origin of each, and whether this machine can run it; and a
person's trust in the files of added coders.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from fleet import coders
from fleet.coders import trusted_files
from fleet.coders.installed import installed_programs
from fleet.control import Control
from fleet.control.queue.needs_person import tasks_of_coders
from fleet.errors import BadInput, FleetError, Refused
from fleet.processes import process_identity
from fleet.processes.cli_versions import VersionAnswer


class CoderHere(Struct, frozen=True, kw_only=True):
    """One coder on this machine."""

    name: str
    #: Built in, a file, or a package.
    origin: str
    program: str = ""
    #: Where the program was found; empty: not found.
    path: str = ""
    version: str = ""
    #: Why the program, if there is one, told no version.
    remark: str = ""
    #: Why no task can be run with this coder here; empty if one can.
    problem: str = ""
    #: Tasks that name no coder get this one.
    default: bool = False


def coders_here(fleet: Control) -> list[CoderHere]:
    """Every coder, fleet's own first; a broken coder has a problem."""
    home = fleet.home.path
    here = installed_programs(home)
    found: list[CoderHere] = []
    for name in coders.names(home):
        program = here.programs.get(name, "")
        missing = f"{program} is not on PATH" if program and name not in here.paths else ""
        answer = here.versions.get(name, VersionAnswer())
        found.append(
            CoderHere(
                name=name,
                origin=coders.origin(name, home),
                program=program,
                path=here.paths.get(name, ""),
                version=answer.version,
                remark=answer.problem,
                problem=missing if program else here.broken[name],
                default=name == fleet.config.coder,
            )
        )
    return found + _hidden(here.broken, home)


def trust_coders(fleet: Control, names: Sequence[str], *, every: bool) -> list[Path]:
    """Trust the files of these coders, or of all, as they are now, and let their tasks begin.

    Returns the files.
    """
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


def _hidden(broken: Mapping[str, str], home: Path) -> list[CoderHere]:
    """Files with the name of a coder of fleet's own, which comes first."""
    return [
        CoderHere(name=name, origin="hidden", problem=problem)
        for name, problem in broken.items()
        if coders.origin(name, home) == "built in"
    ]
