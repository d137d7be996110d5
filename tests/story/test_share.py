"""What a project shares with its copies (`share`) never becomes a change of a task, whatever rule
ignores the path, and leaves no branch, commit or clone behind.
"""

import os
import subprocess
import sys

import pytest

from fleet import config
from fleet.git.clone.clone_place import clones_in
from fleet.runs import receipt_json
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_compare import coder

#: Says that the program of the shared directory runs, and that the work is there.
PYTHON = ".venv/bin/python -B -m unittest -q"
NODE = "node test.js"
ADD_ALL = "git add -A; git commit -qm 'say it loud'"
#: Each run raises the number by one.
RAISE = 'echo $(($(cat number) + 1)) > number; test -e "$SHARED/."'


def python_project(scene, ignored):
    """A project with its packages in a virtual environment."""
    scene.share, scene.verify = ".venv", PYTHON
    scene.repo.commit(
        number="1\n",
        test_number_dot_py=(
            "import sys, unittest\n\nclass Number(unittest.TestCase):\n"
            "    def test_number(self):\n        assert int(open('number').read()) > 1\n"
            "        assert sys.prefix != sys.base_prefix\n"
        ),
        **ignored,
    )
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", scene.project / ".venv"], check=True
    )


def node_project(scene, ignored):
    """A project with a package in node_modules."""
    need("node")
    scene.share, scene.verify = "node_modules", NODE
    scene.repo.commit(
        number="1\n",
        test_dot_js=(
            'const more = require("dep");\n'
            'if (!more(require("fs").readFileSync("number", "utf8"))) process.exit(1);\n'
        ),
        **ignored,
    )
    scene.repo.put("node_modules/dep/index.js", "module.exports = (text) => Number(text) > 1;\n")


KINDS = {"python": python_project, "node": node_project}
#: The rule of `.gitignore`, by the shared directory.
RULES = {
    "directory": "{share}/\n",
    "name": "{share}\n",
    "rooted": "/{share}/\n",
    "none": "*.o\n",
    "contradicted": "{share}/\n!{share}\n",
}


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, max_concurrent=4, retry_limit=1, land="auto")
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    yield scene
    scene.close()


def made(scene, kind, rule, *, sandbox="off"):
    """The project of a kind, in which the path is shared and verified with."""
    if sandbox != "off" and not try_box(os.environ).works:
        missing("bwrap")
    share = {"python": ".venv", "node": "node_modules"}[kind]
    text = RULES[rule].format(share=share) + "__pycache__/\n"
    KINDS[kind](scene, {"_dot_gitignore": text})
    text = config.default_text(**{**scene.settings, "sandbox": sandbox})
    text += f'\n[projects."{scene.project}"]\nshare = ["{share}"]\n'
    scene.home.config.write_text(text)


def agent(scene, name, work):
    coder(scene, name, f"SHARED={scene.share}\n{RAISE}\n{work}")


def add(scene, name, **wishes):
    return scene.add("", coder=name, branch="main", title="Be one more", **wishes)


def run(scene, task_id):
    scene.until_ended(scene.supervise("--until-idle"), 60)
    task = scene.task(task_id)
    assert task.status == "closed", (task.notes, scene.screen())


def assert_nothing_left(scene, number):
    """The work is on main; there is no other branch, no clone, and no word of the shared path."""
    assert scene.repo.git("show", "main:number") == str(number)
    assert scene.repo.git("branch", "-a", "--format=%(refname:short)").split() == ["main"]
    assert clones_in(scene.home) == []
    history = scene.repo.git("log", "--all", "--format=", "--name-only").split()
    assert [name for name in history if name.startswith(scene.share)] == []
    said = [line["message"] for line in scene.log() if "message" in line]
    assert [text for text in said if "verified: on" in text] == []
    assert not (scene.project / scene.share).is_symlink()


