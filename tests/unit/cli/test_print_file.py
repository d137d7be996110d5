"""Files on a person's terminal: JSON lines of logs and events as sentences, diffs."""

from datetime import UTC, datetime

import pytest

from fleet.cli.print_file import coloured_diff, readable

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")


def shown(*lines):
    return list(readable([b"".join(line + b"\n" for line in lines)], NOW))


def test_a_log_line_is_its_time_and_its_sentence():
    """The rest of the line is for machines."""
    line = b'{"ts":"2026-11-17T11:02:03Z","action":"closed","text":"fleet-a: closed","task":"x"}'
    assert shown(line) == ["11:02:03  fleet-a: closed"]


def test_what_fleet_did_is_told_whole():
    """Broken between words; the reason of a block is not cut off."""
    text = b"fleet-a: blocked: finished without closing the task (attempt 2 of 2)"
    line = b'{"ts":"2026-11-17T11:02:03Z","action":"blocked","text":"' + text + b'"}'
    assert "\n".join(shown(line)).splitlines() == [
        "11:02:03  fleet-a: blocked: finished without closing the",
        "          task (attempt 2 of 2)",
    ]


def test_a_call_is_told_with_what_it_does_and_a_failure_with_its_words():
    """What went well needs no line of its own."""
    call = b'{"run":2,"kind":"tool_use","ts":"2026-11-17T11:02:03Z","calls":[{"id":"1","name":"Bash","input":{"command":"pytest -q\\nrm x"}}]}'  # noqa: E501
    fine = b'{"run":2,"kind":"tool_result","results":[{"id":"1","text":"ok"}]}'
    bad = b'{"run":2,"kind":"tool_result","results":[{"id":"1","is_error":true,"text":"boom\\nx"}]}'
    assert shown(call, fine, bad) == [
        "11:02:03  run 2: Bash: pytest -q",
        "          run 2: failed: boom",
    ]


def test_a_note_of_fleets_own_is_told_with_its_facts():
    """Why a run was ended stands among what it did."""
    note = b'{"run":1,"kind":"fleet_limit","ts":"2026-11-17T11:02:03Z","limit":"turns","why":"9"}'
    assert shown(note) == ["11:02:03  run 1: fleet: limit: limit turns, 9"]


def test_a_list_is_told_as_a_person_writes_it():
    """Not `['make test']`."""
    note = b'{"run":1,"kind":"fleet_x","ran":["make test","ls"],"took":{"s":3}}'
    assert shown(note) == ["          run 1: fleet: x: ran make test, ls, took s 3"]


def test_hostile_text_is_shown_and_not_obeyed_and_a_long_line_is_cut():
    """An agent's words reach the terminal as text, one line each."""
    line = b'{"run":1,"kind":"assistant_text","text":"\\u001b[2J%s"}' % (b"word " * 40)
    (text,) = shown(line)
    assert "\x1b" not in text
    assert text.startswith("          run 1: \\x1b[2Jword")
    assert len(text) == 60


@pytest.mark.parametrize("line", [b"not JSON", b"[1]", b'{"run":1,"kind":"x","calls":"y"}'])
def test_a_line_of_another_shape_is_shown_as_it_is(line):
    """Nothing in the file is hidden, and nothing ends the command."""
    (text,) = shown(line)
    assert text.strip().startswith(line.decode()[:30])


def test_what_is_no_json_is_shown_whole():
    """The words of a crash are not cut where the terminal ends."""
    line = b"Traceback: " + b"word " * 20
    assert shown(line) == [line.decode()]


def test_half_a_line_at_the_end_is_shown_too():
    """A supervisor may be killed while it writes."""
    halves = [b'{"ts":"2026-11-17T11:02:03Z","action":"a","te', b'xt":"b"}']
    assert list(readable(halves, NOW)) == ["11:02:03  b"]


def test_a_line_of_a_file_with_crlf_ends_without_a_mark():
    """A carriage return elsewhere in a line is shown, and not obeyed."""
    assert list(coloured_diff([b"+one\r\n+t", b"wo\rthree\n"])) == ["+one", "+two\\rthree"]
