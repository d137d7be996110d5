"""What the keeper promises for one agent, with real processes."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from fleet.files.file_lock import locked
from fleet.processes import keeper, keeper_client, process_identity
from tests.fakes import FAKES
from tests.story.stage import PATIENCE, fake, output, wait_for_output, wait_gone, wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper and pdeathsig")


def sh(script):
    return ("sh", "-c", script)


def test_an_agent_runs_in_its_directory_and_its_end_is_recorded(stage):
    """Exit code, output, environment and times of an ordinary run are all there afterwards."""
    run = stage.run(*sh("pwd; echo $COLOUR >&2; exit 3"))
    assert stage.start(run, COLOUR="blue").wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert (ending.code, ending.signal, ending.error, ending.stop) == (3, None, None, None)
    assert run.stdout.read_text() == f"{stage.root}\n"
    assert run.stderr.read_text() == "blue\n"
    assert ending.swept == ending.left == ()
    assert 0 <= ending.seconds < PATIENCE
    assert ending.started_at <= ending.ended_at
    assert ending.max_rss_bytes > 0


def test_everything_a_run_writes_is_for_its_owner_only(stage):
    """Prompts, streams and records hold secrets: mode 0600 whatever the umask."""
    old = os.umask(0)
    try:
        run, _ = stage.play("true", prompt=b"secret")
    finally:
        os.umask(old)
    assert {f.name: oct(f.stat().st_mode & 0o777) for f in run.path.iterdir()} == dict.fromkeys(
        ("exit.json", "prompt.md", "run.json", "started", "stderr", "stdout"), "0o600"
    )


def test_the_environment_never_touches_the_disk(stage):
    """A key in the agent's environment is in no file of the run."""
    run = stage.run(*sh('test -n "$KEY"'))
    assert stage.start(run, KEY="sk-not-for-the-disk").wait(PATIENCE)
    assert keeper_client.state_of(run).exit.code == 0
    assert not any(b"not-for-the-disk" in f.read_bytes() for f in run.path.iterdir())


def test_stdin_is_empty_or_the_prompt(stage):
    """An agent that reads its stdin gets the prompt file or an end at once, never a terminal."""
    run, ending = stage.play("cat", prompt=b"do it\n", stdin="prompt.md")
    assert (ending.code, output(run)) == (0, "do it\n")
    run, ending = stage.play("cat")
    assert (ending.code, output(run)) == (0, "")


def test_a_killed_agent_is_recorded_with_its_signal(stage):
    """SIGKILL from anywhere is an ending like any other."""
    _, ending = stage.play(*sh("kill -9 $$"))
    assert (ending.code, ending.signal) == (None, 9)


@pytest.mark.parametrize(
    ("change", "stage_name", "number"),
    [
        ({"argv": ("no-such-program",)}, "exec", 2),
        ({"argv": ("/etc/passwd",)}, "exec", 13),
        ({"argv": ("true", "x" * 200_000)}, "exec", 7),
        ({"argv": ("true", "a\0b")}, "exec", 0),
        ({"cwd": "/no/such/directory"}, "cwd", 2),
        ({"stdin": "missing.md"}, "stdin", 2),
    ],
    ids=["missing", "not executable", "too long", "NUL", "cwd", "stdin"],
)
def test_an_agent_that_cannot_start_says_why(stage, change, stage_name, number):
    """What keeps the program from running is a record, not a crash, and no exit code."""
    _, ending = stage.play(*change.pop("argv", ("true",)), **change)
    assert (ending.error.stage, ending.error.errno) == (stage_name, number)
    assert ending.error.message
    assert ending.code is None
    assert ending.signal is None


def test_the_attempt_counts_before_the_program_runs(stage, monkeypatch):
    """`started` is there for the agent's first instruction, however slow the keeper writes it."""
    monkeypatch.setattr(keeper_client, "_program", lambda: str(FAKES / "dying_keeper.py"))
    run = stage.run(*sh("cat runs/1/started"), cwd=str(stage.root / "task"))
    assert stage.start(run, PAUSE_AT="before started", KEEPER=keeper.__file__).wait(PATIENCE)
    assert output(run) == (run.path / "started").read_text()


