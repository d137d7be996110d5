"""Nothing that a living agent can write is opened by a path. The supervisor's steps are watched, so
that no list of functions has to be complete.
"""

import pytest

from tests.conftest import need
from tests.fakes import FAKES
from tests.hostile.test_forged_objects import scene  # noqa: F401
from tests.story.test_box import END, TOOL

#: Uses all that an agent can write, and waits there for what others do.
AGENT = f"""
{TOOL}
echo plan > $FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md; echo known > $FLEET_ARTIFACT_DIR/KNOWLEDGE.md
bd comment $FLEET_TASK_ID 'a remark' >&2; bd note $FLEET_TASK_ID noted >&2; fleet status >&2
echo 'b = 1' > src/b.py; git add -A; git commit -qm work; echo '{{"type":"tool","id":"2"}}'
touch $FLEET_ARTIFACT_DIR/began
until [ -e $FLEET_ARTIFACT_DIR/go ]; do sleep 0.2; done
bd close $FLEET_TASK_ID --reason done >&2
{END}
"""
OTHER = f"""
{TOOL}
echo 'c = 1' > src/c.py; git add -A; git commit -qm other
bd close $FLEET_TASK_ID --reason done >&2
{END}
"""


@pytest.mark.timeout(120)
def test_the_supervisor_opens_no_path_below_a_place_of_a_living_agent(scene):  # noqa: F811
    """Nor is git started there, while people tell the agent something and other work lands."""
    need("git")
    repo = scene.repo
    for path, text in {"src/a.py": "a = 1\n", "agent.sh": AGENT, "other.sh": OTHER}.items():
        repo.put(path, text)
    repo.commit()
    wanted = {"coder": "script", "branch": "main", "verify": ("true",)}
    scene.configure(max_concurrent=2)
    task = scene.add("agent.sh", **wanted)
    supervisor = scene._start(program=FAKES / "watched_supervisor.py")
    scene.until((scene.folder(task) / "artifacts/began").exists)
    assert scene.fleet("tell", task, "a word").returncode == 0
    other = scene.add("other.sh", **wanted)
    scene.until_status(other, "closed", patience=60)
    scene.fleet("task", task, "diff")
    (scene.folder(task) / "artifacts/go").touch()
    scene.until_status(task, "closed", patience=60)
    scene.kill(supervisor)
    assert (scene.home.path / "opened").read_text(), "the watch sees what is opened"
    assert (scene.home.path / "watched").read_text() == ""
