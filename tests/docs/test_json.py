"""The keys that `--json` prints are those of the reference: programs rely on them."""

import re
from pathlib import Path

import pytest

from fleet.cli.inspect.tasks import row_shape
from fleet.control.accounts import AccountNow
from fleet.control.list_coders import CoderHere
from fleet.control.plan.plan_view import PlanView, TaskView
from fleet.control.status import FleetStatus
from fleet.control.tasks.in_progress import InProgress
from fleet.control.tasks.kill_runs import Braked
from fleet.control.tasks.questions import Question
from fleet.control.tasks.stop import StopEnd
from fleet.control.tasks.stop_all import StopAllEnd
from fleet.control.usage import CoderRecord, Spent
from fleet.doctor.check_result import CheckResult
from fleet.plan.plan_changes import PlanChanges, WrittenPlan

PAGE = (Path(__file__).parents[2] / "docs/reference.md").read_text(encoding="utf-8")


def named_keys(command):
    row = re.search(rf"^\| `{re.escape(command)}` \| .*? \| (.*) \|$", PAGE, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", row[1]))


@pytest.mark.parametrize(
    ("command", "types", "besides"),
    [
        ("fleet status", [FleetStatus], []),
        ("fleet questions", [Question], []),
        ("fleet stop ID", [StopEnd], []),
        ("fleet stop --all", [StopAllEnd, Braked], []),
        ("fleet usage", [Spent], ["by", "rows", "total", "budgets"]),
        ("fleet stats", [CoderRecord], []),
        ("fleet accounts", [AccountNow], []),
        ("fleet coders", [CoderHere], []),
        ("fleet doctor", [CheckResult], []),
        ("fleet plan show", [PlanView, TaskView], []),
        ("fleet plan apply", [WrittenPlan, PlanChanges], []),
    ],
)
def test_the_reference_names_every_key(command, types, besides):
    """No key is renamed without its row, and none is printed that is not there."""
    fields = {name for each in types for name in each.__struct_fields__}
    assert named_keys(command) == fields | set(besides)


def test_the_reference_names_every_key_of_a_task_in_progress():
    """The row and its run are one flat object."""
    row = row_shape(InProgress(id="fleet-1", title="Fix it", doing="starting"))
    assert named_keys("fleet tasks") == set(row)
