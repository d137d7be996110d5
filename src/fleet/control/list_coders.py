"""`fleet coders`: every coder, where it comes from, and whether it can run on this machine; and
the trust of a person in the files of added coders.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from fleet import coders
from fleet.bd.actor import actor
from fleet.coders import trusted_files
from fleet.coders.base import Coder
from fleet.control import Control
from fleet.control.queue.needs_person import tasks_of_coders
from fleet.errors import BadInput, FleetError, Refused
from fleet.processes import process_identity
from fleet.processes.cli_versions import PATIENCE, VersionAnswer, asked
from fleet.schemas import Task


class CoderHere(Struct, frozen=True, kw_only=True):
    """One coder as this machine has it."""

    name: str
    #: Built in, a file, or a package.
    origin: str
    program: str = ""
    #: Where its program was found; empty if it was not.
    path: str = ""
    version: str = ""
    #: Why the program told no version, if it is there.
    remark: str = ""
    #: Why no task can be run with it here; empty if one can.
    problem: str = ""
    #: Tasks that name no coder get this one.
    default: bool = False


def coders_here(fleet: Control, patience: float = PATIENCE) -> list[CoderHere]:
    """Every coder, fleet's own first; a broken coder has a problem."""
    home = fleet.home.path
    broken = coders.problems(home)
    programs: dict[str, str] = {}
    asks: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    for name in coders.names(home):
        try:
            coder = coders.make(name, home=home)
        except BadInput as error:
            broken.setdefault(name, error.message)
            continue
        programs[name] = _program(coder, home)
        path = shutil.which(programs[name])
        if path is not None:
            asks[name] = [path, *coder.version_args]
            homes[name] = coder.state_variable
    answers = _versions(asks, homes, patience)
    found: list[CoderHere] = []
    for name in coders.names(home):
        program = programs.get(name, "")
        missing = f"{program} is not on PATH" if program and name not in asks else ""
        answer = answers.get(name, VersionAnswer())
        found.append(
            CoderHere(
                name=name,
                origin=coders.origin(name, home),
                program=program,
                path=asks[name][0] if name in asks else "",
                version=answer.version,
                remark=answer.problem,
                problem=missing if program else broken[name],
                default=name == fleet.config.coder,
            )
        )
    return found + _hidden(broken, home)


def _versions(
    asks: Mapping[str, Sequence[str]], homes: Mapping[str, str], patience: float
) -> dict[str, VersionAnswer]:
    """The versions of CLIs. Each gets an empty directory for its state: codex would make its home
    for the question, and a person who never used codex would find one.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        given = {
            name: {homes[name]: empty} if homes[name] not in ("", "HOME") else {} for name in asks
        }
        commands = {name: (argv, {**os.environ, **given[name]}) for name, argv in asks.items()}
        return asked(commands, patience)


def trust_coders(
    fleet: Control, names: Sequence[str], *, every: bool, env: Mapping[str, str] = os.environ
) -> list[Path]:
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
    with suppress(FleetError):  # a supervisor that is not woken looks again by itself
        for task in tasks_of_coders(fleet, [path.stem for path in paths]):
            fleet.queue.reopen_task(task, by=actor(env))
    return paths


def _hidden(broken: dict[str, str], home: Path) -> list[CoderHere]:
    """Files with the name of a coder of fleet's own, which comes first."""
    return [
        CoderHere(name=name, origin="hidden", problem=problem)
        for name, problem in broken.items()
        if coders.origin(name, home) == "built in"
    ]


def _program(coder: Coder, home: Path) -> str:
    """The program that a coder starts: its `program`, or the first word of its command line."""
    if coder.program:
        return coder.program
    now = datetime.now(UTC)
    task = Task(id="fleet-0", title="", created_at=now, updated_at=now, cwd=str(home))
    try:
        return str(coder.build_argv(task, home / "tasks" / task.id)[0])
    except Exception:  # noqa: BLE001 - code of users may raise anything; the coder's name is a good guess
        return coder.name
