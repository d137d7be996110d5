"""Reads what a run prints: lines become events, and events become totals and `events.jsonl`.

The supervisor follows a living run with it; `fleet stop` reads a run with it that ended while no
supervisor was there. Each event is written once, however often the reader is replaced.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from fleet.coders.base import Coder
from fleet.coders.stream.run_totals import RunTotals, TokenTotals
from fleet.coders.stream.tool_calls import command_of
from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.files.tail import Follower, StreamLine
from fleet.runs import event_log
from fleet.runs.run_directory import Run, RunSpec
from fleet.schemas import Event, RateLimit
from fleet.tripwire.rules import Trip, trips

#: How many calls are remembered as checked: the second line about a call comes soon.
_MOST_CALLS = 1000
#: How often the coder's second stream is looked for.
_LOOK_AGAIN = timedelta(seconds=1)


class EventWriter:
    """Appends the events of one run to `events.jsonl`, each of them once."""

    def __init__(self, run: Run, *, adopted: bool) -> None:
        # Kept, since each line of each stream asks for them.
        self._task_dir, self._number = run.task_dir, run.number
        #: How far stdout and the second stream were written down before, and are now.
        self._before = self._at = event_log.written(run) if adopted else (0, 0)

    def put_line(self, lines: bytearray, event: Event, at: int, *, second: bool) -> bool:
        """Put the line of an event that ends at this offset behind others. False: the line was
        written before.
        """
        if at <= self._before[second]:
            return False
        self._at = (self._at[0], at) if second else (at, self._at[1])
        event_log.put_line(lines, event, self._number, self._at)
        return True

    def note_line(self, kind: str, now: datetime, facts: Mapping[str, object]) -> bytes:
        return event_log.note_of(kind, self._number, {"ts": now, **facts})

    def write(self, lines: bytes | bytearray) -> None:
        with suppress(OSError):  # the disk is full; the raw stream has them
            event_log.add(self._task_dir, lines)


class TripwireWatch:
    """Checks the commands of one run against the tripwire's rules, each call once."""

    def __init__(self, spec: RunSpec, *, can_refuse: bool) -> None:
        self._cwd = spec.cwd or "/"
        self._mode = spec.policy.tripwire
        self._refuses = self._mode == "refuse" and can_refuse
        self._checked: set[str] = set()
        #: Destructive commands that are not reported yet, and whether the hook refuses them.
        self.unreported: list[tuple[Trip, bool]] = []

    def check(self, event: Event) -> list[dict[str, object]]:
        """What the rules say about the commands of an event, as facts for notes."""
        facts: list[dict[str, object]] = []
        for call in event.calls if self._mode != "off" else ():
            command = command_of(call)
            if command is None or call.id in self._checked:
                continue
            if len(self._checked) >= _MOST_CALLS:
                self._checked.clear()
            self._checked.add(call.id)
            for trip in trips(command, self._cwd):
                refusing = self._refuses and trip.grade == "high"
                facts.append({**trip._asdict(), "tool": call.name, "refusing": refusing})
                self.unreported += [(trip, refusing)] if trip.grade == "high" else []
        return facts


