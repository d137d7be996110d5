"""Which files of a run and its task other hosts get, in which order, and how far they have them."""

import pytest

from fleet.home import messages
from fleet.runs import event_log
from fleet.travel.pack_run import (
    ARTIFACTS,
    LOG,
    files_of_run,
    files_of_task,
    note_sent,
    sent_so_far,
)
from tests.builders import a_run


@pytest.fixture
def task_dir(home):
    (found := home.task("fleet-1")).mkdir(parents=True)
    return found


def packed(files):
    return {name: b"".join(chunks) for name, chunks in files}


def put(task_dir, path, data=b"x"):
    (place := task_dir / path).parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def test_what_matters_most_comes_first_and_raw_output_last(task_dir):
    """The queue cuts at the end where a run has more than it takes."""
    run = a_run(task_dir)
    for name in ("stdout", "receipt.json", "outcome.json", "stderr"):
        (run.path / name).write_bytes(b"x")
    names = [name for name, _ in files_of_run(run)]
    assert names[0] == "run.json"
    assert names.index("receipt.json") < names.index(event_log.FILE) < names.index("stdout")
    assert names[-1] == "stdout"


def test_of_files_that_grow_over_all_runs_only_what_is_new_is_sent(task_dir):
    """Events of other runs are known already, and half a line waits."""
    run = a_run(task_dir)
    put(task_dir, event_log.FILE, b'{"run":1,"a":1}\n')
    put(task_dir, LOG, b"one\n")
    note_sent(task_dir)
    with (task_dir / event_log.FILE).open("ab") as file:
        file.write(b'{"run":1,"a":2}\n{"run":2,"b":1}\n{"run":1,"half')
    with (task_dir / LOG).open("ab") as file:
        file.write(b"two\n")
    found = packed(files_of_run(run))
    assert found[event_log.FILE] == b'{"run":1,"a":2}\n'
    assert found[LOG] == b"two\n"


def test_what_was_never_sent_begins_at_the_start(task_dir):
    """A damaged note counts as none: sending twice is harmless, not sending is a loss."""
    assert sent_so_far(task_dir).events == 0
    put(task_dir, ".sent", b"not json")
    assert sent_so_far(task_dir).events == 0


def test_no_link_of_an_agents_is_followed(task_dir, tmp_path):
    """Else a link in `artifacts` would send any file of the host to all of them."""
    (secret := tmp_path / "secret").write_text("a key")
    run = a_run(task_dir)
    put(task_dir, f"{ARTIFACTS}/PLAN_AND_STATUS.md", b"plan")
    (task_dir / ARTIFACTS / "stolen").symlink_to(secret)
    (run.path / "stdout").symlink_to(secret)
    found = packed([*files_of_task(task_dir), *files_of_run(run)])
    assert found[f"{ARTIFACTS}/PLAN_AND_STATUS.md"] == b"plan"
    assert not any(b"a key" in data for data in found.values())


def test_artifacts_are_bounded(task_dir):
    """An agent may leave as much as the disk takes; what is too large stays where it is."""
    put(task_dir, f"{ARTIFACTS}/large", bytes((4 << 20) + 1))
    for number in range(510):
        put(task_dir, f"{ARTIFACTS}/many/{number:03}")
    names = [name for name, _ in files_of_task(task_dir)]
    assert f"{ARTIFACTS}/large" not in names
    assert len(names) == 500


def test_messages_travel_with_the_task(task_dir):
    """A person told the agent something while another host had the task."""
    put(task_dir, f"{messages.FOLDER}/1.json", b"{}")
    assert f"{messages.FOLDER}/1.json" in packed(files_of_task(task_dir))
