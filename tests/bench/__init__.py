"""Figures that we defend, as ratios of one run, so that they mean the same on any machine.

A module of this package gives `figures()`, and `python -m tests.bench` prints them all.
"""

import os
import statistics
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

# Figures are those of the disk that people have: tests put their files into memory.
os.environ.setdefault("TMPDIR", tempfile.gettempdir())
# And those of modules that were compiled before, as an installation has them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class Figure(NamedTuple):
    name: str
    value: float
    goal: float
    #: The goal is a ceiling and not a floor.
    at_most: bool = False
    #: The absolute numbers behind a ratio, and what was measured with.
    detail: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def seconds(work: Callable[[], None]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def side_by_side(
    ours: Callable[[], None],
    bare: Callable[[], None],
    *,
    before: Callable[[], None] = lambda: None,
    rounds: int = 41,
) -> tuple[float, float, float]:
    """How fast ours is as a share of bare, and the median seconds of both.

    They take turns, and the first to go changes each round, so that a busy neighbour or a warm
    disk favours neither. The ratio is the median of the rounds' ratios.
    """
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        before()
        if number % 2:
            mine = seconds(ours)
            theirs = seconds(bare)
        else:
            theirs = seconds(bare)
            mine = seconds(ours)
        pairs.append((mine, theirs))
    pairs = pairs[1:]  # the first round warms up
    ratio = statistics.median(theirs / mine for mine, theirs in pairs)
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    return ratio, mine, theirs
