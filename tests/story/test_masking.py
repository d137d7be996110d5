"""Secrets that fleet hands to an agent are unreadable in what fleet keeps of its run."""

import json

from tests.story.scene import ACTOR

TOKEN = "sk-test-0123456789abcdef"
#: The actor with a login of its own, as claude and codex have theirs.
WITH_LOGIN = 'credentials = ["ACTOR_API_KEY"]\n' + ACTOR


def kept(scene, task):
    """Every byte that is kept of a task, but for what the agent itself wrote into its artifacts."""
    files = [path for path in scene.folder(task).rglob("*") if path.is_file()]
    files += list(scene.home.logging.iterdir())
    return {path.name: path.read_bytes() for path in files if path.name != "leak.sh"}


def leaking(scene):
    """A task whose agent prints its key on both streams, and a message for people with it."""
    scene.coder("actor", WITH_LOGIN)
    scene.env["ACTOR_API_KEY"] = TOKEN
    task = scene.add("script:leak.sh tool await:go end")
    (scene.folder(task) / "leak.sh").write_text(
        'echo "{\\"type\\":\\"text\\",\\"text\\":\\"my key is $ACTOR_API_KEY\\"}"\n'
        'echo "401 for $ACTOR_API_KEY" >&2\n'
        'notes="QUESTION: is $ACTOR_API_KEY right?"\n'
        'bd update "$FLEET_TASK_ID" --status blocked --notes "$notes" >&2\n'
        f'echo x >> "{scene.folder(task)}/here"\n'
    )
    return task


def test_a_printed_login_is_masked_in_all_that_is_kept(scene):
    """Streams, events, receipts and logs are read by people, and copied into reports."""
    task = leaking(scene)
    (scene.folder(task) / "go").touch()
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    found = kept(scene, task)
    assert [name for name, data in found.items() if TOKEN.encode() in data] == []
    assert b"my key is ***" in found["events.jsonl"]
    assert b"401 for " + b"*" * len(TOKEN) in found["stderr"]
    assert b"my key is " + b"*" * len(TOKEN) in found["stdout"]
    assert TOKEN not in scene.task(task).notes
    assert "is *** right?" in scene.task(task).notes


def test_a_supervisor_that_adopts_a_run_masks_as_well(scene):
    """Its own environment still has the login that the run was started with."""
    task = leaking(scene)
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    second = scene.supervise("--until-idle")
    scene.until_logged("adopted")
    (scene.folder(task) / "go").touch()
    assert scene.until_ended(second) == 0
    assert TOKEN.encode() not in scene.run(task).stdout.read_bytes()
    events = [json.loads(line) for line in scene.lines(task, "events.jsonl")]
    assert TOKEN not in json.dumps(events)


def test_what_an_agent_asks_to_have_written_down_is_masked(scene):
    """A comment is read by people and by every later agent."""
    scene.coder("actor", WITH_LOGIN)
    scene.env["ACTOR_API_KEY"] = TOKEN
    task = scene.add("script:leak.sh tool done end")
    (scene.folder(task) / "leak.sh").write_text(
        'bd comment "$FLEET_TASK_ID" "the key $ACTOR_API_KEY fails" >&2\n'
    )
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    said = scene.fleet("bd", "comments", task).stdout
    assert "the key *** fails" in said
    assert TOKEN.encode() not in (scene.home.path / "queue.db").read_bytes()
