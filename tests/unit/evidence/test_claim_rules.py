"""The rules of evidence: each catches what it is for, and lets an honest run pass."""

import pytest
from msgspec import structs

from fleet.evidence.claim_rules import MISPLACED, RULES, ClaimFacts, findings, only_reports
from fleet.schemas import (
    Changes,
    Check,
    Command,
    FileChange,
    Misplaced,
    Policy,
    Receipt,
    Usage,
    WorkElsewhere,
)
from fleet.schemas.policy import LandRules

CHANGED = Changes(base="b", files=(FileChange(path="a.py", kind="changed", added=1),))
NOTHING = Changes(base="b")
SHARED = structs.replace(CHANGED, shared_with=("fleet-b",))
ALL_BY_OTHERS = structs.replace(SHARED, files=(), others=CHANGED.files)
COMMITTED = Changes(base="b", commits=("c",))
UNKNOWN = Changes(base="b", trouble="git took too long")
CLOSE = Command(text="bd close fleet-a --reason done")

#: A run that did what it says.
HONEST = Receipt(
    task_id="fleet-a",
    run=1,
    coder="claude",
    claim="wrote the parser, all tests pass",
    text="Done.",
    tools={"Edit": 2, "Bash": 2},
    tool_results=4,
    commands=(Command(text="pytest -q"), CLOSE),
    turns=4,
    usage=Usage(input=1000, output=200),
    changes=CHANGED,
)
#: The same without any of the work.
IDLE = structs.replace(
    HONEST, tools={"Bash": 1}, tool_results=1, commands=(CLOSE,), changes=NOTHING, claim="done"
)


def seen(receipt=HONEST, *, edits=2, after=1, **rest):
    """`after`: whether commands came after the last edit."""
    before = 0 if after else len(receipt.commands)
    return ClaimFacts(receipt=receipt, edits=edits, commands_before_edit=before, **rest)


def ran(*commands, claim="ran pytest, all tests pass", changes=CHANGED, **more):
    """A run with these commands, and the tools that they took."""
    return structs.replace(
        HONEST,
        claim=claim,
        commands=(*commands, CLOSE),
        tools={"Bash": len(commands) + 1},
        tool_results=len(commands) + 1,
        tool_errors=sum(command.failed or command.denied for command in commands),
        changes=changes,
        **more,
    )


REFUSED = Command(text="python3 -m pytest -q", denied=True)
BROKEN = Command(text="python3 -m unittest nosuchmodule", failed=True)
CUT_OFF = Command(text="pytest", unended=True)
LS = Command(text="ls")
MISSED = Command(text="ls /nonexistent", failed=True)


def expecting(expect, receipt=HONEST, **policy):
    return structs.replace(receipt, policy=Policy(expect=expect, **policy))


def broken(what):
    return [finding.rule for finding in findings(what)]


def with_checks(receipt, *checks):
    return structs.replace(receipt, checks=checks)


PASSED = Check(command="make test", code=0)
FAILED = Check(command="make test", code=2, tail="1 failed")
NONE_RAN = Command(text="python3 -m unittest", tail="Ran 0 tests in 0.000s\n\nOK\n")
ALL_SKIPPED = Command(
    text="python3 -m unittest -q", tail="Ran 1 test in 0.000s\n\nOK (skipped=1)\n"
)


@pytest.mark.parametrize("expect", ["any", "change", "answer"])
def test_an_honest_run_breaks_no_rule(expect):
    """Whatever is expected of it."""
    assert findings(seen(expecting(expect))) == ()


