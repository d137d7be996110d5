"""A person at a shell: each command as a process of its own, against a real supervisor."""

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from subprocess import PIPE

import msgspec
import pytest

from fleet.cli.run.run import NEEDS_YOU
from fleet.control.supervise.restart import restart
from fleet.control.tasks.stop import stop
from fleet.errors import FleetError
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import LOCK, Holder, supervisor_of
from fleet.runs.outcome_history import read_ending
from fleet.runs.questions.questions_file import FILE
from fleet.runs.run_directory import all_runs
from tests import warm
from tests.story.stage import PATIENCE, wait_gone
from tests.story.steered import WORKED, Steered


@pytest.fixture
def home(tmp_path):
    steered = Steered(tmp_path)
    yield steered
    steered.close()


def test_status_tells_whether_anybody_looks_after_the_queue(home):
    """By its exit code for scripts, in words for people."""
    home.add("true")
    out = home.fleet("status", code=1)
    assert "not running. Start one: fleet run" in out
    assert "embedded, 1 open" in out
    process = home.supervise()
    seen = home.json("status")
    assert (seen["running"], seen["pid"], seen["slots"]) == (True, process.pid, 3)
    assert seen["paused"] is False


def test_status_survives_a_queue_that_fails(home):
    """The broken queue is what one wants to hear of."""
    (home.home.path / "queue.db").write_bytes(b"no database at all" * 100)
    out = home.fleet("status", code=1)
    assert "queue.db" in out


def test_running_tasks_are_listed_with_what_they_do(home):
    """The table, its JSON, and the help of `fleet task` agree."""
    task_id = home.add(
        """echo '{"kind":"usage","context_tokens":620}'; exec sleep 600""", "Long [b]"
    )
    home.supervise()
    run = home.said(task_id, "620")
    # The first progress is written as the run begins, and the line may come after it.
    home.until(run.path, lambda: home.json("tasks")[0]["context_percent"])
    (shown,) = home.json("tasks")
    assert (shown["id"], shown["doing"], shown["coder"]) == (task_id, "running", "puppet")
    assert (shown["context_percent"], shown["run"], shown["cwd"]) == (62, 1, str(home.root))
    table = home.fleet("tasks")
    assert "620 62%" in table
    assert "Long [b]" in table
    out = home.fleet("task", "--help")
    assert f"  {task_id}  Long [b]  [puppet/-]" in out


def test_nothing_in_progress_is_said_in_words(home):
    """An empty table would leave one wondering."""
    assert home.fleet("tasks") == "No tasks in progress.\n"
    assert home.json("tasks") == []


def test_help_needs_no_home(home):
    """A newcomer who asks how `fleet task` works gets an answer."""
    home.env["FLEET_HOME"] = str(home.root / "nowhere")
    assert "Usage: fleet task" in home.fleet("task", "--help")


def test_the_files_of_a_task_are_printed_byte_for_byte(home):
    """Log, plan, knowledge, events and stderr; bytes that are no text included."""
    script = r"""printf 'plan\000\377\r\n' > $FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md
        echo facts > $FLEET_ARTIFACT_DIR/KNOWLEDGE.md; echo oops >&2; echo hello; exit 1"""
    task_id = home.add(script)
    home.supervise()
    home.settled(task_id, "blocked")
    command = [sys.executable, "-m", "fleet", "task", task_id.removeprefix("fleet-")]

    def printed(what):
        return subprocess.run(
            [*command, what], env=home.env, capture_output=True, check=True, timeout=PATIENCE
        ).stdout

    assert printed("plan") == b"plan\x00\xff\r\n"
    assert printed("knowledge") == b"facts\n"
    assert printed("stderr") == b"oops\n"
    kinds = [json.loads(line)["kind"] for line in printed("events").splitlines()]
    assert kinds == ["fleet_started", "assistant_text", "fleet_ended"]
    actions = [json.loads(line)["action"] for line in printed("log").splitlines()]
    assert actions[0] == "run_started"
    assert actions[-1] == "blocked"


