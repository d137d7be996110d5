"""What an agent commits lands as it was committed, through the real supervisor."""

import os
import textwrap

import pytest

from fleet.home import landing_json
from fleet.runs import receipt_json
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need, only_slow
from tests.hostile.escape_table import LEVELS
from tests.repos import ENV, Repo
from tests.story.scene import NEEDS_YOU, Scene
from tests.story.test_box import CODER, END, TOOL

#: The agent of a user who told git no name.
NAME = "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c"
ASK_NOBODY, COMMIT = 0, "git add -A -f && git commit -qm work"


#: What an agent committed is the same in a box and without one.
at_each_level = pytest.mark.parametrize("scene", LEVELS, indirect=True)


@pytest.fixture
def scene(tmp_path, request):
    need("git")
    level = getattr(request, "param", "off")
    if level != "off" and not try_box(os.environ).works:
        missing("bwrap")
    scene = Scene(tmp_path, coder="script", retry_limit=1, land="auto", sandbox=level)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.coder("script", CODER)
    scene.repo = Repo(scene.project)
    scene.repo.write(_dot_gitignore="*.log\n", src__a_dot_py="a = 1\n", old_dot_py="old\n")
    yield scene
    scene.close()


def play(scene, script, *, verify=(), code=ASK_NOBODY):
    """Run one task whose agent is this script; its landing, and what its commit holds."""
    lines = [
        f"export {NAME}",
        TOOL,
        textwrap.dedent(script),
        "bd close $FLEET_TASK_ID --reason done >&2",
        END,
    ]
    scene.repo.put("agent.sh", "\n".join(lines))
    scene.repo.commit()
    task_id = scene.add("agent.sh", coder="script", branch="main", verify=verify, expect="change")
    assert scene.supervise("--until-idle").wait(60) == code, scene.screen()
    receipt = receipt_json.read(scene.run(task_id))
    landing = landing_json.believed(scene.home, task_id)
    assert landing is not None, receipt.verdict
    return receipt, landing


def landed(scene, commit="main"):
    """The files of a commit: mode and name."""
    rows = scene.repo.git("ls-tree", "-r", commit).splitlines()
    return {row.partition("\t")[2]: row.split(" ")[0] for row in rows}


@at_each_level
def test_committed_secrets_land_whole_and_ask_first(scene):
    """Without them the branch would fail the check that the receipt calls passed."""
    script = f"""
    mkdir fixtures
    echo key > fixtures/server.pem; echo A=1 > .env; echo rsa > fixtures/id_rsa
    echo 'test -s fixtures/server.pem && test -s .env' > check.sh
    {COMMIT}
    echo loose > fixtures/other.pem
    """
    receipt, landing = play(scene, script, verify=("sh check.sh",), code=NEEDS_YOU)
    assert receipt.checks_passed, receipt.checks
    assert landing.state == "asks"
    secrets = "files that look like secrets: .env, fixtures/id_rsa, fixtures/server.pem"
    assert secrets in landing.why
    assert scene.fleet("land", receipt.task_id).returncode == 0
    assert scene.supervise("--until-idle").wait(60) == 0, scene.screen()
    files = landed(scene)
    assert {".env", "fixtures/id_rsa", "fixtures/server.pem"} <= files.keys()
    assert "fixtures/other.pem" not in files, "what looks like a secret is never added by fleet"
    assert scene.repo.git("rev-parse", "main^{tree}") == landing.tree


@at_each_level
def test_a_check_that_needs_an_uncommitted_secret_fails(scene):
    """The command runs on what would land, so the missing file shows."""
    script = "echo key > server.pem; echo 'test -s server.pem' > check.sh; git add check.sh"
    lines = [TOOL, script, "bd close $FLEET_TASK_ID --reason done >&2", END]
    scene.repo.put("agent.sh", "\n".join(lines))
    scene.repo.commit()
    task_id = scene.add("agent.sh", coder="script", branch="main", verify=("sh check.sh",))
    assert scene.supervise("--until-idle").wait(60) == NEEDS_YOU, scene.screen()
    receipt = receipt_json.read(scene.run(task_id))
    assert [check.passed for check in receipt.checks] == [False]
    assert landing_json.believed(scene.home, task_id) is None