@linux
def test_an_agent_inherits_a_clean_slate(stage):
    """No signal is blocked or ignored, and no descriptor leaks but the lock."""
    leak = os.open(os.devnull, os.O_RDONLY)
    leaks = (leak, os.dup2(leak, 251))
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls -x /proc/$$/fd"
    os.set_inheritable(leak, True)
    try:
        run, _ = stage.play(*sh(script))
    finally:
        signal.signal(signal.SIGHUP, old)
        for fd in leaks:
            os.close(fd)
    blocked, ignored, *rest = output(run).splitlines()
    assert int(blocked.split()[1], 16) == 0
    # glibc leaves its own two signals, 32 and 33, ignored in whatever posix_spawn starts.
    assert int(ignored.split()[1], 16) & ~(3 << 31) == 0
    assert " ".join(rest).split() == ["0", "1", "2", str(keeper.LOCK_FD)]


def test_an_agent_cannot_hit_its_keeper_by_signalling_its_group(stage):
    """`kill 0` reaches the agent's own group, and the keeper lives to tell."""
    _, ending = stage.play(*sh("kill -9 0; sleep 60"))
    assert ending.signal == 9


def test_a_polite_agent_is_given_time_to_end(stage):
    """A stop is SIGTERM first: the agent ends as it likes, and the stop is on record."""
    run = stage.run(*fake("polite.sh"), grace=60.0)
    child = stage.start(run)
    wait_for_output(run, "ready")
    assert keeper_client.stop(run)
    assert child.wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert (ending.code, ending.stop) == (0, "graceful")
    assert output(run) == "ready\nbye\n"


def test_an_agent_that_ignores_a_stop_is_killed_after_its_grace(stage):
    """Grace over, SIGKILL: over the whole tree, whatever sessions it hides in."""
    run = stage.run(*fake("stubborn.sh"))
    child = stage.start(run)
    wait_for_output(run, "ready")
    tree = process_identity.tree(run.started().agent)
    asked = time.monotonic()
    assert keeper_client.stop(run)
    assert child.wait(PATIENCE)
    assert time.monotonic() - asked >= run.spec().grace
    ending = keeper_client.state_of(run).exit
    assert (ending.signal, ending.stop) == (9, "graceful")
    assert len(tree) >= 2
    assert not any(process_identity.alive(who) for who in tree)


def test_a_second_stop_ends_all_patience(stage):
    """Asked twice, the keeper does not wait for the grace of the first time."""
    run = stage.run(*fake("polite.sh", 60), grace=600.0, sweep_grace=600.0)
    child = stage.start(run)
    wait_for_output(run, "ready")
    keeper_client.stop(run)
    wait_for_output(run, "bye")
    keeper_client.stop(run)
    assert child.wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert (ending.signal, ending.stop) == (9, "now")


def test_a_stop_at_once_is_not_polite(stage):
    """`now` kills without asking."""
    run = stage.run(*fake("polite.sh", 60), grace=600.0)
    child = stage.start(run)
    wait_for_output(run, "ready")
    keeper_client.stop(run, now=True)
    assert child.wait(PATIENCE)
    assert keeper_client.state_of(run).exit.stop == "now"
    assert output(run) == "ready\n"


@linux
def test_a_daemon_that_holds_the_stream_does_not_hold_the_run(stage):
    """The run ends when the agent does; the daemon it left is swept, and named."""
    run, ending = stage.play(*fake("daemon.py"))
    daemon = int(output(run).split()[1])
    assert ending.code == 0
    assert [left.pid for left in ending.swept] == [daemon]
    assert process_identity.identify(daemon) is None


@linux
def test_a_stop_ends_the_patience_with_what_was_left_behind(stage):
    """Asked while it sweeps, the keeper kills at once; the agent had ended by itself."""
    run = stage.run(*fake("brood.sh", 2, stage.root / "task/runs/1/stdout"), sweep_grace=600.0)
    child = stage.start(run)
    wait_until(run, run.started)
    wait_gone(run.started().agent)
    assert keeper_client.stop(run)
    assert child.wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert (ending.code, ending.stop, ending.left) == (0, None, ())
    assert len(ending.swept) >= 2


@linux
def test_a_large_brood_is_swept_whole(stage):
    """Fifty stubborn processes in fifty sessions: all recorded, none left."""
    run = stage.run(*fake("brood.sh", 50, stage.root / "task/runs/1/stdout"), sweep_grace=0.0)
    assert stage.start(run).wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert len([left for left in ending.swept if left.name == "sh"]) >= 50
    assert ending.left == ()
    assert process_identity.marked(run.spec().id) == []


@linux
def test_a_process_that_keeps_forking_is_caught(stage):
    """One that hands over to a fresh child every few milliseconds is gone when the run is."""
    run, ending = stage.play(*fake("respawner.py"))
    assert ending.code == 0
    assert ending.left == ()
    assert process_identity.marked(run.spec().id) == []