class RunStream:
    """The streams of one run, and what they told so far."""

    def __init__(
        self,
        run: Run,
        spec: RunSpec,
        coder: Coder,
        env: Mapping[str, str],
        *,
        adopted: bool,
        mask: Callable[[bytes], bytes] = bytes,
    ) -> None:
        #: Makes secrets unreadable in a line, before anything is made of the line.
        self._mask = mask
        self._coder = coder
        self._spec = spec
        self._env = env
        self.totals = RunTotals(tokens=TokenTotals(before=spec.before))
        self.events = EventWriter(run, adopted=adopted)
        self.tripwire = TripwireWatch(spec, can_refuse=coder.can_refuse)
        #: Lines that the coder could read, whether or not they were of interest.
        self.heard = 0
        self.last_event_at: datetime | None = None
        #: The last event that tells what the agent did.
        self.last_step: Event | None = None
        #: The last word on each limit that the run's account was already charged with, by kind.
        self.limits_applied: dict[str, RateLimit] = {}
        #: Why the streams cannot be read any more; empty while they can.
        self.trouble = ""
        self._stdout = Follower(run.stdout)
        self._second: Follower | None = None
        self._look_for_second_at: datetime | None = None

    @property
    def places(self) -> tuple[int, int]:
        """How far both streams were read: any byte is a sign of life."""
        return self._stdout.place, self._second.place if self._second else 0

    @property
    def behind(self) -> bool:
        """There is more to read."""
        second = self._second is not None and self._second.behind
        return not self.trouble and (self._stdout.behind or second)

    @property
    def more(self) -> bool:
        """The last call of `read` did not reach the end."""
        second = self._second is not None and self._second.more
        return not self.trouble and (self._stdout.more or second)

    def read(self, now: datetime) -> list[Event]:
        """Read a portion of what is new. Returns the events in it."""
        events: list[Event] = []
        try:
            events += self._take(self._stdout.offset, self._stdout.read(), now)
            events += self._read_second(now)
        except (InvalidTask, OSError) as error:
            self.trouble = str(error)  # the agent put something else in the place of its stream
        return events

    def finish(self, now: datetime) -> None:
        """Read all that is left, once the run is over."""
        self._look_for_second_at = None
        self.read(now)  # and look for the second stream a last time
        before = (-1, -1)
        while self.behind and self.places != before:
            before = self.places
            self.read(now)
        if not self.trouble:
            self._take(self._stdout.offset, self._stdout.finish(), now)
            if self._second is not None:
                self._take(self._second.offset, self._second.finish(), now, second=True)

    def note(self, kind: str, now: datetime, **facts: object) -> None:
        """Write an event of fleet's own among those of the agent."""
        self.events.write(self.events.note_line(kind, now, facts))

    def _read_second(self, now: datetime) -> list[Event]:
        """Read the coder's second stream, once the session is known and the file is there."""
        due = self._look_for_second_at is None or now >= self._look_for_second_at
        session_id = self.totals.session_id
        if self._second is None and session_id and due:
            self._look_for_second_at = now + _LOOK_AGAIN
            place = self._coder.second_stream(session_id, self._env)
            found = AgentPlace(place[0]).files(place[1]) if place else []
            # A resumed session may go on in the file that it began.
            begin = self._spec.second_from if session_id == self._spec.resumes else 0
            self._second = Follower(found[0], begin) if found else None
        if self._second is None:
            return []
        return self._take(self._second.offset, self._second.read(), now, second=True)

    def _take(
        self, at: int, lines: Iterable[StreamLine], now: datetime, *, second: bool = False
    ) -> list[Event]:
        """Make events of lines that begin at an offset of their stream, and write them down."""
        fresh, events = bytearray(), list[Event]()
        count = self.totals.events
        mask, read, put_line = self._mask, self._coder.read, self.events.put_line
        for line in lines:
            at += len(line.data) + line.dropped + line.whole
            event = read(mask(line.data).decode(errors="replace"), now, second=second)
            if event is None:
                self.heard += bool(line.data.strip())
                continue
            self.heard += event.kind != "bad"
            sound = self._add(event)
            if sound:
                events.append(event)
            if sound and (event.calls or event.kind == "assistant_text"):
                self.last_step = event
            if not put_line(fresh, event, at, second=second):
                self.limits_applied |= self.totals.limits  # by the reader that wrote the line
                continue
            if sound and event.calls:
                for facts in self.tripwire.check(event):
                    fresh += self.events.note_line("fleet_tripwire", now, facts)
        if fresh:
            self.events.write(fresh)
        if self.totals.events > count:
            self.last_event_at = now
        return events

    def _add(self, event: Event) -> bool:
        """Add an event to the totals. False: a coder filled in what no event may hold."""
        try:
            self.totals.add(event)
        except (TypeError, AttributeError, ValueError) as error:
            # A coder may be foreign code; what it makes of one line must not end the run.
            self.totals.add(Event(kind="bad", text=f"{type(error).__name__}: {error}"))
            return False
        return True
