"""What a terminal shows while something is waited for."""

import io
import os
import sys
import threading
from contextlib import contextmanager

from fleet.cli.live_view import waiting, watch_lines


@contextmanager
def at_terminal(monkeypatch):
    """A terminal as stderr; gives a function that reads on until its text ends so."""
    ours, theirs = os.openpty()
    said = ""

    def until(end):
        nonlocal said
        while not said.endswith(end):
            said += os.read(ours, 4096).decode()
        return said

    # Within the test: pytest has a stderr of its own for each of its phases.
    with os.fdopen(theirs, "w") as stderr, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        yield until
    os.close(ours)


def say(text):
    sys.stderr.write(text)
    sys.stderr.flush()


def test_a_long_wait_says_what_is_waited_for_and_leaves_no_trace(monkeypatch):
    """The line is there while the block runs, and gone after it."""
    with at_terminal(monkeypatch) as until:
        with waiting("bd", after=0.0):
            assert "bd … 0 s" in until(" s")
        assert "\n" not in until("\r\x1b[K")


def test_a_short_wait_says_nothing(monkeypatch):
    """No flicker, and no thread is left."""
    with at_terminal(monkeypatch) as until:
        before = threading.active_count()
        with waiting("bd", after=600.0):
            pass
        assert threading.active_count() == before
        say("end")
        assert until("end") == "end"


def test_a_block_that_prints_has_the_line_taken_away_first(monkeypatch):
    """What comes after stands on a line of its own."""
    with at_terminal(monkeypatch) as until, waiting("bd", after=0.0) as end:
        until(" s")
        end()
        say("answer")
        assert until("answer").endswith("\r\x1b[Kanswer")


def test_a_program_is_told_nothing(monkeypatch):
    """Neither with --json nor where stderr is a file."""
    with at_terminal(monkeypatch) as until:
        with waiting("bd", quiet=True, after=0.0):
            say("end")
        assert until("end") == "end"
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    with waiting("bd", after=0.0):
        pass
    assert file.getvalue() == ""


def test_ctrl_c_ends_a_watch_as_a_person_means_it(monkeypatch):
    """It is the way out and no error; the cursor is there again."""
    ours, theirs = os.openpty()

    def leave():
        raise KeyboardInterrupt

    with os.fdopen(theirs, "w") as stdout, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stdout)
        watch_lines(leave, "fleet tasks --json")
        assert os.read(ours, 4096).endswith(b"\x1b[?25h\x1b[?7h")
    os.close(ours)
