"""The name of a home as the owner of leases."""

from fleet.home import Home, owner_file


def test_a_home_keeps_its_name(tmp_path):
    """The same after a restart, and unlike any other's."""
    first, other = Home(tmp_path / "a"), Home(tmp_path / "b")
    for home in (first, other):
        home.path.mkdir()
    assert owner_file.read_or_make(first) == owner_file.read_or_make(first)
    assert owner_file.read_or_make(first) != owner_file.read_or_make(other)
    assert owner_file.read_or_make(first).isalnum()
