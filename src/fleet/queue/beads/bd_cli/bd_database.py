"""bd's database in a home: made by a `bd init` that touches no git repository of the user's, and
told from another database by the id that bd gave it.
"""

import re
import shutil
from datetime import timedelta
from pathlib import Path

import msgspec

from fleet.errors import BadInput, HomeError, InvalidTask, QueueUnavailable, WrongQueue
from fleet.files.safe_read import read_bounded
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_client import FOLDER, BdClient
from fleet.queue.identity import BEADS, LEDGER, Identity, known_ids
from fleet.schemas import typed

#: Making the database takes bd far longer than any call after it.
TIMEOUT = timedelta(minutes=3)

#: A new database is made here and then moved, so that a killed init leaves no half of one.
_WORKSHOP = ".beads.making"
#: bd's own record of its database, written last.
_ABOUT = "metadata.json"
_PREFIX = r"[A-Za-z][A-Za-z0-9_-]{0,30}"
#: Each flag only if this bd knows it; `--stealth` keeps bd from committing anything.
_WANTED = ("--stealth", "--skip-hooks", "--skip-agents", "--non-interactive", "--quiet")
_THERE_ALREADY = r"(?i)already (been )?initiali[sz]ed|already exists"
#: What bd calls its database's id in metadata.json; databases of an early bd have none.
_FIELD = "project_id"
_GONE = (
    "Put it back from your own back-up of the home, or from bd's (a Dolt remote, bd export)."
    " To begin a new one beside the tasks of this home: fleet queue accept"
)


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
    if not re.fullmatch(_PREFIX, prefix) or prefix.endswith("-"):
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
        if is_ready(folder) and re.search(_THERE_ALREADY, ended.err + complaint):
            return False
        raise QueueUnavailable(
            f"bd init failed: {complaint}", hint=f"If {folder / FOLDER} is of no use, remove it."
        )
    if not is_ready(folder):
        raise QueueUnavailable(f"bd init made no database in {folder}", hint=complaint)
    return True


def is_ready(home: Path) -> bool:
    """Whether bd has finished making a database here: bd writes this file last."""
    return (home / FOLDER / _ABOUT).is_file()


def check_database(home: Path) -> None:
    """Raise QueueUnavailable without a database, and WrongQueue for one that is another's."""
    refuse_wrong(home)
    if not (home / FOLDER).is_dir():
        raise QueueUnavailable(
            f"there is no beads database in {home}", hint="Make one with `fleet init`."
        )


def refuse_wrong(home: Path) -> None:
    """Raise WrongQueue for a database that is another's, or is missing in a home that had one."""
    folder = home / FOLDER
    if folder.is_dir():
        if found := project_id(folder):
            Identity(home=home, name=BEADS).check(found, folder)
    elif {BEADS, LEDGER} & known_ids(home).keys():
        raise WrongQueue(f"the beads database {folder} is gone", hint=_GONE)


def project_id(folder: Path) -> str:
    """The id that bd gave to the database in a folder; empty if there is none."""
    try:
        data = read_bounded(folder / _ABOUT, 1 << 20)
        about = typed.decode(data or b"{}", dict[str, object])
    except (InvalidTask, msgspec.DecodeError):
        return ""  # bd itself says what is wrong with it
    return str(about.get(_FIELD) or "")
