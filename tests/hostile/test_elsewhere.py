"""Claims of agents whose work is not on the branch: refused, at every level of the box, with the
place of the work; the next run brings the work to the branch, and it lands.
"""

import os

import pytest

from fleet.runs import receipt_json
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.hostile.escape_table import LEVELS
from tests.repos import ENV, Repo
from tests.story.scene import Scene

#: A shell script of the project is the agent; the model names what it does in each run. Its prompt
#: is on stdin.
CODER = """
argv = ["sh", "agent.sh", "{model}"]
prompt = "stdin"
context_limit = 1000
[[event]]
when = { type = "tool" }
kind = "tool_use"
call = { id = "id", name = "id" }
[[event]]
when = { type = "end" }
terminal = "success"
"""
AGENT = r"""
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
echo '{"type":"tool","id":"1"}'
work() { echo fixed > "$1"; git commit -qam 'fix add'; }
case "$1.$(basename "$FLEET_RUN_DIR")" in
    branch.1) git checkout -qb other; work $1; git checkout -q - ;;
    branch.*) git merge -q other ;;
    stash.1) echo fixed > $1; git stash -q ;;
    stash.*) git stash pop -q ;;
    reset.1) work $1; git reset -q --hard HEAD~1 ;;
    forced.1) work $1; git update-ref "$(git symbolic-ref HEAD)" HEAD~1; git reset -q --hard ;;
    detached.1) git checkout -q --detach; work $1; git checkout -q - ;;
    reset.*|forced.*|detached.*) git merge -q "$(grep -o 'merge [0-9a-f]\{12\}' | cut -d' ' -f2)" ;;
    root.1) echo fixed > $1; git commit -qa --amend -m 'all of it' ;;
    root.*) git reset -q --soft main; git commit -qm 'fix add' ;;
    stubborn.*) git checkout -qb other-$(basename "$FLEET_RUN_DIR"); work $1; git checkout -q - ;;
esac
bd close "$FLEET_TASK_ID" --reason 'fixed add, committed' >&2
echo '{"type":"end"}'
"""
#: The rule, and what the finding says, by what the first run did.
CASES = {
    "branch": ("work_elsewhere", "1 commit is on the branch other and not on what is checked out"),
    "stash": ("work_elsewhere", "changes are in a stash and not in the work (stash@{0}"),
    "reset": ("work_elsewhere", "1 commit is on no branch, and nothing is changed without"),
    "forced": ("work_elsewhere", "1 commit is on no branch, and nothing is changed without"),
    "detached": ("work_elsewhere", "1 commit is on no branch, and nothing is changed without"),
    "root": ("unrelated_history", "what is checked out has no commit in common with"),
}


def made(root, level, **settings):
    need("git")
    scene = Scene(root, coder="script", land="auto", sandbox=level, max_concurrent=8, **settings)
    if level != "off" and not try_box(os.environ).works:
        scene.close()
        missing("bwrap")
    scene.coder("script", CODER)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.commit(agent_dot_sh=AGENT, **dict.fromkeys((*CASES, "stubborn"), "broken\n"))
    return scene


@pytest.mark.parametrize("level", LEVELS)
def test_a_claim_whose_work_is_elsewhere_is_refused_and_the_next_run_brings_it(tmp_path, level):
    """Without a verify command: nothing but the place of the work is held against the claim."""
    scene = made(tmp_path, level, retry_limit=2)
    try:
        ids = {case: scene.add(case, coder="script", branch="main", title=case) for case in CASES}
        scene.until_ended(scene.supervise("--until-idle"), 100)
        for case, (rule, words) in CASES.items():
            assert scene.status(ids[case]) == "closed", (case, scene.screen())
            first, second = scene.runs(ids[case])
            (finding,) = receipt_json.read(first).verdict.findings
            assert (finding.rule, words in finding.what) == (rule, True), finding
            assert finding.what in (second.path / "prompt.md").read_text()
            assert scene.repo.git("show", f"main:{case}") == "fixed"
    finally:
        scene.close()


def test_an_agent_that_never_brings_it_is_left_to_a_person(tmp_path):
    """Who sees where the work is, in the project: nothing of it is lost."""
    scene = made(tmp_path, "off", retry_limit=2)
    try:
        task_id = scene.add("stubborn", coder="script", branch="main", title="Fix add")
        scene.until_ended(scene.supervise("--until-idle"), 60)
        assert scene.status(task_id) == "blocked"
        shown = " ".join(scene.fleet("show", task_id).stdout.split())
        assert "work_elsewhere: 1 commit is on the branch other-1" in shown
        assert "(attempt 2 of 2)" in shown
        receipt = " ".join(scene.fleet("task", task_id, "receipt").stdout.split())
        assert f"held by fleet/{task_id}+other-1" in receipt
        assert scene.repo.git("show", f"fleet/{task_id}+other-1:stubborn") == "fixed"
        assert scene.repo.git("show", "main:stubborn") == "broken"
    finally:
        scene.close()
