"""A coder, or one model, that fails again and again gets no more work until a single task has shown
success. Pure.

A missing program is held against the whole coder, a refused login against its account; crashes and
made-up results against the coder with the model that had them, and against one version of the CLI.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from fleet.runs.outcome_history import Ending
from fleet.schemas import (
    ContextFull,
    Failed,
    Finished,
    NeedsHuman,
    Released,
    Stalled,
    bears_out,
)
from fleet.schemas.account import Moment

CoderFault = Literal["missing", "account", "crash", "fabrication"]

#: Reasons for which a CLI ends that broke, or never worked at all.
_CRASHES = ("exit_code", "killed", "never_started", "no_ending", "model_not_found")

#: A missing program is missing for every task, so one failure is enough. A login may be refused
#: once by accident.
_LOGINS = 2
#: Crashes and made-up results come with hard tasks too, so it takes this many of the last ten
#: runs, and more than one task: a single bad task ends at its own retry limit, which is smaller.
_FAILURES, _WINDOW, _TASKS = 5, 10, 2

#: The first pause before a probe, and the longest: each probe that fails doubles the pause. To
#: look for a program costs nothing, a run costs tokens.
_PAUSE = {"missing": timedelta(minutes=1)}
_LONGEST = {"missing": timedelta(minutes=15)}
_PAUSE_OTHERS, _LONGEST_OTHERS = timedelta(minutes=5), timedelta(hours=2)
#: How long other tasks wait while a probe is at work.
_WHILE_PROBING = timedelta(seconds=30)
_WORDS: Mapping[CoderFault, str] = {
    "missing": "its program cannot be run",
    "account": "its login or account is refused",
    "crash": "its runs break",
    "fabrication": "its runs claim what they did not do",
}

#: Rules that are broken by a run which did the work, and not well enough.
_HONEST_FAILURES = frozenset({"verify_failed"})


class Note(Struct, frozen=True):
    """What one run showed of the coder. A `fault` of None: the coder works."""

    task_id: str
    run: int
    fault: CoderFault | None


class Circuit(Struct, frozen=True, kw_only=True):
    """What is known of one coder, of one model or of one account."""

    #: The latest runs, oldest first.
    recent: tuple[Note, ...] = ()
    #: The version of the CLI that `recent` is about.
    version: str = ""
    #: What the coder is held for; None: it gets work.
    fault: CoderFault | None = None
    why: str = ""
    since: Moment | None = None
    #: From then on one task may try the coder.
    until: Moment | None = None
    pause: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    #: The task that tries the coder now.
    probe: str = ""


CLOSED = Circuit()


class RunNoted(Struct, frozen=True, kw_only=True):
    """A run ended and showed whether the coder works."""

    note: Note
    #: The version of the CLI, if the run told it.
    version: str = ""
    why: str = ""


class ProgramStarted(Struct, frozen=True, kw_only=True):
    """A run crashed, which says nothing of this circuit but that the program is there."""

    note: Note
    version: str = ""


class ProbeStarted(Struct, frozen=True):
    """A run was started: where the coder is held, this task tries the coder for all others."""

    task_id: str


class ProbeEnded(Struct, frozen=True):
    """A run ended that showed nothing of the coder: another task may try."""

    task_id: str


class CircuitReset(Struct, frozen=True, tag=True):
    """A person gives the coder work again, or a run on another host has succeeded."""


class HeldElsewhere(Struct, frozen=True, kw_only=True, tag=True):
    """Another host holds the coder, for what is not that machine's own fault."""

    fault: CoderFault
    why: str = ""
    #: Seconds from now on.
    pause: Annotated[float, Meta(ge=0, le=86_400)] = 0.0


CircuitEvent = RunNoted | ProgramStarted | ProbeStarted | ProbeEnded | CircuitReset | HeldElsewhere


class Blamed(Struct, frozen=True, kw_only=True):
    """What a run is held against: a coder, with a model, on an account."""

    coder: str
    model: str = ""
    account: str = ""

    @property
    def of_model(self) -> str:
        return f"{self.coder}/{self.model}" if self.model else self.coder

    @property
    def login(self) -> str:
        """The circuit of the account; the coder's circuit where the coder has one login."""
        own = self.account in ("", self.coder)
        return self.coder if own else f"{self.coder}@{self.account}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all circuits that concern the run, each once."""
        return tuple(dict.fromkeys((self.coder, self.login, self.of_model)))

    def events(self, noted: RunNoted) -> dict[str, CircuitEvent]:
        """What a run that ended tells each circuit."""
        note = noted.note
        if note.fault == "missing":
            return {self.coder: noted}
        own = self.login if note.fault == "account" else self.of_model
        works = structs.replace(note, fault=None)
        # A crash may come before any login, but not without a program.
        other: CircuitEvent = (
            ProgramStarted(note=works, version=noted.version)
            if note.fault == "crash"
            else RunNoted(note=works, version=noted.version)
        )
        others = {self.coder, self.login} - {own}
        return {own: noted, **dict.fromkeys(sorted(others), other)}


class HeldCoder(Struct, frozen=True, kw_only=True):
    """A coder that gets no work, for people."""

    name: str
    fault: CoderFault
    why: str
    since: datetime
    until: datetime

    @property
    def coder(self) -> str:
        return self.name.partition("/")[0].partition("@")[0]

    @property
    def account(self) -> str:
        """The account whose login was refused; empty if the coder is held for something else."""
        if self.fault != "account":
            return ""
        return self.name.partition("@")[2] or self.name

    @property
    def text(self) -> str:
        return f"{_WORDS[self.fault]}: {self.why}"


