"""Work lands while the supervisor is killed again and again."""

import pytest

from tests.chaos.landing import LandingOrdeal
from tests.conftest import need, often


@pytest.mark.parametrize("seed", range(often(1, 3)))
def test_a_killed_lander_loses_nothing_and_lands_nothing_twice(tmp_path, seed):
    """Every value of the branch passes a fresh check, and a dirty checkout is as it was."""
    need("git")
    ordeal = LandingOrdeal(tmp_path, tasks=often(10, 40), slots=4, seed=seed, most=often(8, 60))
    report = ordeal.run(120.0)
    assert report.clean, report
    assert report.supervisors_killed >= 3
