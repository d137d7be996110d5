"""Who is ended and who is not: silent, slow, busy, finished, greedy agents under the supervisor."""

import json
import signal
import sys
import time
from functools import partial

import psutil
import pytest

from fleet.schemas import LimitWishes
from tests.builders import trust_coders
from tests.fakes import FAKES
from tests.story.scene import PATIENCE, processes_of

IDLER = f"""
argv = ["{sys.executable}", "-I", "-S", "{FAKES / "idler.py"}", "{{model}}", ["{{resume}}"]]
prompt = "stdin"

[[event]]
when = {{ type = "start" }}
kind = "session_started"
session_id = "session"

[[event]]
when = {{ type = "call" }}
kind = "tool_use"
call = {{ id = "id", name = "name", input = "input" }}

[[event]]
when = {{ type = "fail" }}
kind = "tool_result"
result = {{ id = "id", text = "text", error_when = {{ type = "fail" }} }}

[[event]]
when = {{ type = "result" }}
kind = "tool_result"
result = {{ id = "id" }}

[[event]]
when = {{ type = "text" }}
kind = "assistant_text"
text = "text"

[[event]]
when = {{ type = "end" }}
terminal = "success"
"""
#: The same with a record of its own beside its stream.
SCRIBE = """
from pathlib import Path
from fleet.coders import toml

class Scribe(toml.load(Path(__file__).with_name("idler.toml"))):
    name = "scribe"

    def transcript(self, session_id, env):
        return Path(env["FLEET_TASK_DIR"]), f"{session_id}.jsonl"
"""
#: What the watching itself takes; limits come with each task.
HASTE = ("call=1", "mcp=3", "question=1", "exit=1", "window=2", "census=0.5", "away=4")


@pytest.fixture
def watched(scene):
    """A scene with silent agents, and a supervisor that is quick to look."""
    scene.coder("idler", IDLER)
    scene.configure(retry_limit=1, max_concurrent=20, grace_s=1)

    def add(script, *, coder="idler", **limits):
        return scene.add(script, coder=coder, limits=LimitWishes(**limits))

    scene.hasty, scene.put = partial(scene.supervise_hastily, *HASTE), add
    return scene


def ending(scene, task):
    return json.loads((scene.run(task).path / "outcome.json").read_text())


def outcome(scene, task):
    found = ending(scene, task)["outcome"]
    return found["type"], found.get("rung") or found.get("limit") or found.get("reason")


def notes(scene, task):
    lines = [json.loads(line) for line in scene.lines(task, "events.jsonl")]
    return [line["kind"] for line in lines if line["kind"].startswith("fleet_")]


def test_only_those_that_stand_still_are_ended(watched):
    """Silent ones are; slow, busy, waiting and writing ones are not, at the same limits."""
    silent = {
        "start sleep:60": ("Stalled", "silent"),
        "start call:1 sleep:60": ("Stalled", "silent"),
        "start call:1:mcp__a__b sleep:60": ("Stalled", "silent"),
        "sleep:60": ("Stalled", "never_started"),
        "stderr:trust_this_folder? sleep:60": ("Failed", "untrusted"),
        "start call:1:AskUserQuestion sleep:60": ("Stalled", "needs_input"),
        "start drone:0.5:120:.": ("Stalled", "repeating"),
        "drone:0.5:120:.": ("Stalled", "never_started"),
        "start call:1:Task drone:0.5:120:{'type':'status'}": ("Stalled", "repeating"),
        "start drone:0.5:120:{'type':'text','text':'hm'}": ("Stalled", "repeating"),
    }
    alive = [
        "start every:1.5:8 call:1 done end",  # just under the limit, again and again
        "start call:1 compile:9 done end",  # a command that prints nothing
        "start busy:9 call:1 done end",
        "start call:1:Bash:9000 child:9 done end",  # it has nine seconds of its own
        "start call:1 child:7 done end",  # a command that waits, within four times the limit
        "busy:7 start call:1 done end",  # slow to begin, and at work
    ]
    watched.configure(start_limit="2s", idle_limit="2s")
    bad = {watched.put(script): expected for script, expected in silent.items()}
    good = {watched.put(script): script for script in alive}
    watched.hasty()
    for task in bad:
        watched.until_status(task, "blocked", patience=60)
    for task, script in good.items():
        ended = watched.until_status(task, "closed", "blocked", patience=60)
        assert ended.status == "closed", (script, ended.notes, notes(watched, task))
    assert {task: outcome(watched, task) for task in bad} == bad
    stalled = [task for task in bad if bad[task][0] == "Stalled"]
    assert all("fleet_stalled" in notes(watched, task) for task in stalled)


