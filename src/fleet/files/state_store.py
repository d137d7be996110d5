"""`StateStore`: states by name, in a JSON file that several processes change by events."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

from fleet.files.json_record import JsonRecord, SharedRecord

State = TypeVar("State")
Event = TypeVar("Event")


class StateStore(Generic[State, Event]):
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
        kind: type[dict[str, State]],
        *,
        after: Callable[[State, Event, datetime], State],
        empty: State,
        on_error: Callable[[OSError], None] | None = None,
    ) -> None:
        self._record: SharedRecord[dict[str, State]] = SharedRecord(path, JsonRecord(kind), {})
        self._after, self._empty = after, empty
        self._on_error, self._failing = on_error, False

    @property
    def states(self) -> Mapping[str, State]:
        """Every state that is not empty, by name."""
        return self._record.value

    def state(self, name: str) -> State:
        return self.states.get(name, self._empty)

    def apply(
        self, events: Mapping[str, Event], now: datetime, *, durable: bool = True
    ) -> dict[str, tuple[State, State]]:
        """Change the named states; returns those that differ, as before and after."""
        changes: dict[str, tuple[State, State]] = {}

        def change(states: dict[str, State]) -> dict[str, State]:
            changes.clear()
            for name, event in events.items():
                before = states.get(name, self._empty)
                after = self._after(before, event, now)
                if after != before:
                    changes[name] = (before, after)
            fresh = {**states, **{name: after for name, (_, after) in changes.items()}}
            return {name: state for name, state in fresh.items() if state != self._empty}

        try:
            self._record.update(change, durable=durable)
        except OSError as error:
            if self._on_error is None:
                raise
            if not self._failing:
                self._on_error(error)
            self._failing = True
        else:
            self._failing = self._failing and not changes
        return changes