def test_a_file_on_a_terminal_is_shown_and_not_obeyed(home):
    """An agent's plan can neither colour the screen nor clear it."""
    task_id = home.add("true")
    artifacts = home.home.task(task_id) / "artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "PLAN_AND_STATUS.md").write_bytes(b"1.\tgo \x1b[2J\xff \xe2\x9c\x93\n")
    process, screen = home.start_on_terminal("task", task_id, "plan")
    assert screen.rest().replace("\r\n", "\n") == "1.\tgo \\x1b[2J\ufffd ✓\n"
    assert process.wait(PATIENCE) == 0


def test_the_table_is_renewed_in_place_until_it_is_interrupted(home):
    """A task that comes appears by itself; Ctrl-C is how one leaves."""
    process, screen = home.start_on_terminal("tasks", "--watch")
    screen.until("No tasks in progress.")
    task_id = home.add("echo up; exec sleep 600")
    home.supervise()
    screen.until(task_id)
    process.send_signal(signal.SIGINT)
    screen.rest()
    assert process.wait(PATIENCE) == 0


def test_watching_needs_a_terminal(home):
    """A file full of cursor moves is of no use to anybody."""
    assert "--watch needs a terminal" in home.fleet("tasks", "--watch", code=2)


def test_a_missing_file_is_an_error_that_names_its_writer(home):
    """Exit code 1, and what would have to happen."""
    task_id = home.add("true")
    out = home.fleet("task", task_id, "plan", code=1)
    assert "has no plan yet" in out
    assert "The agent writes it" in out
    assert "no issue found" in home.fleet("task", "nope", "plan", code=6)


def test_following_events_ends_with_the_run(home):
    """All that the agent did until its end, and how it ended, without a Ctrl-C."""
    wait, go = home.gate("gate")
    task_id = home.add(f"echo before; {wait}; echo after; exit 1")
    home.supervise()
    home.said(task_id, "before")
    follower = home.start("task", task_id, "events", "--follow")
    assert '"fleet_started"' in follower.stdout.readline()
    assert '"before"' in follower.stdout.readline()
    go()
    out, err = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 0, err
    assert [json.loads(line)["kind"] for line in out.splitlines()] == [
        "assistant_text",
        "fleet_ended",
    ]


def test_a_plan_can_be_followed_before_it_is_written(home):
    """It is shown when it comes, and again when it is written anew."""
    begin, let_begin = home.gate("begin")
    end, let_end = home.gate("end")
    plan = "$FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md"
    task_id = home.add(f"echo up; {begin}; echo 1. think > {plan}; {end}; echo 1. done > {plan}")
    home.supervise()
    home.said(task_id, "up")
    follower = home.start("task", task_id, "plan", "--follow")
    let_begin()
    assert follower.stdout.readline() == "1. think\n"
    let_end()
    out, err = follower.communicate(timeout=PATIENCE)
    assert (follower.returncode, out) == (0, "1. done\n"), err


def test_the_log_is_printed_whole_or_from_its_end(home):
    """And a number that is none is refused with the way out."""
    assert "no supervisor has logged anything" in home.fleet("log", code=1)
    home.supervise()
    lines = home.fleet("log", "--json").splitlines()
    assert json.loads(lines[0])["action"] == "started"
    assert home.fleet("log", "1", "--json").splitlines() == [lines[-1]]
    for word in ("0", "-5", "many", "1.5"):
        assert "N must be a positive whole number" in home.fleet("log", word, code=2)


def test_following_the_log_goes_on_until_it_is_interrupted(home):
    """What the supervisor does next appears at once; Ctrl-C is no error."""
    home.supervise()
    follower = home.start("log", "1", "--follow")
    assert "supervis" in follower.stdout.readline()
    task_id = home.add("exit 1")
    while task_id not in (line := follower.stdout.readline()):
        assert line
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 0


def test_stop_ends_the_run_and_blocks_the_task(home):
    """The agent gets its grace; the answer says how it ended, and the attempt does not count."""
    task_id = home.add("trap 'echo bye; exit 0' TERM; echo up; sleep 600 & wait")
    home.supervise()
    run = home.said(task_id, "up")
    out = home.fleet("stop", task_id)
    assert f"Stopped {task_id}: stopped by ada" in out
    assert "bye" in run.stdout.read_text()
    assert home.control.get(task_id).status == "blocked"
    assert read_ending(run).attempts == 0
    assert run.exit().stop == "graceful"


def test_stop_now_does_not_wait_for_an_agent_that_will_not_end(home):
    """Killed at once, with all that it started."""
    home.fleet("config", "set", "grace_s=600")
    task_id = home.add("trap '' TERM INT; sleep 600 & echo up; wait; wait; sleep 600")
    home.supervise()
    run = home.said(task_id, "up")
    people = process_identity.tree(*process_identity.marked(run.spec().id))
    assert len(people) >= 3  # the keeper, the shell and its child
    home.fleet("stop", task_id, "--now")
    wait_gone(*people)
    assert home.control.get(task_id).status == "blocked"


def test_what_does_not_run_cannot_be_stopped(home):
    """With what to do instead."""
    task_id = home.add("true")
    out = home.fleet("stop", task_id, code=7)
    assert f"{task_id} is not running: it is open" in out
    assert "no issue found" in home.fleet("stop", "nope", code=6)


def test_a_run_without_a_supervisor_is_shown_and_can_be_stopped(home):
    """The next supervisor settles it as stopped by a person, and counts no attempt."""
    task_id = home.add("echo up; exec sleep 600")
    supervisor = home.supervise()
    run = home.said(task_id, "up")
    supervisor.kill()
    supervisor.wait(PATIENCE)
    (shown,) = home.json("tasks")
    assert (shown["doing"], shown["run"]) == ("unsupervised", 1)
    assert "1 of 3, unsupervised" in home.fleet("status", code=1)
    out = home.fleet("stop", task_id)
    assert "stopped by ada" in out
    assert "the task is settled when one starts" in out
    assert run.exit() is not None
    assert home.json("tasks")[0]["doing"] == "waiting"
    home.supervise()
    home.settled(task_id, "blocked")
    assert "stopped by ada" in home.control.get(task_id).notes
    assert read_ending(run).attempts == 0


def test_a_supervisor_that_hangs_cannot_keep_a_run_from_being_stopped(home):
    """Its keeper is told directly; once the supervisor wakes, it settles as the person wished."""
    task_id = home.add("echo up; exec sleep 600")
    supervisor = home.supervise()
    run = home.said(task_id, "up")
    supervisor.send_signal(signal.SIGSTOP)
    end = stop(home.control, task_id, now=True, margin=0.5)
    assert (end.ended, end.settled) == (True, False)
    assert run.exit() is not None
    supervisor.send_signal(signal.SIGCONT)
    home.settled(task_id, "blocked")
    assert "stopped by ada" in home.control.get(task_id).notes
    assert read_ending(run).attempts == 0


def test_a_paused_fleet_starts_nothing_until_it_is_resumed(home):
    """Runs go on, a restart forgets nothing, and resume takes effect at once."""
    wait, go = home.gate("gate")
    first = home.add(f"echo up; {wait}; exit 1")
    supervisor = home.supervise()
    home.said(first, "up")
    assert "Paused: no new runs" in home.fleet("pause")
    assert "Paused already" in home.fleet("pause")
    second = home.add("echo up; exec sleep 600")
    go()
    home.settled(first, "blocked")
    supervisor.send_signal(signal.SIGTERM)  # it ends between two turns, after it looked for work
    supervisor.wait(PATIENCE)
    assert all_runs(home.home.task(second)) == []
    home.supervise()
    assert home.json("status")["paused"] is True
    assert "no run begins: fleet is paused: fleet resume" in home.fleet("log")
    assert home.fleet("resume") == "Resumed.\n"
    home.said(second, "up")
    assert home.fleet("resume") == "Nothing was paused.\n"


def test_a_retried_task_has_all_its_attempts_again(home):
    """What was blocked at its limit is tried, and may fail again before it is blocked."""
    task_id = home.add(f"{WORKED}; test -e {home.root}/ready && bd close $FLEET_TASK_ID -r ok")
    home.supervise()
    home.settled(task_id, "blocked")
    (run,) = all_runs(home.home.task(task_id))
    assert read_ending(run).attempts == 1
    (home.root / "ready").touch()
    assert f"{task_id} is open again" in home.fleet("retry", task_id.removeprefix("fleet-"))
    home.settled(task_id, "closed")
    assert f"{task_id} is closed" in home.fleet("retry", task_id, code=7)


def test_a_task_that_waits_for_its_next_attempt_is_tried_at_once(home):
    """Whoever has mended the cause need not sit out the back-off."""
    home.fleet("config", "set", "retry_limit=5")
    task_id = home.add("exit 1")
    home.supervise()
    folder = home.running(task_id).task_dir
    home.until(folder, lambda: home.control.get(task_id).not_before is not None)
    home.fleet("retry", task_id)
    run = home.running(task_id, number=2)
    ending = home.until(run.path, lambda: read_ending(run))
    assert ending.attempts == 1  # the one before was forgotten


def test_a_running_task_is_not_retried(home):
    """Two agents on one task is what must never happen."""
    task_id = home.add("echo up; exec sleep 600")
    home.supervise()
    home.said(task_id, "up")
    out = home.fleet("retry", task_id, code=7)
    assert f"{task_id} is being worked on" in out
    assert f"fleet stop {task_id}" in out


def test_a_question_is_listed_answered_and_read_by_the_next_run(home):
    """The whole way of the Q&A protocol, with the person's part in two commands."""
    qa = '"$FLEET_ARTIFACT_DIR/Q&A.md"'
    task_id = home.add(
        f"""if grep -q '^## A:' {qa}; then
                tail -n 1 {qa} > {home.root}/heard; {WORKED}
                bd close $FLEET_TASK_ID --reason done
            else
                printf '## Q: Which db?\\n\\nSQLite or Postgres?\\n' >> {qa}
                bd update $FLEET_TASK_ID --status blocked --notes "QUESTION: Which db?"
            fi""",
        "Choose",
    )
    home.supervise()
    home.settled(task_id, "blocked")
    (asked,) = home.json("questions")
    known = {
        "id": task_id,
        "title": "Choose",
        "cwd": str(home.root),
        "note": "Which db?",
        "question": "Which db?\n\nSQLite or Postgres?",
        "waiting": False,
        "proposed": False,
    }
    assert known.items() <= asked.items()
    assert "SQLite or Postgres?" in home.fleet("questions")
    home.fleet("answer", task_id, "-", stdin="SQLite\n")
    home.settled(task_id, "closed")
    assert (home.root / "heard").read_text() == "SQLite\n"
    assert "## A: 20" in (home.home.task(task_id) / FILE).read_text()
    assert home.fleet("questions") == "No questions.\n"
    assert "is closed" in home.fleet("answer", task_id, "too late", code=7)


def test_nobody_is_answered_who_did_not_ask(home):
    """Unless one insists."""
    task_id = home.add("exit 1")
    home.supervise()
    home.settled(task_id, "blocked")
    assert "asks nothing" in home.fleet("answer", task_id, "hm", code=7)
    assert "What else needs you: 1 failed" in home.fleet("questions")
    assert "is open again" in home.fleet("answer", task_id, "hm", "--force")


def test_a_restart_swaps_the_supervisor_and_leaves_the_agents_alone(home):
    """The agent runs on under the new one; without a supervisor there is nothing to swap."""
    assert "no supervisor is running" in home.fleet("restart", code=1)
    task_id = home.add("echo up; exec sleep 600")
    home.supervise()
    run = home.said(task_id, "up")
    before = supervisor_of(home.home)
    assert "Restarted" in home.fleet("restart")
    after = supervisor_of(home.home)
    assert after.since > before.since
    assert process_identity.alive(run.started().agent)
    out = home.fleet("stop", task_id)  # it obeys the new one: it was adopted
    assert "stopped by ada" in out
    assert read_ending(run) is not None


def test_a_broken_configuration_is_noticed_before_anything_is_swapped(home):
    """A successor would refuse to run on a guess, so the old one stays."""
    process = home.supervise()
    home.home.config.write_text("max_concurrent = 0\n")
    assert "max_concurrent must be between" in home.fleet("restart", code=3)
    assert process.poll() is None


def holder_that(home, script):
    """Somebody who bears the supervisor's lock and does with a SIGHUP what a script says."""
    process = subprocess.Popen(["sh", "-c", f"{script}; echo up; exec sleep 600"], stdout=PIPE)
    assert process.stdout.readline() == b"up\n"
    holder = Holder(who=process_identity.identify(process.pid), since=datetime.now(UTC))
    (home.home.path / LOCK).write_bytes(msgspec.json.encode(holder))
    return process


def test_a_supervisor_that_ends_instead_of_restarting_is_told_of(home):
    """Nobody waits in vain, and nobody believes that all is well."""
    process = holder_that(home, ":")
    with process, pytest.raises(FleetError, match="no new one took its place"):
        restart(home.control)


def test_a_supervisor_that_does_not_restart_in_time_is_told_of(home):
    """It goes on working; the person can look why."""
    process = holder_that(home, "trap '' HUP")
    with process:
        with pytest.raises(FleetError, match="has not yet"):
            restart(home.control, patience=0.3)
        assert process.poll() is None
        process.kill()


def test_coders_are_listed_with_what_is_wrong_with_them(home):
    """The one that works, and the file that does not load."""
    (home.home.path / "coders" / "broken.py").write_text("def")
    assert "is not trusted" in home.fleet("coders")
    assert "broken.py" in home.fleet("coders", "trust", "broken")
    found = {coder["name"]: coder for coder in home.json("coders")}
    assert found["puppet"]["problem"] == ""
    assert found["puppet"]["default"] is True
    assert "SyntaxError" in found["broken"]["problem"]
    assert "✗ broken" in home.fleet("coders")


def completed(home, *words):
    """What bash would offer for the last of these words."""
    env = home.env | {
        "_FLEET_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("fleet", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = warm.fleet((), env=env, cwd=home.root, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    return [line.partition(",")[2] for line in done.stdout.decode().splitlines() if line]


def test_a_shell_completes_commands_and_task_ids(home):
    """Ids by the whole or without the prefix, and only where the command can use them."""
    task_id = home.add("true")
    bare = task_id.removeprefix("fleet-")
    for command in ("show", "task", "retry"):
        assert completed(home, command, "") == [task_id]
    assert completed(home, "task", bare[:2]) == [task_id]
    assert completed(home, "stop", "") == []
    assert completed(home, "answer", "") == []
    assert "questions" in completed(home, "que")
    assert completed(home, "task", task_id, "st") == ["stderr"]


def test_a_shell_completes_the_tracker_and_names(home):
    """Commands and flags of `fleet bd`, settings with their words, coders."""
    task_id = home.add("true")
    assert completed(home, "bd", "com") == ["comment", "comments"]
    assert completed(home, "bd", "dep", "re") == ["remove"]
    assert completed(home, "bd", "create", "--lo") == ["--load"]
    assert completed(home, "bd", "create", "x", "--load", "") == ["full", "project", "lean"]
    assert completed(home, "bd", "close", "") == [task_id]
    assert completed(home, "bd", "create", "") == []
    assert completed(home, "config", "set", "permiss") == ["permissions="]
    assert completed(home, "config", "set", "context=l") == ["context=lean"]
    assert completed(home, "config", "set", "context", "=", "l") == ["lean"]
    assert completed(home, "run", "--coder", "cl") == ["claude"]


def test_completion_is_silent_where_there_is_nothing_to_look_at(home):
    """No home, and a queue that is no queue, cost a Tab and nothing else."""
    (home.home.path / "queue.db").write_bytes(b"no database at all" * 100)
    assert completed(home, "show", "") == []
    home.env["FLEET_HOME"] = str(home.root / "nowhere")
    assert completed(home, "show", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_of_its_own(home, shell):
    """It asks fleet itself, by the variable that click listens to."""
    out = home.fleet("completion", shell)
    assert f"_FLEET_COMPLETE={shell}_complete" in out


def test_a_run_until_idle_tells_by_its_code_whether_a_person_is_needed(home):
    """A script that runs the queue at night learns whether there is something to look at."""
    home.fleet("run", "--until-idle")
    lost = home.add("exit 3", "Broken")
    other = home.add("exit 3", "Broken too")
    out = home.fleet("run", "--until-idle", code=NEEDS_YOU)
    assert f"For you to look at: {', '.join(sorted((lost, other)))}" in out
    status = home.fleet("status", code=1)
    assert f"failed: {lost} Broken: " in " ".join(status.split())
    assert "is open again" in home.fleet("retry", lost, other).splitlines()[1]
    shown = home.fleet("show", lost, other)
    assert shown.count("runs:        1, 0 of 1 attempts failed") == 2


def test_a_paused_home_ends_a_run_until_idle(home):
    """The run waited for ever, and never said why."""
    home.add(WORKED)
    home.fleet("pause")
    out = home.fleet("run", "--until-idle", code=NEEDS_YOU)
    assert out.count("no run begins: fleet is paused: fleet resume") == 1


def test_show_names_the_tasks_that_a_task_waits_for(home):
    """Their titles and how they stand, until they are closed."""
    first, second = home.add("true", "First of all"), home.add("true", "Second")
    home.fleet("bd", "dep", "add", second, first)
    assert f"waits for:   {first} (ready): First of all" in home.fleet("show", second)
    home.fleet("bd", "close", first)
    assert "waits for" not in home.fleet("show", second)


def test_the_log_is_sentences_everywhere_and_json_on_demand(home):
    """A person reads it through `less` and `grep`; a program says --json."""
    home.add("exit 3")
    home.fleet("run", "--until-idle", code=NEEDS_YOU)
    assert all(json.loads(line)["action"] for line in home.fleet("log", "--json").splitlines())
    lines = home.fleet("log").splitlines()
    assert "supervising" in lines[0]
    assert not any('"action"' in line for line in lines)
    process, screen = home.start_on_terminal("log")
    text = screen.rest()
    assert process.wait(PATIENCE) == 0
    assert "supervising" in text
    assert '"action"' not in text
    _, screen = home.start_on_terminal("log", "--json")
    assert '"action"' in screen.rest()


def test_a_command_of_the_tracker_is_named_where_a_person_looks_for_it(home):
    """`fleet list` is a natural guess."""
    for verb in ("create", "list", "close"):
        assert f"fleet bd {verb}" in home.fleet(verb, code=2)
    assert home.fleet("version") == home.fleet("--version")
    assert home.fleet("help") == home.fleet("--help")
    assert home.fleet("help", "stop") == home.fleet("stop", "--help")
