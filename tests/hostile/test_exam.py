"""Work that passes by changing or dodging its exam, through the real supervisor, never lands
unasked.
"""

import os
import textwrap

import pytest

from fleet.home import landing_json
from fleet.runs import receipt_json
from fleet.sandbox.try_box import try_box
from tests.conftest import missing, need
from tests.repos import ENV, Repo
from tests.story.scene import NEEDS_YOU, Scene
from tests.story.test_box import CODER, END, TOOL

UNITTEST = "python3 -m unittest -q tests.test_a"
TEST = """
import unittest
from src import a

class T(unittest.TestCase):
    def test_one(self):
        self.assertEqual(a.one(), 1)

    def test_two(self):
        self.assertEqual(a.two(), 2)
"""
GOOD = "def one(): return 1\ndef two(): return 2\n"
BAD = "def one(): return 1\ndef two(): return 3\n"
FILES = {
    "src/__init__.py": "",
    "src/a.py": GOOD,
    "tests/__init__.py": "",
    "tests/test_a.py": TEST,
    "Makefile": f"test:\n\t{UNITTEST}\n",
    "README": "read me\n",
    ".gitignore": "__pycache__/\n",
}


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


def play(scene, script, *, code=NEEDS_YOU, files=FILES, verify=(UNITTEST,), **wishes):
    """Run one task whose agent is this script; its receipt and how far its work got."""
    lines = [TOOL, textwrap.dedent(script), "bd close $FLEET_TASK_ID --reason done >&2", END]
    for path, text in {**files, "agent.sh": "\n".join(lines)}.items():
        scene.repo.put(path, text)
    scene.repo.commit()
    task_id = scene.add("agent.sh", coder="script", branch="main", verify=verify, **wishes)
    assert scene.supervise("--until-idle").wait(60) == code, scene.screen()
    return receipt_json.read(scene.run(task_id)), landing_json.believed(scene.home, task_id)


def broken(receipt):
    return [finding.rule for finding in receipt.verdict.broken]


def on_main(scene, path):
    return scene.repo.git("show", f"main:{path}", ok=False)


def test_a_source_that_ends_the_test_run_early_passes_nothing(scene):
    """Exit code 0 at import, in the middle of a pinned test: no closing line, no landing."""
    failing = {**FILES, "src/a.py": BAD}
    script = "printf 'import os\\nos._exit(0)\\n' > src/a.py"
    receipt, landing = play(
        scene, script, files=failing, pins=("tests",), expect="change", scope=("src/**",)
    )
    assert receipt.checks_passed, receipt.checks
    assert broken(receipt) == ["fewer_tests"]
    assert "without the closing line of unittest" in receipt.verdict.findings[0].what
    assert landing is None
    assert "_exit" not in on_main(scene, "src/a.py")


def test_a_source_that_leaves_tests_out_is_no_pass(scene):
    """The test file is as it was, and one of its tests does not run any more."""
    hides = "import unittest\\nunittest.TestLoader.getTestCaseNames = lambda *_: ['test_one']\\n"
    receipt, landing = play(scene, f'printf "{hides}def one(): return 1\\n" > src/a.py')
    assert receipt.checks_passed, receipt.checks[0].tail
    assert broken(receipt) == ["fewer_tests"]
    assert "ran 1 test, and 2 before the work" in receipt.verdict.findings[0].what
    assert landing is None


def test_a_deleted_test_is_for_a_person(scene):
    """Fewer tests by a change of the test file: it needs approval, with both numbers."""
    script = "sed -i '/test_two/,$d' tests/test_a.py; echo 'def one(): return 1' > src/a.py"
    receipt, landing = play(scene, script)
    assert broken(receipt) == []
    assert receipt.checks[0].tests_words == "2 → 1"
    assert receipt.exam.changed == ("tests/test_a.py",)
    assert landing.state == "asks"
    assert "the exam changed: tests/test_a.py; tests: 2 → 1" in landing.why
    assert "def two" in on_main(scene, "src/a.py")


def test_no_test_that_is_left_is_no_pass(scene):
    """All are skipped, or deleted: whatever else changed."""
    skip = "sed -i 's/^class/@unittest.skip(\"later\")\\nclass/' tests/test_a.py"
    receipt, landing = play(scene, f"{skip}; echo '# nothing' > src/a.py")
    assert receipt.checks_passed, receipt.checks[0].tail
    assert broken(receipt) == ["fewer_tests"]
    assert "ran no test, 2 are skipped, and 2 before the work" in receipt.verdict.findings[0].what
    assert landing is None


def test_a_build_file_that_runs_nothing_is_no_pass(scene):
    """The rule `test` of the Makefile is replaced by `true`."""
    script = "printf 'test:\\n\\ttrue\\n' > Makefile; echo broken > src/a.py"
    receipt, landing = play(scene, script, verify=("make test",))
    assert broken(receipt) == ["fewer_tests"]
    assert receipt.exam.changed == ("Makefile",)
    assert landing is None
    assert on_main(scene, "src/a.py") == GOOD.strip()


def test_a_test_that_is_made_to_pass_is_for_a_person(scene):
    """As many tests as before, and one of them asks for less."""
    script = f"printf '{BAD}' > src/a.py; sed -i 's/, 2/, 3/' tests/test_a.py"
    receipt, landing = play(scene, script)
    assert (receipt.checks[0].tests_words, receipt.verdict.state) == ("2 → 2", "checked")
    assert (landing.state, landing.asks) == ("asks", ("the exam changed: tests/test_a.py",))


def test_a_script_that_the_command_names_belongs_to_the_exam(scene):
    """It is no test and no build file by its name."""
    files = {**FILES, "tools/gate": "grep -q 'return 2' src/a.py\n"}
    script = "echo true > tools/gate; echo broken > src/a.py"
    _, landing = play(scene, script, files=files, verify=("sh tools/gate",))
    assert (landing.state, landing.asks) == ("asks", ("the exam changed: tools/gate",))


def test_a_file_of_the_ci_is_for_a_person_and_an_honest_change_is_not(scene):
    """A new test file, and new code with it, land unasked."""
    honest = "printf 'def three(): return 3\\n' >> src/a.py; sed s/test_a/test_b/ tests/test_a.py"
    receipt, landing = play(scene, f"{honest} > tests/test_b.py", code=0)
    assert (landing.state, landing.asks) == ("landed", ())
    assert receipt.exam.added == ("tests/test_b.py",)
    script = "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/x.yml"
    _, landing = play(scene, script)
    assert landing.state == "asks"


def test_a_scope_that_names_the_tests_asks_nobody(scene):
    """The person who made the task has said so; a scope that only matches them has not."""
    script = "echo '# more' >> tests/test_a.py"
    _, landing = play(scene, script, code=0, scope=("tests/**",))
    assert landing.state == "landed"
    _, landing = play(scene, script, scope=("**",))
    assert landing.state == "asks"
