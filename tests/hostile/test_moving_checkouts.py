"""A living agent that can write a person's checkout, and swaps a directory for a link while other
work lands there.
"""

import pytest

from fleet import config
from fleet.home import landing_json
from tests.conftest import need
from tests.hostile.test_forged_objects import scene  # noqa: F401
from tests.story.test_box import END, TOOL

#: Once git has begun to write there, the directory leads elsewhere.
SWAPS = f"""
{TOOL}
touch "$FLEET_ARTIFACT_DIR/began"
cd "$(cat where)"
until [ -e "$FLEET_ARTIFACT_DIR/go" ]; do
    if [ -e zz/0 ] && [ ! -L zz ]; then mv zz away; ln -s "$(cat outside)" zz; fi
done
bd close "$FLEET_TASK_ID" --reason done >&2
{END}
"""
MANY = f"""
{TOOL}
mkdir zz; for number in $(seq 0 2000); do echo mine > zz/$number; done
git add -A; git commit -qm many
bd close "$FLEET_TASK_ID" --reason done >&2
{END}
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("scene", ["workspace", "strict"], indirect=True)
def test_no_checkout_moves_while_a_living_agent_can_write_there(scene, tmp_path):  # noqa: F811
    """The work is to land, the text names the agent's task, and it lands when that run ends."""
    need("git")
    repo, outside = scene.repo, tmp_path / "outside"
    outside.mkdir()
    (scene.project / "where").write_text(str(scene.project))
    (scene.project / "outside").write_text(str(outside))
    repo.put("swaps.sh", SWAPS)
    repo.put("many.sh", MANY)
    repo.commit()
    text = config.default_text(**{**scene.settings, "max_concurrent": 2})
    text += f'\n[projects."{scene.project}"]\nsandbox_write = ["{scene.project}"]\n'
    scene.home.config.write_text(text)
    wanted = {"coder": "script", "branch": "main"}
    agent = scene.add("swaps.sh", expect="any", **wanted)
    supervisor = scene.supervise()
    scene.until((scene.folder(agent) / "artifacts/began").exists)
    work = scene.add("many.sh", verify=("test -e zz/1",), **wanted)
    scene.until(lambda: state(scene, work) in ("ahead", "landed"), patience=60)
    assert state(scene, work) == "ahead"
    assert landing_json.believed(scene.home, work).why == (
        f"main is checked out at {scene.project}, where {agent} is at work:"
        " fleet lands when its run ends"
    )
    assert not (scene.project / "zz").exists()
    (scene.folder(agent) / "artifacts/go").touch()
    scene.until_status(work, "closed", patience=60)
    assert len(list((scene.project / "zz").iterdir())) == 2001
    assert list(outside.iterdir()) == []
    scene.kill(supervisor)


def state(scene, task_id):  # noqa: F811
    landing = landing_json.believed(scene.home, task_id)
    return landing.state if landing is not None else ""