@pytest.mark.parametrize("work", [":", ADD_ALL], ids=["uncommitted", "committed"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_path_is_no_part_of_what_lands(scene, kind, rule, work):
    """Nor of what a review has done after that, in a clone that begins where the work landed."""
    if rule == "contradicted" and work == ADD_ALL:
        pytest.skip("the project itself asks git to add the path")
    made(scene, kind, rule)
    agent(scene, "neat", work)
    task_id = add(scene, "neat", verify=(scene.verify,))
    run(scene, task_id)
    assert_nothing_left(scene, 2)
    changed = receipt_json.read(scene.run(task_id)).changes.files
    assert [each.path for each in changed] == ["number"]
    done = scene.fleet("review", task_id, "--comment", "number:1", "once more")
    assert done.returncode == 0, done.stdout + done.stderr
    run(scene, task_id)
    assert_nothing_left(scene, 3)


@pytest.mark.parametrize("work", [":", ADD_ALL], ids=["uncommitted", "committed"])
@pytest.mark.parametrize(
    ("kind", "rule", "sandbox"),
    [
        ("python", "directory", "workspace"),
        ("python", "none", "workspace"),
        ("node", "directory", "workspace"),
        ("node", "name", "workspace"),
        ("python", "directory", "strict"),
        ("node", "directory", "strict"),
    ],
)
def test_a_shared_path_is_no_part_of_what_lands_from_a_box(scene, kind, rule, sandbox, work):
    """Agent and verify commands read the path in their boxes, and cannot write there."""
    made(scene, kind, rule, sandbox=sandbox)
    agent(scene, "neat", f"touch $SHARED/written && exit 3; {work}")
    task_id = add(scene, "neat", verify=(scene.verify,))
    run(scene, task_id)
    assert_nothing_left(scene, 2)
    assert not (scene.project / scene.share / "written").exists()
    changed = receipt_json.read(scene.run(task_id)).changes.files
    assert [each.path for each in changed] == ["number"]
    done = scene.fleet("review", task_id, "--comment", "number:1", "once more")
    assert done.returncode == 0, done.stdout + done.stderr
    run(scene, task_id)
    assert_nothing_left(scene, 3)


@pytest.mark.parametrize(
    ("kind", "sandbox"),
    [("python", "off"), ("node", "off"), ("python", "workspace"), ("node", "strict")],
)
def test_a_shared_path_is_no_part_of_what_a_comparison_keeps(scene, kind, sandbox):
    """The pick lands as it is, beside the directory that git ignores."""
    made(scene, kind, "directory", sandbox=sandbox)
    agent(scene, "neat", ADD_ALL)
    agent(scene, "messy", ":")
    task_id = add(scene, "neat", verify=(scene.verify,))
    done = scene.fleet("compare", task_id, "--with", "neat:m", "--with", "messy:m", "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    done = scene.fleet("compare", task_id, "--pick", "messy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_nothing_left(scene, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_is_committed_by_force_is_refused(scene, kind):
    """The agent hears of it in the same session, takes the link out, and the work lands."""
    scene.configure(retry_limit=2)
    made(scene, kind, "directory")
    mend = 'git rm -q --cached "$SHARED"; git commit -qm "take it out"'
    force = f"{RAISE}; git add number; git add -f $SHARED; git commit -qm all"
    coder(scene, "bold", f"SHARED={scene.share}\nif [ $FLEET_RUN_DIR = $FLEET_TASK_DIR/runs/1 ]; "
          f"then {force}; else {mend}; fi")  # fmt: skip
    task_id = add(scene, "bold", verify=(scene.verify,))
    run(scene, task_id)
    first, second = scene.runs(task_id)
    (broken,) = receipt_json.read(first).verdict.findings
    assert broken.rule == "shared_path"
    assert f"it committed {scene.share}, which the project shares" in broken.what
    assert broken.what in (second.path / "prompt.md").read_text()
    assert scene.repo.git("show", "main:number") == "2"
    assert scene.repo.git("ls-tree", "--name-only", "main", scene.share) == ""
    assert clones_in(scene.home) == []


@pytest.mark.parametrize("rule", ["directory", "none"])
def test_a_directory_in_the_place_of_a_link_is_no_change_either(scene, rule):
    """What an agent installed there is its own, and its clone stays for a while as with all files
    that git ignores.
    """
    made(scene, "node", rule)
    replace = (
        "rm $SHARED; mkdir -p $SHARED/dep; echo 'module.exports = Number' > $SHARED/dep/index.js"
    )
    agent(scene, "own", f"{replace}; {ADD_ALL}")
    task_id = add(scene, "own", verify=(scene.verify,))
    run(scene, task_id)
    assert scene.repo.git("show", "main:number") == "2"
    assert scene.repo.git("ls-tree", "--name-only", "main", scene.share) == ""
    assert scene.repo.git("branch", "-a", "--format=%(refname:short)").split() == ["main"]
    assert clones_in(scene.home) == [task_id]
    assert "it holds files that git ignores" in " ".join(scene.screen().split())


def test_a_path_that_the_project_tracks_is_worked_on_as_any_other(scene):
    """There is no link: git holds the files, and a change of them lands."""
    made(scene, "node", "none")
    scene.repo.commit("Hold the packages")
    work = "echo '// mine' >> $SHARED/dep/index.js"
    agent(scene, "neat", f"{work}; {ADD_ALL}")
    task_id = add(scene, "neat", verify=(scene.verify,))
    run(scene, task_id)
    assert "// mine" in scene.repo.git("show", "main:node_modules/dep/index.js")
    assert clones_in(scene.home) == []
    assert scene.repo.git("branch", "-a", "--format=%(refname:short)").split() == ["main"]
