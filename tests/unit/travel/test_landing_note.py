"""The note of a landing in a task's row: what other hosts are told, and what they make of it."""

import pytest

from fleet.home.landing_json import Landing
from fleet.travel.landing_note import KEY, note_of, read_note
from tests.builders import NOW, a_task

LANDING = Landing(
    state="asks", why="conflict", output="x" * 8000, repository="/repo", into="main", run=1,
    base="b", tree="t", at=NOW,
)  # fmt: skip


def test_a_note_tells_how_far_the_work_is_and_not_what_was_printed():
    """The row of a task stays small, whatever a verify command printed."""
    note = read_note(a_task(metadata=note_of(LANDING, "beta")))
    assert (note.host, note.landing.state, note.landing.why) == ("beta", "asks", "conflict")
    assert note.landing.output == ""


@pytest.mark.parametrize("metadata", [{}, {KEY: None}, {KEY: "landed"}, {KEY: {"host": "beta"}}])
def test_what_is_no_note_tells_nothing(metadata):
    """Anyone who may edit tasks can write metadata."""
    assert read_note(a_task(metadata=metadata)) is None
