"""Sample specs of each format, and plans made by hand."""

from pathlib import Path

from fleet.plan.find_spec import find_spec, read_plan
from fleet.plan.neutral_plan import Plan, PlannedTask

DATA = Path(__file__).parent / "data/plans"


def sample(name: str, **how) -> Plan:
    """The plan that a sample holds."""
    return read_plan(find_spec(DATA / name, base=DATA, **how))


def by_key(plan: Plan) -> dict[str, PlannedTask]:
    return {task.key: task for task in plan.tasks}


def a_plan(after: dict[str, str], **fields) -> Plan:
    """A plan of tasks by their keys, each with the keys that it waits for in one text."""
    tasks = [
        PlannedTask(
            key=key, title=f"Do {key}", body=f"All of {key}.", after=tuple(waits.split()),
            place=f"plan.toml:{number}",
        )
        for number, (key, waits) in enumerate(after.items(), start=1)
    ]  # fmt: skip
    return Plan(**{"title": "All of it", "tasks": tuple(tasks)} | fields)
