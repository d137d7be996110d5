"""Verdicts on the claims of the real claude, against a scripted model."""

import sys
import time

import pytest

from fleet.runs import receipt_json
from tests.conftest import often
from tests.real.house import CLOSE, TASK, WORK
from tests.real.test_supervised_trouble import used_up
from tests.scripted_model import Say, ScriptedModel, Shell

DONE = Say(text="Done.")
NO_SUCH = Shell(command="python3 -m unittest nosuchmodule")
TESTED = Shell(command=f'bd close {TASK} --reason "ran pytest, all tests pass"')
BUILT = Shell(command=f'bd close {TASK} --reason "implemented the feature"')


def receipt(here):
    return receipt_json.read(here.runs[-1])


@pytest.mark.parametrize(
    ("permissions", "script", "rule"),
    [
        # Refused: not a command that `edit` lets an agent run unasked.
        ("edit", (WORK, Shell(command="sudo python3 -m pytest -q"), TESTED), "claimed_tests"),
        ("bypass", (WORK, NO_SUCH, TESTED), "claimed_tests"),
        ("bypass", (Shell(command="ls /nonexistent"), BUILT), "only_failures"),
    ][: often(1, 3)],
    ids=["refused", "failed", "no work"][: often(1, 3)],
)
def test_a_claim_after_a_refused_or_failed_command_is_rejected(house, permissions, script, rule):
    """Neither is a check, and neither is work; what was refused is told with its command."""
    with ScriptedModel(*script, DONE) as model:
        here = house("claude", model)
        here.configure(permissions=permissions)
        here.create("claude")
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "blocked"
        assert here.ending()["broke"] == [rule]
        seen = receipt(here)
        assert seen.verdict.state == "rejected"
        if permissions == "edit":
            assert seen.denied_calls == ("Bash: sudo python3 -m pytest -q",)
            assert "denied:      Bash: sudo python3 -m pytest -q" in here.fleet("show", TASK)


def test_a_claim_before_a_limit_is_closed_after_it(house):
    """The last sentence was refused; the work was done and is checked."""
    with ScriptedModel(WORK, CLOSE, lambda: used_up("claude", int(time.time()) + 3600)) as model:
        here = house("claude", model)
        here.create("claude", "Write a.txt", "--verify", "test -e a.txt")
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        assert here.ending()["outcome"]["type"] == "RateLimited"
        assert len(here.runs) == 1
        assert receipt(here).verdict.state == "checked"


def test_a_true_test_run_with_a_verify_command_is_checked(house):
    """And says so in the reason that the task is closed with."""
    pytest_q = f"{sys.executable} -m pytest -q -p no:cacheprovider test_a.py"
    make = Shell(command="printf 'def test_a():\\n    assert True\\n' > test_a.py")
    with ScriptedModel(make, Shell(command=pytest_q), TESTED, DONE) as model:
        here = house("claude", model)
        here.configure(permissions="bypass")
        here.create("claude", "Write a test", "--verify", pytest_q)
        here.fleet("run", "--until-idle")
        task = here.task()
        assert task["status"] == "closed"
        assert "[run 1, checked: " in task["close_reason"]
        seen = receipt(here)
        assert seen.verdict.state == "checked"
        assert [command.ending for command in seen.commands] == ["", "", ""]