@linux
def test_what_cannot_be_killed_is_named_and_does_not_hold_the_run(stage, monkeypatch):
    """The keeper gives up in the end and says who is left; the lock stays with whoever that is."""
    monkeypatch.setattr(keeper_client, "_program", lambda: str(FAKES / "toothless_keeper.py"))
    run = stage.run(*fake("daemon.py"))
    assert stage.start(run, KEEPER=keeper.__file__).wait(PATIENCE)
    daemon = int(output(run).split()[1])
    assert [left.pid for left in run.exit().left] == [daemon]
    with locked(run.lock) as lock:
        assert lock is None
    assert keeper_client.state_of(run) == keeper_client.Ended(run.exit())
    assert process_identity.identify(daemon) is None


def test_a_flood_of_output_reaches_the_disk_whole(stage):
    """100 MB go straight to the file; nobody has to drain a pipe."""
    size = 100 << 20
    run, ending = stage.play("head", "-c", str(size), "/dev/zero")
    assert ending.code == 0
    assert run.stdout.stat().st_size == size


def test_the_record_waits_for_a_disk_that_refuses(stage):
    """An exit record that cannot be written is tried again, under the lock, until it can."""
    run = stage.run(*fake("polite.sh"))
    child = stage.start(run)
    wait_for_output(run, "ready")
    keeper_process = psutil.Process(run.started().keeper.pid)
    before = keeper_process.rlimit(psutil.RLIMIT_FSIZE)
    keeper_process.rlimit(psutil.RLIMIT_FSIZE, (100, before[1]))
    os.kill(run.started().agent.pid, signal.SIGKILL)
    wait_until(run, lambda: run.stderr.exists() and "exit.json" in run.stderr.read_text())
    assert keeper_client.state_of(run).started == run.started()
    keeper_process.rlimit(psutil.RLIMIT_FSIZE, before)
    assert child.wait(PATIENCE)
    assert keeper_client.state_of(run).exit.signal == signal.SIGKILL


@pytest.mark.parametrize("name", ["exit.json", "started"])
@pytest.mark.parametrize("what", ["mkdir", "mkfifo", "ln -s /nowhere"])
def test_what_an_agent_puts_in_the_place_of_a_record_does_not_hold_its_keeper_up(stage, name, what):
    """The keeper writes over a pipe or a link, and puts a directory aside."""
    where = f"{stage.root}/task/runs/1/{name}"
    _, ending = stage.play(*sh(f"rm -f {where}; {what} {where}"))
    assert ending.code == 0


def test_a_link_in_the_place_of_a_record_is_not_written_through(stage):
    """Neither the record's own name nor the hidden one of old leads a keeper elsewhere."""
    victim = stage.root / "victim"
    victim.write_text("precious")
    place = f"{stage.root}/task/runs/1"
    stage.play(*sh(f"ln -s {victim} {place}/exit.json; ln -s {victim} {place}/.exit.json"))
    assert victim.read_text() == "precious"


def by_hand(run):
    """A keeper as nobody's child of the supervisor, that takes the lock itself."""
    argv = [sys.executable, "-I", "-S", keeper.__file__, str(run.path)]
    return subprocess.run(argv, timeout=PATIENCE, check=False).returncode


def test_a_second_keeper_on_one_task_refuses(stage):
    """While one run of a task lives no other begins, not even by hand."""
    first = stage.run(*fake("polite.sh"))
    child = stage.start(first)
    wait_for_output(first, "ready")
    second = stage.run("true")
    assert by_hand(second) == keeper.BUSY
    assert keeper_client.start_keeper(second, os.environ) == keeper_client.Busy(first)
    assert second.started() is None
    keeper_client.stop(first)
    assert child.wait(PATIENCE)
    assert by_hand(second) == 0
    assert keeper_client.state_of(second).exit.code == 0


def test_a_fence_beats_a_late_keeper(stage):
    """Once a run is given up, a keeper that comes for it finds the fence and starts nothing."""
    run = stage.run("touch", str(stage.root / "ran"))
    assert keeper_client.state_of(run) == keeper_client.NeverStarted()
    assert by_hand(run) == keeper.SETTLED
    assert stage.start(run).wait(PATIENCE)
    assert not (stage.root / "ran").exists()
    assert keeper_client.state_of(run) == keeper_client.NeverStarted()


def test_a_run_is_never_run_twice(stage):
    """A keeper refuses a run that has a record already."""
    run, _ = stage.play(*sh("echo once"))
    assert by_hand(run) == keeper.SETTLED
    assert output(run) == "once\n"


