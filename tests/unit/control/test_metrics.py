"""The file of figures, and which trouble is whose."""

import pytest

from fleet.control.watch.metrics import FleetMetrics


def test_a_home_that_cannot_be_read_is_not_told_as_a_file_that_cannot_be_written(
    fleet, tmp_path, monkeypatch
):
    """A person would look at the directory of node_exporter for what is wrong with the home."""

    def broken(*_):
        raise OSError(5, "Input/output error")

    figures = FleetMetrics(fleet)
    monkeypatch.setattr(figures, "text", broken)
    with pytest.raises(OSError, match="Input/output error"):
        figures.write_textfile(tmp_path / "fleet.prom", None)
    assert not list(tmp_path.glob("*.prom"))
