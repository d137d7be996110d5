"""`tasks/<id>/compare.json`: the comparison that a task is, or was, the subject of."""

from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.schemas.comparison import Comparison
from fleet.schemas.task_state import Wait, WayOn
from fleet.schemas.waits import Compared

FILE = "compare.json"
_RECORD = JsonRecord(Comparison, limit=4 << 20)


def read(home: Home, task_id: str) -> Comparison | None:
    """The latest comparison of a task; None if there never was one."""
    return _RECORD.read(home.task(task_id) / FILE)


def shown(home: Home, task_id: str) -> Comparison | None:
    """The latest comparison, to be shown and never acted on; None also if the record is damaged."""
    return _RECORD.read_or_none(home.task(task_id) / FILE)


def is_open(home: Home, task_id: str) -> bool:
    """The task is the subject of a comparison that is not over: no run works on the
    compared task.
    """
    found = read(home, task_id)
    return found is not None and found.is_open


def write(home: Home, comparison: Comparison) -> Comparison:
    folder = home.task(comparison.task_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _RECORD.write(folder / FILE, comparison)
    return comparison


def put_aside(home: Home, task_id: str) -> None:
    """Rename the comparison to `compare.<n>.json`, to make room for the next one."""
    folder = home.task(task_id)
    number = 1
    while (place := folder / f"compare.{number}.json").exists():
        number += 1
    (folder / FILE).rename(place)


class ComparisonFacts(SubjectFacts, frozen=True, kw_only=True):
    """Whether a task is the subject of a comparison that is not over."""

    is_open: bool = False


class NotCompared(Gate):
    """No run works on a task whose copies are compared."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        if not start.of(ComparisonFacts).is_open:
            return None
        way = WayOn(verb="pick", line=f"fleet compare {start.task.id}")
        return Wait(gate="comparison", reason="it is being compared", way_on=way, blocks=Compared())
