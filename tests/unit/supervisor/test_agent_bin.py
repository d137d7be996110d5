"""The programs that an agent finds on its PATH."""

import os
import subprocess
import sys
import time

import pytest

from fleet.supervisor.start import agent_bin
from fleet.supervisor.start.agent_bin import KEEPER, AgentPrograms


def test_they_lead_to_this_fleet(tmp_path):
    """Both can be run, and are written anew only if they differ."""
    folder = AgentPrograms(tmp_path).make()
    told = subprocess.run([folder / "fleet", "--version"], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    before = (folder / "bd").stat().st_mtime_ns
    (folder / "fleet").write_text("old")
    AgentPrograms(tmp_path).make()
    assert (folder / "bd").stat().st_mtime_ns == before
    assert "-m fleet" in (folder / "fleet").read_text()
    assert (folder / "fleet").stat().st_mode & 0o777 == 0o700


def settled(folder, monkeypatch):
    """The programs were last changed long ago."""
    newest = max(path.stat().st_ctime_ns for path in folder.iterdir())
    monkeypatch.setattr(time, "time_ns", lambda: newest + 10 * agent_bin._SETTLED)


def test_a_program_that_has_not_changed_is_not_read_again(tmp_path, monkeypatch):
    """Each run makes sure of its programs, and five files would be read for each."""
    programs = AgentPrograms(tmp_path)
    settled(programs.make(), monkeypatch)
    programs.make()
    monkeypatch.setattr(agent_bin, "read_bounded", lambda *_: pytest.fail("it is read again"))
    programs.make()


@pytest.mark.parametrize("inode", ["the same", "another"])
def test_a_changed_program_is_written_anew_whatever_its_times_say(tmp_path, monkeypatch, inode):
    """An agent without a box can write there, and can set a file's time back, but not the time at
    which the file was changed.
    """
    programs = AgentPrograms(tmp_path)
    folder = programs.make()
    settled(folder, monkeypatch)
    programs.make()
    program, before = folder / "bd", (folder / "bd").stat()
    forged = b"x" * before.st_size
    if inode == "another":
        program.rename(folder / "moved")
    program.write_bytes(forged)
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    programs.make()
    assert program.read_bytes() != forged


def test_a_program_that_has_just_changed_is_compared_by_its_content(tmp_path, monkeypatch):
    """Two changes within a tick of the kernel's clock have one time."""
    programs = AgentPrograms(tmp_path)
    programs.make()
    programs.make()
    program = programs.folder / "bd"
    stamp = agent_bin._stamp(str(program))
    program.write_bytes(b"x" * stamp[1])
    monkeypatch.setattr(agent_bin, "_stamp", lambda _: stamp)
    programs.make()
    assert program.read_bytes().startswith(b"#!")


def test_the_keeper_is_kept_as_bytecode(tmp_path):
    """It runs as it is, without its source; to be told nothing is a mistake it knows."""
    program = AgentPrograms(tmp_path).make() / KEEPER
    told = subprocess.run([sys.executable, "-I", "-S", program], capture_output=True, text=True)
    assert "IndexError" in told.stderr
