"""What the supervisor can rely on about one run's processes."""

import os
import py_compile
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from fleet.errors import FleetError, InvalidTask
from fleet.processes import keeper_client, process_identity
from fleet.runs.run_directory import ProcessId
from tests.fakes import FAKES
from tests.story.stage import PATIENCE, fake, output, wait_for_output, wait_gone, wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def bystander():
    """An innocent process, which has to outlive the test."""
    child = subprocess.Popen(["sleep", "300"])
    who = process_identity.identify(child.pid)
    yield who
    unharmed = child.poll() is None
    child.kill()
    child.wait()
    assert unharmed, "an innocent process was signalled"


def stranger(who):
    """The identity of a process that bore this one's number before."""
    return msgspec.structs.replace(who, start_ticks=who.start_ticks - 1)


def test_a_signal_reaches_only_the_process_it_was_meant_for(bystander):
    """A number that changed hands is not signalled, waited on or taken for alive."""
    ghost = stranger(bystander)
    assert not process_identity.alive(ghost)
    assert not process_identity.send(ghost, signal.SIGKILL)
    assert process_identity.pidfd(ghost) is None
    assert process_identity.tree(ghost) == []
    other_boot = msgspec.structs.replace(bystander, boot_id="another")
    assert not process_identity.send(other_boot, signal.SIGKILL)


def test_a_lost_run_whose_numbers_changed_hands_harms_nobody(stage, bystander):
    """A record that names a number that an innocent process bears now leads to no kill."""
    run, _ = stage.play("true")
    (run.path / "exit.json").unlink()
    started = msgspec.structs.replace(
        run.started(), keeper=stranger(bystander), agent=stranger(bystander)
    )
    (run.path / "started").write_bytes(msgspec.json.encode(started))
    assert not keeper_client.stop(run, now=True)
    assert keeper_client.find_keeper(started.keeper) is None
    assert keeper_client.state_of(run, PATIENCE) == keeper_client.Vanished(started)


def test_a_corpse_is_not_alive():
    """A process that ended and waits to be reaped is gone for all that we ask."""
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_identity.identify(child.pid) is None
    child.wait()


def test_a_tree_holds_every_descendant(stage):
    """Children in their own sessions are part of it, parents come first, others are not."""
    run = stage.run(*fake("stubborn.sh"))
    stage.start(run)
    wait_for_output(run, "ready")
    started = run.started()
    tree = process_identity.tree(started.keeper)
    assert tree[:2] == [started.keeper, started.agent]
    assert len(tree) > 2
    assert process_identity.identify(os.getpid()) not in tree


def test_a_keeper_that_ended_leaves_no_corpse(stage):
    """Started and waited for, its number is free again."""
    run = stage.run("true")
    keeper = stage.start(run)
    assert keeper.wait(PATIENCE)
    assert keeper.ended()
    with pytest.raises(ProcessLookupError):
        os.kill(keeper.who.pid, 0)


def test_waiting_for_a_live_keeper_ends_with_the_time(stage):
    """A wait that is too short says so, and the keeper goes on."""
    run = stage.run(*fake("polite.sh"))
    keeper = stage.start(run)
    wait_for_output(run, "ready")
    assert not keeper.wait(0.01)
    assert isinstance(keeper_client.state_of(run), keeper_client.Running)


def test_a_glance_leaves_no_trace(stage):
    """Anyone may look at a run that is about to start; only the lease holder may fence it."""
    run = stage.run(*fake("polite.sh"))
    assert keeper_client.glance(run) is None
    assert not run.fenced()
    stage.start(run)
    wait_for_output(run, "ready")
    assert keeper_client.glance(run) == keeper_client.Running(run.started())
    keeper_client.stop(run)
    wait_until(run, run.exit)
    assert keeper_client.glance(run) == keeper_client.Ended(run.exit())


def test_a_run_that_is_over_cannot_be_stopped(stage):
    """There is no keeper to ask, and the answer says so."""
    run, _ = stage.play("true")
    assert not keeper_client.stop(run)


