"""Whether bd's database in a home is the one that the home knows, by the id from bd."""

from pathlib import Path

import msgspec

from fleet.errors import InvalidTask, QueueUnavailable, WrongQueue
from fleet.files.safe_read import read_bounded
from fleet.queue.beads.bd_cli.bd_client import FOLDER
from fleet.queue.identity import BEADS, LEDGER, Identity, known_ids

#: What bd calls its database's id in metadata.json; databases of an early bd have none.
_FIELD = "project_id"
_HINT = (
    "Put it back from your own back-up of the home, or from bd's (a Dolt remote, bd export)."
    " To begin a new one beside the tasks of this home: fleet queue accept"
)


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
        raise WrongQueue(f"the beads database {folder} is gone", hint=_HINT)


def project_id(folder: Path) -> str:
    """The id that bd gave to the database in a folder; empty if there is none."""
    try:
        data = read_bounded(folder / "metadata.json", 1 << 20)
        about = msgspec.json.decode(data or b"{}", type=dict[str, object])
    except (InvalidTask, msgspec.DecodeError):
        return ""  # bd itself says what is wrong with it
    return str(about.get(_FIELD) or "")
