"""What other hosts sent is taken over: as what happened, and never as what to execute."""

import errno
import hashlib
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from fleet.errors import FleetError, QueueError
from fleet.files.append_file import append
from fleet.queue.sql.travel.run_files import LIST, OF_TASK, SentFile, SentRun, StoredFile
from fleet.runs import event_log, outcome_history
from fleet.runs.outcome_history import believed_ending
from fleet.runs.run_directory import Run, RunSpec, latest_run
from fleet.schemas import Base, Failed
from fleet.travel import in_step
from fleet.travel.pack_run import sent_so_far
from fleet.travel.unpack_run import unpack_runs
from tests.builders import a_run, an_ending

TASK = "fleet-1"
SPEC = RunSpec(
    argv=("rm", "-rf", "/"), cwd="/elsewhere", login={"KEY": "theirs"},
    base=Base(root="/elsewhere", head="c0ffee", snapshot="their own"),
)  # fmt: skip


class Sent:
    """What the queue holds of a task."""

    def __init__(self):
        self.runs, self.of_task = {}, {}

    def add(self, number, host="other", **files):
        known = {"run_json": msgspec.json.encode(SPEC), **files}
        self.runs[number] = (host, {name.replace("_json", ".json"): d for name, d in known.items()})

    def stored(self, task_id):
        lists = [StoredFile(run=n, path=LIST, size=1, parts=1) for n in self.runs]
        own = [StoredFile(run=OF_TASK, path=p, size=1, parts=1) for p in self.of_task]
        return [*lists, *own]

    def list_of(self, task_id, number):
        host, files = self.runs[number]
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        return SentRun(
            host=host,
            files=tuple(
                SentFile(path=path, size=len(files[path]), sha256=digest)
                for path, digest in digests.items()
            ),
        )

    def read(self, task_id, number, path):
        return self.of_task.get(path) if number == OF_TASK else self.runs[number][1].get(path)

    def parts(self, task_id, number, path):
        yield self.read(task_id, number, path)


@pytest.fixture
def sent():
    return Sent()


@pytest.fixture
def take(home, sent):
    return lambda: unpack_runs(SimpleNamespace(files=sent), home, TASK, me="me")


def test_a_run_of_another_host_is_there_as_if_it_had_run_here(home, sent, take):
    """Its ending is believed, its events are the task's, and it says where it ran."""
    ending = msgspec.json.encode(an_ending(Failed(reason="unknown", detail="x")))
    sent.add(1, outcome_json=ending, **{event_log.FILE: b'{"run":1}\n'})
    assert take() == (1,)
    run = latest_run(home.task(TASK))
    assert run.host == "other"
    assert believed_ending(run).why == "because"
    assert (home.task(TASK) / event_log.FILE).read_bytes() == b'{"run":1}\n'
    assert take() == (), "once"


def lines(most):
    return b"".join(b'{"run":1,"at":%d}\n' % number for number in range(most))


def test_a_disk_that_is_full_in_between_costs_no_event(home, sent, take, monkeypatch):
    """The same again goes on where it was, and adds nothing twice."""
    sent.add(1, **{event_log.FILE: (added := lines(200_000))})
    (events := home.task(TASK) / event_log.FILE).parent.mkdir(parents=True)
    events.write_bytes(b"of before\n")
    room = [2]

    def append_some(*args, **kwargs):
        if not room[0]:
            raise OSError(errno.ENOSPC, "full")
        room[0] -= 1
        return append(*args, **kwargs)

    monkeypatch.setattr("fleet.travel.add_lines.append", append_some)
    with pytest.raises(OSError, match="full"):
        take()
    room[0] = 99
    assert take() == ()
    assert events.read_bytes() == b"of before\n" + added
    left = {each.name for each in latest_run(home.task(TASK)).path.iterdir()}
    assert left == {"run.json", "host"}


