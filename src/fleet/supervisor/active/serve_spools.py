"""Serves the drop boxes of all runs: requests are read, carried out and answered beside the loop.

The loop only lists names. Threads do the rest: some for what takes this process or a program, and
one with a connection of its own to the queue. A run that floods its box waits for itself.
"""

import os
import selectors
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial

from msgspec import Struct, field, structs

from fleet.errors import FleetError
from fleet.files.inotify import DirectoryWatch
from fleet.queue import open_queue
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs import agent_claim
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.run_directory import Run
from fleet.spool.answer_request import RuledRequest, error_answer, rule, serve
from fleet.spool.asker import Asker, Served
from fleet.spool.drop_box import MESSAGES, AgentRequest, Answer, DropBox
from fleet.spool.post_messages import note_taken, post_messages
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import SupervisorState
from fleet.supervisor.worker_pool import WorkerPool

#: Requests of one run that are under way at once, and that begin in a second.
_AT_ONCE, _RATE = 8, 100.0
#: Threads for requests that need no connection to the queue. Most wait for a program.
_THREADS = 16
#: Requests that may be carried out again: a second time changes nothing.
_AGAIN = frozenset({"claim", "ask"})
#: Requests that mean nothing once the agent is gone.
_IDLE = frozenset({"read", "ask", "progress"})
#: The descriptor that the supervisor prints to.
_SCREEN = 1
#: Refusals of one run that are logged one by one; more say nothing new.
_LOGGED = 50
#: What the log says of the tool calls that people want to know of.
_SAID = {
    "fleet_asked": "asks: {question}",
    "fleet_parked": "parked with its question; it goes on with the answer",
    "fleet_proposed": "proposes {task}: {title}",
}
_UNCERTAIN = (
    "Error: the supervisor ended while it carried this out, so that it may be done or not."
    " Look before you repeat it.\n"
)


class ServedBox(Struct, eq=False):
    """The drop box of one run, and how far the requests are."""

    box: DropBox
    asker: Asker
    #: The agent's last claim, as this supervisor recorded it or found it recorded.
    said: AgentClaim
    run: ActiveRun
    #: Requests under way, those of them that the box was looked at for once more meanwhile, and
    #: requests that cannot be read or answered and are left.
    under_way: set[str] = field(default_factory=set[str])
    met_again: set[str] = field(default_factory=set[str])
    spoilt: set[str] = field(default_factory=set[str])
    #: What the agent left in the box when it ended; None: it has not ended.
    left: list[str] | None = None
    #: Requests that may begin now, and when that was reckoned.
    allowance: float = _RATE
    reckoned: float = 0.0
    refusals: int = 0
    watches_messages: bool = False

    def reckon(self, now: float) -> None:
        earned = (now - self.reckoned) * _RATE
        self.allowance, self.reckoned = min(_RATE, self.allowance + earned), now