@linux
def test_a_killed_keeper_takes_its_agent_along(stage):
    """With the keeper killed -9 dies too, the run is lost, the next one can begin."""
    run = stage.run(*fake("stubborn.sh"))
    child = stage.start(run)
    wait_for_output(run, "ready")
    started = run.started()
    tree = process_identity.tree(started.agent)
    os.kill(started.keeper.pid, signal.SIGKILL)
    assert child.wait(PATIENCE)
    wait_gone(started.agent)  # by the kernel's hand: nobody else has looked yet
    assert keeper_client.state_of(run, PATIENCE) == keeper_client.Vanished(started)
    wait_gone(*tree)
    assert process_identity.marked(run.spec().id) == []
    assert keeper_client.state_of(run, PATIENCE) == keeper_client.Vanished(started)
    _, ending = stage.play("true")
    assert ending.code == 0


@linux
@pytest.mark.parametrize("dropped", ["lock", "mark", "neither"])
def test_survivors_of_a_killed_keeper_are_found_by_mark_or_by_lock(stage, dropped):
    """A tool that dropped the lock or the mark, but not both, is found and killed."""
    run = stage.run(*fake("hider.py", dropped))
    stage.start(run)
    wait_for_output(run, "up")
    tree = process_identity.tree(run.started().agent)
    os.kill(run.started().keeper.pid, signal.SIGKILL)
    wait_gone(run.started().keeper)
    assert isinstance(keeper_client.state_of(run, PATIENCE), keeper_client.Vanished)
    assert len(tree) >= 2
    assert not any(process_identity.alive(who) for who in tree)


@linux
@pytest.mark.parametrize(
    ("point", "state"),
    [
        ("before lock", keeper_client.NeverStarted),
        ("after lock", keeper_client.NeverStarted),
        ("before started", keeper_client.NeverStarted),
        ("after started", keeper_client.Vanished),
        ("before sync of started", keeper_client.Vanished),
        ("before exit.json", keeper_client.Vanished),
        ("after exit.json", keeper_client.Ended),
    ],
)
def test_a_keeper_may_die_anywhere(stage, monkeypatch, point, state):
    """Wherever it is killed: no agent is left, the answer is right, and the next run works."""
    monkeypatch.setattr(keeper_client, "_program", lambda: str(FAKES / "dying_keeper.py"))
    run = stage.run(*fake("witness.py", stage.root, 0.2))
    assert stage.start(run, DIE_AT=point, KEEPER=keeper.__file__).wait(PATIENCE)
    assert isinstance(keeper_client.state_of(run), state)
    assert process_identity.marked(run.spec().id) == []
    monkeypatch.undo()
    stage.play(*fake("witness.py", stage.root, 0))
    witness = (stage.root / "witness").read_text().split()
    assert "overlap" not in witness
    assert witness[-2:] == ["begin", "end"]
    if state is keeper_client.NeverStarted:
        assert witness == ["begin", "end"]


def test_a_keeper_ends_its_agent_when_its_time_is_up(stage):
    """By itself, with the run's grace, and on record; whoever ends in time is not touched."""
    _, ending = stage.play(*fake("stubborn.sh"), time_limit=0.5)
    assert (ending.stop, ending.signal) == ("timeout", 9)
    assert 0.5 <= ending.seconds < PATIENCE
    _, ending = stage.play("true", time_limit=60.0)
    assert (ending.stop, ending.code) == (None, 0)


def test_a_stop_after_its_time_was_up_leaves_the_grace(stage):
    """A supervisor that comes a moment later does not take it away."""
    run = stage.run(*fake("polite.sh"), grace=60.0, time_limit=1.0)
    child = stage.start(run)
    wait_for_output(run, "ready")
    wait_for_output(run, "bye")
    keeper_client.stop(run)
    assert child.wait(PATIENCE)
    assert keeper_client.state_of(run).exit.code == 0


def test_a_keeper_without_a_supervisor_stops_its_agent_before_the_lease_ends(stage):
    """Another host begins the task when the lease has ended; a renewal moves the moment."""
    run = stage.run(*fake("stubborn.sh"), leased=True)
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    keeper_client.hold_until(run, now + 1)
    child = stage.start(run)
    wait_for_output(run, "ready")
    keeper_client.hold_until(run, now + 2)
    assert child.wait(PATIENCE)
    ending = keeper_client.state_of(run).exit
    assert (ending.stop, ending.signal) == ("lease", 9)
    assert time.clock_gettime(time.CLOCK_BOOTTIME) >= now + 2 + 0.3, "it had its grace"