def test_every_rule_says_what_it_is_for():
    """An id to be found by, and a sentence."""
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.sentence.endswith(".") for rule in RULES)


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("no_tools", seen(IDLE, edits=0, after=0)),
        ("no_tools", seen(structs.replace(IDLE, tools={}, commands=()), edits=0, after=0)),
        (
            "hollow_result",
            seen(structs.replace(HONEST, text="", usage=Usage(input=900, output=2))),
        ),
        (
            "denied_and_missing",
            seen(expecting("change", structs.replace(HONEST, denied=("Write",), changes=NOTHING))),
        ),
        (
            "denied_and_missing",
            seen(structs.replace(HONEST, changes=NOTHING), errors_in_a_row=3),
        ),
        ("no_effect", seen(expecting("change", structs.replace(HONEST, changes=NOTHING)))),
        ("no_effect", seen(expecting("change", structs.replace(IDLE, changes=None)), edits=0)),
        # Another run in the same tree made the change.
        ("no_effect", seen(expecting("change", ran(LS, changes=SHARED)), edits=0)),
        ("no_effect", seen(expecting("change", ran(LS, changes=ALL_BY_OTHERS)))),
        ("artifact_missing", seen(expecting("artifact:REPORT.md"), artifact=False)),
        (
            "pseudo_calls",
            seen(structs.replace(IDLE, text='<invoke name="Bash">ls</invoke>'), edits=0, after=0),
        ),
        (
            "pseudo_calls",
            seen(structs.replace(IDLE, text='{"tool": "Write", "input": {}}'), edits=0, after=0),
        ),
        ("claimed_tests", seen(after=0)),
        # A test run that was refused, failed or never ended is none; nor is looking around.
        ("claimed_tests", seen(ran(REFUSED))),
        ("claimed_tests", seen(ran(BROKEN))),
        ("claimed_tests", seen(ran(CUT_OFF))),
        ("claimed_tests", seen(ran(LS))),
        ("claimed_tests", seen(ran(LS), edits=0)),
        ("claimed_tests", seen(ran(Command(text="pytest"), BROKEN))),
        ("claimed_tests", seen(ran(BROKEN, Command(text="python -c 'import a'")))),
        ("claimed_tests", seen(ran(Command(text="pytest | tail -1", tail="1 failed, 2 passed")))),
        ("claimed_tests", seen(ran(NONE_RAN))),
        ("claimed_tests", seen(ran(ALL_SKIPPED))),
        ("claimed_tests", seen(ran(LS), edits=0, earlier_commands=(BROKEN,), worked_before=True)),
        ("claimed_tests", seen(ran(BROKEN, claim="12 tests passed"))),
        ("claimed_tests", seen(ran(BROKEN, claim="Fixed it. pytest is green, no failures."))),
        # A call that failed is no work.
        ("only_failures", seen(ran(MISSED, claim="implemented it", changes=NOTHING), edits=0)),
        ("only_failures", seen(ran(REFUSED, claim="implemented it", changes=None), edits=0)),
        ("only_failures", seen(ran(MISSED, REFUSED, claim="ok", changes=NOTHING), edits=0)),
        ("claimed_checks", seen(structs.replace(HONEST, claim="The build succeeds."), after=0)),
        ("claimed_checks", seen(ran(Command(text="make", failed=True), claim="build is green"))),
        (
            "phantom_agents",
            seen(structs.replace(HONEST, text="I launched three sub-agents to review it.")),
        ),
        (
            "phantom_agents",
            seen(structs.replace(HONEST, text="All done: 5 subagents reported.", subagents=2)),
        ),
        ("verify_failed", seen(with_checks(HONEST, PASSED, FAILED))),
        ("verify_failed", seen(with_checks(HONEST, Check(command="x", timed_out=True)))),
        ("verify_failed", seen(with_checks(HONEST, Check(command="x", trouble="lost")))),
    ],
)
def test_a_rule_catches_what_it_is_for(rule, what):
    """One sign is enough."""
    assert rule in broken(what)


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        # Words are enough for an answer, and no tool is missed where none is ever shown.
        ("no_tools", seen(expecting("answer", IDLE), edits=0, after=0)),
        ("no_tools", seen(IDLE, edits=0, after=0, shows_tools=False)),
        # The run before did the work, and was cut off before it could say so.
        ("no_tools", seen(IDLE, edits=0, after=0, worked_before=True)),
        # A CLI that counts no tokens said something.
        ("hollow_result", seen(structs.replace(HONEST, usage=Usage()))),
        ("hollow_result", seen(structs.replace(HONEST, text=""))),
        # It was denied one way and found another.
        ("denied_and_missing", seen(structs.replace(HONEST, denied=("WebFetch",)))),
        ("denied_and_missing", seen(errors_in_a_row=3)),
        # Nothing changed, and nothing had to.
        ("no_effect", seen(structs.replace(HONEST, changes=NOTHING))),
        (
            "no_effect",
            seen(
                expecting(
                    "change", structs.replace(HONEST, changes=Changes(base="b", commits=("c",)))
                )
            ),
        ),
        # It did something that can change a file, beside another run.
        ("no_effect", seen(expecting("change", ran(LS, changes=SHARED)))),
        (
            "no_effect",
            seen(expecting("change", ran(Command(text="make"), changes=SHARED)), edits=0),
        ),
        # Fleet could not look: that is no proof of anything.
        (
            "no_effect",
            seen(
                expecting(
                    "change", structs.replace(HONEST, changes=Changes(base="b", trouble="slow"))
                )
            ),
        ),
        ("artifact_missing", seen(expecting("artifact:REPORT.md"), artifact=True)),
        # It writes about tool calls, and made some.
        ("pseudo_calls", seen(structs.replace(HONEST, text="Handles `<invoke` now."))),
        # It says that it did not check.
        ("claimed_tests", seen(structs.replace(HONEST, claim="tests not run"), after=0)),
        ("claimed_tests", seen(structs.replace(HONEST, claim="2 tests still fail"), after=0)),
        ("claimed_tests", seen(structs.replace(HONEST, claim="added a test"), after=0)),
        ("claimed_tests", seen(ran(Command(text="pytest", tail="2 passed, 9 skipped in 0.1s")))),
        ("claimed_tests", seen(ran(LS, claim="fixed the typo; no tests needed"))),
        ("claimed_tests", seen(ran(REFUSED, claim="could not run pytest: it was refused"))),
        ("claimed_tests", seen(ran(LS, claim="tests should pass now"))),
        ("claimed_tests", seen(ran(LS, claim="tests pass except two that fail"))),
        # A test run ended well after the last edit, under whatever name.
        ("claimed_tests", seen(ran(BROKEN, Command(text="pytest tests")))),
        ("claimed_tests", seen(ran(Command(text="pytest | tail -1", tail="3 passed in 0.1s")))),
        ("claimed_tests", seen(ran(Command(text="./ci/all")))),
        ("claimed_tests", seen(ran(LS, more_commands=9))),
        ("claimed_tests", seen(ran(LS), shows_tools=False)),
        # The run before tested, and this one only says so.
        (
            "claimed_tests",
            seen(ran(LS), edits=0, earlier_commands=HONEST.commands, worked_before=True),
        ),
        # One of its calls did something, or the change is there to be seen.
        ("only_failures", seen(ran(MISSED, LS, claim="did it", changes=NOTHING), edits=0)),
        ("only_failures", seen(ran(MISSED, claim="did it"), edits=0)),
        ("only_failures", seen(expecting("answer", ran(MISSED, changes=NOTHING)), edits=0)),
        ("only_failures", seen(IDLE, edits=0)),
        ("claimed_checks", seen(ran(Command(text="make"), claim="the build passes"))),
        # It started them.
        (
            "phantom_agents",
            seen(structs.replace(HONEST, text="I launched two sub-agents.", subagents=2)),
        ),
        ("phantom_agents", seen(structs.replace(HONEST, text="Fixed the sub-agent registry."))),
        ("verify_failed", seen(with_checks(HONEST, PASSED, PASSED))),
    ],
)
def test_a_rule_lets_pass_what_it_is_not_for(rule, what):
    """A suspicion too many costs a whole run."""
    assert rule not in broken(what)