@linux
def test_a_keeper_proves_itself_by_the_lock(stage, bystander):
    """A forged record leads to no signal for a living stranger, and hides no keeper from a stop."""
    run = stage.run(*fake("polite.sh"))
    keeper = stage.start(run)
    wait_for_output(run, "ready")
    agent = run.started().agent
    for named in (bystander, agent):
        forged = msgspec.structs.replace(run.started(), keeper=named)
        (run.path / "started").write_bytes(msgspec.json.encode(forged))
        assert keeper_client.keeper_of(run) == keeper.who
    assert keeper_client.state_of(run).keeper == keeper.who
    assert keeper_client.stop(run)
    assert keeper.wait(PATIENCE)
    assert not process_identity.alive(agent)


@linux
@pytest.mark.parametrize("text", [b"", b"garbage", b"{}"])
def test_a_keeper_is_found_without_its_record(stage, text):
    """A damaged `started` keeps no run from being adopted and stopped."""
    run = stage.run(*fake("polite.sh"))
    keeper = stage.start(run)
    wait_for_output(run, "ready")
    (run.path / "started").write_bytes(text)
    assert keeper_client.state_of(run).keeper == keeper.who
    assert keeper_client.stop(run, now=True)
    assert keeper.wait(PATIENCE)


def test_a_run_behind_another_run_is_over(stage):
    """While a later run holds the task's lock, an earlier one without a record is lost."""
    first = stage.run("true")
    second = stage.run(*fake("polite.sh"))
    stage.start(second)
    wait_for_output(second, "ready")
    assert keeper_client.state_of(first) == keeper_client.NeverStarted()
    assert first.fenced()
    assert keeper_client.state_of(second).keeper == second.started().keeper


def test_a_lock_file_that_was_deleted_does_not_let_a_second_agent_in(stage):
    """With the lock's name gone the run is found by its mark, and ended before it is settled."""
    run = stage.run(*fake("polite.sh"))
    keeper = stage.start(run)
    wait_for_output(run, "ready")
    run.lock.unlink()
    started = run.started()
    assert isinstance(keeper_client.state_of(run, PATIENCE), keeper_client.Vanished)
    assert keeper.wait(PATIENCE)
    assert not process_identity.alive(started.agent)


@linux
def test_a_run_clears_the_way_of_what_an_earlier_one_left(stage):
    """Starting while orphans of a killed keeper hold the lock ends them first, then starts."""
    first = stage.run(*fake("hider.py", "neither"))
    stage.start(first)
    wait_for_output(first, "up")
    tree = process_identity.tree(first.started().agent)
    process_identity.send(first.started().keeper, signal.SIGKILL)
    wait_gone(first.started().keeper)
    second = stage.run("true")
    assert stage.start(second).wait(PATIENCE)
    assert keeper_client.state_of(second).exit.code == 0
    assert not any(process_identity.alive(who) for who in tree)
    assert first.fenced()


@linux
def test_orphans_that_withstand_killing_keep_the_task_to_themselves(stage, monkeypatch):
    """As long as they live no run starts, and they are named; afterwards the run is just lost."""
    first = stage.run(*fake("hider.py", "neither"))
    stage.start(first)
    wait_for_output(first, "up")
    os.kill(first.started().keeper.pid, signal.SIGKILL)
    wait_gone(first.started().keeper, first.started().agent)
    with monkeypatch.context() as patch:
        patch.setattr(process_identity, "send", lambda *_: False)
        state = keeper_client.state_of(first, patience=0.1)
        assert isinstance(state, keeper_client.Orphaned)
        assert all(process_identity.alive(who) for who in state.survivors)
        assert keeper_client.start_keeper(stage.run("true"), os.environ) == keeper_client.Busy(
            first
        )
    assert keeper_client.state_of(first, PATIENCE) == keeper_client.Vanished(first.started())


@pytest.mark.parametrize("name", ["run.json", "started", "exit.json"])
def test_a_damaged_record_is_told_and_never_guessed(stage, name):
    """Half a file, a link or a pipe in a record's place is an error that names the file."""
    run, _ = stage.play("true")
    record = run.path / name
    read = {"run.json": run.spec, "started": run.started, "exit.json": run.exit}[name]
    whole = record.read_bytes()
    for end in range(1, len(whole)):
        record.write_bytes(whole[:end])
        with pytest.raises(InvalidTask, match=name):
            read()
    record.unlink()
    record.symlink_to("/etc/passwd")
    with pytest.raises(InvalidTask, match=name):
        read()
    record.unlink()
    os.mkfifo(record)
    with pytest.raises(InvalidTask, match=name):
        read()


