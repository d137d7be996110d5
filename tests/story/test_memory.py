"""What a supervisor holds in memory follows the tasks in hand, not the tasks that are done."""

import pytest

from tests.conftest import often
from tests.fakes import FAKES
from tests.story.scene import Scene

#: Done before the first measurement, so that modules are imported and caches are filled.
FIRST = 40
#: Bytes that may be held more at the second measurement: by what is rarely used, and a task.
ONCE, EACH = 60_000, 100
#: Ends at once and claims its task: one shell, so that the supervisor does most of the work.
CLOSES = """
argv = ["/bin/sh", "-c", '''
echo '{"type":"tool"}'; echo '{"type":"end"}'
printf 'fleet-request-1\\0003\\000bd\\000close\\000%s\\0000\\000' "$FLEET_TASK_ID" \\
    > "${FLEET_SPOOL:-.}/close.request"
''']
prompt = "stdin"

[[event]]
when = { type = "tool" }
kind = "tool_use"

[[event]]
when = { type = "end" }
terminal = "success"
"""


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path, max_concurrent=8)
    scene.coder("closes", CLOSES)
    yield scene
    scene.close()


def held_after(scene, tasks):
    """What is held after a few tasks and after so many, in bytes."""
    supervisor = scene._start(str(FIRST), str(tasks), program=FAKES / "measured_supervisor.py")
    found = []
    for done, more in ((FIRST, FIRST), (tasks, tasks - FIRST)):
        for _ in range(more):
            scene.add(coder="closes")
        path = scene.home.path / f"memory-{done}"
        scene.until(lambda path=path: path.exists() and path.read_text(), patience=2.0 * more)
        found.append(int(path.read_text()))
    scene.kill(supervisor)
    return found


def test_memory_does_not_grow_with_the_tasks_that_are_done(scene):
    """One that ran for weeks held a line of the day's spending and some paths for each run."""
    tasks = often(3 * FIRST, 1500)
    before, after = held_after(scene, tasks)
    assert after - before < ONCE + EACH * (tasks - FIRST), f"{before} bytes, then {after}"
