"""Where the first clone of a task begins on a host, by what the task's maker recorded."""

import pytest

from fleet.git.mirror.ensure_mirror import Unreached
from fleet.git.mirror.result_refs import BASE
from fleet.schemas import Policy
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.supervisor.start.reach_code import reach_code
from tests.unit.git.mirror.conftest import elsewhere

__all__ = ["elsewhere"]

TASK = "fleet-1"


def reach(elsewhere, cwd="", **origin):
    recorded = {"land": "auto", "land_to": "push", "into": "main", "commit": elsewhere.first}
    origin = CodeOrigin(url=elsewhere.url, **{**recorded, **origin})
    there = {"cwd": cwd or str(elsewhere.home.mirror(elsewhere.url)), "elsewhere": not cwd}
    return reach_code(elsewhere.home, TASK, Policy(), origin=origin, title="a task", **there)


def test_where_work_is_pushed_a_task_begins_at_the_branch(elsewhere):
    """With what landed since the task was made."""
    assert reach(elsewhere) == ""
    assert reach(elsewhere, land_to="branch") == elsewhere.first


@pytest.mark.parametrize("into", ["", "on-the-maker-alone"])
def test_without_the_branch_a_task_begins_at_its_commit(elsewhere, into):
    """Made with a detached HEAD, or on a branch that was not pushed: no reason to block it."""
    assert reach(elsewhere, into=into) == elsewhere.first


def test_without_branch_and_commit_the_code_is_gone(elsewhere):
    """The task waits with the reason; no clone of nothing is tried."""
    local = elsewhere.project.commit("not pushed", c="3\n")
    found = reach(elsewhere, into="", commit=local)
    assert isinstance(found, Unreached)
    assert found.gone


@pytest.mark.parametrize("land_to", ["push", "branch"])
def test_what_was_not_committed_is_where_the_task_begins(elsewhere, land_to):
    """On every host, the one with the directory among them, wherever the branch stands."""
    changes = elsewhere.project.commit("what was not committed", c="3\n")
    elsewhere.project.git("push", "-q", "origin", f"HEAD:refs/fleet/{TASK}/{BASE}")
    elsewhere.project.git("reset", "-q", "--hard", elsewhere.first)
    how = {"land_to": land_to, "changes": "pushed", "commit": changes}
    assert reach(elsewhere, **how) == changes
    elsewhere.trust(elsewhere.project.root)
    assert reach(elsewhere, str(elsewhere.project.root), **how) == changes


def test_changes_that_cannot_be_had_are_waited_for(elsewhere):
    """The task does not begin without them."""
    found = reach(elsewhere, str(elsewhere.project.root), changes="pushed")
    assert isinstance(found, Unreached)
    assert "what was not committed cannot be fetched" in found.why
