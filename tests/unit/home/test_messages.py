"""Messages for agents: kept in order, given once, and handed over by a few lines of shell."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.coders import claude, codex
from fleet.coders.prompts import fresh, resumed
from fleet.errors import BadInput
from fleet.home import HOOK, messages
from fleet.runs.run_directory import Run
from fleet.spool.drop_box import DropBox
from fleet.spool.post_messages import note_taken, post_messages
from fleet.supervisor.start.agent_bin import AgentPrograms
from tests.builders import NOW, a_task

NASTY = 'a "b" \\n %s $(touch x) `y` é\nline\ttab'


@pytest.fixture
def task_dir(tmp_path):
    folder = tmp_path / "tasks/t"
    for run in (1, 2):
        (folder / f"runs/{run}").mkdir(parents=True)
        (folder / f"runs/{run}/started").touch()
    return folder


def add(task_dir, text="hello"):
    return messages.add(task_dir, text, by="ada", at=NOW)


def given(task_dir):
    return [(tell.number, tell.run) for tell in messages.read(task_dir)]


@pytest.fixture
def hook(task_dir):
    """Calls the hook as a CLI would; what it prints."""
    program = AgentPrograms(task_dir.parent.parent).make() / HOOK

    def call(event, run=1, asked="{}"):
        (task_dir / f"runs/{run}/spool").mkdir(exist_ok=True)
        box = DropBox(task_dir / f"runs/{run}/spool")
        post_messages(Run(task_dir / f"runs/{run}"), box)
        env = {"FLEET_SPOOL": str(box.path)}
        done = subprocess.run(
            [program, event], input=asked, env={**env, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        note_taken(Run(task_dir / f"runs/{run}"), box)
        box.close()
        return json.loads(done.stdout) if done.stdout else None

    return call


def test_messages_are_kept_in_order(task_dir):
    """With who and when, and none is lost where two speak at once."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: add(task_dir, f"message {n}"), range(20)))
    found = messages.read(task_dir)
    assert [tell.number for tell in found] == list(range(1, 21))
    assert {tell.message.text for tell in found} == {f"message {n}" for n in range(20)}
    assert (found[0].message.by, found[0].message.at) == ("ada", NOW)


def test_a_hook_hands_a_message_over_once_and_whole(task_dir, hook):
    """After a tool as context, before the end as a reason to go on."""
    assert hook("PostToolUse") is None
    add(task_dir, NASTY)
    add(task_dir, "and more")
    said = hook("PostToolUse")["hookSpecificOutput"]
    assert said["hookEventName"] == "PostToolUse"
    assert NASTY in said["additionalContext"]
    assert said["additionalContext"].index(NASTY) < said["additionalContext"].index("and more")
    assert hook("PostToolUse") is None
    assert hook("Stop") is None
    assert given(task_dir) == [(1, 1), (2, 1)]
    add(task_dir, "before you go")
    said = hook("Stop", run=2)
    assert said["decision"] == "block"
    assert "before you go" in said["reason"]
    assert given(task_dir)[2] == (3, 2)


def test_a_sub_agents_tools_take_no_message(task_dir, hook):
    """It is for the agent itself, whose next tool takes it."""
    add(task_dir)
    assert hook("PostToolUse", asked='{"agent_id":"a1"}') is None
    assert "hello" in str(hook("PostToolUse"))


def test_two_hooks_at_once_do_not_both_hand_it_over(task_dir, hook):
    """Tools may end together."""
    for round_ in range(5):
        add(task_dir, f"number {round_}")
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: hook("PostToolUse"), range(4)))
        assert str(answers).count(f"number {round_}") == 1


def test_what_stands_in_a_prompt_is_taken_by_no_hook(task_dir, hook):
    """It is given before the run begins."""
    add(task_dir)
    messages.give(task_dir, [1], 2)
    assert hook("PostToolUse") is None
    assert given(task_dir) == [(1, 2)]


def test_a_run_that_never_began_was_given_nothing(task_dir):
    """The message waits again, and the next run gets it."""
    add(task_dir)
    messages.give(task_dir, [1], 3)
    assert given(task_dir) == [(1, None)]
    messages.give(task_dir, [1], 2)
    assert given(task_dir) == [(1, 2)]
    assert len(list((task_dir / "tells").glob("*.given-*"))) == 1


def test_a_fresh_session_is_told_all_and_one_that_goes_on_what_it_lacks(task_dir):
    """What was read by the run before the last is in the session's memory."""
    for text in ("first", "second", "third"):
        add(task_dir, text)
    messages.give(task_dir, [1], 1)
    messages.give(task_dir, [2], 2)
    known = messages.read(task_dir)
    words = messages.for_prompt(known, resumed=None)
    assert [word in words for word in ("first", "second", "third")] == [True, True, True]
    words = messages.for_prompt(known, resumed=2)
    assert [word in words for word in ("first", "second", "third")] == [False, True, True]
    words = messages.for_prompt(known, resumed=1)  # run 2 was stopped before it read a line
    assert [word in words for word in ("first", "second", "third")] == [True, True, True]
    assert "third" in fresh(a_task(), task_dir, last_ending="", cap=None, messages=words)
    assert "third" in resumed(a_task(), task_dir, last_ending="", messages=words)
    assert "said to its agents" not in fresh(a_task(), task_dir, last_ending="", cap=None)


def test_a_prompt_holds_only_so_much_of_old_talk(task_dir):
    """The newest of it."""
    for number in range(10):
        add(task_dir, f"{number}" * 7000)
    words = messages.for_prompt(messages.read(task_dir), resumed=None)
    assert len(words) < 25_000
    assert "9" * 7000 in words


def test_files_that_are_not_ours_are_no_messages(task_dir):
    """An agent can write there."""
    add(task_dir)
    folder = task_dir / "tells"
    (folder / "000009.json").write_text("{")
    (folder / "x.json").write_text("{}")
    (folder / "000008.json").symlink_to(folder / "000001.json")
    (folder / "junk").mkdir()
    assert given(task_dir) == [(1, None)]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 8001])
def test_what_cannot_be_told_is_refused(task_dir, text):
    """Nothing is left behind."""
    with pytest.raises(BadInput):
        add(task_dir, text)
    assert messages.read(task_dir) == []


def test_refusing_is_asked_for_only_where_it_is_wanted():
    """No command pays for a hook that has nothing to do."""
    assert "PreToolUse" not in claude.hook_settings("/h/fleet-hook", refuse=False)
    assert "PreToolUse" in claude.hook_settings("/h/fleet-hook", refuse=True)
    assert "PreToolUse" not in codex.hook_settings("/h/fleet-hook", refuse=False)
    settings = json.loads(claude.hook_settings("/h h/fleet-hook", refuse=False))
    (entry,) = settings["hooks"]["PostToolUse"]
    assert entry["hooks"][0]["command"] == "'/h h/fleet-hook' PostToolUse"
