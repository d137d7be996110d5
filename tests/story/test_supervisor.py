"""What becomes of a task, with a real supervisor, real keepers and agents that play a script."""

import json
import time

from fleet.accounts.account_store import open_accounts
from fleet.queue.sql.edit_task import Change, edit
from fleet.runs.outcome_history import read_ending
from tests.story.scene import WORK


def failures(scene, task):
    return "".join(scene.lines(task, ".failures")) or "0"


def endings(scene, task):
    """The outcomes of all runs, by name."""
    return [type(read_ending(run).outcome).__name__ for run in scene.runs(task)]


def test_work_that_is_done_is_closed(scene):
    """The agent worked and said so through its own bd: closed, with its reason and its run."""
    task = scene.add("tool close:all-done end")
    scene.supervise()
    closed = scene.until_status(task, "closed")
    assert closed.close_reason == (
        f"all-done [run 1, unchecked, no verify command: fleet task {task} receipt]"
    )
    assert closed.lease_owner is None
    assert endings(scene, task) == ["Finished"]
    assert failures(scene, task) == "0"
    kinds = [json.loads(line)["kind"] for line in scene.lines(task, "events.jsonl")]
    assert kinds == ["fleet_started", "tool_use", "session_ended", "fleet_ended"]


def test_an_agent_that_says_nothing_is_tried_again_and_then_left_to_a_person(scene):
    """Exit 0 without a claim counts each time: no endless free loop."""
    scene.configure(retry_limit=2)
    task = scene.add("tool end")
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "finished without closing the task (attempt 2 of 2)" in blocked.notes
    assert endings(scene, task) == ["Finished", "Finished"]
    assert failures(scene, task) == "2"


def test_a_retry_is_told_what_went_wrong(scene):
    """The second agent reads in its prompt how the first one ended."""
    task = scene.add("tool end | copy:prompt tool done end")
    scene.supervise()
    scene.until_status(task, "closed")
    prompt = (scene.run(task).path / "prompt").read_text()
    assert "finished without closing the task" in prompt
    assert failures(scene, task) == "1"


def test_a_claim_without_a_tool_is_not_believed(scene):
    """Closed without a single tool: not closed, whatever the agent says."""
    scene.configure(retry_limit=1)
    task = scene.add("done end")
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "no_tools" in blocked.notes
    assert failures(scene, task) == "1"


def test_a_coder_that_shows_no_tools_can_still_close(scene):
    """Where the stream never tells of tools, their absence is no evidence."""
    text = (scene.home.path / "coders/actor.toml").read_text()
    scene.coder("mute", text.replace('call = { id = "id", name = "id" }\n', ""))
    task = scene.add("done end", coder="mute")
    scene.supervise()
    scene.until_status(task, "closed")


def test_a_question_blocks_until_it_is_answered(scene):
    """Blocked with its question, untouched until a person opens it, then it reads the answer."""
    task = scene.add("tool ask:tabs end | read:Spaces tool done end")
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert blocked.notes == "QUESTION: tabs"
    assert endings(scene, task) == ["NeedsHuman"]
    assert failures(scene, task) == "0"
    (scene.folder(task) / "artifacts/Q&A.md").write_text("## A: Spaces.\n")
    told = scene.fleet("bd", "update", task, "--status", "open", "--assignee", "")
    assert told.returncode == 0, told.stderr
    scene.until_status(task, "closed")
    assert endings(scene, task) == ["NeedsHuman", "Finished"]


def test_a_limit_cools_one_coder_and_costs_no_attempt(scene):
    """The refused task waits uncounted, its coder rests, and another coder's tasks go on."""
    text = (scene.home.path / "coders/actor.toml").read_text()
    scene.coder("other", text)
    refused = scene.add("tool limit exit:1")
    scene.supervise()
    scene.until_logged("released")
    waiting, free = scene.add(WORK), scene.add(WORK, coder="other")
    scene.until_status(free, "closed")
    released = scene.until_logged("released", 2)
    assert {line["task"] for line in released} == {refused, waiting}
    third = scene.add(WORK)
    scene.until(lambda: scene.task(third).not_before is not None)
    assert len(scene.log("released")) == 2, "one line for one hold"
    assert scene.runs(waiting) == scene.runs(third) == []
    assert failures(scene, refused) == "0"
    # Nothing says how long, so one of them asks again soon, and the account's pace decides.
    state = open_accounts(scene.home.path).states["actor"]
    assert state.pace.unproven
    assert scene.task(waiting).not_before >= state.pace.until


def test_a_restart_does_not_forget_a_limit(scene):
    """The next supervisor leaves the coder alone as well."""
    scene.add("tool limit exit:1")
    first = scene.supervise()
    scene.until_logged("released")
    scene.kill(first)
    task = scene.add(WORK)
    scene.supervise()
    scene.until_logged("released", 2)
    assert scene.runs(task) == []


def test_a_full_context_ends_the_session_in_order_and_goes_on(scene):
    """Stopped with its grace, uncounted, and carried on in a new session."""
    script = "tool artifact:step context:950 await:never | tool done end"
    task = scene.add(script)
    scene.supervise()
    scene.until_status(task, "closed")
    first = scene.runs(task)[0].exit()
    assert (first.stop, first.signal) == ("graceful", 15)
    assert endings(scene, task) == ["ContextFull", "Finished"]
    assert failures(scene, task) == "0"


