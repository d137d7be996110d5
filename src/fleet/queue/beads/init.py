"""Prepares a home for the beads queue: `bd init` that touches no git repository of the user's."""

import re
from datetime import timedelta
from pathlib import Path

from fleet.errors import BadInput, HomeError, QueueUnavailable
from fleet.queue.beads import answers
from fleet.queue.beads.client import FOLDER, Client

#: Making the database takes bd far longer than any call after it.
TIMEOUT = timedelta(minutes=3)

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
#: Each only if this bd knows it; `--stealth` keeps it from committing anything.
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
    """Make the database unless it is there; True if it was made now.

    `force` asks bd again although there is one, which mends a half-made one. Data is never
    thrown away: to start anew, a person removes the folder.
    """
    if not _PREFIX.fullmatch(prefix) or prefix.endswith("-"):
        raise BadInput(f"{prefix!r} cannot be the prefix of ids", hint="Use a word, like fleet.")
    if is_ready(home) and not force:
        return False
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(f"the fleet home {home} cannot be made: {error.strerror}") from error
    client = Client(home, bd=bd, timeout=timeout)
    known = client.call(["init", "--help"]).out.decode(errors="replace")
    flags = [flag for flag in _WANTED if re.search(rf"{flag}\b", known)]
    ended = client.call(["init", f"--prefix={prefix}", *flags])
    complaint = answers.complaint(ended)
    if ended.code != 0:
        if is_ready(home) and _THERE_ALREADY.search(ended.err + complaint):
            return False
        raise answers.failure(ended, "init")
    if not is_ready(home):
        raise QueueUnavailable(f"bd init made no database in {home}", hint=complaint)
    return True


def is_ready(home: Path) -> bool:
    """Has bd finished making a database here? It writes this file when all else is in place."""
    return (home / FOLDER / "metadata.json").is_file()
