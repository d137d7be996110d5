"""The bell wakes whoever listens, also after its listener was another one."""

from contextlib import closing
from datetime import timedelta

from fleet.queue.doorbell import Doorbell

SOON = timedelta(seconds=5)
NOW = timedelta(0)


def test_a_ring_is_heard_once(tmp_path):
    """Two rings before the listener looks wake it once."""
    with closing(Doorbell(tmp_path / "bell")) as listener, closing(Doorbell(listener.path)) as bell:
        assert not listener.wait(NOW)
        bell.ring()
        bell.ring()
        assert listener.wait(SOON)
        assert not listener.wait(NOW)


def test_a_bell_that_rang_before_is_heard_by_the_next_listener(tmp_path):
    """A supervisor that was started anew is woken by processes that rang for the one before."""
    with closing(Doorbell(tmp_path / "bell")) as bell:
        bell.ring()
        with closing(Doorbell(bell.path)) as first:
            assert not first.wait(NOW)
            bell.ring()
            assert first.wait(SOON)
        bell.ring()
        with closing(Doorbell(bell.path)) as second:
            assert not second.wait(NOW)
            bell.ring()
            assert second.wait(SOON)


def test_a_full_bell_keeps_nobody_waiting(tmp_path):
    """A listener that does not look costs those who ring nothing, and hears the bell at last."""
    with closing(Doorbell(tmp_path / "bell")) as listener, closing(Doorbell(listener.path)) as bell:
        assert not listener.wait(NOW)
        for _ in range(1 << 17):
            bell.ring()
        assert listener.wait(SOON)
