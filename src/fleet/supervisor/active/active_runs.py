"""The runs that live: their streams followed, their keepers waited for, their limits minded."""

import selectors
import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from fleet.errors import InvalidTask
from fleet.files.file_lock import locked
from fleet.files.inotify import Watch
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import Orphaned, Running
from fleet.runs import stop_reason
from fleet.runs.run_directory import Run
from fleet.schemas import ContextFull, Outcome
from fleet.supervisor.active.active_run import Damaged, Live, Over

#: A run that could not be concluded (a full disk) is tried again this often, in seconds.
TRY_AGAIN = 1.0


class Runs:
    """All living runs of one supervisor, by task id."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        clock: Callable[[], datetime],
        *,
        ended: Callable[[Live, Over], bool],
        vanished: Callable[[Live], None],
        failed: Callable[[Live, OSError], None],
    ) -> None:
        self._selector = selector
        self._now = clock
        #: A run is over, and all that it printed is read. False: it is being looked at, and is to
        #: be asked for again. It may raise OSError: once more later.
        self._ended = ended
        #: A keeper is gone, and it is not known yet what became of the run.
        self._vanished = vanished
        self._failed = failed
        self._watch = Watch()
        #: Those of whom something came with the last look at the streams.
        self.grown: list[Live] = []
        self._lives: dict[str, Live] = {}
        #: Those whose streams hold more than was read, and those that are over.
        self._behind: set[str] = set()
        self._stuck: dict[str, float] = {}
        #: When those are told to end that were told by somebody before us, or were not.
        self._reminders: dict[str, float] = {}
        watching = self._watch.fileno()
        if watching is not None:
            selector.register(watching, selectors.EVENT_READ, _nothing)

    def __len__(self) -> int:
        return len(self._lives)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._lives.values()))

    def get(self, task_id: str) -> Live | None:
        return self._lives.get(task_id)

    def attend(self, live: Live) -> None:
        """From now on look after this run: one that lives, or one that is over by now."""
        self._lives[live.task_id] = live
        self._behind.add(live.task_id)
        if live.over is None:
            self._watch.add(live.run.path)
            fd = live.keeper.fileno() if live.keeper else None
            if fd is not None:
                self._selector.register(fd, selectors.EVENT_READ, partial(self._see_end, live))

    def follow(self, threshold_pct: int) -> list[Live]:
        """Read what is new in the streams; the runs whose context is too full to go on."""
        grown = {directory.parent.parent.name for directory in self._watch.changed(0)}
        full: list[Live] = []
        self.grown.clear()
        for task_id in sorted(grown | self._behind):
            live = self._lives.get(task_id)
            self._behind.discard(task_id)
            if live is not None:
                self.grown.append(live)  # what it prints on stderr is nothing to read, but counts
            if live is None or not live.behind:
                continue  # another of its files has changed
            live.read(self._now())
            if live.more:
                self._behind.add(task_id)
            if live.verdict is None and live.over is None and _too_full(live, threshold_pct):
                full.append(live)
        self._look_at_ends()
        return full

    @property
    def next_moment(self) -> float:
        """When there is something to do that nothing rings for, on the monotonic clock."""
        if self._behind:
            return 0.0
        return min((*self._stuck.values(), *self._reminders.values()), default=float("inf"))

    def stop(self, live: Live, why: Outcome, *, now: bool = False) -> None:
        """End a run for a reason of ours. The first reason stands; later calls may be harsher."""
        if live.looking is not None:
            live.looking.set()
        if live.verdict is not None and not now:
            return  # it was told; to be told twice means at once
        if live.verdict is None:
            live.verdict = why
            live.cut_off = live.trail.at_work
            try:
                stop_reason.record(live.run, why)
            except OSError as error:
                self._failed(live, error)  # it only matters if we die before the run has
        if live.looking is None and live.keeper is not None:
            # Not by what it has written: it may be just about to write that it has started.
            process_identity.send(live.keeper.who, signal.SIGINT if now else signal.SIGTERM)

    def remind(self, live: Live, seconds: float) -> None:
        """Tell a run to end that should have ended by then, if it was told before."""
        self._reminders[live.task_id] = time.monotonic() + seconds

    def close(self) -> None:
        """Stop looking. The runs themselves go on."""
        self._watch.close()

    def _look_at_ends(self) -> None:
        for task_id, due in list(self._reminders.items()):
            live = self._lives.get(task_id)
            if live is None or time.monotonic() >= due:
                del self._reminders[task_id]
                if live is not None and live.keeper is not None:
                    process_identity.send(live.keeper.who, signal.SIGTERM)
        for live in self:
            if live.over is None and (live.keeper is None or live.keeper.fileno() is None):
                self._see_end(live)  # no pidfd on this system: ask
            looked_at = live.looking is not None and live.found is None
            if live.over is not None and live.task_id not in self._behind and not looked_at:
                self._conclude(live, live.over)

    def _see_end(self, live: Live) -> None:
        if live.keeper is not None:
            if not live.keeper.ended():
                return
            fd = live.keeper.fileno()
            if fd is not None:
                self._selector.unregister(fd)
            live.keeper.close()
        self._watch.drop(live.run.path)
        # Whoever stopped it behind our back, with the brake, left word of it.
        live.verdict = live.verdict or stop_reason.read(live.run)
        state = state_now(live.run)
        if isinstance(state, Over):
            live.over = state
            self._behind.add(live.task_id)
        else:
            del self._lives[live.task_id]
            self._vanished(live)

    def _conclude(self, live: Live, state: Over) -> None:
        if time.monotonic() < self._stuck.get(live.task_id, 0.0):
            return
        try:
            if not self._ended(live, state):
                return
        except OSError as error:
            if live.task_id not in self._stuck:
                self._failed(live, error)
            self._stuck[live.task_id] = time.monotonic() + TRY_AGAIN
            return
        self._stuck.pop(live.task_id, None)
        del self._lives[live.task_id]


def state_now(run: Run) -> Over | Running | Orphaned:
    """What became of a run, as far as that is known at once. Only for the lease's holder."""
    try:
        return keeper_client.state_of(run, patience=0)
    except InvalidTask as error:
        with locked(run.lock) as lock:
            if lock is None:  # whoever holds it lives: what cannot be read will have an end
                return Running(None)
            run.fence()
            return Damaged(error.message)


def _too_full(live: Live, threshold_pct: int) -> bool:
    full = context_of(live)
    assert full.tokens is not None
    assert full.window is not None
    return full.tokens * 100 >= full.window * threshold_pct


def context_of(live: Live) -> ContextFull:
    """How full the agent's context is, by its stream, or else by its coder's own figure."""
    window = live.reading.context_window or live.coder.context_limit
    return ContextFull(tokens=live.reading.context_tokens or 0, window=window)


def _nothing() -> None:
    pass
