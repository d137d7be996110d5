"""An interrupt ends the demo, and never between a start and the note of it."""

import os
import signal

import pytest

from fleet.demo.demo_home import SIGNALS, DemoHome, Interrupts


@pytest.fixture
def interrupts():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield Interrupts()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupt_ends_what_allows_it(interrupts, number):
    """Ctrl-C, a polite kill, a terminal that was closed."""
    with pytest.raises(KeyboardInterrupt), interrupts.allowed():
        os.kill(os.getpid(), number)
        pytest.fail("it went on")


def test_an_interrupt_waits_until_it_is_allowed(interrupts):
    """Nothing is lost, only later."""
    reached = []
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts.allowed():
        reached.append("inside")
    assert reached == []


def test_a_start_is_not_cut_in_two(interrupts):
    """What is held back comes right after the block."""
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts.allowed():
        with interrupts.allowed(allow=False):
            os.kill(os.getpid(), signal.SIGTERM)
            reached.append("noted")
        reached.append("too far")
    assert reached == ["noted"]


def test_no_interrupt_disturbs_the_clearing_up(interrupts):
    """A second Ctrl-C does not leave half of it behind."""
    reached = []
    with pytest.raises(KeyboardInterrupt):
        try:
            with interrupts.allowed():
                os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("cleared")
    assert reached == ["cleared"]


def test_a_command_is_not_left_half_done(interrupts, tmp_path, monkeypatch):
    """A git or fleet that is cut off would write on while the demo's files are removed."""
    place = DemoHome(tmp_path, interrupts)
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nkill -INT $PPID; sleep 0.6; touch ../done\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(KeyboardInterrupt), interrupts.allowed():
        place.git("init")
    assert (tmp_path / "done").exists()
