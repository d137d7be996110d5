"""The demo of hosts says what it lacks before it makes anything."""

import pytest

from fleet.demo import demo_hosts, hub
from fleet.errors import FleetError


def test_everything_that_is_missing_is_named_at_once(monkeypatch, tmp_path):
    """A person installs it in one go, and nothing was made meanwhile."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(hub.shutil, "which", lambda *_: None)
    monkeypatch.setattr(hub, "programs", lambda: None)
    with pytest.raises(FleetError) as caught, demo_hosts.demo_hosts(keep=False):
        pytest.fail("it began")
    for tool in ("the program ip", "PostgreSQL", "setpriv"):
        assert tool in caught.value.message
    assert caught.value.hint.endswith("fleet demo")
    assert list(tmp_path.iterdir()) == []


def test_only_root_can_make_namespaces(monkeypatch):
    """Said as such, and not as the error of a command."""
    monkeypatch.setattr(hub.shutil, "which", lambda *_: "/sbin/ip")
    monkeypatch.setattr(hub.os, "geteuid", lambda: 1000)
    assert "root" in hub.missing_for_namespaces()
