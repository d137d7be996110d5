"""Writing a record where an agent could have put something else."""

from fleet.files.atomic_write import write_atomically


def test_a_link_is_replaced_and_not_followed(tmp_path):
    """The file that a link leads to stays as it is."""
    victim, record = tmp_path / "victim", tmp_path / "record"
    victim.write_text("precious")
    record.symlink_to(victim)
    write_atomically(record, b"new")
    assert victim.read_text() == "precious"
    assert record.read_bytes() == b"new"
    assert not record.is_symlink()


def test_a_directory_in_its_place_is_put_aside(tmp_path):
    """Nothing that lies in it is lost, and the record is written."""
    record = tmp_path / "record"
    record.mkdir()
    (record / "inside").write_text("kept")
    write_atomically(record, b"new")
    assert record.read_bytes() == b"new"
    (aside,) = tmp_path.glob("record.aside-*")
    assert (aside / "inside").read_text() == "kept"
