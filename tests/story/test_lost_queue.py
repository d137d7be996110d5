"""A queue that is deleted, damaged, replaced and restored under a running fleet."""

import pytest

from fleet.queue.sql.sqlite import open_embedded

#: Tells where it is, works on until it is let go, and ends well.
LONG = "mark:here tool await:go done end"


def remove_queue(scene):
    """`rm queue.db*`."""
    scene.queue.close()
    for path in scene.home.path.glob("queue.db*"):
        path.unlink()


def restore(scene, *words):
    done = scene.fleet("queue", "restore", "--yes", *words)
    assert done.returncode == 0, done.stderr
    scene.queue = open_embedded(scene.home.path)
    return done.stdout


def test_a_deleted_queue_is_said_rescued_and_healed_under_a_running_agent(scene):
    """The supervisor used to work on in the deleted file, and each command made an empty queue."""
    task = scene.add(LONG)
    supervisor = scene.supervise()
    scene.until_marked(task, "here")
    remove_queue(scene)
    scene.until_logged("rescued")
    assert "gone" in scene.until_logged("queue_failed")[0]["text"]
    for words in (["bd", "list"], ["tasks"], ["bd", "create", "another"], ["init"]):
        refused = scene.fleet(*words)
        assert refused.returncode == 5, words
        assert "fleet queue restore" in refused.stderr
    assert not (scene.home.path / "queue.db").exists()
    assert "rescued" in scene.fleet("queue", "status").stdout
    assert supervisor.poll() is None
    restore(scene)
    scene.until_logged("queue_healed")
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert len(scene.runs(task)) == 1


def test_an_old_copy_gives_a_living_run_no_second_agent(scene):
    """The copy says open; the run's directory says at work."""
    task = scene.add(LONG)
    assert scene.fleet("queue", "backup").returncode == 0
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    assert scene.status(task) == "in_progress"
    scene.queue.close()
    assert task in restore(scene)
    scene.supervise("--until-idle")
    scene.until_logged("adopted")
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert len(scene.lines(task, "here")) == len(scene.runs(task)) == 1


def test_what_ended_after_the_copy_is_settled_by_its_ending_and_not_done_again(scene):
    """Evidence outlives the queue: a task that was closed since is closed again."""
    task = scene.add("mark:here tool done end")
    scene.fleet("queue", "backup")
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    late = scene.add("tool done end")
    scene.queue.close()
    restore(scene)
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert len(scene.lines(task, "here")) == 1
    assert scene.fleet("bd", "show", late).returncode != 0


def test_a_sound_queue_is_not_restored_under_a_supervisor(scene):
    """Two agents would work on what was claimed since the copy."""
    task = scene.add(LONG)
    scene.fleet("queue", "backup")
    scene.supervise()
    scene.until_marked(task, "here")
    refused = scene.fleet("queue", "restore", "--yes")
    assert refused.returncode == 7
    assert "supervisor" in refused.stderr
    assert scene.status(task) == "in_progress"


def damage_queue(scene):
    """What a broken disk leaves of the file and of its log."""
    scene.queue.close()
    for path in scene.home.path.glob("queue.db*"):
        with path.open("r+b") as file:
            file.write(b"not a queue. " * (path.stat().st_size // 13))


def empty_queue(scene):
    """`> queue.db`, without its log."""
    remove_queue(scene)
    (scene.home.path / "queue.db").touch()


def spoil_identity(scene):
    """The home cannot tell its queue from another."""
    (scene.home.path / "identity.json").write_text("{")


@pytest.mark.parametrize(
    ("loss", "quiet"),
    [
        (damage_queue, []),
        (damage_queue, ["--quiet"]),
        (remove_queue, ["--quiet"]),
        (empty_queue, []),
        (spoil_identity, []),
    ],
)
def test_a_run_until_idle_ends_with_a_message_if_its_queue_is_lost(scene, loss, quiet):
    """It said so once, or nothing, and never ended: a script waited for ever."""
    scene.add()
    loss(scene)
    ended = scene.fleet("run", "--until-idle", *quiet)
    assert ended.returncode == 5
    error, hint = ended.stderr.splitlines()
    assert error.startswith("Error: ")
    assert hint
    assert scene.log("queue_failed")
    assert not scene.log("crashed")


def test_a_queue_that_is_damaged_under_an_agent_ends_a_run_until_idle_after_the_agent(scene):
    """No agent is stopped for it, and what it did is settled once the queue is back."""
    task = scene.add(LONG)
    assert scene.fleet("queue", "backup").returncode == 0
    scene.add("mark:there tool await:go done end")
    supervisor = scene.supervise("--until-idle")
    scene.until_marked(task, "here")
    damage_queue(scene)
    scene.until_logged("queue_failed")
    with pytest.raises(AssertionError):
        scene.until(lambda: supervisor.poll() is not None, patience=1)
    for folder in scene.home.tasks.iterdir():
        (folder / "go").touch()
    assert scene.until_ended(supervisor) == 5
    restore(scene)
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert len(scene.lines(task, "here")) == 1
