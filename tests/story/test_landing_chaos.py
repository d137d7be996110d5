"""Work lands while the supervisor is killed again and again: in `make slow`.

In every run tests/unit/landing/test_killed_lander.py cuts a lander off at chosen steps, and
test_landing.py kills a supervisor that lands.
"""

import pytest

from tests.chaos.landing import LandingOrdeal
from tests.conftest import need, only_slow


@only_slow
@pytest.mark.timeout(700)
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_lander_loses_nothing_and_lands_nothing_twice(tmp_path, seed):
    """Every value of the branch passes a fresh check, and a dirty checkout is as it was."""
    need("git")
    ordeal = LandingOrdeal(tmp_path, tasks=40, slots=4, seed=seed, most=60)
    report = ordeal.run(600.0)
    assert report.clean, report
    assert report.supervisors_killed >= 3
