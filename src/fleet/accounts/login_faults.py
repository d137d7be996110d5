"""What speaks against a login or one model, and what is held for that. Pure.

Only the infrastructure holds a whole login: its program is missing, or its login or bill is
refused. A model is held where its name is unknown or its runs break, and in one project where it
makes up results again and again. A failed check, a conflict or a check that could not start is
never held against anyone. After the pause one task tries for all others.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from fleet.schemas.account import Moment
from fleet.schemas.backoff import Backoff

Fault = Literal["program", "login", "model", "crash", "fabrication"]

#: The scope of what concerns every run on the login.
LOGIN = "login"
#: A missing program, a refused login and an unknown model fail every run alike: one is enough.
#: Crashes and made-up results come with hard tasks too, so it takes this many of the last runs,
#: and more than one task: a single bad task ends at its own retry limit, which is smaller.
_FAILURES, _WINDOW, _TASKS = 5, 10, 2
_BY_CHANCE = frozenset[Fault]({"crash", "fabrication"})
#: The pauses between trials. To look for a program costs nothing, a run costs tokens.
_BACKOFF = Backoff(timedelta(minutes=5), timedelta(hours=2))
_PROGRAM_BACKOFF = Backoff(timedelta(minutes=1), timedelta(minutes=15))
#: How long other tasks wait while a trial is at work.
_WHILE_TRYING = timedelta(seconds=30)
_WORDS: Mapping[Fault, str] = {
    "program": "its program cannot be run",
    "login": "its login or account is refused",
    "model": "its model is refused",
    "crash": "its runs break",
    "fabrication": "its runs claim what they did not do",
}


class Use(Struct, frozen=True, kw_only=True):
    """What a run uses of a login: a model, in a project."""

    model: str = ""
    project: str = ""

    @property
    def of_model(self) -> str:
        """The scope of the model; a coder that is asked for no model has one scope."""
        return f"model {self.model}" if self.model else LOGIN

    @property
    def of_project(self) -> str:
        return f"{self.of_model} in {self.project}"

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that may be held and keep such a run from starting, the widest first."""
        return tuple(dict.fromkeys((LOGIN, self.of_model, self.of_project)))


class Note(Struct, frozen=True):
    """What one run showed. A `fault` of None: login, model and project work."""

    task_id: str
    run: int
    fault: Fault | None


class Hold(Struct, frozen=True, kw_only=True):
    """Why a scope gets no work."""

    cause: Fault
    why: str
    since: Moment
    #: From then on one task may try.
    until: Moment
    pause: Annotated[float, Meta(ge=0, le=86_400)]
    #: The task that tries.
    probe: str = ""

    @property
    def text(self) -> str:
        return f"{_WORDS[self.cause]}: {self.why}"


class FaultRecord(Struct, frozen=True, kw_only=True):
    """What the runs of one scope showed."""

    #: The latest runs, oldest first.
    recent: tuple[Note, ...] = ()
    #: The version of the CLI that `recent` is about.
    version: str = ""
    #: None: the scope gets work.
    hold: Hold | None = None


_NOTHING = FaultRecord()
Faults = Mapping[str, FaultRecord]


class RunShowed(Struct, frozen=True, kw_only=True):
    """A run ended and showed whether login, model and project work."""

    use: Use
    note: Note
    #: The version of the CLI, if the run reported it.
    version: str = ""
    why: str = ""


def after_run(faults: Faults, shown: RunShowed, now: datetime) -> dict[str, FaultRecord]:
    """The records after a run. What goes wrong late shows that what comes before it works."""
    use, note = shown.use, shown.note
    works = structs.replace(note, fault=None)
    match note.fault:
        case "program" | "login":
            notes = {LOGIN: note}
        case "model":
            notes = {LOGIN: works, use.of_model: note}
        case "crash":
            # A crash may come before any login, but not without a program.
            hold = faults.get(LOGIN, _NOTHING).hold
            there = hold is not None and hold.cause == "program"
            notes = {**({LOGIN: works} if there else {}), use.of_model: note}
        case "fabrication":
            notes = {LOGIN: works, use.of_model: works, use.of_project: note}
        case None:
            notes = dict.fromkeys(use.scopes, works)
    return _changed(faults, {s: _after_note(faults.get(s, _NOTHING), n, shown, now)
                             for s, n in notes.items()})  # fmt: skip


