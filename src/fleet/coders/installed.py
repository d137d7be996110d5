"""Which coders can run on this machine: the program of each, the place, and the version."""

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from fleet import coders
from fleet.coders.base import Coder
from fleet.errors import BadInput
from fleet.processes.cli_versions import VersionAnswer, asked
from fleet.schemas import Task


class InstalledPrograms(Struct, frozen=True, kw_only=True):
    """The programs of all coders of a home."""

    #: The program of each coder that can be loaded, by the coder's name.
    programs: Mapping[str, str]
    #: Where the program is, for coders whose program is on PATH.
    paths: Mapping[str, str]
    versions: Mapping[str, VersionAnswer]
    #: Why a coder cannot be loaded.
    broken: Mapping[str, str]


def installed_programs(home: Path) -> InstalledPrograms:
    """Look for the program of each coder, and ask those that are there for their version."""
    broken = dict(coders.problems(home))
    programs: dict[str, str] = {}
    paths: dict[str, str] = {}
    asks: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    for name in coders.names(home):
        try:
            coder = coders.make(name, home=home)
        except BadInput as error:
            broken.setdefault(name, error.message)
            continue
        programs[name] = program_of(coder, home)
        path = shutil.which(programs[name])
        if path is not None:
            paths[name] = path
            asks[name] = [path, *coder.version_args]
            homes[name] = coder.state_variable
    versions = _versions(asks, homes)
    return InstalledPrograms(programs=programs, paths=paths, versions=versions, broken=broken)


def program_of(coder: Coder, home: Path) -> str:
    """The program that a coder starts: `program`, or the first word of the command line."""
    if coder.program:
        return coder.program
    now = datetime.now(UTC)
    task = Task(id="fleet-0", title="", created_at=now, updated_at=now, cwd=str(home))
    try:
        return str(coder.build_argv(task, home / "tasks" / task.id)[0])
    except Exception:  # noqa: BLE001 - code of users may raise anything; the coder's name is a good guess
        return coder.name


def _versions(
    asks: Mapping[str, Sequence[str]], homes: Mapping[str, str]
) -> dict[str, VersionAnswer]:
    """The versions of CLIs. Each gets an empty directory for its state: codex would make its home
    for the question, and a person who never used codex would find one.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        given = {
            name: {homes[name]: empty} if homes[name] not in ("", "HOME") else {} for name in asks
        }
        commands = {name: (argv, {**os.environ, **given[name]}) for name, argv in asks.items()}
        return asked(commands)
