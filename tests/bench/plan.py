"""A plan of a thousand tasks: read, checked and applied on the embedded queue, then once more."""

import tempfile
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from fleet.plan.check_plan import check_plan
from fleet.plan.find_spec import find_spec, read_plan
from fleet.plan.plan_changes import WrittenPlan
from fleet.plan.plan_drafts import PlanPlace, drafts_of
from fleet.plan.write_plan import write_plan
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.sqlite import open_embedded
from tests.bench import Figure, seconds

TASKS = 1000
#: Tasks of a section: they wait for each other, and the next section for all of them.
SECTION = 10
ROUNDS = 3


def figures() -> Generator[Figure]:
    first: list[float] = []
    again: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="fleet-bench-") as name:
            folder = Path(name)
            (folder / "tasks.md").write_text(spec())
            with closing(open_embedded(folder)) as queue:
                first.append(seconds(lambda q=queue, f=folder: check(apply(q, f), TASKS)))
                again.append(seconds(lambda q=queue, f=folder: check(apply(q, f), 0)))
    yield Figure(f"plan of {TASKS:,} tasks applied, s", min(first), 1.0, at_most=True,
                 detail=f"best of {ROUNDS}; file to commit, {SECTION} side by side")  # fmt: skip
    yield Figure("the same plan applied again, s", min(again), 1.0, at_most=True,
                 detail="0 changes")  # fmt: skip


def spec() -> str:
    """A list of spec-kit's."""
    lines: list[str] = []
    for number in range(TASKS):
        if number % SECTION == 0:
            lines.append(f"## Phase {number // SECTION + 1}\n")
        lines.append(f"- [ ] T{number:04} [P] Do part {number} in src/part_{number}.py")
    return "\n".join(lines)


def apply(queue: SqlQueue, folder: Path) -> WrittenPlan:
    found = find_spec(folder / "tasks.md", base=folder)
    plan = check_plan(read_plan(found), limit=TASKS, name="tasks.md")
    place = PlanPlace(spec="tasks.md", cwd=str(folder))
    drafts = drafts_of(plan, place)
    return write_plan(queue, drafts, place, done=frozenset(), actor="bench", owner="", prune=False)


def check(written: WrittenPlan, made: int) -> None:
    new = [key for key in written.changes.new if key.startswith("T")]
    assert len(new) == made, written.changes