def after_refusal(faults: Faults, task_id: str, why: str, now: datetime) -> dict[str, FaultRecord]:
    """The records after the login was refused, to a run of this task or to no run at all."""
    shown = RunShowed(use=Use(), note=Note(task_id, 0, "login"), why=why)
    record = _held(faults.get(LOGIN, _NOTHING), shown.note, why, now)
    return _changed(faults, {LOGIN: record})


def after_answer(faults: Faults, use: Use) -> dict[str, FaultRecord]:
    """The records after a model answered: program, login and model are what they should be."""
    return _changed(faults, {
        scope: structs.replace(record, hold=None)
        for scope in use.scopes
        if (record := faults.get(scope)) and record.hold and record.hold.cause not in _BY_CHANCE
    })  # fmt: skip


def tried_by(faults: Faults, use: Use, task_id: str) -> dict[str, FaultRecord]:
    """The records once a task was started that tries what is held of this use."""
    return _changed(faults, {
        scope: structs.replace(record, hold=structs.replace(record.hold, probe=task_id))
        for scope in use.scopes
        if (record := faults.get(scope)) is not None and record.hold is not None
    })  # fmt: skip


def given_up_by(faults: Faults, task_id: str) -> dict[str, FaultRecord]:
    """The records once a task that tried has shown nothing: another may try."""
    return _changed(faults, {
        scope: structs.replace(record, hold=structs.replace(record.hold, probe=""))
        for scope, record in faults.items()
        if record.hold is not None and record.hold.probe == task_id
    })  # fmt: skip


def hold_for(faults: Faults, use: Use, trying: frozenset[str], now: datetime) -> Hold | None:
    """What keeps a run from starting; None: the run may start, or try what is held. `trying`: the
    other tasks that are at work.
    """
    holds = (record.hold for scope in use.scopes if (record := faults.get(scope)) is not None)
    return next((found for hold in holds if hold and (found := _still(hold, trying, now))), None)


def tries(faults: Faults, use: Use, task_id: str) -> bool:
    """Whether this task tries what is held, for all others."""
    holds = (record.hold for scope in use.scopes if (record := faults.get(scope)) is not None)
    return any(hold is not None and hold.probe == task_id for hold in holds)


def _still(hold: Hold, trying: frozenset[str], now: datetime) -> Hold | None:
    if hold.probe in trying:
        return structs.replace(hold, until=max(hold.until, now + _WHILE_TRYING))
    # An end beyond the longest pause means that the clock was set back.
    return hold if now < hold.until <= now + _BACKOFF.longest else None


def _changed(faults: Faults, changes: Mapping[str, FaultRecord]) -> dict[str, FaultRecord]:
    """The records with these changes; of what works there is nothing to keep."""
    return {scope: each for scope, each in {**faults, **changes}.items() if each != _NOTHING}


def _after_note(record: FaultRecord, note: Note, shown: RunShowed, now: datetime) -> FaultRecord:
    if any((seen.task_id, seen.run) == (note.task_id, note.run) for seen in record.recent):
        return record  # noted already, by a supervisor before this one or before a full disk
    if shown.version and record.version and shown.version != record.version:
        record = _NOTHING  # another program than the one that failed
    version = shown.version or record.version
    recent = (*record.recent, note)[-_WINDOW:]
    if note.fault is None:
        failed = record.hold is None and any(seen.fault for seen in recent)
        return FaultRecord(recent=recent, version=version) if failed else _NOTHING
    if record.hold is None:
        record = structs.replace(record, recent=recent, version=version)
    return _held(record, note, shown.why, now)


def _held(record: FaultRecord, note: Note, why: str, now: datetime) -> FaultRecord:
    """The record after a fault: held, held for longer after a trial, or not held yet."""
    fault, hold = note.fault, record.hold
    if fault is None or (hold is None and not _is_enough(record.recent, fault)):
        return record
    if hold is not None:
        tried = hold.probe == note.task_id if note.task_id else now >= hold.until
        if not tried:
            return record  # the run had begun before
    program = fault == "program"
    backoff = _PROGRAM_BACKOFF if program else _BACKOFF
    pause = backoff.after(timedelta(seconds=hold.pause) if hold is not None else timedelta())
    since = now if hold is None else hold.since
    held = Hold(
        cause=fault, why=why[:500], since=since, until=now + pause, pause=pause.total_seconds()
    )
    return structs.replace(record, hold=held)


def _is_enough(recent: tuple[Note, ...], fault: Fault) -> bool:
    if fault not in _BY_CHANCE:
        return True
    failed = [note for note in recent if note.fault in _BY_CHANCE]
    return len(failed) >= _FAILURES and len({note.task_id for note in failed}) >= _TASKS
