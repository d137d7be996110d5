"""A small ordeal for every day; `make chaos` is the large one."""

import sys

import pytest

from tests.chaos.ordeal import Ordeal
from tests.conftest import often

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper and pdeathsig")


def test_killed_supervisors_lose_and_repeat_nothing(tmp_path):
    """Again and again kill -9 under many tasks: each is run once, by one agent, and closed."""
    report = Ordeal(tmp_path, tasks=often(40, 60), slots=12, seed=11, every=0.4, most=4).run(60)
    assert report.clean, report
    assert report.supervisors_killed >= 2, report


def test_killed_keepers_let_no_two_agents_meet(tmp_path):
    """Keepers are killed as well: a task may run again, but never beside itself."""
    report = Ordeal(tmp_path, tasks=30, slots=8, seed=5, keepers=True, every=0.3, most=8).run(60)
    assert report.clean, report
    assert report.keepers_killed >= 1, report
