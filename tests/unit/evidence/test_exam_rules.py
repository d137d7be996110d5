"""What belongs to the exam, what a person looks at, and which number of tests is no pass."""

import pytest

from fleet.evidence.exam_rules import exam_of, fewer_tests, is_setting, is_test, why_exam_asks
from fleet.schemas import BaseCheck, Check, CountedTests, Exam, FileChange, Policy

TESTS = """
tests/test_a.py
test/helper.js
a/tests/data/x.json
src/a_test.go
src/a.test.ts
src/a.spec.tsx
src/__tests__/a.js
src/main/ATest.java
src/TestParser.java
spec/a_spec.rb
test_a.py
checks.bats
"""
SETTINGS = """
Makefile
sub/Makefile
pyproject.toml
setup.cfg
tox.ini
conftest.py
tests/conftest.py
package.json
jest.config.js
vitest.config.mts
.mocharc.yml
Cargo.toml
build.rs
go.mod
CMakeLists.txt
pom.xml
build.gradle.kts
requirements-dev.txt
.github/workflows/ci.yml
.gitlab-ci.yml
.circleci/config.yml
Jenkinsfile
"""
OTHERS = """
src/a.py
README.md
src/contest.py
src/latest.py
src/attest_rules.py
docs/testing.md
src/Testimony.txt
package-lock.json
src/inspect.rs
.github/CODEOWNERS
"""


def change(path, kind="changed"):
    return FileChange(path=path, kind=kind)


def ran(now=None, before=None, *, code=0, base_passed=True):
    """A check with counts after and before the work: executed, or executed and skipped."""
    return Check(
        command="make test",
        code=code,
        tests=counted(now),
        base=BaseCheck(passed=base_passed, tests=counted(before)),
    )


def counted(numbers):
    if numbers is None:
        return None
    executed, skipped = numbers if isinstance(numbers, tuple) else (numbers, 0)
    return CountedTests(executed=executed, skipped=skipped, runners=("pytest",))


@pytest.mark.parametrize("path", TESTS.split())
def test_tests_are_known_by_their_place_or_name(path):
    """Of many languages."""
    assert is_test(path)


@pytest.mark.parametrize("path", SETTINGS.split())
def test_build_and_ci_files_are_known_by_name(path):
    """At any depth."""
    assert is_setting(path)


@pytest.mark.parametrize("path", OTHERS.split())
def test_other_files_are_work(path):
    """Also where a name sounds alike."""
    assert not is_test(path)
    assert not is_setting(path)


def test_a_new_test_is_listed_and_a_changed_one_asks():
    """New build files can change how the tests that are there run."""
    changes = [
        change("tests/test_new.py", "added"),
        change("tests/test_old.py"),
        change("tests/test_gone.py", "deleted"),
        change("conftest.py", "added"),
        change("src/a.py"),
    ]
    exam = exam_of(changes, Policy())
    assert exam.added == ("tests/test_new.py",)
    assert exam.changed == ("tests/test_old.py", "tests/test_gone.py", "conftest.py")
    assert exam.unnamed == exam.changed


@pytest.mark.parametrize(
    ("scope", "asks"),
    [
        ((), True),
        (("**",), True),
        (("src/**",), True),
        (("*.py",), True),
        (("tests/**",), False),
        (("src/**", "tests/"), False),
        (("tests/test_old.py",), False),
        (("test_*.py",), False),
        (("tests/**", "!tests/test_old.py"), True),
        (("!tests/**",), True),
    ],
)
def test_only_a_scope_that_is_written_for_tests_asks_nobody(scope, asks):
    """One that matches them among other files says nothing about the exam."""
    exam = exam_of([change("tests/test_old.py")], Policy(scope=scope))
    assert exam.changed == ("tests/test_old.py",)
    assert bool(exam.unnamed) == asks


def test_pinned_files_are_no_part_of_the_exam():
    """They are put back before the commands run."""
    changes = [change("tests/test_a.py"), change("sub/Makefile")]
    assert exam_of(changes, Policy(pins=("tests", "sub/Makefile"))) == Exam()
    assert exam_of(changes, Policy(pins=("Makefile",)), "sub").changed == ("tests/test_a.py",)


@pytest.mark.parametrize(
    "command",
    [
        "./tools/gate",
        "sh tools/gate",
        "bash -e ./tools/gate --all",
        "cd . && tools/gate",
        "timeout 60 ./tools/gate | tee log",
        "python3 -B tools/gate",
        'test -e README; sh "tools/gate"',
    ],
)
def test_a_script_that_the_command_starts_belongs_to_the_exam(command):
    """As long as it was there before the work."""
    policy = Policy(verify=(command,))
    assert exam_of([change("tools/gate")], policy).changed == ("tools/gate",)
    assert exam_of([change("tools/gate", "added")], policy) == Exam()


@pytest.mark.parametrize(
    "command",
    ["grep -q done tools/gate", "python3 -m tools/gate", "cat tools/gate", "echo 'tools/gate"],
)
def test_a_file_that_the_command_only_reads_is_work(command):
    """What has to be in the file may be the task."""
    assert exam_of([change("tools/gate")], Policy(verify=(command,))) == Exam()


def test_fewer_tests_without_a_change_of_the_exam_are_no_pass():
    """With one, a person judges."""
    found = fewer_tests([ran((40, 1), 42)], Exam())
    assert found.startswith("`make test` ran 40 tests (1 skipped), and 42 before the work")
    assert fewer_tests([ran(40, 42)], Exam(changed=("tests/test_a.py",))) == ""
    assert fewer_tests([ran(42, 42)], Exam()) == ""
    assert fewer_tests([ran(43, 42)], Exam()) == ""


@pytest.mark.parametrize("exam", [Exam(), Exam(changed=("Makefile",))])
def test_no_test_and_no_closing_line_are_no_pass(exam):
    """Whatever else changed."""
    assert "ran no test, and 42 before the work" in fewer_tests([ran(0, 42)], exam)
    assert "ran no test, 42 are skipped" in fewer_tests([ran((0, 42), 42)], exam)
    assert "ran no test" in fewer_tests([ran(0)], exam)
    assert "without the closing line of pytest" in fewer_tests([ran(None, 42)], exam)
    assert "without the closing line of pytest" in fewer_tests([ran(None, 0)], exam)


def test_what_could_not_be_counted_before_has_no_rule():
    """And a command that failed is broken by that alone."""
    assert fewer_tests([ran(), ran(3)], Exam()) == ""
    assert fewer_tests([ran(0, 42, code=1), ran(None, 42, code=1)], Exam()) == ""
    assert fewer_tests([Check(command="true", code=0)], Exam()) == ""


def test_a_project_without_tests_is_for_a_person():
    """None ran before either: no work is to blame, and nothing was proved."""
    assert fewer_tests([ran(0, 0)], Exam()) == ""
    assert why_exam_asks([ran(0, 0)], Exam()) == ("no test ran, as before the work (`make test`)",)


def test_a_person_is_told_what_changed_and_both_numbers():
    """In a few words each."""
    exam = Exam(changed=("Makefile", "tests/test_a.py"), unnamed=("tests/test_a.py",))
    assert why_exam_asks([ran(40, 42)], exam) == (
        "the exam changed: tests/test_a.py",
        "tests: 42 → 40 (`make test`)",
    )
    assert why_exam_asks([ran(42, 42)], Exam()) == ()
