"""One run that lives: its stream read into events, and what is known of it so far."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.coders.base import Coder
from fleet.coders.stream.run_totals import RunTotals
from fleet.coders.stream.tool_calls import command_of
from fleet.errors import InvalidTask
from fleet.files.tail import Follower, Line
from fleet.processes.keeper_client import Ended, Keeper, NeverStarted, Vanished
from fleet.runs import event_log as events
from fleet.runs import progress_json, stop_reason
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run, Spec
from fleet.schemas import Event, Lease, Outcome, Policy, RateLimit, Spend, Usage
from fleet.schemas.budget import spend_of
from fleet.spending.prices import Prices
from fleet.tripwire.rules import Trip, trips
from fleet.watchdog.stall_rules import FINE

if TYPE_CHECKING:
    import threading

    from fleet.evidence.inspect_run import Inspection

_NO_WISHES = Policy()
_LIST_PRICES = Prices()
#: So many calls are remembered as judged: a call's second line comes soon.
_MOST_CALLS = 1000
#: How often the coder's second stream is looked for.
_LOOK_AGAIN = timedelta(seconds=1)


class Damaged(Struct, frozen=True, tag=True):
    """Nothing of the run lives, and what was written of it cannot be read."""

    why: str


#: How the processes of a run ended.
Over = Ended | Vanished | NeverStarted | Damaged


class Live:
    """A run between its start and its settlement."""

    def __init__(
        self,
        lease: Lease,
        run: Run,
        coder: Coder,
        *,
        env: Mapping[str, str],
        adopted: bool = False,
        artifacts: str = "",
        policy: Policy = _NO_WISHES,
        spec: Spec | None = None,
    ) -> None:
        self.lease = lease
        self.run = run
        #: Another supervisor, or this one before, had it; it may have written of it already.
        self.adopted = adopted
        self.coder = coder
        self.keeper: Keeper | None = None
        #: The session that it carries on; empty if it began its own.
        self._resumes = spec.resumes if spec else ""
        self.reading = RunTotals(before=spec.before if spec else Usage())
        #: What the agent did so far.
        self.trail = self.reading.tools
        #: The rules that it is held to.
        self.policy = policy
        #: What its tokens cost, where its CLI does not say it.
        self.prices = _LIST_PRICES
        #: The directory that its task was made for.
        self.project = lease.task.cwd or (spec.cwd if spec else "")
        #: The login or key that it is on; and what was taken in for it.
        self.account = (spec.account if spec else "") or coder.name
        self.fed: dict[str, RateLimit] = {}
        #: Its model has answered.
        self.answered = False
        #: Where it works.
        self.cwd = spec.cwd if spec else ""
        #: How it stands, for people.
        self.stand = FINE
        self.until: datetime | None = None
        self.near: tuple[str, ...] = ()
        #: What was open when we ended it.
        self.cut_off: tuple[str, ...] = ()
        #: Lines of its stream that its coder could read, whether or not they were of interest.
        self.heard = 0
        #: Why we ended it; None while it goes its own way.
        self.verdict: Outcome | None = stop_reason.read(run) if adopted else None
        #: How its processes ended; None while they live.
        self.over: Over | None = None
        #: Set to have it left: somebody beside the loop looks at what it left behind.
        self.looking: threading.Event | None = None
        #: What they found.
        self.found: Inspection | None = None
        #: Why it could not even be tried; for the words.
        self.trouble = ""
        #: The queue was asked to renew the lease, and has not answered yet.
        self.renewing = False
        #: Until when the lease is ours for certain, on a clock that counts while we sleep.
        self.held_until: float | None = None
        #: The artifacts as the run found them.
        self.artifacts = artifacts
        self.last_event_at: datetime | None = None
        #: Destructive commands that nobody has told of yet, and whether its hook refuses them.
        self.tripped: list[tuple[Trip, bool]] = []
        self._judged: set[str] = set()
        #: Events that could not be written down.
        self.unwritten = 0
        self.env = env
        self._stdout = Follower(run.stdout)
        self._second: Follower | None = None
        self._second_from = spec.second_from if spec else 0
        self._look_at: datetime | None = None
        #: How far the streams were written down before, and are now.
        self._written = self._at = events.written(run) if adopted else (0, 0)
        self._unreadable = False
        self._published: Progress | None = None

    @property
    def task_id(self) -> str:
        return self.lease.task.id

    @property
    def resumed(self) -> bool:
        return bool(self._resumes)

    @property
    def estimated_usd(self) -> float | None:
        """What it cost so far by its tokens; None if its CLI told, or there is no price."""
        reading = self.reading
        if reading.cost_usd is not None:
            return None
        return self.prices.estimate(reading.usage, reading.model or self.coder.model)

    @property
    def spend(self) -> Spend:
        """What it used so far."""
        reading = self.reading
        told, estimated = reading.cost_usd, self.estimated_usd
        if told is None and not reading.usage.total:
            return Spend(runs=1)  # it has not told yet, and nobody can blame it for that
        return spend_of(tokens=reading.usage.total, told=told, estimated=estimated)

    @property
    def places(self) -> tuple[int, int]:
        """How far its streams were read: any byte is a sign of life."""
        return self._stdout.place, self._second.place if self._second else 0

    def printed(self) -> int:
        """Bytes on stdout and stderr."""
        return sum(_size(path) for path in (self.run.stdout, self.run.stderr))

    @property
    def behind(self) -> bool:
        """There is more to read."""
        second = self._second is not None and self._second.behind
        return not self._unreadable and (self._stdout.behind or second)

    @property
    def more(self) -> bool:
        """The last helping was not all."""
        second = self._second is not None and self._second.more
        return not self._unreadable and (self._stdout.more or second)

    def read(self, now: datetime) -> None:
        """Take in a helping of what is new."""
        try:
            self._take(self._stdout.offset, self._stdout.read(), now)
            self._read_second(now)
        except (InvalidTask, OSError) as error:
            self._unreadable = True  # the agent put something else in the place of its stream
            self.trouble = str(error)

    def finish(self, now: datetime) -> None:
        """Take in all that is left, once the run is over."""
        self._look_at = None
        self.read(now)  # and looks for the second stream a last time
        before = (-1, -1)
        while self.behind and self.places != before:
            before = self.places
            self.read(now)
        if not self._unreadable:
            self._take(self._stdout.offset, self._stdout.finish(), now)
            if self._second is not None:
                self._take(self._second.offset, self._second.finish(), now, second=True)

    def note(self, kind: str, now: datetime, **facts: object) -> None:
        """An event of fleet's own among those of the agent."""
        self._write(events.note_of(kind, self.run.number, {"ts": now, **facts}), 1)

    def progress(self) -> Progress:
        reading = self.reading
        return Progress(
            coder=self.coder.name,
            model=reading.model or self.coder.model,
            events=reading.events,
            tool_calls=reading.tools.count,
            context_tokens=reading.context_tokens or 0,
            context_peak=reading.context_peak,
            context_window=reading.context_window or self.coder.context_limit,
            tokens=reading.usage.total,
            cost_usd=reading.cost_usd,
            estimated_usd=self.estimated_usd,
            last_event_at=self.last_event_at,
            doing=self._doing,
            rung=self.stand.rung,
            why=self.stand.why,
            until=self.until,
            near=self.near,
        )

    @property
    def _doing(self) -> str:
        if self.looking is not None:
            return "Verifying"
        return type(self.verdict).__name__ if self.verdict else ""

    def publish(self) -> None:
        """Leave word for `fleet tasks`, if there is news. Not durable: it can be read again."""
        progress = self.progress()
        if progress == self._published:
            return
        progress_json.write(self.run, progress)
        self._published = progress

    def _read_second(self, now: datetime) -> None:
        """The coder's second stream, once its session is known and the file is there."""
        due = self._look_at is None or now >= self._look_at
        if self._second is None and self.reading.session_id and due:
            self._look_at = now + _LOOK_AGAIN
            place = self.coder.second_stream(self.reading.session_id, self.env)
            found = sorted(place[0].glob(place[1])) if place else []
            # A session that is carried on may go on in the file that it began.
            begin = self._second_from if self.reading.session_id == self._resumes else 0
            self._second = Follower(found[0], begin) if found else None
        if self._second is not None:
            self._take(self._second.offset, self._second.read(), now, second=True)

    def _take(self, at: int, lines: Iterable[Line], now: datetime, *, second: bool = False) -> None:
        """Make events of lines that begin at an offset of their stream, and write them down."""
        encoded: list[bytes] = []
        seen, run, written = self.reading.events, self.run.number, self._written[second]
        for line in lines:
            at += len(line.data) + line.dropped + line.whole
            event = self.coder.read(line.data.decode(errors="replace"), now, second=second)
            self.heard += bool(line.data.strip()) and (event is None or event.kind != "bad")
            if event is None:
                continue
            sound = self._add(event)
            if at > written:
                self._at = (self._at[0], at) if second else (at, self._at[1])
                encoded.append(events.line_of(event, run, self._at))
                encoded += self._trip(event, now) if sound and event.calls else []
            else:
                self.fed |= self.reading.limits  # whoever wrote it down took it in, too
        if encoded:
            self._write(b"".join(encoded), len(encoded))
        if self.reading.events > seen:
            self.last_event_at = now

    def _trip(self, event: Event, now: datetime) -> list[bytes]:
        """What the tripwire has to say to the commands of an event, as notes on it."""
        notes: list[bytes] = []
        for call in event.calls if self.policy.tripwire != "off" else ():
            command = command_of(call)
            if command is None or call.id in self._judged:
                continue
            if len(self._judged) >= _MOST_CALLS:
                self._judged.clear()
            self._judged.add(call.id)
            for trip in trips(command, self.cwd or "/"):
                refuses = self.policy.tripwire == "refuse" and self.coder.can_refuse
                refusing = refuses and trip.grade == "high"
                facts = {**trip._asdict(), "tool": call.name, "refusing": refusing}
                notes.append(
                    events.note_of("fleet_tripwire", self.run.number, {"ts": now, **facts})
                )
                self.tripped += [(trip, refusing)] if trip.grade == "high" else []
        return notes

    def _add(self, event: Event) -> bool:
        """Take an event in. False: it is none that can be worked with."""
        try:
            self.reading.add(event)
        except (TypeError, AttributeError, ValueError) as error:
            # Anybody's coder may fill in anything; what it says of one line is not the run.
            self.reading.add(Event(kind="bad", text=f"{type(error).__name__}: {error}"))
            return False
        return True

    def _write(self, lines: bytes, count: int) -> None:
        try:
            events.add(self.run.task_dir, lines)
        except OSError:
            self.unwritten += count  # a full disk costs events; the raw stream has them


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