class SpoolServer:
    """The boxes of all runs that the supervisor follows."""

    def __init__(self, state: SupervisorState, selector: selectors.BaseSelector) -> None:
        self._state, self._log = state, state.log
        self._boxes: dict[Run, ServedBox] = {}
        self._watch = DirectoryWatch()
        self._readers, self._trackers = WorkerPool(_THREADS), WorkerPool(1)
        self._queue: SqlQueue | None = None
        #: Boxes that are to be looked at without an event: full ones, and ones just opened.
        self._due: set[Run] = set()
        for pool in (self._readers, self._trackers):
            selector.register(pool, selectors.EVENT_READ, pool.deliver)
        if (watching := self._watch.fileno()) is not None:
            selector.register(watching, selectors.EVENT_READ, lambda: None)

    @property
    def next_moment(self) -> float:
        """When `look` has something to do without an event, on the monotonic clock."""
        return time.monotonic() + 1 / _RATE if self._due else float("inf")

    def attend(self, active: ActiveRun) -> None:
        """From now on serve the box of this run."""
        run, mark = active.run, active.spec.id
        if run in self._boxes:
            return
        try:
            box = DropBox(run.spool)
        except OSError as error:  # the run goes on, and its agent gets no answers
            text = f"{active.task_id}: its drop box cannot be used: {error.strerror}"
            self._log.say("spool", text, task_dir=run.task_dir)
            return
        said = agent_claim.read(run.path, by=mark) if active.adopted else AgentClaim()
        asker = Asker(
            home=self._state.home,
            config=self._state.config,
            task=active.task,
            run=run,
            mark=mark,
            mask=active.mask.text,
            on_terminal=os.isatty(_SCREEN),
        )
        self._boxes[run] = ServedBox(box, asker, said, active)
        self._watch.add(run.spool)
        self._watch_messages(run)
        self._due.add(run)
        for nonce in box.requests("taken") if active.adopted else ():  # a supervisor died over them
            box.answer(nonce, Answer(code=1, err=_UNCERTAIN))

    def look(self) -> None:
        """Begin with what is new in the boxes."""
        for folder in self._watch.changed(0):
            run = Run(folder.parent.parent if folder.name == MESSAGES else folder.parent)
            if run not in self._boxes:
                continue
            if folder.name == MESSAGES:
                note_taken(run, self._boxes[run].box)
            else:
                self._watch_messages(run)
            self._due.add(run)
        due, self._due = self._due, set()
        for run in due & self._boxes.keys():
            self._begin(run, self._boxes[run])

    def post(self, run: Run) -> None:
        """Put messages that wait for the task's agent into the box of the run."""
        if run in self._boxes:
            post_messages(run, self._boxes[run].box)

    def last_claim(self, run: Run, mark: str) -> AgentClaim | None:
        """What the agent of a run that has ended claimed, once all requests in the box are
        answered. None: that is under way; the caller asks again.
        """
        served = self._boxes.get(run)
        if served is None:
            return agent_claim.read(run.path, by=mark)
        if served.left is None:
            note_taken(run, served.box)
            served.left = [n for n in served.box.requests() if n not in served.under_way]
        # One after the other: of two claims the later one counts.
        if served.left and not served.under_way:
            self._submit(served, served.left.pop(0))
        return None if served.under_way else served.said

    def draining(self, run: Run) -> bool:
        """Requests that the agent left in the box are under way; their answer wakes the loop."""
        served = self._boxes.get(run)
        return served is not None and served.left is not None and bool(served.under_way)

    def keep(self, runs: Collection[Run]) -> None:
        """Serve the boxes of these runs, and no others any more."""
        for run in [each for each in self._boxes if each not in runs]:
            served = self._boxes[run]
            if served.under_way:  # a thread has its descriptor
                continue
            del self._boxes[run]
            self._due.discard(run)
            self._watch.drop(run.spool)
            if served.watches_messages:
                self._watch.drop(run.spool / MESSAGES)
            served.box.close()

    def close(self) -> None:
        """Stop watching. What waits in the boxes is for the next supervisor."""
        self._watch.close()

    def _watch_messages(self, run: Run) -> None:
        """Watch the directory of messages from the moment that there is one."""
        served = self._boxes[run]
        if served.watches_messages or not os.path.lexists(f"{run.spool}/{MESSAGES}"):
            return
        with served.box.messages() as folder:
            served.watches_messages = folder is not None
        if served.watches_messages:
            self._watch.add(run.spool / MESSAGES)
            note_taken(run, served.box)  # the agent may have been quicker

    def _begin(self, run: Run, served: ServedBox) -> None:
        if served.left is not None:
            return
        served.reckon(time.monotonic())
        for nonce in served.box.requests():
            if nonce in served.under_way:
                served.met_again.add(nonce)
                continue
            if nonce in served.spoilt:
                continue
            if len(served.under_way) >= _AT_ONCE or served.allowance < 1:
                self._due.add(run)
                return
            served.allowance -= 1
            self._submit(served, nonce)

    def _submit(self, served: ServedBox, nonce: str) -> None:
        served.under_way.add(nonce)
        asker = structs.replace(served.asker, config=self._state.config)
        see_to = partial(_see_to, served.box, nonce, asker, reads=served.left is None)
        self._readers.submit(see_to, partial(self._seen_to, served, nonce, asker))

    def _seen_to(self, served: ServedBox, nonce: str, asker: Asker, seen: "_Seen") -> None:
        if seen.ruled is not None:
            refused = seen.ruled.refused or (seen.served.refused if seen.served else "")
            if refused:
                self._log_refusal(served, seen.ruled.request, refused)
        if seen.gone:
            self._ended(served, nonce)
        elif seen.ruled is None or seen.served is not None:
            self._done(served, nonce, seen.served)
        else:
            carry_out = partial(_carry_out, served.box, nonce, seen.ruled, asker, self._tracker)
            self._trackers.submit(carry_out, partial(self._done, served, nonce))

    def _done(self, served: ServedBox, nonce: str, result: Served | None) -> None:
        self._ended(served, nonce)
        if result is None:
            served.spoilt.add(nonce)
        elif result.said is not None:
            served.said = result.said
        if result is not None and result.event:
            self._note(served.run, result.event, result.facts)

    def _ended(self, served: ServedBox, nonce: str) -> None:
        """Nothing is under way for a request any more. What came under the same name meanwhile was
        left then, and no event tells of it again.
        """
        served.under_way.discard(nonce)
        if nonce in served.met_again:
            served.met_again.discard(nonce)
            self._due.add(served.asker.run)

    def _note(self, run: ActiveRun, kind: str, facts: Mapping[str, object]) -> None:
        """Write down what an agent asked of people or reported as progress."""
        run.stream.note(kind, self._state.now(), **facts)
        if kind == "fleet_parked" and run.memory.parked_at is None:
            run.memory.parked_at = time.monotonic()
        if kind in _SAID:
            text = f"{run.task_id}: {_SAID[kind].format_map(facts)}"
            self._log.say(kind.removeprefix("fleet_"), text, task_dir=run.run.task_dir)

    def _log_refusal(self, served: ServedBox, request: AgentRequest, refused: str) -> None:
        served.refusals += 1
        if served.refusals > _LOGGED:
            return
        asker = served.asker
        line = " ".join((request.program, *request.args))[:200]
        text = f"{asker.task_id}: refused to the {asker.name}: {line!r}: {refused}"
        self._log.say("agent_refused", text, task_dir=asker.run.task_dir, by=asker.name)

    def _tracker(self) -> SqlQueue:
        """The queue of the tracker's thread, opened there with the first use."""
        if self._queue is None:
            queue = open_queue(self._state.home.path, self._state.config)
            assert isinstance(queue, SqlQueue)
            self._queue = queue
        return self._queue


