"""A few megabytes for the records of a shutdown on a full disk."""

from fleet.home import Home, make_home
from fleet.supervisor.machine import disk_reserve


def test_the_reserve_is_given_back_when_the_disk_is_short(tmp_path, monkeypatch):
    """And only then: a shutdown on a disk with room keeps it."""
    home = Home(tmp_path / "home")
    make_home(home)
    reserve = home.path / disk_reserve.FILE
    disk_reserve.set_aside(home)
    disk_reserve.set_aside(home)
    assert reserve.stat().st_blocks * 512 >= 4 << 20
    disk_reserve.release_if_short(home)
    assert reserve.exists()
    monkeypatch.setattr(disk_reserve, "room", lambda _: False)
    disk_reserve.release_if_short(home)
    disk_reserve.set_aside(home)
    assert not reserve.exists()


def test_a_disk_below_the_floor_has_no_room(tmp_path, monkeypatch):
    """What is left is for those that run."""
    assert disk_reserve.room(Home(tmp_path))
    monkeypatch.setattr(disk_reserve, "FLOOR", 1 << 62)
    assert not disk_reserve.room(Home(tmp_path))