def test_a_process_that_is_killed_over_the_lines_adds_none_twice(home, sent, take, monkeypatch):
    """Killed after it had added them, and before it noted so; other lines came since."""
    sent.add(1, **{event_log.FILE: (added := lines(100)[:1000])})
    killed = [True]

    def unlink(path, **_):
        if killed[0]:
            raise KeyboardInterrupt
        path_unlink(path, **_)

    path_unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(KeyboardInterrupt):
        take()
    killed[0] = False
    events = home.task(TASK) / event_log.FILE
    with events.open("ab") as file:
        file.write(b"of later\n")
    take()
    whole, _, _ = added.rpartition(b"\n")
    assert events.read_bytes().startswith(whole + b"\n")
    assert events.read_bytes().count(whole) == 1


def test_a_stream_may_be_larger_than_the_memory(home, sent, take):
    """It is written part by part."""
    part = bytes(1 << 20)
    digest = hashlib.sha256()
    for _ in range(50):
        digest.update(part)
    sent.add(1)
    big = SentFile(path="stdout", size=50 << 20, sha256=digest.hexdigest())
    sent.list_of = lambda *_: SentRun(host="other", files=(big,))
    sent.parts = lambda *_: (part for _ in range(50))
    tracemalloc.start()
    try:
        take()
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert (home.task(TASK) / "runs" / "1" / "stdout").stat().st_size == 50 << 20


def test_what_a_killed_process_left_of_a_run_goes(home, sent, take):
    """Half a run takes room, and no later process would look at it."""
    sent.add(1)
    (left := home.task(TASK) / "runs" / ".1.c0ffee").mkdir(parents=True)
    (left / "stdout").write_bytes(b"half")
    take()
    assert [each.name for each in left.parent.iterdir()] == ["1"]


def test_nothing_is_taken_over_that_this_host_could_be_led_to_execute(home, sent, take):
    """Command line, login and places are this host's own; the first commit is that of its clone."""
    sent.add(1)
    take()
    spec = latest_run(home.task(TASK)).spec()
    assert (spec.argv, spec.login, spec.stdin) == ((), {}, None)
    assert spec.cwd == str(home.clone(TASK))
    assert spec.base.snapshot == "c0ffee"
    assert spec.base.root.startswith(str(home.path))


@pytest.mark.parametrize("path", ["../../../x", "a/b", ".hidden", "/etc/x"])
def test_a_file_that_leads_elsewhere_is_refused(home, sent, take, path):
    """A host that lies writes nothing outside of the run's directory."""
    sent.add(1, **{path: b"x"})
    with pytest.raises(QueueError, match="no file of a run"):
        take()
    assert latest_run(home.task(TASK)) is None


@pytest.mark.parametrize("path", ["artifacts/../../x", "runs/1/run.json", "/x", "settings.json"])
def test_a_file_of_the_task_that_leads_elsewhere_is_refused(sent, take, path):
    """The same for what belongs to the task itself."""
    sent.of_task[path] = b"x"
    with pytest.raises(QueueError, match="no file of a task"):
        take()


def test_a_link_in_the_way_is_not_followed(home, sent, take, tmp_path):
    """An agent of this host may have made it."""
    (task_dir := home.task(TASK)).mkdir(parents=True)
    (task_dir / "artifacts").symlink_to(tmp_path)
    sent.of_task["artifacts/plan"] = b"x"
    with pytest.raises(FleetError, match="is a link"):
        take()
    assert not (tmp_path / "plan").exists()


def test_bytes_that_are_not_those_that_were_sent_are_refused(home, sent, take):
    """Half a run is none: the next try takes all of it."""
    sent.add(1, stdout=b"whole")
    _, files = sent.runs[1]
    listed = sent.list_of(TASK, 1)
    sent.list_of = lambda *_: listed
    files["stdout"] = b"damaged"
    with pytest.raises(QueueError, match="is damaged in the queue"):
        take()
    files["stdout"] = b"whole"
    assert take() == (1,)
    assert [each.name for each in (home.task(TASK) / "runs").iterdir()] == ["1"]


