"""Text on a person's terminal."""

import sys
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO

import pytest

from fleet.cli.inspect.task import show_receipt
from fleet.cli.terminal_text import folded, painted, print_line, print_row, table
from fleet.schemas import Command, Receipt
from fleet.schemas.shown_text import (
    cells,
    count,
    cut,
    cut_front,
    duration,
    first_line,
    harmless,
    moment,
    one_line,
    wrapped,
)
from tests.builders import NOW


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60, "1m 00s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (86_399, "23h 59m"),
        (86_400, "1d 00h"),
        (100 * 86_400 + 3600, "100d 01h"),
    ],
)
def test_a_time_span_is_said_in_its_two_largest_units(seconds, said):
    """A column of eight characters holds any of them; a clock that was set back is no minus."""
    assert duration(seconds) == said
    assert len(duration(seconds)) <= 8


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (12_345, "12.3k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (2_345_678, "2.3M"),
    ],
)
def test_a_count_fits_into_five_characters(number, said):
    """No rounding makes a 1000k."""
    assert count(number) == said
    assert len(said) <= 5


def test_a_moment_is_told_on_the_readers_clock():
    """What was recorded in UTC is shown in the reader's zone."""
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    assert moment(NOW, there) == "21:00:00"


def test_a_moment_of_another_day_tells_its_day():
    """An agent that works since yesterday does not look as if it began today."""
    assert moment(NOW - timedelta(days=1), NOW) == "Nov 14 12:00"
    midnight = datetime(2026, 11, 15, 23, 0, tzinfo=UTC)
    assert moment(midnight, midnight.astimezone(timezone(timedelta(hours=2)))) == "01:00:00"


def test_no_control_character_reaches_the_terminal():
    """Colours, titles, cursor moves and hidden directions that an agent printed stay text."""
    hostile = "a\x1b[31mb\x07\x9b2J\u202e\r\x00"
    assert one_line(hostile) == "a\\x1b[31mb\\x07\\x9b2J\\u202e\\r\\x00"
    assert harmless(hostile) == one_line(hostile)


def test_lines_and_tabs_of_a_file_stay():
    """A plan is read as it was written."""
    assert harmless("# Plan\n\t1. ok\n") == "# Plan\n\t1. ok\n"


def test_where_there_is_room_for_one_line_the_first_is_shown():
    """Without a trace of the others."""
    assert first_line("out of scope: x\x1b\nSee: the receipt") == "out of scope: x\\x1b"
    assert first_line("") == ""


def test_a_path_keeps_its_end_and_a_title_its_beginning():
    """Those tell most. Wide characters count for two."""
    assert cut_front("/srv/code/web", 8) == "…ode/web"
    assert cut("Fix the login", 8) == "Fix the…"
    assert cut("任务修复", 6) == "任务…"
    assert cut("abc", 3) == "abc"
    assert cut("abc", 0) == ""


def test_a_line_is_broken_between_words():
    """A word that is longer than a line is cut."""
    assert list(wrapped("its context is full", 11)) == ["its context", "is full"]
    assert list(wrapped("/a/very/long/path goes", 8)) == ["/a/very…", "goes"]
    assert list(wrapped("", 8)) == [""]


def test_wide_letters_take_two_columns_and_marks_none():
    """As terminals show them."""
    assert [cells("abc"), cells("任务"), cells("e\u0301"), cells("é")] == [3, 4, 1, 1]


def test_columns_are_as_wide_as_their_cells():
    """Figures end at one edge, a cell may have two lines, and a text stands by itself."""
    rows = [("a", "\x1b[31m5\x1b[0m", "one\ntwo"), "  why", ("任务", "100", "three")]
    assert list(table(("id", "n", "what"), rows, right=("n",))) == [
        "id      n  what",
        "a       \x1b[31m5\x1b[0m  one",
        "           two",
        "  why",
        "任务  100  three",
    ]


@pytest.mark.parametrize(("width", "head"), [(20, "id  tokens  cost"), (12, "id  cost"), (5, "id")])
def test_columns_go_in_their_order_where_there_is_no_room(width, head):
    """As many as it takes; what is not named stays."""
    found = table(("id", "tokens", "cost"), [], width=width, drop=("tokens", "cost"))
    assert list(found) == [head]


def test_a_text_is_folded_between_words():
    """Later lines are indented; a path that is too long stays whole, to be copied."""
    text = "a check that says much of /a/very/long/path/that/has/no/blank and ends"
    assert folded(text, 4, 28).splitlines() == [
        "a check that says much",
        "    of",
        "    /a/very/long/path/that/has/no/blank",
        "    and ends",
    ]
    assert folded("two  blanks", 0, 80) == "two  blanks"
    assert (
        folded("a title of a task  [/its/directory]", 2, 22)
        == "a title of a task\n  [/its/directory]"
    )


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
    print_line(painted(LONG, "bold red"))
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
