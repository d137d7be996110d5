"""Whose changes are whose in a tree where several runs worked at once."""

from datetime import timedelta

import msgspec

from fleet.evidence.other_task_dirs import in_same_tree
from fleet.evidence.shared_tree import Deeds, attributed, deeds, own_changes
from fleet.git import snapshot_index
from fleet.home import Home
from fleet.runs import event_log
from fleet.runs.run_directory import ProcessId, RunSpec, Started, new_run
from fleet.schemas import Base, Changes, Event, FileChange, ToolCall
from tests.builders import NOW


def changed(*paths, commits=()):
    files = tuple(FileChange(path=path, kind="added") for path in paths)
    return Changes(base="b", files=files, commits=commits)


def paths(files):
    return [file.path for file in files]


def test_a_file_that_only_another_run_names_is_not_this_runs():
    """A file that no run names stays, and who else was there is told."""
    own = deeds(["/srv/app/src/mine.py"], ["make generated.c"], "/srv/app", "/srv/app")
    other = deeds(["theirs.py"], ["touch their-log", "cat mine.py"], "/srv/app", "/srv/app")
    found = attributed(
        changed("src/mine.py", "generated.c", "theirs.py", "their-log", "unnamed"),
        own,
        [other],
        ["fleet-b"],
    )
    assert paths(found.files) == ["src/mine.py", "generated.c", "unnamed"]
    assert paths(found.others) == ["theirs.py", "their-log"]
    assert found.shared_with == ("fleet-b",)


def test_commits_are_this_runs_unless_only_another_committed():
    """By the commands of both."""
    committing, idle = Deeds(commands=("git commit -qam x",)), Deeds()
    whole = changed(commits=("c1",))
    assert attributed(whole, committing, [committing], ["b"]).commits == ("c1",)
    assert attributed(whole, idle, [idle], ["b"]).commits == ("c1",)
    assert attributed(whole, idle, [committing], ["b"]).commits == ()


def test_the_other_runs_stream_is_read_from_the_moment_that_this_one_began(tmp_path):
    """What the other did before is in this run's snapshot already."""
    home = Home(tmp_path)
    base = Base(root="/srv/app")
    run = _began(home, "fleet-a", base)
    other = _began(home, "fleet-b", base)
    for minutes, name in ((-5, "before.py"), (5, "after.py")):
        call = ToolCall(id=name, name="Write", input={"file_path": f"/srv/app/{name}"})
        event = Event(kind="tool_use", ts=NOW + timedelta(minutes=minutes), calls=(call,))
        lines = bytearray()
        event_log.put_line(lines, event, 1, (1, 0))
        event_log.add(other.task_dir, lines)
    found = own_changes(
        run, base, changed("before.py", "after.py"), Deeds(), in_same_tree(run, base.root)
    )
    assert (paths(found.files), paths(found.others)) == (["before.py"], ["after.py"])
    assert found.shared_with == ("fleet-b",)
    assert in_same_tree(run, "/srv/other") == ()
    assert own_changes(run, base, changed("a"), Deeds(), ()) == changed("a")


def _began(home, task_id, base):
    """A run that lives, in the tree of the base."""
    task_dir = home.task(task_id)
    task_dir.mkdir(parents=True)
    run = new_run(task_dir, RunSpec(argv=("x",), cwd=base.root, base=base))
    who = ProcessId(pid=1, start_ticks=1, boot_id="b")
    started = Started(keeper=who, agent=who, at=NOW, monotonic=0.0)
    (run.path / "started").write_bytes(msgspec.json.encode(started))
    snapshot_index.note(home, task_id, base.root)
    return run
