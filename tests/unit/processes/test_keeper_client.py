"""What a dead keeper left behind is killed, and the process that does so is not."""

import os
import signal

from fleet.processes import process_identity
from fleet.processes.keeper_client import kill_trees
from fleet.runs.run_directory import ProcessId


def test_a_process_does_not_kill_itself_among_descendants(monkeypatch):
    """A supervisor that an agent started is a descendant of that agent's shell."""
    shell = ProcessId(pid=1 << 22, start_ticks=1, boot_id="b")
    me = ProcessId(pid=os.getpid(), start_ticks=2, boot_id="b")
    killed: list[tuple[ProcessId, int]] = []
    monkeypatch.setattr(process_identity, "tree", lambda *roots: [*roots, me])
    monkeypatch.setattr(process_identity, "send", lambda who, number: killed.append((who, number)))
    assert kill_trees([shell, me]) == [shell]
    assert killed == [(shell, signal.SIGKILL)]
