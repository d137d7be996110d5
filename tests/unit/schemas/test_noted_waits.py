"""Notes of earlier fleets and of bd clients are read once into values."""

import pytest

from fleet.schemas.noted_waits import spoken_waits, waits_in_note, waits_in_notes
from fleet.schemas.waits import (
    Asks,
    BudgetSpent,
    CannotLand,
    Compared,
    Halted,
    NeedsApproval,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    Proposed,
    SetAside,
    TakenBack,
    ToLand,
    ToMend,
)

#: The last notes of blocked tasks, as earlier fleets wrote them.
NOTED = (
    ("QUESTION: old or new?", Asks(text="old or new?")),
    ("verified; waits to land on main: fleet land", ToLand(into="main")),
    ("verified; waits to land on a branch: fleet land", ToLand()),
    ("a plan waits for you: fleet plan show fleet-1. Then: …", PlanWritten()),
    ("only plausible: nothing contradicts …", NeedsApproval),
    ("stopped by ada; to go on: fleet retry fleet-1", Halted(by="ada")),
    ("ada has it compared: fleet compare fleet-1", Compared(by="ada")),
    ("its work was taken off main by ada (commit 0123456789ab). To …",
     TakenBack(into="main", by="ada", commit="0123456789ab")),
    ("its work cannot land: markers_left: a.py", CannotLand(why="markers_left: a.py")),
    ("out of scope: outside: ../b", OutOfScope(what="out of scope: outside: ../b")),
    ("limit exceeded (task_budget): 5 of 5 USD", BudgetSpent(what="5 of 5 USD")),
    ("damaged: task.json. Move it away.", ToMend(what="damaged: task.json. Move it away.")),
    ("it failed: Boom (attempt 3 of 3)", OutOfAttempts(why="it failed: Boom", made=3, limit=3)),
    ("PROPOSED: by the agent of fleet-1, run 2; fleet answer ID accept, or refuse",
     Proposed(by="the agent of fleet-1, run 2")),
    ("waits for the vendor", SetAside(note="waits for the vendor")),
)  # fmt: skip


@pytest.mark.parametrize(("note", "waits"), NOTED)
def test_the_note_of_an_earlier_fleet_is_read_into_its_kind(note, waits):
    """Below whatever was noted before it."""
    found = waits_in_notes(f"Use tabs.\n{note}")
    assert found == waits if not isinstance(waits, type) else isinstance(found, waits)


def test_a_task_without_notes_was_set_aside():
    """By a client of bd that said no word."""
    assert waits_in_notes("") == SetAside()


def test_a_question_is_found_above_what_was_noted_later():
    """A remark below it took it off every list, in earlier fleets."""
    assert waits_in_notes("QUESTION: old\nor new?\nsee fleet-7") == Asks(
        text="old\nor new?\nsee fleet-7"
    )


@pytest.mark.parametrize("word", ["ANSWERED: new", "ANSWERED", "ACCEPTED: by ada"])
def test_an_answered_question_is_not_found(word):
    """Its answer stands below it."""
    assert spoken_waits(f"QUESTION: old or new?\n{word}\nit failed") is None


def test_a_note_without_a_mark_is_a_question_where_its_run_ended_with_one():
    """Some agents leave the mark out."""
    assert waits_in_note("Old or new?", asked=True) == Asks(text="Old or new?")
    assert waits_in_note("Old or new?") == SetAside(note="Old or new?")
