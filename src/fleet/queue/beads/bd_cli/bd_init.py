"""Prepares a home for the beads queue: `bd init` that touches no git repository of the user's."""

import re
import shutil
from datetime import timedelta
from pathlib import Path

from fleet.errors import BadInput, HomeError, QueueUnavailable
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_client import FOLDER, BdClient

#: Making the database takes bd far longer than any call after it.
TIMEOUT = timedelta(minutes=3)

#: A new database is made here and then moved, so that a killed init leaves no half of one.
_WORKSHOP = ".beads.making"
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
#: Each flag only if this bd knows it; `--stealth` keeps bd from committing anything.
_WANTED = ("--stealth", "--skip-hooks", "--skip-agents", "--non-interactive", "--quiet")
_THERE_ALREADY = re.compile(r"already (been )?initiali[sz]ed|already exists", re.IGNORECASE)


def init_beads(
    home: Path,
    *,
    prefix: str = "fleet",
    force: bool = False,
    bd: str = "bd",
    timeout: timedelta = TIMEOUT,
) -> bool:
    """Make the database unless there is one; True: made now.

    `force` asks bd again although there is one. Data is never thrown away: to start anew, a
    person removes the folder.
    """
    if not _PREFIX.fullmatch(prefix) or prefix.endswith("-"):
        raise BadInput(f"{prefix!r} cannot be the prefix of ids", hint="Use a word, like fleet.")
    if is_ready(home) and not force:
        return False
    there = (home / FOLDER).exists()
    workshop = home / _WORKSHOP
    try:
        home.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(workshop, ignore_errors=True)
        if there:
            return _init(home, prefix, bd, timeout)
        workshop.mkdir()
        _init(workshop, prefix, bd, timeout)
        (workshop / FOLDER).rename(home / FOLDER)
        shutil.rmtree(workshop)
    except OSError as error:
        raise HomeError(f"the fleet home {home} cannot be made: {error}") from error
    return True


def _init(folder: Path, prefix: str, bd: str, timeout: timedelta) -> bool:
    """True if bd made a database in this folder, False if there was one."""
    client = BdClient(folder, bd=bd, timeout=timeout)
    known = client.call(["init", "--help"]).out.decode(errors="replace")
    flags = [flag for flag in _WANTED if re.search(rf"{flag}\b", known)]
    ended = client.call(["init", f"--prefix={prefix}", *flags])
    complaint = bd_output.complaint(ended)
    if ended.code != 0:
        if is_ready(folder) and _THERE_ALREADY.search(ended.err + complaint):
            return False
        raise QueueUnavailable(
            f"bd init failed: {complaint}", hint=f"If {folder / FOLDER} is of no use, remove it."
        )
    if not is_ready(folder):
        raise QueueUnavailable(f"bd init made no database in {folder}", hint=complaint)
    return True


def is_ready(home: Path) -> bool:
    """Whether bd has finished making a database here: bd writes this file last."""
    return (home / FOLDER / "metadata.json").is_file()
