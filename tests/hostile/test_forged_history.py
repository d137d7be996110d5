"""Histories that claim too much: a commit names later commits of the branch as its parents, and its
files lack what those brought. By the rules of git such a merge takes that off the branch, though
the receipt and the review show the work alone.
"""

import textwrap

from fleet.home import landing_json
from fleet.runs import receipt_json
from tests.hostile.test_forged_objects import COMMIT, scene  # noqa: F401
from tests.story.test_box import END, TOOL

#: Waits until somebody else has landed: the project's objects can be read in every box.
AGENT = f"""
{TOOL}
echo 'a = 2' >> src/a.py; {COMMIT}
touch "$FLEET_ARTIFACT_DIR/began"
every="git cat-file --batch-all-objects --batch-check"
until test "$later"; do
    later=$($every | sed -n 's/ commit .*//p' | git log --stdin --no-walk --format='%H %s' |
        sed -n 's/ later$//p')
done
git merge -q -s ours -m merged $later
bd close $FLEET_TASK_ID --reason done >&2
{END}
"""


def test_a_history_takes_nothing_off_the_branch(scene):  # noqa: F811
    """A person added a file, and a stricter test, while the agent was at work."""
    repo = scene.repo
    for path, text in {"src/a.py": "a = 1\n", "test.sh": "exit 0\n"}.items():
        repo.put(path, text)
    repo.put("agent.sh", textwrap.dedent(AGENT))
    repo.commit()
    task = scene.add("agent.sh", coder="script", verify=("sh test.sh",), scope=("src/**",))
    supervisor = scene.supervise("--until-idle")
    scene.until((scene.folder(task) / "artifacts/began").exists)
    repo.put("test.sh", "test -e docs/later\n")
    repo.put("docs/later", "later\n")
    later = repo.commit("later")
    assert supervisor.wait(60) == 0, scene.screen()
    landing = landing_json.believed(scene.home, task)
    assert landing.state == "landed", landing.why
    changes = receipt_json.read(scene.run(task)).changes
    assert [each.path for each in changes.files] == ["src/a.py"]
    assert repo.git("diff", "--name-only", later, "main") == "src/a.py"
