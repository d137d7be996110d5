"""The breaker: a coder, or one of its models, that fails again and again gets no more work until
a single task has shown that it works again. `breaker.json` in the home, so that a restart forgets
nothing.

A missing program is the whole coder's, a refused login its account's; crashes and made-up results
are held against the coder with the model that had them, and against one version of the CLI. The
rules are pure functions of a `Circuit`; only `Breaker` reads and writes the file.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Struct, structs

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded, stamp_of
from fleet.runs.outcome_history import Ending
from fleet.schemas import Closed, ContextFull, Failed, Finished, NeedsHuman, Released, Stalled

FILE = "breaker.json"
_LARGEST = 1 << 20

Fault = Literal["missing", "account", "crash", "fabrication"]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]

#: How a CLI ends that broke, or never worked at all.
_CRASHES = ("exit_code", "killed", "never_started", "no_ending", "model_not_found")

#: A program that is missing is missing for every task: no second one has to find out. A login may
#: be refused once by accident.
_LOGINS = 2
#: Crashes and made-up results come with hard tasks too, so it takes this many of the last ten
#: runs, and more than one task: a single bad task ends at its own retry limit, which is smaller.
_FAILURES, _WINDOW, _TASKS = 5, 10, 2

#: The first pause before a probe, and the longest: each probe that fails doubles it. To look for
#: a program costs nothing, a run costs tokens.
_PAUSE = {"missing": timedelta(minutes=1)}
_LONGEST = {"missing": timedelta(minutes=15)}
_PAUSE_OTHERS, _LONGEST_OTHERS = timedelta(minutes=5), timedelta(hours=2)
#: How long others wait while a probe is at work.
_WHILE_PROBING = timedelta(seconds=30)
_WORDS: Mapping[Fault, str] = {
    "missing": "its program cannot be run",
    "account": "its login or account is refused",
    "crash": "its runs break",
    "fabrication": "its runs claim what they did not do",
}


#: Rules that a run breaks which did the work, and not well enough or too far.
_HONEST_FAILURES = frozenset({"verify_failed"})


class Note(Struct, frozen=True):
    """What one run showed of its coder. A `fault` of None: it works."""

    task_id: str
    run: int
    fault: Fault | None


class Circuit(Struct, frozen=True, kw_only=True):
    """What is known of one coder, or of one of its models."""

    #: The latest runs, oldest first.
    recent: tuple[Note, ...] = ()
    #: The version of the CLI that they are about.
    version: str = ""
    #: What it is held for; None: it gets work.
    fault: Fault | None = None
    why: str = ""
    since: Moment | None = None
    #: From then on one task may try it.
    until: Moment | None = None
    pause: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 0.0
    #: The task that tries it now.
    probe: str = ""


class Blamed(Struct, frozen=True, kw_only=True):
    """Who is at work: a coder, with a model, on an account."""

    coder: str
    model: str = ""
    account: str = ""

    @property
    def of_model(self) -> str:
        return f"{self.coder}/{self.model}" if self.model else self.coder

    @property
    def login(self) -> str:
        """A coder with one login is that login."""
        own = self.account in ("", self.coder)
        return self.coder if own else f"{self.coder}@{self.account}"

    @property
    def names(self) -> tuple[str, ...]:
        """Each circuit that has a say, once."""
        return tuple(dict.fromkeys((self.coder, self.login, self.of_model)))


class HeldCoder(Struct, frozen=True, kw_only=True):
    """A coder without work, for people."""

    name: str
    fault: Fault
    why: str
    since: datetime
    until: datetime

    @property
    def coder(self) -> str:
        return self.name.partition("/")[0].partition("@")[0]

    @property
    def account(self) -> str:
        """The account whose login was refused; empty if it is not held for that."""
        if self.fault != "account":
            return ""
        return self.name.partition("@")[2] or self.name

    @property
    def text(self) -> str:
        return f"{_WORDS[self.fault]}: {self.why}"


def fault_of(ending: Ending, *, missing: bool) -> Fault | Literal["unknown"] | None:
    """What an ending says of its coder: a fault, None if it works, or nothing at all."""
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
            return "unknown"  # it tried, and was not good enough
        case Finished() if isinstance(ending.settlement, Closed):
            return None
        case NeedsHuman() | ContextFull():
            return None
        case _:
            return "unknown"  # a limit, a stop, a failing vendor: nobody can blame the coder


def noted(circuit: Circuit, note: Note, *, version: str, why: str, now: datetime) -> Circuit:
    """The circuit once a run has shown something. Pure."""
    if any((seen.task_id, seen.run) == (note.task_id, note.run) for seen in circuit.recent):
        return circuit  # a supervisor before us, or a full disk, had it noted already
    if version and circuit.version and version != circuit.version:
        circuit = Circuit()  # another program than the one that failed
    version = version or circuit.version
    recent = (*circuit.recent, note)[-_WINDOW:]
    if note.fault is None:
        failed = circuit.fault is None and any(seen.fault for seen in recent)
        # Of a coder that works there is nothing to keep, and nothing to write with every run.
        return Circuit(recent=recent, version=version) if failed else Circuit()
    if circuit.fault is not None:
        if circuit.probe != note.task_id:
            return circuit  # it had begun before we knew
        longest = _LONGEST.get(note.fault, _LONGEST_OTHERS)
        pause = min(timedelta(seconds=circuit.pause * 2), longest)
        return _opened(circuit, note.fault, why, pause, now)
    fresh = structs.replace(circuit, recent=recent, version=version)
    if not _enough(recent, note.fault):
        return fresh
    return _opened(fresh, note.fault, why, _PAUSE.get(note.fault, _PAUSE_OTHERS), now)


def _enough(recent: tuple[Note, ...], fault: Fault) -> bool:
    if fault == "missing":
        return True
    if fault == "account":
        return [note.fault for note in recent[-_LOGINS:]] == ["account"] * _LOGINS
    failed = [note for note in recent if note.fault is not None]
    return len(failed) >= _FAILURES and len({note.task_id for note in failed}) >= _TASKS


def _opened(circuit: Circuit, fault: Fault, why: str, pause: timedelta, now: datetime) -> Circuit:
    return structs.replace(
        circuit,
        fault=fault,
        why=why[:500],
        since=circuit.since or now,
        until=now + pause,
        pause=pause.total_seconds(),
        probe="",
    )


class Breaker:
    """Which coders get no work, and the one task that may try each."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._stamp = (0, 0, 0)
        self._circuits: dict[str, Circuit] = {}

    def admit(
        self, blamed: Blamed, task_id: str, now: datetime, alive: Callable[[str], bool]
    ) -> HeldCoder | None:
        """Whether a task has to wait for its coder; None: it may run, and may have to `probe`.

        `alive` tells whether a task still runs: a probe that was lost is no probe.
        """
        self._look()
        for name in blamed.names:
            circuit = self._circuits.get(name, Circuit())
            if (held := _held(name, circuit)) is None or circuit.probe == task_id:
                continue
            if circuit.probe and alive(circuit.probe):
                return structs.replace(held, until=max(held.until, now + _WHILE_PROBING))
            if now < held.until <= now + _LONGEST_OTHERS:  # beyond it, the clock was set back
                return held
        return None

    def probe(self, blamed: Blamed, task_id: str) -> None:
        """The task runs: where somebody is held, it tries him for all others."""
        self._look()
        held = {name: self._circuits[name] for name in blamed.names if name in self._circuits}
        found = {name: each for name, each in held.items() if each.fault and each.probe != task_id}
        if found:
            self._put({name: structs.replace(each, probe=task_id) for name, each in found.items()})

    def note(
        self, blamed: Blamed, version: str, ending: Ending, note: Note, now: datetime
    ) -> list[tuple[str, HeldCoder | None]]:
        """Take in how a run ended. Which names are held anew or again, or (None) no more."""
        self._look()
        told = self._told(blamed, note)
        changes: dict[str, Circuit] = {}
        news: list[tuple[str, HeldCoder | None]] = []
        for name, seen in told.items():
            before = self._circuits.get(name, Circuit())
            after = noted(before, seen, version=version, why=ending.why, now=now)
            if after != before:
                changes[name] = after
            if (after.fault, after.until) != (before.fault, before.until):
                news.append((name, _held(name, after)))
        if changes:
            self._put(changes)
        return news

    def _told(self, blamed: Blamed, note: Note) -> dict[str, Note]:
        """Which of a coder's circuits a run has something to say to, and what."""
        if note.fault == "missing":
            return {blamed.coder: note}
        mine = blamed.login if note.fault == "account" else blamed.of_model
        told = {mine: note}
        # A crash may come before any login, but not without a program.
        for name in {blamed.coder, blamed.login} - {mine}:
            if note.fault != "crash" or self._circuits.get(name, Circuit()).fault == "missing":
                told[name] = structs.replace(note, fault=None)
        return told

    def probed(self, blamed: Blamed, task_id: str) -> bool:
        """Whether it is this task that tries the coder for all others."""
        self._look()
        circuits = [self._circuits.get(name, Circuit()) for name in blamed.names]
        return any(circuit.fault and circuit.probe == task_id for circuit in circuits)

    def give_up_probe(self, task_id: str) -> None:
        """The task that was to try a coder showed nothing: another may."""
        self._look()
        found = {name: c for name, c in self._circuits.items() if c.probe == task_id}
        if found:
            self._put({name: structs.replace(c, probe="") for name, c in found.items()})

    def held(self) -> list[HeldCoder]:
        """Every coder that gets no work, by name."""
        self._look()
        found = [_held(name, circuit) for name, circuit in sorted(self._circuits.items())]
        return [held for held in found if held is not None]

    def reset(self, coder: str) -> bool:
        """Give a coder work again, with all its models. False: it was not held."""
        held = [held for held in self.held() if coder in (held.coder, held.name)]
        self._put({each.name: Circuit() for each in held})
        return bool(held)

    def reset_login(self, blamed: Blamed) -> bool:
        """Give an account work again whose login was refused. False: it was not."""
        held = [
            held for held in self.held() if held.name == blamed.login and held.fault == "account"
        ]
        self._put({each.name: Circuit() for each in held})
        return bool(held)

    def _put(self, changes: Mapping[str, Circuit]) -> None:
        known = {**self._circuits, **changes}
        self._circuits = {name: circuit for name, circuit in known.items() if circuit != Circuit()}
        write_atomically(self._path, msgspec.json.encode(self._circuits))
        self._stamp = stamp_of(self._path)

    def _look(self) -> None:
        """Read the file if somebody else has written it: a person closes a breaker by hand."""
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            data = read_bounded(self._path, _LARGEST)
            self._circuits = msgspec.json.decode(data, type=dict[str, Circuit]) if data else {}
        except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
            self._circuits = {}  # what is broken shows itself again, at the price of a few runs


def _held(name: str, circuit: Circuit) -> HeldCoder | None:
    if circuit.fault is None or circuit.since is None or circuit.until is None:
        return None
    return HeldCoder(
        name=name,
        fault=circuit.fault,
        why=circuit.why,
        since=circuit.since,
        until=circuit.until,
    )


def spared(ending: Ending, held: HeldCoder) -> Ending:
    """The ending of a probe that met what it was to look for: its task pays nothing for it."""
    failed = ending.counts and not isinstance(ending.settlement, Closed)
    return structs.replace(
        ending,
        settlement=Released(not_before=held.until),
        counts=False,
        attempts=ending.attempts - failed,
        why=f"{ending.why} (tried for all others, and not counted)",
    )