def test_the_operators_own_commands_know_better_than_a_suspicion():
    """Once they pass on what the run changed, no rule asks how it was done."""
    silent = structs.replace(IDLE, changes=CHANGED)
    assert broken(seen(with_checks(silent, PASSED), edits=0, after=0)) == []


def test_a_check_that_passes_on_an_unchanged_tree_proves_nothing():
    """A project that was green before is green after a run that did nothing."""
    fine = with_checks(IDLE, PASSED)
    assert broken(seen(fine, edits=0, after=0)) == broken(seen(IDLE, edits=0, after=0)) != []
    assert "no_effect" in broken(seen(expecting("change", fine), edits=0, after=0))


def moved(expect="any", mode="auto", **where):
    """A run with work in the wrong place, whose checks passed all the same."""
    rules = Policy(expect=expect, land=LandRules(mode=mode))
    changes = structs.replace(CHANGED, misplaced=Misplaced(**where))
    return seen(structs.replace(HONEST, changes=changes, policy=rules, checks=(PASSED,)))


BRANCH = WorkElsewhere(kind="branch", name="other", commit="c" * 40, title="fix it", count=2)
STASH = WorkElsewhere(kind="stash", name="stash@{0}", commit="d" * 40, title="WIP on main")
TAKEN = WorkElsewhere(kind="rewound", commit="e" * 40, title="fix it")


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        (moved(elsewhere=(BRANCH,)), "work_elsewhere"),
        (moved("change", elsewhere=(STASH, TAKEN)), "work_elsewhere"),
        (moved("answer", unrelated_to="b" * 40), "unrelated_history"),
        (moved(shared=(".venv",)), "shared_path"),
        (moved("answer", elsewhere=(BRANCH,)), ""),
        (moved(mode="branch", unrelated_to="b" * 40), ""),
        (moved(), ""),
    ],
)
def test_work_in_the_wrong_place_is_refused_whatever_passed(what, rule):
    """An answer is words: it needs no branch; where nothing lands, any history will do."""
    assert broken(what) == ([rule] if rule else [])
    assert not rule or rule in MISPLACED


