"""Whether a box can be had, and what is said where not."""

import os

import pytest

from fleet.errors import FleetError
from fleet.sandbox import try_box


@pytest.fixture
def fake_bwrap(tmp_path):
    """A bubblewrap that does as the script says."""

    def make(script):
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    return make


def test_without_bubblewrap_the_package_is_named(tmp_path):
    """Nothing is tried without."""
    trial = try_box.try_box({"PATH": str(tmp_path)})
    assert not trial.works
    assert "apt install bubblewrap" in trial.fix


def test_a_bubblewrap_that_does_not_box_is_found_out(fake_bwrap):
    """A wrapper that runs the program and no more is no box."""
    env = fake_bwrap('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    assert "got out" in try_box.try_box(env).problem


def test_a_bubblewrap_that_says_nothing_is_not_believed(fake_bwrap):
    """Success without the program's own word is no success."""
    assert not try_box.try_box(fake_bwrap("exit 0")).works


@pytest.mark.parametrize(
    ("setting", "value", "fix"),
    [
        ("_APPARMOR", "1", "apparmor_restrict_unprivileged_userns=0"),
        ("_CLONE", "0", "unprivileged_userns_clone=1"),
        ("_MOST", "0", "max_user_namespaces"),
    ],
)
def test_the_setting_of_the_kernel_is_named(fake_bwrap, monkeypatch, tmp_path, setting, value, fix):
    """As bubblewrap fails on such a machine, with the command that changes it."""
    (tmp_path / "setting").write_text(value)
    for name in ("_APPARMOR", "_CLONE", "_MOST"):
        path = tmp_path / ("setting" if name == setting else "none")
        monkeypatch.setattr(try_box, name, path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    trial = try_box.try_box(fake_bwrap("echo bwrap: no permissions >&2; exit 1"))
    assert fix in trial.fix
    assert "no permissions" in trial.problem


def test_a_task_that_wants_a_box_is_told_what_to_install(monkeypatch):
    """The message is all that a person reads of a task that did not begin."""
    lacking = try_box.BoxTrial("bwrap is not on PATH", "Install it: apt install bubblewrap.")
    monkeypatch.setattr(try_box, "try_box", lambda _env: lacking)
    try_box._tried.cache_clear()
    with pytest.raises(FleetError, match="apt install bubblewrap"):
        try_box.require_box()
