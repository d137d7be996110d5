"""`tasks/<id>/compare.json`: the comparison that a task is, or was, the subject of."""

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain
from fleet.home import Home
from fleet.schemas.comparison import Comparison

FILE = "compare.json"
_LARGEST = 4 << 20


def read(home: Home, task_id: str) -> Comparison | None:
    """The latest comparison of a task; None if there never was one."""
    path = home.task(task_id) / FILE
    try:
        data = read_plain(path, _LARGEST)
        return msgspec.json.decode(data, type=Comparison) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidTask(f"{path} is damaged: {error}", hint="Move it away to go on.") from error


def is_open(home: Home, task_id: str) -> bool:
    """The task is the subject of a comparison that is not over: nobody works on it itself."""
    found = read(home, task_id)
    return found is not None and found.is_open


def write(home: Home, comparison: Comparison) -> Comparison:
    folder = home.task(comparison.task_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / FILE, msgspec.json.encode(comparison))
    return comparison


def put_aside(home: Home, task_id: str) -> None:
    """Make room for the next comparison; this one stays under its number."""
    folder = home.task(task_id)
    number = 1
    while (place := folder / f"compare.{number}.json").exists():
        number += 1
    (folder / FILE).rename(place)
