"""A second look at a run that has fallen silent: does any part of the run move?

Two samples some time apart, of the whole process tree and of the files around it. A sample is dear,
so it is taken only of suspected runs, by a worker thread. Comparing is pure.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fleet.files.agent_place import AgentPlace
from fleet.processes import process_usage
from fleet.processes.process_usage import ThreadTimes
from fleet.watchdog.stall_rules import SecondLook

#: Over this many seconds a tree that moves less than the figures below does not move; a shorter
#: look takes less of them. A CLI is never quite still: one that waited for a server that never
#: answered took half a second of CPU a minute (claude, codex) and 240 KB of I/O (codex), for its
#: timers and its log. Work is far above these, or shows in one of the other figures.
SPAN = 60.0
CPU = 3.0
IO = 2 << 20
#: The process table counts in hundredths of a second: less than three of them tells nothing.
_LEAST_CPU = 0.03
_LEAST_IO = 4 << 10
#: Entries of a directory tree that are looked at, those nearest to the top first.
MOST_ENTRIES = 4000
#: Folders that tools change, and agents do not work in.
_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "__pycache__"})


class Subject(Struct, frozen=True, kw_only=True):
    """The run that a sample is taken of."""

    #: The process that all of the run descends from.
    root: int
    cwd: str
    #: What it prints into.
    streams: tuple[Path, ...]
    #: Where the CLI keeps a record of the session: a directory and a pattern below.
    session_file: tuple[Path, str] | None = None


class Sample(Struct, frozen=True, kw_only=True):
    """The process tree and the files at one moment."""

    at: float
    cpu: float = 0.0
    #: Of each living thread, by its number.
    threads: Mapping[int, ThreadTimes] = {}
    io: int = 0
    received: int = 0
    pids: frozenset[int] = frozenset()
    #: When the last process below the agent began, in seconds since boot; 0 if there is none.
    youngest: float = 0.0
    printed: int = 0
    session_file: int = 0
    #: The last change below the working directory.
    changed: int = 0


def compare(before: Sample, after: Sample) -> SecondLook:
    """What moved from one sample to the other."""
    share = min(1.0, max(0.0, after.at - before.at) / SPAN)
    used = max(after.cpu - before.cpu, _wanted_cpu(before, after))
    moved = {
        "CPU": used >= max(CPU * share, _LEAST_CPU),
        "I/O": after.io - before.io >= max(IO * share, _LEAST_IO),
        "network": after.received > before.received,
        "processes": after.pids != before.pids,
        "output": after.printed != before.printed,
        "session file": after.session_file != before.session_file,
        "files": after.changed != before.changed,
    }
    return SecondLook(
        moved=tuple(name for name, has in moved.items() if has),
        session_file=moved["session file"],
        youngest=after.youngest,
    )


def _wanted_cpu(before: Sample, after: Sample) -> float:
    """The CPU that the threads would have used if none had waited for a core: on a busy machine a
    thread at work gets little, and its share of the time that it did not wait is what tells.
    """
    pairs = ((before.threads.get(thread), now) for thread, now in after.threads.items())
    elapsed = after.at - before.at
    return sum(_wanted(then, now, elapsed) for then, now in pairs if then is not None)


def _wanted(then: ThreadTimes, now: ThreadTimes, elapsed: float) -> float:
    ran, waited, turns = now.ran - then.ran, now.waited - then.waited, now.turns - then.turns
    if turns == 0 and ran == 0:  # a thread falls asleep on a core only
        return elapsed if then.ready and now.ready else 0.0
    # The kernel counts a wait when it ends: one that lasts is taken to be as long as the others.
    waited += (now.ready - then.ready) * waited / max(1, turns)
    return ran * elapsed / max(elapsed - waited, ran)


def sample(subject: Subject, clock: Callable[[], float] = time.monotonic) -> Sample:
    """Take a sample."""
    tree = process_usage.process_trees([subject.root])[subject.root]
    pids = [process.pid for process in tree.processes]
    return Sample(
        at=clock(),
        cpu=tree.cpu,
        threads=process_usage.thread_times(pids),
        io=process_usage.io_bytes(pids),
        received=process_usage.received_bytes(pids),
        pids=frozenset(pids),
        youngest=tree.youngest,
        printed=_sizes(subject.streams),
        session_file=_session_size(subject.session_file),
        changed=last_change(subject.cwd),
    )


def last_change(top: str, most: int = MOST_ENTRIES, passed: Collection[str] = _PASSED_OVER) -> int:
    """The newest time of change below a directory, of as many entries as may be looked at."""
    place, newest, left = AgentPlace(top), 0, most
    folders = deque([""])
    while folders and left > 0:
        try:
            entries = place.entries(folders.popleft(), left)
        except OSError:
            continue  # the machine is short of something
        left -= len(entries)
        for entry in entries:
            newest = max(newest, entry.mtime_ns)
            if entry.is_directory and entry.name.rpartition("/")[2] not in passed:
                folders.append(entry.name)
    return newest


def _session_size(place: tuple[Path, str] | None) -> int:
    try:
        return sum(entry.size for entry in AgentPlace(place[0]).find(place[1])) if place else 0
    except (OSError, ValueError):  # a coder may be foreign code
        return 0


def _sizes(paths: Sequence[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total
