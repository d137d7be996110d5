"""A queue that is deleted, replaced and restored under a running fleet."""

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