def test_an_agent_that_is_not_logged_in_is_ended_and_its_task_stays_open(watched):
    """The login is held, and no attempt is spent on it."""
    watched.configure(start_limit="2s", idle_limit="2s")
    task = watched.put("stderr:Not_logged_in sleep:60")
    watched.hasty()
    watched.until(lambda: watched.runs(task) and watched.task(task).not_before, patience=60)
    assert outcome(watched, task) == ("Failed", "auth")
    assert watched.status(task) == "open"
    assert "held" in watched.fleet("show", task).stdout


def test_a_stream_that_is_lost_costs_nothing(watched):
    """The CLI's own record grows: the run is kept, and people are told."""
    (watched.home.path / "coders/scribe.py").write_text(SCRIBE)
    trust_coders(watched.home.path)
    task = watched.put("start call:1 transcript:9 done end", coder="scribe", idle=2.0)
    watched.hasty()
    ended = watched.until_status(task, "closed", "blocked")
    assert ended.status == "closed", ended.notes
    assert notes(watched, task).count("fleet_stream_lost") == 1


def test_an_agent_that_is_done_and_does_not_leave_is_judged_by_its_word(watched):
    """It is stopped, and its task is closed all the same."""
    task = watched.put("start call:1 done end sleep:60")
    failed = watched.put("start call:1 end sleep:60")
    watched.hasty()
    assert "[run 1, unchecked, " in watched.until_status(task, "closed").close_reason
    assert outcome(watched, task) == ("Finished", None)
    assert "fleet_finished_not_gone" in notes(watched, task)
    assert "without closing" in watched.until_status(failed, "blocked").notes


def test_a_loop_is_told_and_then_ended(watched):
    """Five times the same failure is a notice; the sixth is the end. One that gets out goes on."""
    again = " ".join(f"call:x{n} fail:x{n} sleep:0.3" for n in range(9))
    same = again.replace("call:x", "call:").replace("fail:x", "fail:")
    looping = watched.put(
        f"start {' '.join('call:1 fail:1 sleep:0.6' for _ in range(40))} done end"
    )
    other = watched.put(f"start {same} call:z result:z done end")
    some = " ".join("call:1 fail:1 sleep:0.6" for _ in range(5))
    gets_out = watched.put(f"start {some} sleep:1.5 call:2 result:2 done end")
    watched.hasty()
    watched.until_status(looping, "blocked")
    assert outcome(watched, looping) == ("Stalled", "looping")
    assert notes(watched, looping).count("fleet_looping") == 1
    watched.until_status(other, "closed")
    watched.until_status(gets_out, "closed")
    assert notes(watched, gets_out).count("fleet_looping") == 1


def test_a_successful_call_over_and_over_is_told_and_then_ended(watched):
    """Long before `turn_limit`, and however fast: none of its results is new."""
    turn = "call:1 result:1 sleep:0.05"
    task = watched.put(f"start {' '.join([turn] * 90)} done end")
    some = watched.put(f"start {' '.join([turn] * 30)} call:2 result:2 done end")
    watched.hasty()
    blocked = watched.until_status(task, "blocked")
    assert outcome(watched, task) == ("Stalled", "repeating")
    assert "times nothing new: Bash" in blocked.notes
    assert notes(watched, task).count("fleet_repeating") == 1
    watched.until_status(some, "closed")


@pytest.mark.parametrize(
    ("script", "limits", "limit"),
    [
        ("start call:1 child:60", {"time": 2.0}, "time"),
        ("start flood:1", {"output": 20 << 20}, "output"),
        ("start eat:300", {"memory": 150 << 20}, "memory"),
        ("start fork:200 sleep:60", {"processes": 60}, "processes"),
    ],
)
def test_a_greedy_agent_is_ended_at_its_limit(watched, script, limits, limit):
    """With its whole tree, near the limit, and with a typed reason."""
    task = watched.put(script, **limits)
    watched.hasty()
    watched.until_status(task, "blocked", patience=60)
    assert outcome(watched, task) == ("LimitExceeded", limit)
    assert "fleet_limit" in notes(watched, task)
    assert f"limit exceeded ({limit})" in ending(watched, task)["why"]
    run = watched.run(task)
    assert run.stdout.stat().st_size < 200 << 20
    assert [
        left for left in processes_of(watched.home.path) if "idler.py" in str(left.cmdline())
    ] == []
    assert run.exit().seconds < 50


