"""Secrets in the system's keyring: how they are read, and what a keyring does that is not there."""

import importlib.util
import sys
import time

import pytest

from fleet.accounts import kept_secret
from fleet.accounts.kept_secret import read_keyring
from fleet.processes.own_distribution import how_to_add


def test_entries_of_an_earlier_release_are_found():
    """secret-tool was given `service` and `username`; the library looks for the same two."""
    backend = pytest.importorskip("keyring.backends.SecretService").Keyring()
    assert backend._query("fleet", "work") == {"service": "fleet", "username": "work"}


def test_a_keyring_without_the_library_names_the_way_out(monkeypatch):
    """The library is an extra, since most accounts have no secret in a keyring."""
    monkeypatch.setattr(kept_secret, "find_spec", lambda _: None)
    assert how_to_add("keyring") in read_keyring("fleet/work").trouble


def test_a_keyring_that_does_not_answer_is_given_up(keyring, monkeypatch):
    """A locked one may wait for a person."""
    keyring.sleeps(60)
    monkeypatch.setattr(kept_secret, "_TIMEOUT", 1.5)
    began = time.monotonic()
    assert "is it locked?" in read_keyring("fleet/work").trouble
    assert time.monotonic() - began < 10


def test_the_library_is_loaded_in_a_process_of_its_own(keyring):
    """The supervisor does not pay for it."""
    keyring.holds(fleet={"work": "tok-1"})
    before = set(sys.modules)
    assert read_keyring("fleet/work").secret.strip() == "tok-1"
    assert not {name for name in set(sys.modules) - before if name.startswith("keyring")}
    assert importlib.util.find_spec("keyring") is not None


def test_a_user_that_looks_like_an_option_is_a_user(keyring):
    """Whatever stands in runtime.toml is a name."""
    keyring.holds(fleet={"--help": "tok-2"})
    assert read_keyring("fleet/--help").secret.strip() == "tok-2"


def test_a_file_in_the_working_directory_is_not_run(keyring, tmp_path, monkeypatch):
    """It may be an agent's."""
    keyring.holds(fleet={"work": "tok-3"})
    (tmp_path / "keyring.py").write_text("print('mine')")
    monkeypatch.chdir(tmp_path)
    assert read_keyring("fleet/work").secret.strip() == "tok-3"