def fault_of(ending: Ending, *, missing: bool) -> CoderFault | Literal["unknown"] | None:
    """What an ending says of the coder: a fault, None if the coder works, or `unknown`.

    `missing`: the program could not be run.
    """
    match ending.outcome:
        case _ if missing:
            return "missing"
        case Failed() as failed if failed.is_account:
            return "account"
        case Failed(reason=reason) if reason in _CRASHES:
            return "crash"
        case Stalled(rung="never_started" | "degraded"):
            return "crash"
        case Finished() if set(ending.broke) - _HONEST_FAILURES:
            return "fabrication"
        case Finished() if ending.broke:
            return "unknown"  # the agent did the work, and not well enough
        case Finished() if bears_out(ending.settlement):
            return None
        case NeedsHuman() | ContextFull():
            return None
        case _:
            return "unknown"  # a limit, a stop, a failing vendor: none is the coder's fault


def after(circuit: Circuit, event: CircuitEvent, now: datetime) -> Circuit:
    """The circuit once `event` has happened."""
    match event:
        case RunNoted():
            return _after_run(circuit, event, now)
        case ProgramStarted(note=note, version=version):
            if circuit.fault != "missing":
                return circuit
            return _after_run(circuit, RunNoted(note=note, version=version), now)
        case ProbeStarted(task_id=task_id):
            return structs.replace(circuit, probe=task_id) if circuit.fault else circuit
        case ProbeEnded(task_id=task_id):
            return structs.replace(circuit, probe="") if circuit.probe == task_id else circuit
        case CircuitReset():
            return CLOSED
        case HeldElsewhere(fault=fault, why=why, pause=pause):
            until = now + timedelta(seconds=pause)
            if circuit.until is not None and circuit.until >= until:
                return circuit
            return _opened(circuit, fault, why, timedelta(seconds=pause), now)


def _after_run(circuit: Circuit, event: RunNoted, now: datetime) -> Circuit:
    note = event.note
    if any((seen.task_id, seen.run) == (note.task_id, note.run) for seen in circuit.recent):
        return circuit  # noted already, by a supervisor before this one or before a full disk
    if event.version and circuit.version and event.version != circuit.version:
        circuit = CLOSED  # another program than the one that failed
    version = event.version or circuit.version
    recent = (*circuit.recent, note)[-_WINDOW:]
    if note.fault is None:
        failed = circuit.fault is None and any(seen.fault for seen in recent)
        # Of a coder that works there is nothing to keep, and nothing to write with every run.
        return Circuit(recent=recent, version=version) if failed else CLOSED
    if circuit.fault is not None:
        if circuit.probe != note.task_id:
            return circuit  # the run had begun before the coder was held
        longest = _LONGEST.get(note.fault, _LONGEST_OTHERS)
        pause = min(timedelta(seconds=circuit.pause * 2), longest)
        return _opened(circuit, note.fault, event.why, pause, now)
    fresh = structs.replace(circuit, recent=recent, version=version)
    if not _enough(recent, note.fault):
        return fresh
    return _opened(fresh, note.fault, event.why, _PAUSE.get(note.fault, _PAUSE_OTHERS), now)


def _enough(recent: tuple[Note, ...], fault: CoderFault) -> bool:
    if fault == "missing":
        return True
    if fault == "account":
        return [note.fault for note in recent[-_LOGINS:]] == ["account"] * _LOGINS
    failed = [note for note in recent if note.fault is not None]
    return len(failed) >= _FAILURES and len({note.task_id for note in failed}) >= _TASKS


def _opened(
    circuit: Circuit, fault: CoderFault, why: str, pause: timedelta, now: datetime
) -> Circuit:
    return structs.replace(
        circuit,
        fault=fault,
        why=why[:500],
        since=circuit.since or now,
        until=now + pause,
        pause=pause.total_seconds(),
        probe="",
    )


def held_coder(name: str, circuit: Circuit) -> HeldCoder | None:
    """The coder of a circuit for people; None: the coder gets work."""
    if circuit.fault is None or circuit.since is None or circuit.until is None:
        return None
    return HeldCoder(
        name=name,
        fault=circuit.fault,
        why=circuit.why,
        since=circuit.since,
        until=circuit.until,
    )


def holds(
    name: str, circuit: Circuit, task_id: str, now: datetime, alive: Callable[[str], bool]
) -> HeldCoder | None:
    """The coder that keeps a task from running; None: the task may run, or try the coder.

    `alive` tells whether a task still runs: a probe that does not is no probe.
    """
    held = held_coder(name, circuit)
    if held is None or circuit.probe == task_id:
        return None
    if circuit.probe and alive(circuit.probe):
        return structs.replace(held, until=max(held.until, now + _WHILE_PROBING))
    # An end beyond the longest pause means that the clock was set back.
    return held if now < held.until <= now + _LONGEST_OTHERS else None


def spare_probe(ending: Ending, held: HeldCoder) -> Ending:
    """The ending of a probe that met the fault in question: the task pays nothing."""
    failed = ending.counts and not bears_out(ending.settlement)
    return structs.replace(
        ending,
        settlement=Released(not_before=held.until),
        counts=False,
        attempts=ending.attempts - failed,
        why=f"{ending.why} (tried for all others, and not counted)",
    )
