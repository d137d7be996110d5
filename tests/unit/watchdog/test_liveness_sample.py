"""The second look: what counts as life, by two samples of a tree."""

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from fleet.processes import process_usage
from fleet.processes.process_usage import ThreadTimes
from fleet.watchdog.liveness_sample import (
    CPU,
    IO,
    SPAN,
    Sample,
    Subject,
    compare,
    last_change,
    sample,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
STILL = {"cpu": 10.0, "io": 1 << 20, "received": 5, "pids": frozenset({1, 2}), "printed": 7}


def moved(seconds=SPAN, **changes):
    before = Sample(at=0.0, **STILL)
    return compare(before, Sample(at=seconds, **(STILL | changes))).moved


def test_a_tree_that_only_keeps_its_timers_going_does_not_move():
    """What an idle CLI needs for itself is no life."""
    assert moved() == ()
    assert moved(cpu=10.0 + CPU * 0.9, io=(1 << 20) + IO - 1) == ()


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("CPU", {"cpu": 10.0 + CPU}),
        ("I/O", {"io": (1 << 20) + IO}),
        ("network", {"received": 6}),
        ("processes", {"pids": frozenset({1, 3})}),
        ("output", {"printed": 8}),
        ("session file", {"session_file": 1}),
        ("files", {"changed": 1}),
    ],
)
def test_each_witness_alone_is_enough(what, change):
    """A busy child, a byte of its model's answer, a file that was written."""
    assert moved(**change) == (what,)


@pytest.mark.parametrize(
    ("then", "ran", "waited", "turns", "ready", "seen"),
    [
        (False, 0.04, 1.8, 4, False, ("CPU",)),  # a fifth of the time that others left it
        (False, 0.01, 1.99, 2, False, ("CPU",)),  # always ready, and hardly ever let in
        (False, 0.01, 1.4, 4, True, ()),  # the wait that lasts is as long as each before
        (False, 0.01, 1.5, 3, True, ("CPU",)),
        (True, 0.01, 1.9, 4, False, ()),  # a part of the first wait was before
        (True, 0.0, 0.0, 0, True, ("CPU",)),  # it was never let in
        (False, 0.0, 0.0, 0, True, ()),  # it has just woken up
        (False, 0.01, 1.0, 4, False, ()),  # timers of a CLI that waits: late, and asleep again
        (False, 0.04, 0.0, 4, False, ()),  # the same little on a machine with cores to spare
    ],
)
def test_a_thread_that_waits_for_a_core_is_at_work(then, ran, waited, turns, ready, seen):
    """On a busy machine a command gets far less CPU than it would use."""
    before = Sample(at=0.0, **STILL, threads={7: ThreadTimes(5.0, 3.0, 50, then)})
    late = ThreadTimes(5.0 + ran, 3.0 + waited, 50 + turns, ready)
    now = {7: late, 8: ThreadTimes(9.0, 9.0, 9, ready=True)}
    assert compare(before, Sample(at=2.0, **STILL, threads=now)).moved == seen


@linux
def test_the_threads_of_a_process_are_counted_on_a_core_and_off_it():
    """Those of a process that has ended are none."""
    end = time.monotonic() + 30
    while time.thread_time() < 0.2 and time.monotonic() < end:
        pass
    times = process_usage.thread_times([os.getpid(), 1 << 22])[threading.get_native_id()]
    assert times.ran >= 0.2
    assert times.waited >= 0.0
    assert times.turns >= 1
    assert times.ready
    assert process_usage.thread_times([1 << 22]) == {}


def test_a_short_look_asks_for_less():
    """A tenth of the time, a tenth of the CPU; but one tick of a clock is never life."""
    assert moved(6.0, cpu=10.0 + CPU / 9) == ("CPU",)
    assert moved(0.5, cpu=10.02) == ()


def test_the_noise_of_a_cli_that_waits_is_no_life():
    """As measured of real ones on a server that never answers."""
    assert moved(60.0, cpu=10.6, io=(1 << 20) + 300_000) == ()
    assert moved(5.0, cpu=10.07, io=(1 << 20) + 40_000) == ()


def test_a_change_anywhere_below_a_directory_is_seen(tmp_path):
    """As far as the look reaches; what others keep there is passed over."""
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    os.utime(tmp_path / ".git", (1, 1))
    before = last_change(str(tmp_path))
    (tmp_path / ".git/index").write_text("x")
    os.utime(tmp_path / ".git", (1, 1))
    assert last_change(str(tmp_path)) == before
    (tmp_path / "src/deep/a.py").write_text("x")
    os.utime(tmp_path / "src/deep/a.py", (2e9, 2e9))
    assert last_change(str(tmp_path)) > before


def test_a_look_at_a_huge_tree_is_bounded(tmp_path):
    """Most entries are not looked at, and it still gives an answer."""
    for number in range(50):
        (tmp_path / f"{number}").mkdir()
    assert last_change(str(tmp_path), most=10) > 0
    assert last_change(str(tmp_path / "missing")) == 0


@linux
def test_a_busy_child_shows_in_the_whole_tree():
    """And one that has ended is not forgotten: its time is its parent's."""
    busy = "import time; [None for _ in iter(lambda: time.process_time() > 0.4, True)]"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); "
    code += "print('done', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        parent.stdout.readline()
        tree = process_usage.process_trees([parent.pid])[parent.pid]
        assert tree.cpu > 0.3
        assert (tree.count, tree.processes[0].pid) == (0, parent.pid)
        assert tree.memory > 1 << 20
        assert process_usage.unshared_memory([parent.pid]) <= tree.memory
        parent.stdin.close()


@linux
def test_trees_are_told_apart(tmp_path):
    """Two runs side by side, each with its own processes; a root that is gone has none."""
    script = "sleep 60 & sleep 60 & echo ready; wait"
    two = [
        subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(2)
    ]
    try:
        for one in two:
            one.stdout.readline()
        found = process_usage.process_trees([two[0].pid, two[1].pid, 1 << 22])
        assert [found[one.pid].count for one in two] == [2, 2]
        assert found[1 << 22].processes == ()
        look = sample(Subject(root=two[0].pid, cwd=str(tmp_path), streams=()))
        assert len(look.pids) == 3
        assert look.youngest > 0
    finally:
        for one in two:
            os.killpg(one.pid, 9)
            one.wait()
            one.stdout.close()


@linux
def test_what_comes_in_over_the_network_is_seen():
    """Not what goes out, and not what waits."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
        with near, far:
            before = process_usage.received_bytes([os.getpid()])
            far.send(b"x" * 1000)
            near.recv(1000)
            assert process_usage.received_bytes([os.getpid()]) - before == 1000
    assert process_usage.received_bytes([1 << 22]) == 0