def test_shared_memory_is_not_counted_twice(watched):
    """Eight processes that share 60 MB hold 60 MB, not 500."""
    task = watched.put("start share:60 call:1 done end", memory=300 << 20)
    watched.hasty()
    # The quick count is an upper bound: it warns, and is looked at again.
    watched.until(lambda: "fleet_limit_near" in notes(watched, task), 60)
    (watched.folder(task) / "go").touch()
    watched.until_status(task, "closed")


def test_a_near_limit_is_told_once(watched):
    """Before the end, and for people to see."""
    task = watched.put("start call:1 sleep:5.2 text:a await:go done end", time=6.5)
    watched.configure(grace_s=0)
    watched.hasty()
    watched.until(lambda: "fleet_limit_near" in notes(watched, task))
    watched.until_status(task, "blocked")
    assert notes(watched, task).count("fleet_limit_near") == 1


def test_a_run_ends_at_its_time_although_nobody_supervises_it(watched):
    """The keeper minds the clock itself; the next supervisor finds the reason."""
    task = watched.put("start call:1 child:60", time=3.0)
    supervisor = watched.hasty()
    watched.until(lambda: watched.run(task) and watched.run(task).started())
    watched.kill(supervisor)
    run = watched.run(task)
    end = time.monotonic() + PATIENCE
    while run.exit() is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert (run.exit().stop, run.exit().seconds < 30) == ("timeout", True)
    watched.hasty()
    watched.until_status(task, "blocked")
    assert outcome(watched, task) == ("LimitExceeded", "time")


def test_a_supervisor_that_was_stopped_itself_blames_nobody(watched):
    """Stopped for longer than anybody may be silent, and then continued."""
    watched.configure(idle_limit="3s")
    tasks = [watched.put("start mark:here child:11 call:1 done end") for _ in range(3)]
    tasks += [watched.put("start mark:here every:0.5:20 call:1 done end")]
    supervisor = watched.hasty()
    for task in tasks:
        watched.until_marked(task, "here")
    supervisor.send_signal(signal.SIGSTOP)
    time.sleep(7)
    supervisor.send_signal(signal.SIGCONT)
    watched.until_logged("watch_anew")
    for task in tasks:
        ended = watched.until_status(task, "closed", "blocked")
        assert ended.status == "closed", ended.notes


def test_an_agent_that_was_cut_off_is_carried_on_once(watched):
    """The second run gets the session and what was open; the third begins afresh."""
    script = "start:sess call:pytest sleep:60 | resumed:r copy:told start:sess call:2 sleep:60 | "
    script += "resumed:r start:new call:3 done end"
    watched.configure(retry_limit=3)
    task = watched.put(script, idle=1.0)
    watched.hasty()
    watched.until_status(task, "closed", patience=60)
    assert watched.lines(task, "r") == ["sess", "-"]
    told = (watched.folder(task) / "told").read_text()
    assert "carried on in the same session" in told
    assert "- Bash: pytest" in told
    assert "stalled (silent)" in told


def test_a_session_that_is_gone_costs_no_attempt(watched):
    """The task goes on in a fresh one, at once."""
    watched.coder("idler", IDLER + '\n[exits]\n44 = "session_not_found"\n')
    watched.configure(retry_limit=2)
    task = watched.put("start call:1 exit:1 | exit:44 | resumed:r start call:1 done end")
    watched.hasty()
    watched.until_status(task, "closed")
    assert watched.lines(task, "r") == ["-"]
    assert [
        json.loads((run.path / "outcome.json").read_text())["counts"] for run in watched.runs(task)
    ] == [True, False, True]


def test_watching_costs_next_to_nothing(watched):
    """Ten agents that do nothing, some of them suspect: the supervisor hardly works."""
    tasks = [watched.put("start mark:here call:1 child:30", idle=3.0) for _ in range(10)]
    supervisor = psutil.Process(watched.hasty().pid)
    for task in tasks:
        watched.until_marked(task, "here")
    watched.until_logged("suspect", 10)
    before = supervisor.cpu_times()
    time.sleep(3)
    after = supervisor.cpu_times()
    assert after.user + after.system - before.user - before.system < 0.5