def test_an_environment_that_is_too_large_is_an_error_to_read(stage):
    """The keeper itself cannot be started: an error with a hint, and the lock is free again."""
    run = stage.run("true")
    with pytest.raises(FleetError, match="no keeper"):
        keeper_client.start_keeper(run, {"HUGE": "x" * 10_000_000})
    assert keeper_client.state_of(run) == keeper_client.NeverStarted()


def test_a_keeper_is_not_signalled_by_a_key_press(stage):
    """It leads its own session, and so does its agent: no terminal reaches either."""
    run = stage.run(*fake("polite.sh"))
    stage.start(run)
    wait_for_output(run, "ready")
    started = run.started()
    assert os.getsid(started.keeper.pid) == started.keeper.pid
    assert os.getsid(started.agent.pid) == started.agent.pid


def test_agents_outlive_a_killed_supervisor_and_are_adopted(stage):
    """Agents run on after a kill -9, the next process adopts them to their end."""
    argv = [sys.executable, str(FAKES / "supervisor.py"), str(stage.root), "3", "1"]
    supervisor = subprocess.Popen(argv)
    runs = [keeper_client.Run(stage.root / str(number) / "runs/1") for number in range(3)]
    for run in runs:
        wait_made(run)
        stage.ids.append(run.spec().id)
        wait_until(run, run.started)
    supervisor.kill()
    supervisor.wait()
    for run in runs:
        state = keeper_client.state_of(run)
        assert isinstance(state, keeper_client.Running)
        keeper = keeper_client.find_keeper(state.keeper)
        stage.keepers.append(keeper)
        assert keeper.who == state.started.keeper
    for run, keeper in zip(runs, stage.keepers, strict=True):
        assert keeper.wait(PATIENCE)
        assert keeper_client.state_of(run).exit.code == 0
        assert (run.task_dir / "witness").read_text().split() == ["begin", "end"]


def wait_made(run):
    end = time.monotonic() + PATIENCE
    while not (run.path / "run.json").exists():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_psutil_tells_the_same_where_there_is_no_proc(stage, monkeypatch, bystander):
    """The portable answers agree with those from /proc: who lives, whose child, which mark."""
    run = stage.run(*fake("polite.sh"))
    stage.start(run)
    wait_for_output(run, "ready")
    started = run.started()
    marked = {who.pid for who in process_identity.marked(run.spec().id)}
    monkeypatch.setattr(process_identity, "LINUX", False)
    now = process_identity.identify(bystander.pid)
    assert process_identity.alive(now)
    assert process_identity.alive(msgspec.structs.replace(now, start_ticks=now.start_ticks + 500))
    assert not process_identity.send(stranger(now), signal.SIGKILL)
    assert process_identity.pidfd(now) is None
    assert {started.keeper.pid, started.agent.pid} <= {
        who.pid for who in process_identity.marked(run.spec().id)
    } & marked
    keeper = process_identity.identify(started.keeper.pid)
    assert started.agent.pid in {who.pid for who in process_identity.tree(keeper)}
    assert process_identity.send(keeper, signal.SIGTERM)
    monkeypatch.undo()
    wait_until(run, run.exit)
    assert output(run).endswith("bye\n")


def test_the_keeper_is_run_as_bytecode_only_if_that_is_fresh(tmp_path, monkeypatch):
    """After an upgrade the old keeper is not run once more from a cache nobody renewed."""
    source = tmp_path / "keeper.py"
    source.write_text("first = 1")
    monkeypatch.setattr(keeper_client.keeper, "__file__", str(source))
    assert keeper_client._program() == str(source)
    cached = py_compile.compile(str(source))
    assert keeper_client._program() == cached
    source.write_text("second = 22")
    assert keeper_client._program() == str(source)


@linux
def test_survivors_that_are_gone_need_no_patience():
    """Nobody bears a mark that was never given."""
    assert process_identity.marked("no-such-run") == []
    assert not process_identity.alive(
        ProcessId(pid=2**22 + 1, start_ticks=1, boot_id=process_identity.boot_id())
    )
