"""Reads why a task waits from its notes, where an earlier fleet or a client of bd blocked it. Pure.

Here alone a note is read back. Earlier fleets ended the notes with one of the sentences below.
"""

import re
from collections.abc import Callable

from fleet.schemas.waits import (
    MARK,
    PROPOSED,
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
    Waits,
)

_WaitsReading = Callable[[re.Match[str]], Waits]

#: A line that opens a question or a proposal, or ends it.
_SPOKEN = re.compile(
    rf"^(?:(?P<asks>{MARK})|(?P<proposed>{PROPOSED})|(?:ANSWERED|ACCEPTED|TO BE REVISED)\b)",
    re.MULTILINE,
)
_SENTENCES: tuple[tuple[re.Pattern[str], _WaitsReading], ...] = (
    (re.compile(r"^verified; waits to land on (?:a branch|(.*)): fleet land$", re.MULTILINE),
     lambda found: ToLand(into=found[1] or "")),
    (re.compile(r"^a plan waits for you: fleet plan show ", re.MULTILINE), lambda _: PlanWritten()),
    (re.compile(r"^only plausible: ", re.MULTILINE),
     lambda _: NeedsApproval(reasons=("no verify command proves the claim",))),
    (re.compile(r"^stopped by (.*); to go on: fleet retry ", re.MULTILINE),
     lambda found: Halted(by=found[1])),
    (re.compile(r"^(.*) has it compared: fleet compare ", re.MULTILINE),
     lambda found: Compared(by=found[1])),
    (re.compile(r"^its work was taken off (.*) by (.*) \(commit ([0-9a-f]+)\)", re.MULTILINE),
     lambda found: TakenBack(into=found[1], by=found[2], commit=found[3])),
    (re.compile(r"^its work cannot land: (.*)", re.MULTILINE),
     lambda found: CannotLand(why=found[1])),
    (re.compile(r"^((?:out of scope|tampered): .*)", re.MULTILINE),
     lambda found: OutOfScope(what=found[1])),
    (re.compile(r"^limit exceeded \(task_budget\): (.*)", re.MULTILINE),
     lambda found: BudgetSpent(what=found[1])),
    (re.compile(r"^((?:damaged|invalid|cannot start|cannot be verified): .*)", re.MULTILINE),
     lambda found: ToMend(what=found[1])),
    (re.compile(r"^(.*) \(attempt (\d+) of (\d+)\)$", re.MULTILINE | re.DOTALL),
     lambda found: OutOfAttempts(why=found[1], made=int(found[2]), limit=int(found[3]))),
)  # fmt: skip


def spoken_waits(text: str) -> Asks | Proposed | None:
    """The last question or proposal that stands marked in a text, unless answered."""
    marks = list(_SPOKEN.finditer(text))
    if not marks:
        return None
    last = marks[-1]
    said = text[last.end() :].strip()
    if last["asks"]:
        return Asks(text=said)
    who = said.partition(";")[0].removeprefix("by ").strip()
    return Proposed(by=who) if last["proposed"] else None


def waits_in_note(note: str, *, asked: bool = False) -> Waits:
    """What the note of an earlier fleet says; `asked`: its run ended with a question."""
    if (spoken := spoken_waits(note)) is not None:
        return spoken
    for sentence, reading in _SENTENCES:
        if found := sentence.search(note):
            return reading(found)
    return Asks(text=note.strip()) if asked else SetAside(note=note.strip())


def waits_in_notes(notes: str) -> Waits:
    """What the notes of a blocked task say: by the last question that is open, or the last line."""
    if (spoken := spoken_waits(notes)) is not None:
        return spoken
    return waits_in_note(last_line(notes))


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
