"""The supervisor, from memory, and a surface, from files, find the same reason."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from msgspec import structs

from fleet import extend
from fleet.accounts.account_state import LimitRefused, LoginRefused, RunStarted
from fleet.config import Config
from fleet.config.projects import Project
from fleet.control import Control
from fleet.control.view import home_moment
from fleet.control.view.why_not_now import GateReader, conditions
from fleet.extend import HomeMoment, TaskStart, own_gates, why_none, why_not
from fleet.home import base_wait
from fleet.home.base_wait import BaseWait
from fleet.home.status_file import SupervisorStatus, write_status
from fleet.schemas import Account, RateLimit, Receipt, Usage
from fleet.schemas.task_state import Wait
from fleet.supervisor.assignments import Arriving
from fleet.supervisor.start.ask_gates import ask
from tests.builders import NOW, a_lease, a_task

FULL = RateLimit(kind="five_hour", status="rejected", resets_at=NOW + timedelta(hours=1))


def spend(state, cwd):
    """Six dollars were spent in the project today."""
    state.apply(
        Config(coder="claude", projects={cwd: Project(path=cwd, settings={"day_budget": "$5"})})
    )
    receipt = Receipt(
        task_id="fleet-9", run=1, coder="claude", project=cwd, started_at=NOW, usage=Usage(),
        estimated_usd=6.0,
    )  # fmt: skip
    state.meter.ledger.record(receipt, NOW, again=False)


def pause_account(state, _):
    account = Account(name="one", coder="claude", enabled=False)
    state.apply(Config(coder="claude", accounts={"one": account}))


def try_base(state, cwd):
    wait = BaseWait(
        kind="fails", base="b", name="main", commit="c", command="make", words="failed",
        project=cwd, at=NOW,
    )  # fmt: skip
    state.home.task("fleet-1").mkdir(parents=True)
    base_wait.write(state.home, "fleet-1", wait)


def meet_limit(state, _):
    state.accounts.accounts.apply({"claude": LimitRefused(FULL, running=1)}, NOW)


def refuse_login(state, _):
    state.accounts.accounts.apply({"claude": LoginRefused("no key")}, NOW)


def want_check(state, _):
    state.apply(Config(coder="claude", require="checked"))


CASES = {
    "require_checked": want_check,
    "project_budget": spend,
    "account_paused": pause_account,
    "base": try_base,
    "limit": meet_limit,
    "login": refuse_login,
}


@pytest.mark.parametrize("name", CASES)
def test_supervisor_and_surface_tell_the_same_reason(state, tmp_path, name):
    """Each builds what it knows in its own way, and the same gate answers both."""
    state.apply(Config(coder="claude"))
    cwd, task = str(tmp_path), a_task(id="fleet-1", cwd=str(tmp_path))
    CASES[name](state, cwd)
    found = ask(state, task, None, tried=True).wait
    fleet = Control(state.home, state.config)
    shown = GateReader(fleet, conditions(fleet, NOW)).why_not(task, fleet.place(task))
    assert found is not None
    assert (shown.gate, shown.words, shown.until) == (found.gate, found.words, found.until)


def test_a_task_says_which_other_one_tries_its_account_first(state, tmp_path, monkeypatch):
    """The surface knows by what the supervisor published; `fleet show` gave no reason at all."""
    state.apply(Config(coder="claude"))
    task = a_task(id="fleet-1", cwd=str(tmp_path))
    over = RateLimit(kind="five_hour", status="rejected", resets_at=NOW - timedelta(seconds=1))
    state.accounts.accounts.apply(
        {"claude": LimitRefused(over, running=1)}, NOW - timedelta(hours=1)
    )
    state.accounts.accounts.apply({"claude": RunStarted("fleet-2", proving=True)}, NOW)
    state.assignments.take(a_lease("fleet-2")).stage = Arriving()
    found = ask(state, task, None).wait
    assert found.reason == "claude: its rate limit just reset, fleet-2 tries first"
    write_status(state.home, SupervisorStatus(probes=state.accounts.probes()))
    holder = SimpleNamespace(who=SimpleNamespace(pid=1), since=NOW, coder=None)
    monkeypatch.setattr(home_moment, "supervisor_of", lambda _: holder)
    fleet = Control(state.home, state.config)
    shown = GateReader(fleet, conditions(fleet, NOW)).why_not(task, fleet.place(task))
    assert shown.reason == found.reason


def test_a_missing_directory_is_the_same_reason_for_both(state, tmp_path):
    """The start would block the task, so that a surface names it before."""
    state.apply(Config(coder="claude"))
    task = a_task(id="fleet-1", cwd=str(tmp_path / "gone"))
    found = ask(state, task, None).wait
    fleet = Control(state.home, state.config)
    shown = GateReader(fleet, conditions(fleet, NOW)).why_not(task, fleet.place(task))
    assert shown.words == found.words
    assert found.blocks is not None


def test_a_directory_that_cannot_be_looked_up_ends_no_surface(state):
    """One such task would keep `fleet status` from all others."""
    state.apply(Config(coder="claude"))
    task = a_task(id="fleet-1", cwd=f"/srv/{'x' * 300}")
    fleet = Control(state.home, state.config)
    shown = GateReader(fleet, conditions(fleet, NOW)).why_not(task, fleet.place(task))
    assert shown.gate == "directory"


def test_gates_answer_without_any_facts():
    """Nothing that is known means that nothing is in the way."""
    start, at = TaskStart(task=a_task()), HomeMoment(now=NOW)
    assert why_not(own_gates(), start, at) is None
    assert why_none(own_gates(), at) is None


@pytest.mark.parametrize(
    ("known", "gate"),
    [
        ({"supervised": False}, "supervisor"),
        ({"paused": True}, "pause"),
        ({"queue_problem": "gone"}, "queue"),
        ({"shortage": "disk"}, "machine"),
        ({"runs": 2, "slots": 2}, "slots"),
    ],
)
def test_what_holds_all_tasks_holds_each(known, gate):
    """The claim asks without a task, and a surface for each task."""
    at = structs.replace(HomeMoment(now=NOW), **known)
    assert why_none(own_gates(), at).gate == gate
    assert why_not(own_gates(), TaskStart(task=a_task()), at) == why_none(own_gates(), at)


class Never:
    """A gate of a package."""

    def why_none(self, at):
        return None

    def why_not(self, start, at):
        return Wait(gate="never", reason="never")


def test_an_installed_package_adds_a_gate(monkeypatch):
    """It is asked after fleet's own."""

    class Point:
        name = "theirs"

        def load(self):
            return type("module", (), {"GATES": (Never,)})

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point()])
    extend.gates.cache_clear()
    try:
        found = why_not(extend.gates(), TaskStart(task=a_task()), HomeMoment(now=NOW))
        assert found.reason == "never"
    finally:
        extend.gates.cache_clear()
