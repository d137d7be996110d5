"""What the log says of tasks that are put off."""

from datetime import timedelta

from fleet.supervisor.start.hold_news import HoldNews
from tests.builders import HOUR, NOW

WHY = "claude is being tried by fleet-5vu"


def test_a_hold_is_told_once_for_all_its_tasks():
    """Also where each of them asks again every few seconds for as long as it lasts."""
    news = HoldNews()
    told = [news.is_news(WHY, NOW + timedelta(seconds=6 * n), NOW) for n in range(3)]
    assert told == [True, False, False]
    assert not news.is_news(WHY, None, NOW + timedelta(seconds=50))
    assert news.is_news("another reason", NOW, NOW)


def test_a_hold_that_comes_again_later_is_news():
    """A limit of tomorrow is not the one of today, and nothing is remembered for ever."""
    news = HoldNews()
    assert news.is_news(WHY, NOW + HOUR, NOW)
    assert not news.is_news(WHY, NOW + HOUR, NOW + HOUR)
    assert news.is_news(WHY, NOW + 4 * HOUR, NOW + 3 * HOUR)
    assert list(news._ends) == [WHY]
