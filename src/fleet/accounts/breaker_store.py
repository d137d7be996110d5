"""`breaker.json` in the home: which coders get no work, over restarts.

The supervisor changes the file, and so does a person who gives a coder work again.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from fleet.accounts.circuit_breaker import (
    CLOSED,
    Blamed,
    Circuit,
    CircuitEvent,
    CircuitReset,
    HeldCoder,
    ProbeEnded,
    ProbeStarted,
    RunNoted,
    after,
    held_coder,
    holds,
)
from fleet.files.state_store import StateStore

FILE = "breaker.json"


class Breaker:
    """The circuits of all coders by name, and the one task that may try each."""

    def __init__(self, home: Path) -> None:
        self._circuits: StateStore[Circuit, CircuitEvent] = StateStore(
            home / FILE, dict[str, Circuit], after=after, empty=CLOSED
        )

    def held(self) -> list[HeldCoder]:
        """Every coder that gets no work, by name."""
        circuits = sorted(self._circuits.states.items())
        found = (held_coder(name, circuit) for name, circuit in circuits)
        return [held for held in found if held is not None]

    def admit(
        self, blamed: Blamed, task_id: str, now: datetime, alive: Callable[[str], bool]
    ) -> HeldCoder | None:
        """The coder that keeps a task from running; None: the task may run.

        `alive` tells whether a task still runs.
        """
        states = self._circuits.states
        for name in blamed.names:
            if (held := holds(name, states.get(name, CLOSED), task_id, now, alive)) is not None:
                return held
        return None

    def probe(self, blamed: Blamed, task_id: str, now: datetime) -> None:
        """The task was started: where the coder is held, this task tries the coder
        for all others.
        """
        self._circuits.apply(dict.fromkeys(blamed.names, ProbeStarted(task_id)), now)

    def probed(self, blamed: Blamed, task_id: str) -> bool:
        """Whether this task tries the coder for all others."""
        states = self._circuits.states
        circuits = [states.get(name, CLOSED) for name in blamed.names]
        return any(circuit.fault and circuit.probe == task_id for circuit in circuits)

    def give_up_probe(self, task_id: str, now: datetime) -> None:
        """The task showed nothing of the coder: another may try."""
        self._circuits.apply(dict.fromkeys(self._circuits.states, ProbeEnded(task_id)), now)

    def note(
        self, blamed: Blamed, noted: RunNoted, now: datetime
    ) -> list[tuple[str, HeldCoder | None]]:
        """Take in how a run ended. Which names are held anew or again, or (None) no more."""
        changes = self._circuits.apply(blamed.events(noted), now)
        return [
            (name, held_coder(name, fresh))
            for name, (before, fresh) in changes.items()
            if (fresh.fault, fresh.until) != (before.fault, before.until)
        ]

    def hear(self, name: str, event: CircuitEvent, now: datetime) -> HeldCoder | None:
        """Take in what another host tells of a circuit; the coder that is held anew by that."""
        for before, fresh in self._circuits.apply({name: event}, now).values():
            if fresh.fault is not None and before.fault is None:
                return held_coder(name, fresh)
        return None

    def reset(self, coder: str, now: datetime) -> bool:
        """Give a coder work again, with all models. False: the coder was not held."""
        return self._reset(lambda held: coder in (held.coder, held.name), now)

    def reset_login(self, blamed: Blamed, now: datetime) -> bool:
        """Give an account work again whose login was refused. False: the account was not held."""
        return self._reset(lambda held: held.name == blamed.login and bool(held.account), now)

    def _reset(self, meant: Callable[[HeldCoder], bool], now: datetime) -> bool:
        names = [held.name for held in self.held() if meant(held)]
        self._circuits.apply(dict.fromkeys(names, CircuitReset()), now)
        return bool(names)
