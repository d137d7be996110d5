"""Supervisors that are stopped, restarted and killed under running agents."""

import json
import os
import signal
import subprocess
import sys

from fleet.home.status_file import read_status
from fleet.processes import process_identity
from fleet.runs import stop_reason
from fleet.runs.outcome_history import read_ending
from fleet.schemas import Stopped
from tests.story.scene import WORK, processes_of

#: Tells where it is, works on until it is let go, and ends well.
LONG = "mark:here tool await:go done end"
#: The same, printing a line every few milliseconds.
CHATTY = "mark:here tool slowly:200 await:go done end"


#: A supervisor that ticks as it begins, and then only if something makes it.
RARE_TICKS = """
from fleet import control
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.supervisor import loop

loop.TICK = 600.0
fleet = control.opened()
with sole_supervisor(fleet.home):
    loop.Supervisor(fleet.home, fleet.config).run()
"""


def let_go(scene, task):
    (scene.folder(task) / "go").touch()


def texts(scene, task):
    """The lines that the agent printed, as the events have them."""
    lines = [json.loads(line) for line in scene.lines(task, "events.jsonl")]
    return [line["text"] for line in lines if line["kind"] == "assistant_text"]


def noted(scene, task, kind):
    lines = [json.loads(line) for line in scene.lines(task, "events.jsonl")]
    return sum(line["kind"] == kind for line in lines)


def test_ctrl_c_stops_the_agents_and_gives_the_tasks_back(scene):
    """No new claims, agents ended with their grace, tasks open again, and no attempt counted."""
    scene.configure(max_concurrent=2)
    tasks = [scene.add("mark:here await:never") for _ in range(3)]
    supervisor = scene.supervise()
    for task in tasks[:2]:
        scene.until_marked(task, "here")
    supervisor.send_signal(signal.SIGINT)
    assert scene.until_ended(supervisor) == 0
    assert [scene.status(task) for task in tasks] == ["open"] * 3
    for task in tasks[:2]:
        run = scene.run(task)
        assert run.exit().stop == "graceful"
        assert not read_ending(run).counts
        assert scene.lines(task, ".failures") == []
    assert scene.runs(tasks[2]) == []
    assert processes_of(scene.home.path) == []


def test_a_second_ctrl_c_does_not_wait_for_the_grace(scene):
    """An agent that is deaf to SIGTERM is killed at once."""
    scene.configure(grace_s=600)
    task = scene.add("deaf mark:here await:never")
    supervisor = scene.supervise()
    scene.until_marked(task, "here")
    supervisor.send_signal(signal.SIGINT)
    scene.until_logged("stopping")
    supervisor.send_signal(signal.SIGINT)
    assert scene.until_ended(supervisor) == 0
    assert scene.run(task).exit().signal == signal.SIGKILL
    assert scene.status(task) == "open"


def test_a_stop_in_the_moment_of_a_start_is_not_lost(scene):
    """Ctrl-C while keepers are being born: everything ends, nothing counts."""
    tasks = [scene.add("await:never") for _ in range(3)]
    supervisor = scene.supervise()
    scene.until(lambda: any(scene.run(task) for task in tasks))
    supervisor.send_signal(signal.SIGINT)
    assert scene.until_ended(supervisor) == 0
    assert [scene.status(task) for task in tasks] == ["open"] * 3
    assert not any(read_ending(run).counts for task in tasks for run in scene.runs(task))


def test_a_restart_leaves_the_agents_alone(scene):
    """SIGHUP: a new supervisor in the same process adopts them; one run, one agent, all events."""
    task = scene.add(CHATTY)
    supervisor = scene.supervise()
    scene.until_marked(task, "here")
    agent = scene.run(task).started().agent
    for times in range(2, 4):
        supervisor.send_signal(signal.SIGHUP)
        scene.until_logged("started", times)
        scene.until_logged("adopted", times - 1)
    assert supervisor.poll() is None
    assert process_identity.alive(agent)
    let_go(scene, task)
    scene.until_status(task, "closed")
    assert len(scene.runs(task)) == 1
    assert texts(scene, task) == [str(number) for number in range(200)]


