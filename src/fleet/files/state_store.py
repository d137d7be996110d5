"""`StateStore`: states by name, in a JSON file that several processes change by events."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import stamp_of

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")


class StateStore(Generic[StateT, EventT]):
    """The states in one file.

    `after(state, event, now)` is applied to the file as it is at that moment, under its lock. A
    name without a state has the state `empty`, and an empty state is not kept. A damaged file
    counts as one without states.

    A change that cannot be written holds in this process, and reaches the disk with the next one
    that can be. `apply` raises the OSError, or calls `on_error` with the first of several.
    """

    def __init__(
        self,
        path: Path,
        kind: type[dict[str, StateT]],
        *,
        after: Callable[[StateT, EventT, datetime], StateT],
        empty: StateT,
        on_error: Callable[[OSError], None] | None = None,
    ) -> None:
        self._path, self._record = path, JsonRecord(kind)
        self._states: dict[str, StateT] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._after, self._empty = after, empty
        self._on_error, self._failing = on_error, False

    @property
    def states(self) -> Mapping[str, StateT]:
        """Every state that is not empty, by name. Costs one stat while the file is the same."""
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._states = self._record.read_or_none(self._path) or {}
        return self._states

    def state(self, name: str) -> StateT:
        return self.states.get(name, self._empty)

    def apply(
        self, events: Mapping[str, EventT], now: datetime, *, durable: bool = True
    ) -> dict[str, tuple[StateT, StateT]]:
        """Change the named states; returns those that differ, as before and after."""
        changes = self._changes(events, now)
        if not changes:
            return {}
        try:
            with exclusive(self._path.with_suffix(".lock")):
                changes = self._changes(events, now)
                fresh = self._with(changes)
                self._record.write(self._path, fresh, durable=durable)
                self._stamp = stamp_of(self._path)
        except OSError as error:
            self._states = self._with(changes)
            if self._on_error is None:
                raise
            if not self._failing:
                self._on_error(error)
            self._failing = True
        else:
            self._states, self._failing = fresh, False
        return changes

    def _changes(
        self, events: Mapping[str, EventT], now: datetime
    ) -> dict[str, tuple[StateT, StateT]]:
        states = self.states
        before = {name: states.get(name, self._empty) for name in events}
        after = {name: self._after(before[name], event, now) for name, event in events.items()}
        return {name: (before[name], after[name]) for name in events if after[name] != before[name]}

    def _with(self, changes: Mapping[str, tuple[StateT, StateT]]) -> dict[str, StateT]:
        fresh = {**self._states, **{name: after for name, (_, after) in changes.items()}}
        return {name: state for name, state in fresh.items() if state != self._empty}
