"""The programs that an agent finds on its PATH."""

import subprocess
import sys

from fleet.supervisor.start.agent_bin import KEEPER, make_programs


def test_they_lead_to_this_fleet(tmp_path):
    """Both can be run, and are written anew only if they differ."""
    folder = make_programs(tmp_path)
    told = subprocess.run([folder / "fleet", "--version"], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    before = (folder / "bd").stat().st_mtime_ns
    (folder / "fleet").write_text("old")
    make_programs(tmp_path)
    assert (folder / "bd").stat().st_mtime_ns == before
    assert "-m fleet" in (folder / "fleet").read_text()
    assert (folder / "fleet").stat().st_mode & 0o777 == 0o700


def test_the_keeper_is_kept_as_bytecode(tmp_path):
    """It runs as it is, without its source; to be told nothing is a mistake it knows."""
    program = make_programs(tmp_path) / KEEPER
    told = subprocess.run([sys.executable, "-I", "-S", program], capture_output=True, text=True)
    assert "IndexError" in told.stderr
