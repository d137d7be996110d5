"""Sentences on a person's terminal."""

import sys
from io import StringIO

import pytest

from fleet.cli.inspect.receipt import show_receipt
from fleet.cli.print_lines import print_line, print_row
from fleet.schemas import Command, Receipt

LONG = "the supervisor fails to claim, as the queue does not answer; it asks again in a minute"


class Terminal(StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """The lines that a terminal of 40 columns without colours shows of what is printed."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")

    def lines(act):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        act()
        return terminal.getvalue().splitlines()

    return lines


def test_a_sentence_is_broken_between_words(shown):
    """A terminal by itself breaks it in the middle of a word."""
    assert shown(lambda: print_line(f"12:00:00  {LONG}", 10)) == [
        "12:00:00  the supervisor fails to claim,",
        "          as the queue does not answer;",
        "          it asks again in a minute",
    ]


def test_lines_of_their_own_keep_their_indent(shown):
    """On stderr too."""
    assert shown(lambda: print_line(f"short\n    {LONG}", err=True)) == [
        "short",
        "    the supervisor fails to claim, as",
        "      the queue does not answer; it asks",
        "      again in a minute",
    ]


def test_a_value_stays_in_its_column(shown):
    """And what belongs to the row above stands below it."""
    assert shown(lambda: (print_row("queue", LONG, 12), print_row("", "short", 12))) == [
        "queue:      the supervisor fails to",
        "            claim, as the queue does not",
        "            answer; it asks again in a",
        "            minute",
        "            short",
    ]


def test_in_a_pipe_a_sentence_stays_one_line(capsys, monkeypatch):
    """A program reads it line by line, and colours are not for it."""
    monkeypatch.setenv("COLUMNS", "40")
    print_line(f"\x1b[31m{LONG}\x1b[0m")
    assert capsys.readouterr().out == f"{LONG}\n"


def test_a_receipt_keeps_to_the_width(shown):
    """A command, a path: only a word that is too long by itself may be longer."""
    receipt = Receipt(
        task_id="fleet-a", run=1, coder="claude", outcome="Finished", why=LONG, claim=LONG,
        commands=(Command(text="python3 -m pytest -q tests/unit tests/contract tests/story"),),
    )  # fmt: skip
    lines = shown(lambda: show_receipt(receipt, as_json=False))
    assert len(lines) > 10
    assert all(len(line) <= 40 for line in lines)
