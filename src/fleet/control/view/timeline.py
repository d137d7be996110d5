"""A night at a glance: what ran in which slot, what waited, and what kept fleet from working."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

SegmentKind = Literal["run", "wait"]
BandKind = Literal["account", "budget", "supervisor", "paused"]


class Segment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of one task's time: a run, or the wait for one."""

    task_id: str
    title: str = ""
    kind: SegmentKind
    start: datetime
    #: None: the stretch goes on.
    end: datetime | None = None
    run: int | None = None
    coder: str = ""
    model: str = ""
    account: str = ""
    #: The outcome by name, like `Finished` or `Failed (auth)`; empty: the run goes on, or this is a
    #: wait.
    outcome: str = ""
    why: str = ""
    verdict: str = ""


class Lane(Struct, frozen=True, kw_only=True):
    """One slot: segments that do not overlap."""

    number: int
    segments: tuple[Segment, ...] = ()


class Band(Struct, frozen=True, kw_only=True):
    """A stretch in which something kept tasks from running."""

    kind: BandKind
    name: str
    start: datetime
    end: datetime | None = None
    why: str = ""


class Timeline(Struct, frozen=True, kw_only=True):
    """Runs and waits between two moments."""

    as_of: datetime
    start: datetime
    end: datetime
    lanes: tuple[Lane, ...] = ()
    #: Tasks that could have run and waited: apart from the lanes.
    waits: tuple[Segment, ...] = ()
    bands: tuple[Band, ...] = ()
    #: Runs that are not shown, since there are too many.
    more: int = 0
