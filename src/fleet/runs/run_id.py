"""`RunId`: the name of a run, which every process of the run bears in `FLEET_RUN_ID`."""

from typing import Self

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.home import Home
from fleet.runs.run_directory import Run, newest_first
from fleet.schemas import Lease


class RunId(Struct, frozen=True):
    """The lease that a run began under; as text `<owner>.<task>.<fence>`."""

    #: The home that runs the task: letters and digits only.
    owner: str
    #: May contain dots itself.
    task: str
    fence: int

    def __str__(self) -> str:
        return f"{self.owner}.{self.task}.{self.fence}"

    @classmethod
    def of(cls, lease: Lease) -> Self:
        return cls(lease.owner, lease.task.id, lease.fence)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The run id that `text` spells; None if it spells no run id."""
        owner, _, rest = text.partition(".")
        task, _, fence = rest.rpartition(".")
        if not (owner and task and fence.isascii() and fence.isdecimal()):
            return None
        return cls(owner, task, int(fence))


def task_of(run: Run, mark: str) -> str:
    """The task that a run, or a command beside a run, with this mark is for; empty: for none."""
    named = RunId.parse(_inner(run, mark))
    return named.task if named is not None else ""


def _inner(run: Run, mark: str) -> str:
    """The mark without what is added for a command: `<folder>.<run id>.<number>`."""
    folder = run.path.parent.name
    return mark if folder == "runs" else mark.removeprefix(f"{folder}.").rpartition(".")[0]


def mark_of(run: Run) -> str:
    """The mark that the run's processes bear, by the run's record. Raises InvalidTask.

    Processes are killed by their mark, so a record that names another task's is not believed.
    """
    mark = run.spec().id
    inner = _inner(run, mark)
    named, parts = RunId.parse(inner), run.path.parts
    if not inner or (named is not None and inner not in parts and named.task not in parts):
        where = run.path / "run.json"
        raise InvalidTask(f"{where} names the run of another task", hint="The file was changed.")
    return mark


def find_run(home: Home, run_id: RunId) -> Run | None:
    """The run of that id, if the directory is there and the record can be read."""
    try:
        for run in newest_first(home.task(run_id.task)):
            spec = run.known_spec()
            if spec is not None and spec.id == str(run_id):
                return run
    except (FleetError, OSError):
        pass
    return None