def test_a_killed_supervisor_costs_nothing(scene):
    """After a kill -9 the agent works on, the next supervisor adopts it, no event is lost."""
    task = scene.add(CHATTY)
    first = scene.supervise()
    scene.until(lambda: len(texts(scene, task)) > 10)
    agent = scene.run(task).started().agent
    scene.kill(first)
    assert process_identity.alive(agent)
    scene.supervise()
    scene.until_logged("adopted")
    let_go(scene, task)
    scene.until_status(task, "closed")
    assert scene.run(task).started().agent == agent
    assert len(scene.runs(task)) == 1
    assert texts(scene, task) == [str(number) for number in range(200)]
    assert noted(scene, task, "fleet_ended") == 1
    assert scene.lines(task, ".failures") == []


def test_what_ended_while_nobody_looked_is_settled_by_its_evidence(scene):
    """The agent finishes between two supervisors: closed, and not run again."""
    task = scene.add(LONG)
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    let_go(scene, task)
    scene.until(lambda: scene.run(task).exit())
    scene.supervise()
    scene.until_status(task, "closed")
    assert len(scene.runs(task)) == 1


def test_other_settings_do_not_change_how_a_living_run_is_read(scene):
    """A run goes on with the coder that it began with, even if its task.json is broken by now."""
    task = scene.add(LONG)
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    (scene.folder(task) / "task.json").write_text('{"coder":')
    scene.configure(coder="claude")
    scene.supervise()
    scene.until_logged("adopted")
    let_go(scene, task)
    scene.until_status(task, "closed")


def test_a_stop_is_not_forgotten_by_the_next_supervisor(scene):
    """Stopped by a person, and the supervisor dies before the agent: still no failure."""
    scene.configure(grace_s=600)
    task = scene.add("deaf mark:here await:go")
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.queue.request(task, "stop", asked_by="ada")
    scene.until_logged("stopping")
    scene.kill(first)
    let_go(scene, task)
    scene.until(lambda: scene.run(task).exit())
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "stopped by ada" in blocked.notes
    assert scene.lines(task, ".failures") == []


def test_a_stop_that_was_decided_and_never_sent_is_sent_by_the_next(scene):
    """The supervisor died between its decision and the signal: the agent still ends."""
    scene.configure(grace_s=0)
    task = scene.add("mark:here await:never")
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    stop_reason.record(scene.run(task), Stopped(by="ada"))
    scene.supervise()
    assert "stopped by ada" in scene.until_status(task, "blocked").notes


def test_a_killed_keeper_costs_one_attempt_and_no_overlap(scene):
    """The agent goes with its keeper, and the task runs again: alone."""
    task = scene.add("alone mark:here await:never | alone tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    started = scene.run(task).started()
    process_identity.send(started.keeper, signal.SIGKILL)
    scene.until_status(task, "closed")
    assert not process_identity.alive(started.agent)
    assert scene.lines(task, "witness") == []
    assert scene.lines(task, ".failures") == ["1"]


def test_an_agent_whose_task_was_closed_meanwhile_is_stopped(scene):
    """Closed while no supervisor was there: the next one ends the agent that nobody wants."""
    task = scene.add("mark:here await:never")
    first = scene.supervise()
    scene.until_marked(task, "here")
    agent = scene.run(task).started().agent
    scene.kill(first)
    assert scene.fleet("bd", "close", task, "--force").returncode == 0
    scene.supervise()
    scene.until(lambda: not process_identity.alive(agent))
    assert scene.status(task) == "closed"


def test_a_second_supervisor_says_who_is_there(scene):
    """It ends with 9 and the process to look for, and changes nothing."""
    first = scene.supervise()
    scene.until_logged("started")
    second = scene.fleet("run")
    assert second.returncode == 9
    assert f"process {first.pid}" in second.stderr
    assert "fleet status" in second.stderr
    task = scene.add(WORK)
    scene.until_status(task, "closed")


def test_a_closed_terminal_does_not_end_the_supervisor(scene):
    """Its screen goes away, and it works on."""
    reader, writer = os.pipe()
    scene.screen_to(writer)
    scene.supervise()
    os.close(writer)
    scene.until_logged("started")
    os.close(reader)
    task = scene.add(WORK)
    scene.until_status(task, "closed")


def test_adopted_runs_are_counted_at_once(scene):
    """`fleet restart; fleet status` said "runs: 0 of 3" for more than a second."""
    task = scene.add(LONG)
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    second = subprocess.Popen([sys.executable, "-c", RARE_TICKS], env=scene.env)
    scene.supervisors.append(second)
    scene.until_logged("adopted")
    scene.until(lambda: read_status(scene.home).runs == 1)
    let_go(scene, task)
    second.send_signal(signal.SIGTERM)
    assert scene.until_ended(second) == 0