def test_three_full_contexts_without_progress_count(scene):
    """Two are free, the third is a failure."""
    scene.configure(retry_limit=1)
    task = scene.add("context:950 await:never")
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "context full 3 times in a row without progress" in blocked.notes
    assert endings(scene, task) == ["ContextFull"] * 3
    assert failures(scene, task) == "1"


def test_a_person_stops_a_run(scene):
    """It ends, its task is blocked under the person's name, and no attempt counts."""
    task = scene.add("mark:here await:never")
    scene.supervise()
    scene.until_marked(task, "here")
    scene.queue.request(task, "stop", asked_by="ada")
    blocked = scene.until_status(task, "blocked")
    assert "stopped by ada" in blocked.notes
    assert failures(scene, task) == "0"
    assert endings(scene, task) == ["Stopped"]


def test_a_task_that_was_closed_from_outside_loses_its_agent(scene):
    """Nobody pays for work that is not wanted any more."""
    task = scene.add("mark:here await:never")
    scene.supervise()
    scene.until_marked(task, "here")
    told = scene.fleet("bd", "close", task, "--reason", "by hand", "--force")
    assert told.returncode == 0, told.stderr
    scene.until_logged("lease_lost")
    scene.until(lambda: scene.run(task).exit())
    assert scene.status(task) == "closed"
    assert scene.task(task).close_reason == "by hand"


def test_a_task_that_was_reopened_while_it_runs_keeps_its_one_agent(scene):
    """`--status open` on a running task starts no second agent beside the first."""
    task = scene.add("alone mark:here await:go tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    told = scene.fleet("bd", "update", task, "--status", "open", "--assignee", "", "--force")
    assert told.returncode == 0, told.stderr
    scene.until(lambda: scene.task(task).fence == 2)
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert len(scene.lines(task, "here")) == 1
    assert scene.lines(task, "witness") == []


def test_a_lease_that_ran_out_does_not_cost_the_run(scene):
    """As after a night's sleep of the machine: claimed anew, and the same agent works on."""
    task = scene.add("alone mark:here await:go tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    scene.queue.db.rows("UPDATE tasks SET lease_until = 1")
    scene.until(lambda: scene.task(task).fence == 2)
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert len(scene.runs(task)) == 1


def test_more_slots_are_used_at_once(scene):
    """Raising max_concurrent starts agents while others run, without a restart."""
    scene.configure(max_concurrent=1)
    tasks = [scene.add("mark:here await:go tool done end") for _ in range(3)]
    scene.supervise()
    scene.until_logged("run_started")
    scene.configure(max_concurrent=3)
    scene.until_logged("run_started", 3)
    for task in tasks:
        (scene.folder(task) / "go").touch()
        scene.until_status(task, "closed")


def test_a_new_task_starts_at_once(scene):
    """From creation to a living agent in well under a second, however busy the machine."""
    scene.supervise()
    scene.until_logged("started")
    scene.until(scene.queue.db._bell.path.exists)
    began = time.monotonic()
    task = scene.add(WORK)
    scene.until(lambda: scene.run(task) and scene.run(task).started())
    assert scene.run(task).started().monotonic - began < 2.0
    scene.until_status(task, "closed")


def test_until_idle_ends_when_all_is_done(scene):
    """It waits for what runs and for what waits, then ends by itself with 0."""
    tasks = [scene.add("tool end | tool done end"), scene.add(WORK)]
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert [scene.status(task) for task in tasks] == ["closed", "closed"]


def test_a_task_that_was_closed_past_fleet_is_opened_again(scene):
    """The tracker says closed, the evidence does not: the agent is stopped, and work goes on."""
    task = scene.add("mark:here sleep:60 | tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    # As whoever writes to the tracker without asking fleet.
    edit(scene.queue, task, Change(status="closed", force=True), actor="somebody")
    (told,) = scene.until_logged("reopened")
    assert "closed past fleet" in told["text"]
    closed = scene.until_status(task, "closed")
    assert closed.close_reason.startswith("did it [run 2")
    assert "closed past fleet" in closed.notes


def test_a_task_that_is_closed_past_fleet_again_is_left_to_a_person(scene):
    """What an agent does once it may do for ever."""
    task = scene.add("mark:here sleep:60 | mark:again sleep:60")
    scene.supervise()
    for mark in ("here", "again"):
        scene.until_marked(task, mark)
        edit(scene.queue, task, Change(status="closed", force=True), actor="somebody")
    scene.until_status(task, "blocked")


def test_words_are_an_answer_without_a_close(scene):
    """Where an answer is wanted; elsewhere the agent has to say that it is done."""
    words = 'say:{"type":"text","text":"It-is-42."} end'
    answer, other = scene.add(words, expect="answer"), scene.add(words)
    scene.configure(retry_limit=1)
    scene.supervise()
    assert scene.until_status(answer, "closed", "blocked").close_reason.startswith("It-is-42.")
    assert "finished without closing" in scene.until_status(other, "blocked").notes