def test_a_finding_says_where_work_is_and_what_to_do():
    """For the next prompt of the session that did it."""
    (finding,) = findings(moved(elsewhere=(BRANCH, STASH, TAKEN)))
    for words in (
        "2 commits are on the branch other and not on what is checked out (cccccccccccc 'fix it')",
        "git merge other, or git branch -D other",
        "changes are in a stash and not in the work (stash@{0}, dddddddddddd 'WIP on main')",
        "git stash pop, or git stash drop",
        "1 commit is on no branch, and nothing is changed without (eeeeeeeeeeee 'fix it')",
    ):
        assert words in finding.what


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ["\n", " ", "{ ", "tests "])
def test_a_long_claim_is_read_in_bounded_time(piece):
    """The supervisor's loop reads it: a claim of empty lines held all tasks for minutes."""
    long = f"a{piece * ((1 << 19) // len(piece))}b"
    findings(seen(structs.replace(HONEST, claim=long)))


def test_what_failed_comes_first_with_what_it_printed():
    """The next agent reads it."""
    (first, *_) = findings(seen(with_checks(IDLE, FAILED), edits=0, after=0))
    assert first.what == "`make test` ended with 2:\n1 failed"


@pytest.mark.parametrize(
    ("command", "talk"),
    [
        ("bd close fleet-a --reason 'x; y'", True),
        ("bd close fleet-a --reason done", True),
        ("/bin/bash -lc 'bd close fleet-a --reason \"all done\"'", True),
        ("bd show fleet-a; bd close fleet-a", True),
        ("/bin/bash -c 'bd show fleet-a > notes.md'", False),
        ("bash -c 'make test && bd close fleet-a'", False),
        ('bd close fleet-a --reason "$(make test)"', False),
        ("fleet bd show fleet-a", True),
        ("bd close fleet-a && make", False),
        ("make test", False),
        ("./fleet --help", False),
        ("", False),
    ],
)
def test_talking_of_the_task_is_no_work(command, talk):
    """A doubt counts as work."""
    assert only_reports(command) is talk
