"""Packs whose index lies, in the clone of an agent: what lands is what was verified.

git names objects by their content and does not hash what it reads from packs. An agent writes its
clone's packs, so it can name verified bytes after others. Each of these passed verification, and
landed what was never verified, where fleet read the clone's objects.
"""

import os
import textwrap

import pytest

from fleet.home import landing_json
from fleet.runs import receipt_json
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.fakes import FAKES
from tests.repos import ENV, Repo
from tests.story.scene import NEEDS_YOU, Scene
from tests.story.test_box import CODER, END, TOOL

GOOD, EVIL = "def one(): return 1\n", "import os; EVIL = 1\n"
FILES = {
    "src/a.py": GOOD,
    # The bytes of the attack are in the project, so that it holds an object of their name.
    "attic/evil.py": EVIL,
    "check/test.sh": "! grep -q EVIL src/a.py\n",
    "check/empty.sh": "exit 0\n",
}
COMMIT = "git add -A && git commit -qm work"


@pytest.fixture(params=["off", "workspace", "strict"])
def scene(tmp_path, request):
    need("git")
    if request.param != "off" and not try_box(os.environ).works:
        missing("bwrap")
    scene = Scene(tmp_path, coder="script", retry_limit=1, land="auto", sandbox=request.param)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.coder("script", CODER)
    scene.repo = Repo(scene.project)
    yield scene
    scene.close()


def play(scene, script, *, verify=("sh check/test.sh",), **wishes):
    """Run one task whose agent is this script; its receipt and its landing."""
    forger = (FAKES / "forge_pack.py").read_text()
    lines = [TOOL, textwrap.dedent(script), "bd close $FLEET_TASK_ID --reason done >&2", END]
    for path, text in {**FILES, "agent.sh": "\n".join(lines), "forge.py": forger}.items():
        scene.repo.put(path, text)
    scene.repo.commit()
    # A branch with the very tree of the attack, as that of an earlier task that was refused.
    scene.repo.git("checkout", "-q", "-b", "side")
    scene.repo.commit(src__a_dot_py=EVIL)
    scene.repo.git("checkout", "-q", "main")
    task_id = scene.add("agent.sh", coder="script", branch="main", verify=verify, **wishes)
    assert scene.supervise("--until-idle").wait(60) == NEEDS_YOU, scene.screen()
    return receipt_json.read(scene.run(task_id)), landing_json.believed(scene.home, task_id)


def on_main(scene, path):
    return scene.repo.git("show", f"main:{path}")


FORGE_FILE = f"""
cp attic/evil.py src/a.py; {COMMIT}
git show HEAD~:src/a.py > good
python3 -I forge.py $(git rev-parse HEAD:src/a.py)=blob:good
rm good
grep -q EVIL src/a.py && ! git show HEAD:src/a.py | grep -q EVIL && echo forged >&2
"""


def test_a_changed_file_is_verified_as_it_lands(scene):
    """The name of the new file's bytes leads to the old file's bytes in the clone."""
    receipt, landing = play(scene, FORGE_FILE)
    assert "forged" in scene.run(receipt.task_id).stderr.read_text(), "the attack is one"
    assert receipt.verdict.state == "rejected"
    assert [check.passed for check in receipt.checks] == [False]
    assert landing is None
    assert on_main(scene, "src/a.py") == GOOD.strip()


def test_a_file_that_is_not_committed_is_verified_as_it_lands(scene):
    """The same bytes in the working tree alone."""
    receipt, landing = play(
        scene, FORGE_FILE.replace(COMMIT, "true").replace("HEAD~:", "HEAD:").replace(
            "$(git rev-parse HEAD:src/a.py)", "$(git rev-parse HEAD:attic/evil.py)"
        ),
    )  # fmt: skip
    assert [check.passed for check in receipt.checks] == [False]
    assert landing is None


def test_a_pinned_file_is_the_one_of_the_project(scene):
    """The name of the pinned test leads to an empty test in the clone."""
    script = f"""
    cp attic/evil.py src/a.py; {COMMIT}
    python3 -I forge.py $(git rev-parse HEAD:check/test.sh)=blob:check/empty.sh
    git show HEAD:check/test.sh | grep -q EVIL || echo forged >&2
    """
    receipt, landing = play(scene, script, pins=("check/test.sh",), scope=("src/**",))
    assert "forged" in scene.run(receipt.task_id).stderr.read_text(), "the attack is one"
    assert [check.passed for check in receipt.checks] == [False]
    assert landing is None
    assert on_main(scene, "src/a.py") == GOOD.strip()


def test_a_tree_is_not_taken_at_its_name(scene):
    """The name of a directory leads to the directory of the commit before."""
    script = f"""
    cp attic/evil.py src/a.py; {COMMIT}
    git cat-file tree HEAD~:src > good
    python3 -I forge.py $(git rev-parse HEAD:src)=tree:good
    rm good
    git show HEAD:src/a.py | grep -q EVIL || echo forged >&2
    """
    receipt, landing = play(scene, script)
    assert "forged" in scene.run(receipt.task_id).stderr.read_text(), "the attack is one"
    assert not receipt.checks_passed
    assert landing is None
    assert on_main(scene, "src/a.py") == GOOD.strip()


def test_what_a_person_reviews_is_what_lands(scene):
    """With `land = ask`, and no command that could tell: the review shows the bytes of the work."""
    scene.configure(land="ask")
    receipt, landing = play(scene, FORGE_FILE, verify=())
    assert landing.state == "asks"
    diff = (scene.run(receipt.task_id).path / receipt.changes.diff).read_text()
    assert "+import os; EVIL = 1" in diff
    assert "+import os; EVIL = 1" in scene.fleet("review", receipt.task_id).stdout
    assert scene.repo.git("show", f"{landing.commit}:src/a.py") == EVIL.strip()


def test_a_review_shows_pinned_files_as_they_land(scene):
    """The agent eased the exam: what it left is no part of the work."""
    scene.configure(land="ask")
    script = f"echo 'a = 2' >> src/a.py; echo 'exit 0' > check/test.sh; {COMMIT}"
    receipt, landing = play(scene, script, pins=("check/test.sh",))
    assert landing.state == "asks"
    shown = scene.fleet("review", receipt.task_id).stdout
    assert "+a = 2" in shown
    assert "+exit 0" not in shown
    assert scene.repo.git("diff", "--name-only", "main", landing.commit) == "src/a.py"


def test_a_commit_is_not_taken_at_its_name(scene):
    """The name of the agent's commit leads to the commit before; the message says what is wrong."""
    script = f"""
    cp attic/evil.py src/a.py; {COMMIT}
    git cat-file commit HEAD~ > good
    python3 -I forge.py $(git rev-parse HEAD)=commit:good
    """
    receipt, landing = play(scene, script)
    assert landing is None
    assert "are not what their names say" in scene.fleet("show", receipt.task_id).stdout
    assert on_main(scene, "src/a.py") == GOOD.strip()