def test_a_run_of_this_host_under_the_same_number_is_put_aside(home, sent, take):
    """It was never settled, since another host's was; its files stay for a person to look at."""
    home.task(TASK).mkdir(parents=True)
    mine = a_run(home.task(TASK))
    outcome_history.write_ending(mine, an_ending(Failed(reason="unknown", detail="x")))
    sent.add(1)
    assert take() == (1,)
    assert Run(home.task(TASK) / "runs" / "1").host == "other"
    assert [each for each in (home.task(TASK) / "runs").iterdir() if ".lost." in each.name]


def test_a_run_that_this_host_sent_is_not_taken_over(home, sent, take):
    """It is here, or its owner removed it."""
    sent.add(1, host="me")
    assert take() == ()
    assert latest_run(home.task(TASK)) is None


def test_artifacts_are_as_the_queue_has_them_unless_a_run_lives_here(home, sent, take):
    """What an earlier run of this host left and a later one elsewhere removed goes."""
    (folder := home.task(TASK) / "artifacts").mkdir(parents=True)
    (folder / "old").write_text("x")
    sent.of_task["artifacts/new"] = b"y"
    a_run(home.task(TASK))
    take()
    assert [each.name for each in folder.iterdir()] == ["old"], "a run of this host may be at work"
    mine = latest_run(home.task(TASK))
    outcome_history.write_ending(mine, an_ending(Failed(reason="unknown", detail="x")))
    take()
    assert (folder / "old").exists(), "the queue does not know the run that left it"
    sent.add(1, host="me")
    in_step.note(home.task(TASK), in_step.artifacts(home.task(TASK)))  # as a host that sends does
    take()
    assert [each.name for each in folder.iterdir()] == ["new"]


def test_lines_that_a_host_noted_later_are_added_once_and_what_was_added_to_them(home, sent, take):
    """The host sends more under the same name, as it was killed before it noted the first sending.
    Lines of this host's own come back from the queue, and are here already.
    """
    sent.add(1)
    log = home.task(TASK) / "log.jsonl"
    sent.of_task["later/other-0.jsonl"] = b"verified\n"
    sent.of_task["later/me-0.jsonl"] = b"mine\n"
    take()
    assert log.read_bytes() == b"verified\n"
    sent.of_task["later/other-0.jsonl"] = b"verified\nlanded\n"
    take()
    take()
    assert log.read_bytes() == b"verified\nlanded\n"
    assert sent_so_far(home.task(TASK)).log == log.stat().st_size, "and they are sent to no host"


QA = "artifacts/Q&A.md"


def test_an_answer_written_by_hand_outlives_the_copy_of_the_queue(home, sent, take):
    """The next run begins with the answer, although the queue has the file without it."""
    sent.of_task[QA] = b"## Q: Which?\n"
    take()
    file = home.task(TASK) / QA
    file.write_bytes(file.read_bytes() + b"## A: now\n\nBlue.\n")
    (file.parent / "NOTES.md").write_bytes(b"see also")
    for _ in range(2):
        take()
        assert file.read_bytes() == b"## Q: Which?\n## A: now\n\nBlue.\n"
        assert (file.parent / "NOTES.md").exists(), "a person's own file"
    sent.of_task[QA] += b"## Q: Sure?\n"
    take()
    assert file.read_bytes() == b"## Q: Which?\n## Q: Sure?\n## A: now\n\nBlue.\n"


def test_an_artifact_that_another_host_changed_or_removed_is_so_here(home, sent, take):
    """Only edits that were made here since are kept."""
    sent.of_task |= {QA: b"old", "artifacts/PLAN.md": b"plan"}
    take()
    sent.of_task[QA] = b"new"
    del sent.of_task["artifacts/PLAN.md"]
    take()
    assert (home.task(TASK) / QA).read_bytes() == b"new"
    assert not (home.task(TASK) / "artifacts/PLAN.md").exists()
