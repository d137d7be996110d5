"""The journal: a line for machines and people, by day and by task."""

import json

import pytest

from fleet.home import journal as logs
from fleet.home.journal import Log
from tests.builders import NOW


@pytest.fixture
def home(tmp_path):
    (tmp_path / "logging").mkdir()
    (tmp_path / "task").mkdir()
    return tmp_path


def a_log(home, now=NOW, echo=lambda text: None):
    return Log(home / "logging", lambda: now, echo)


def test_a_line_goes_to_the_day_and_to_the_task(home):
    """With an action for machines and a sentence for people."""
    shown = []
    a_log(home, echo=shown.append).say("closed", "done", task_dir=home / "task", run=1)
    (line,) = (home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert (told["action"], told["text"], told["task"], told["run"]) == (
        "closed", "done", "task", 1,
    )  # fmt: skip
    assert (home / "task/log.jsonl").read_text() == line + "\n"
    assert shown[0].endswith("  done")


def test_what_stays_so_is_said_once(home):
    """A round that finds the same each hour would fill the log with that."""
    shown = []
    log = a_log(home, echo=shown.append)
    for text in ("stays", "stays", "goes"):
        log.say_once("tidied", text)
    assert [line.split("  ")[1] for line in shown] == ["stays", "goes"]


def test_what_was_said_once_is_remembered_for_a_while(home):
    """A log of many thousand tasks remembers the latest texts, each for as long as it comes."""
    shown = []
    log = a_log(home, echo=shown.append)
    for number in range(2 * logs.MOST_SAID):
        log.say_once("tidied", f"task {number}")
        log.say_once("tidied", "stays")
    assert len(shown) == 2 * logs.MOST_SAID + 1
    assert len(log._said) == logs.MOST_SAID


def test_the_screen_has_the_first_line_of_a_long_text_and_says_where_the_rest_is(home):
    """What a verify command printed filled the screen, in one endless line."""
    shown, text = [], "x: rejected: `make` ended with 2:\nF\n1 failed"
    a_log(home, echo=shown.append).say("released", text, task_dir=home / "task")
    assert shown[0].endswith("  x: rejected: `make` ended with 2 … (fleet task task receipt)")
    assert json.loads((home / "task/log.jsonl").read_text())["text"] == text


def test_old_days_are_forgotten(home):
    """After thirty days; nothing else in the directory is touched."""
    for name in ("fleet-2026-10-15.jsonl", "fleet-2026-10-16.jsonl", "mine.jsonl"):
        (home / "logging" / name).touch()
    a_log(home).say("started", "hello")
    left = sorted(path.name for path in (home / "logging").iterdir())
    assert left == ["fleet-2026-10-16.jsonl", "fleet-2026-11-15.jsonl", "mine.jsonl"]


def test_a_day_has_an_end(home, monkeypatch):
    """A file that is full takes no more."""
    monkeypatch.setattr(logs, "LARGEST", 10)
    log = a_log(home)
    log.say("one", "first")
    log.say("two", "second")
    assert len((home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()) == 1


def test_a_line_that_cannot_be_written_is_counted(home):
    """The supervisor goes on without it."""
    (home / "logging").rmdir()
    log = a_log(home)
    log.say("one", "first")
    assert log.lost == 1


def test_a_screen_that_is_gone_is_not_asked_again(home):
    """Its loss is no reason to stop."""
    tries = []

    def broken(text):
        tries.append(text)
        raise BrokenPipeError

    log = a_log(home, echo=broken)
    log.say("one", "first")
    log.say("two", "second \ud800")
    assert len(tries) == 1
    assert len((home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()) == 2
