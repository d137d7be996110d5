"""The status file of a supervisor."""

from fleet.home import Home, status_file


def test_a_snapshot_is_read_back(tmp_path):
    """And a damaged one is an empty one."""
    home = Home(tmp_path)
    snapshot = status_file.SupervisorStatus(runs=3, slots=5, shortage="disk")
    assert status_file.write_status(home, snapshot)
    assert status_file.read_status(home) == snapshot
    (tmp_path / status_file.FILE).write_text("{")
    assert status_file.read_status(home) == status_file.SupervisorStatus()
