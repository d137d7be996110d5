"""A few megabytes for the records of a shutdown on a full disk."""

from fleet.home import Home, make_home
from fleet.supervisor import shortage


def test_the_reserve_is_given_back_when_the_disk_is_short(tmp_path, monkeypatch):
    """And only then: a shutdown on a disk with room keeps it."""
    home = Home(tmp_path / "home")
    make_home(home)
    reserve = home.path / shortage.RESERVE
    shortage.set_reserve_aside(home)
    shortage.set_reserve_aside(home)
    assert reserve.stat().st_blocks * 512 >= 4 << 20
    shortage.release_reserve(home)
    assert reserve.exists()
    monkeypatch.setattr(shortage, "low_disk", lambda _: "full")
    shortage.release_reserve(home)
    shortage.set_reserve_aside(home)
    assert not reserve.exists()
