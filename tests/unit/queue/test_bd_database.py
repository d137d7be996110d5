"""Making the beads database, with programs that play `bd init`."""

from datetime import timedelta

import pytest

from fleet.errors import BadInput, HomeError, QueueBusy, QueueUnavailable
from fleet.queue.beads.bd_cli.bd_database import init_beads, is_ready

GOOD = 'mkdir -p "$BEADS_DIR"; echo "{}" > "$BEADS_DIR/metadata.json"'


@pytest.fixture
def play(tmp_path):
    """A bd that notes its arguments and then does what the test says."""

    def write(body, *, flags="--stealth --skip-hooks --quiet --non-interactive"):
        program = tmp_path / "bd"
        program.write_text(
            f'#!/bin/sh\ncase "$*" in *--help*) echo "{flags}"; exit 0;; esac\n'
            f'echo "$@" >> {tmp_path}/calls\n{body}\n'
        )
        program.chmod(0o755)
        return str(program)

    return write


def test_a_home_is_made_once(tmp_path, play):
    """The second time nothing is called; `fleet init` can be repeated."""
    home = tmp_path / "deep" / "home"
    bd = play(GOOD)
    assert init_beads(home, bd=bd) is True
    assert init_beads(home, bd=bd) is False
    assert is_ready(home)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
    assert [path.name for path in home.iterdir()] == [".beads"]


def test_only_flags_that_this_bd_knows_are_passed(tmp_path, play):
    """An older bd is not confused by what came later."""
    init_beads(tmp_path / "home", bd=play(GOOD, flags="--stealth --quiet"), prefix="work")
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert call.split()[1:] == ["init", "--prefix=work", "--stealth", "--quiet"]


def test_an_init_cut_short_leaves_no_half_database(tmp_path, play):
    """A killed or failed init is as if it had never been, and the next one works."""
    home = tmp_path / "home"
    half = 'mkdir -p "$BEADS_DIR/embeddeddolt"'
    with pytest.raises(QueueBusy):
        init_beads(home, bd=play(f"{half}; sleep 60"), timeout=timedelta(seconds=1))
    with pytest.raises(QueueUnavailable, match="no disk"):
        init_beads(home, bd=play(f"{half}; echo no disk >&2; exit 1"))
    with pytest.raises(QueueUnavailable, match="made no database"):
        init_beads(home, bd=play("exit 0"))
    assert not (home / ".beads").exists()
    assert init_beads(home, bd=play(GOOD)) is True


def test_force_asks_again_and_throws_nothing_away(tmp_path, play):
    """A database that is there stays, and bd's refusal to overwrite it is no error."""
    home = tmp_path / "home"
    init_beads(home, bd=play(GOOD))
    (home / ".beads" / "data").write_text("precious")
    refuses = play("echo 'Error: already initialized' >&2; exit 1")
    assert init_beads(home, bd=refuses, force=True) is False
    assert (home / ".beads" / "data").read_text() == "precious"


def test_a_home_that_cannot_be_made_is_said(tmp_path, play):
    """A file in the way is a HomeError with the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="file"):
        init_beads(tmp_path / "file" / "home", bd=play(GOOD))


@pytest.mark.parametrize("bad", ["", "-x", "a b", "a/b", "fleet-", "9x"])
def test_a_prefix_that_would_break_ids_is_refused(tmp_path, play, bad):
    """Ids begin with it and become file names."""
    with pytest.raises(BadInput):
        init_beads(tmp_path / "home", bd=play(GOOD), prefix=bad)
