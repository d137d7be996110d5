"""Holds what a run has used against the limits: first a warning, then the run's end. Pure."""

from msgspec import Struct

from fleet.schemas import LimitExceeded, LimitName, Limits
from fleet.schemas.units import shown_size, shown_span

#: From this share of a limit on a warning is given, in percent.
SOFT = 80
#: The text for a limit that was passed.
OVER = "over its limit"
#: Limits that protect the machine: a run that passes one is killed without a grace.
AT_ONCE: frozenset[LimitName] = frozenset({"output", "memory", "processes"})


class Used(Struct, frozen=True, kw_only=True):
    """What a run has used; a figure that is not known is 0."""

    #: Seconds on the monotonic clock.
    time: float = 0.0
    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    output: int = 0
    memory: int = 0
    processes: int = 0


class Mark(Struct, frozen=True):
    """A limit that is near, or was passed."""

    limit: LimitName
    percent: int

    def __str__(self) -> str:
        over = self.percent > 100
        return f"{self.limit} {OVER}" if over else f"{self.limit} {self.percent} %"


_NAMES: tuple[LimitName, ...] = (
    "time", "turns", "tokens", "cost", "output", "memory", "processes",
)  # fmt: skip


def near(used: Used, limits: Limits) -> tuple[Mark, ...]:
    """The limits that are nearly used up, or are."""
    marks = (Mark(name, int(100 * _share(used, limits, name))) for name in _NAMES)
    return tuple(mark for mark in marks if mark.percent >= SOFT)


def exceeded(used: Used, limits: Limits) -> LimitExceeded | None:
    """The limit that was passed, if one was."""
    for name in _NAMES:
        if _share(used, limits, name) >= 1:
            return LimitExceeded(limit=name, detail=_words(used, limits, name))
    return None


def _share(used: Used, limits: Limits, name: LimitName) -> float:
    return float(getattr(used, name)) / float(getattr(limits, name))


def _words(used: Used, limits: Limits, name: LimitName) -> str:
    may = limits.shown()[name]
    match name:
        case "time":
            return f"it ran for {shown_span(used.time)}; its limit is {may}"
        case "cost":
            return f"it cost ${used.cost:.2f}; its limit is {may}"
        case "output":
            return f"it printed {shown_size(used.output)}; its limit is {may}"
        case "memory":
            return f"it held {shown_size(used.memory)} of memory; its limit is {may}"
        case "processes":
            return f"it had {used.processes} processes; its limit is {may}"
        case _:
            return f"it took {getattr(used, name):,} {name}; its limit is {may}"