class _Seen(Struct, frozen=True):
    """How far a request came without the queue. `ruled` is None: nothing to answer; `served` is
    None: the request waits for the tracker; `gone`: there is no request, or not yet.
    """

    ruled: RuledRequest | None = None
    served: Served | None = None
    gone: bool = False


def _see_to(box: DropBox, nonce: str, asker: Asker, *, reads: bool) -> _Seen:
    """In a thread: read a request, hold the request against the table, and carry out what takes no
    queue.

    Without `reads` the agent is gone, and what only it wanted to see is left.
    """
    try:
        data = box.read(nonce)
        if not data:  # the request is gone, or just being written
            return _Seen(gone=True)
        ruled = rule(data, asker)
    except Exception as error:  # noqa: BLE001 - what an agent wrote must not end the supervisor
        box.answer(nonce, _failed(error))
        return _Seen()
    if not reads and ruled.line is not None and ruled.line.kind in _IDLE:
        box.drop(nonce)
        return _Seen()
    if ruled.on_tracker:
        return _Seen(ruled)
    return _Seen(ruled, _carry_out(box, nonce, ruled, asker) or Served(answer=Answer(code=1)))


def _carry_out(
    box: DropBox,
    nonce: str,
    ruled: RuledRequest,
    asker: Asker,
    tracker: Callable[[], SqlQueue] | None = None,
) -> Served | None:
    """In a thread: carry out a request and put the answer into the box.

    A claim or question stays a request until it is recorded: the next supervisor can record it
    again. Any other request is marked as begun first, so that none is carried out twice.
    """
    may_repeat = ruled.line is not None and ruled.line.kind in _AGAIN
    if not may_repeat and not box.take(nonce):
        return None
    try:
        served = serve(ruled, asker, tracker)
    except Exception as error:  # noqa: BLE001 - what an agent wrote must not end the supervisor
        served = Served(answer=_failed(error))
    answered = box.answer(nonce, served.answer)
    return served if answered or served.said is not None else None


def _failed(error: Exception) -> Answer:
    if isinstance(error, FleetError):
        return error_answer(error)
    return Answer(code=1, err=f"Error: fleet failed at this: {type(error).__name__}: {error}\n")