@at_each_level
def test_a_large_committed_file_lands_and_asks_first(scene):
    """It is in the branch's history for good, so a person looks."""
    receipt, landing = play(
        scene, f"head -c 54000000 /dev/zero > big.bin; {COMMIT}", code=NEEDS_YOU
    )
    assert "very large files: big.bin (51.5MB)" in landing.why
    assert "big.bin" in landed(scene, landing.commit)
    assert receipt.changes.tree == landing.tree


@at_each_level
def test_submodules_land_as_committed(scene):
    """A new one, and one that was moved in the index alone."""
    moved, new = "1" * 40, "2" * 40
    scene.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'3' * 40},part")
    scene.repo.git("commit", "-qm", "a submodule")
    script = f"""
    git update-index --add --cacheinfo 160000,{moved},part
    git update-index --add --cacheinfo 160000,{new},more
    git commit -qm moved
    """
    _, landing = play(scene, script)
    assert landing.state == "landed"
    rows = scene.repo.git("ls-tree", "main", "part", "more").split()
    assert (rows[2], rows[6]) == (new, moved)


@at_each_level
def test_nothing_that_is_committed_is_removed(scene):
    """Files that left the working tree, ignored ones, and one whose place something else took."""
    script = f"""
    echo b > src/b.py; echo log > run.log; echo x > x; {COMMIT}
    rm src/b.py old.py x; mkdir x; echo y > x/y; echo loose > loose.py
    """
    receipt, landing = play(scene, script)
    assert landing.state == "landed"
    files = landed(scene)
    assert {"src/b.py", "old.py", "run.log", "x", "loose.py"} <= files.keys()
    assert "x/y" not in files
    assert receipt.changes.kept == ("old.py", "src/b.py", "x")
    shown = scene.fleet("task", receipt.task_id, "receipt").stdout
    assert "src/b.py  (committed, and gone from the working tree without a commit)" in shown
    assert scene.repo.git("rev-parse", "main^{tree}") == receipt.changes.tree


def test_a_deletion_by_an_agent_that_commits_nothing_lands(scene):
    """The work is then the working tree against the commit that it began at."""
    _, landing = play(scene, "rm old.py; echo 'a = 2' > src/a.py")
    assert landing.state == "landed"
    assert "old.py" not in landed(scene)


def test_the_receipt_shows_what_all_runs_changed(scene):
    """The work of a rejected run stays in the clone, so it lands with that of the next one."""
    scene.configure(retry_limit=2)
    script = "echo 'b = 2' >> src/a.py; echo run >> runs.txt"
    receipt, _ = play(scene, script, verify=('test "$(wc -l < runs.txt)" = 2',))
    (own,) = [file for file in receipt.changes.files if file.path == "src/a.py"]
    (all_runs,) = [file for file in receipt.whole if file.path == "src/a.py"]
    assert (own.added, all_runs.added) == (1, 2)
    shown = scene.fleet("task", receipt.task_id, "receipt").stdout
    assert "2 files  +4 -0 against the commit that the task began at" in shown


@only_slow
def test_very_many_committed_files_land_and_ask_first(scene):
    """Over twenty thousand."""
    script = f"mkdir data; for i in $(seq 20500); do echo $i > data/$i; done; {COMMIT}"
    _, landing = play(scene, script, code=NEEDS_YOU)
    assert "20,500 new files of" in landing.why
    assert len(landed(scene, landing.commit)) > 20_500


def test_an_agent_finds_its_own_commit_again(scene):
    """The closing commit stands on top of what was committed, by the person's name."""
    _, landing = play(scene, f"echo b > b; {COMMIT}; echo c > c")
    assert scene.repo.git("log", "--format=%s", "-1", f"{landing.commit}^") == "work"
    assert scene.repo.git("show", "--stat", "--format=", landing.commit).split()[0] == "c"


@pytest.mark.parametrize("verify", [(), ("true",)])
def test_an_empty_commit_is_no_change(scene, verify):
    """A check that passes on the tree as it was says nothing of the work."""
    lines = [
        TOOL,
        "git commit -q --allow-empty -m fix",
        "bd close $FLEET_TASK_ID --reason done >&2",
    ]
    scene.repo.put("agent.sh", "\n".join([*lines, END]))
    scene.repo.commit()
    task_id = scene.add("agent.sh", coder="script", branch="main", verify=verify, expect="change")
    assert scene.supervise("--until-idle").wait(60) == NEEDS_YOU, scene.screen()
    verdict = receipt_json.read(scene.run(task_id)).verdict
    assert [each.rule for each in verdict.findings] == ["no_effect"]
