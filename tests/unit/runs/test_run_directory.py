"""The run directory, its lock, and files that are whole or not there."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet.errors import InvalidTask
from fleet.files import atomic_write
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import locked
from fleet.runs.run_directory import Run, RunSpec, all_runs, latest_run, new_run

SPEC = RunSpec(argv=("true",), cwd="/")


def test_runs_are_numbered_in_order(tmp_path):
    """The first is 1, the latest is the last, and a spec comes back as it was written."""
    task = tmp_path / "task"
    assert latest_run(task) is None
    runs = [new_run(task, SPEC) for _ in range(11)]
    assert [run.number for run in runs] == list(range(1, 12))
    assert all_runs(task) == runs
    assert latest_run(task) == runs[-1]
    assert runs[0].spec() == SPEC
    assert runs[0].task_dir == task


def test_two_at_once_never_share_a_number(tmp_path):
    """The process that makes the directory has the number; the other takes the next."""
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: new_run(tmp_path, SPEC), range(40)))
    assert sorted(run.number for run in runs) == list(range(1, 41))


def test_a_run_that_was_not_prepared_to_the_end_is_no_run(tmp_path, monkeypatch):
    """Killed half-way, `new_run` leaves a number that is neither used again nor run."""

    def die(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "rename", die)
        new_run(tmp_path, SPEC)
    assert all_runs(tmp_path) == []
    with pytest.raises(InvalidTask, match=r"run\.json"):
        Run(tmp_path / "runs/1").spec()
    assert new_run(tmp_path, SPEC).number == 2
    assert [run.number for run in all_runs(tmp_path)] == [2]


def test_a_spec_of_another_version_is_read_without_its_unknown_keys(tmp_path):
    """After an upgrade the supervisor adopts runs that the old version started."""
    run = new_run(tmp_path, SPEC)
    (run.path / "run.json").write_bytes(b'{"id":"a","argv":["true"],"cwd":"/","rlimits":{}}')
    assert run.spec() == RunSpec(id="a", argv=("true",), cwd="/")


def test_a_record_that_a_power_cut_emptied_is_not_there(tmp_path):
    """A name can outlive its content; an empty record counts as none."""
    run = new_run(tmp_path, SPEC)
    (run.path / "started").touch()
    assert run.started() is None


def test_a_record_of_a_gigabyte_is_not_read(tmp_path):
    """What is larger than any record of ours is refused before it fills the memory."""
    run = new_run(tmp_path, SPEC)
    with (run.path / "exit.json").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(InvalidTask, match="larger"):
        run.exit()


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    """A full disk is found before anything is replaced."""
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_gets_its_mode_whatever_the_umask(tmp_path):
    """Private by default, and as asked otherwise."""
    old = os.umask(0o077)
    try:
        write_atomically(tmp_path / "private", b"")
        write_atomically(tmp_path / "public", b"", mode=0o644)
    finally:
        os.umask(old)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("private", "public")]
    assert modes == [0o600, 0o644]


def test_a_lock_has_one_holder(tmp_path):
    """A second try meets nothing to wait for, and after the first it succeeds."""
    path = tmp_path / "lock"
    with locked(path) as first, locked(path) as second:
        assert first is not None
        assert second is None
    with locked(path) as third:
        assert third is not None


def hold(fd):
    """A process that inherited the lock's descriptor, and ends with its stdin."""
    argv = [sys.executable, "-c", "input()"]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=[fd])


@pytest.mark.parametrize("handed_down", [True, False])
def test_a_lock_lives_on_only_in_a_process_it_was_handed_to(tmp_path, handed_down):
    """Handed down it lives as long as its heir; otherwise it is free when we let go."""
    path = tmp_path / "lock"
    with locked(path) as lock:
        heir = hold(lock.fd)
        if handed_down:
            lock.hand_down()
    with locked(path) as again:
        assert (again is None) == handed_down
    heir.communicate(b"\n")
    with locked(path) as again:
        assert again is not None


def test_a_lock_on_a_deleted_file_is_no_lock(tmp_path, monkeypatch):
    """If the file is replaced between opening and locking, the new file is locked."""
    path = tmp_path / "lock"
    real, tries = os.open, []

    def open_and_replace(name, *args):
        tries.append(real(name, *args))
        if len(tries) == 1:
            Path(name).unlink()
            os.close(real(name, *args))
        return tries[-1]

    monkeypatch.setattr(os, "open", open_and_replace)
    with locked(path) as lock:
        assert os.path.samestat(os.fstat(lock.fd), path.stat())
    assert len(tries) == 2
