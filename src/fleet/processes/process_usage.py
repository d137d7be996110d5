"""One look at the process table for all runs at once: what each run's tree holds and has used.

It reads /proc on Linux, a line a process and nothing else, and asks psutil elsewhere.
"""

import os
import sys
from collections.abc import Collection, Iterable

from msgspec import Struct

LINUX = sys.platform == "linux"
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Person(Struct, frozen=True):
    """One process."""

    pid: int
    parent: int
    #: Seconds of CPU, with those of its children that are gone.
    cpu: float
    memory: int
    #: Seconds from boot to its start.
    born: float


class Household(Struct, frozen=True):
    """A run's processes: the root (its keeper) and all below it."""

    people: tuple[Person, ...] = ()

    @property
    def processes(self) -> int:
        """Without the keeper, which is ours."""
        return max(0, len(self.people) - 1)

    @property
    def memory(self) -> int:
        """What is resident, shared pages once for each that shares them: an upper bound."""
        return sum(person.memory for person in self.people)

    @property
    def cpu(self) -> float:
        return sum(person.cpu for person in self.people)

    @property
    def youngest(self) -> float:
        """When the last one began that is neither the keeper nor its agent."""
        root = self.people[0].pid if self.people else 0
        heirs = [person for person in self.people if person.parent == root]
        agent = min(heirs, key=lambda person: person.born, default=None)
        others = (person.born for person in self.people[1:] if person is not agent)
        return max(others, default=0.0)


def households(roots: Collection[int]) -> dict[int, Household]:
    """The households of these roots, as far as they live."""
    people = {person.pid: person for person in _everybody()}
    found: dict[int, list[Person]] = {root: [] for root in roots}
    head: dict[int, int] = {root: root for root in roots}
    for pid in people:
        line: list[int] = []
        above = pid
        while above not in head and above in people:
            line.append(above)
            head[above] = 0  # until it is known, so that a circle of stale parents ends
            above = people[above].parent
        for one in line:
            head[one] = head.get(above, 0)
    for pid, person in people.items():
        if head.get(pid):
            found[head[pid]].append(person)
    return {
        root: Household(tuple(sorted(members, key=lambda person: person.pid != root)))
        for root, members in found.items()
    }


def held(pids: Iterable[int]) -> int | None:
    """Memory with every shared page counted once. Dear: for a tree that seems to hold too much.

    None where it cannot be told.
    """
    total, told = 0, False
    for pid in pids:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total, told = total + int(line.split()[1]) * 1024, True
    return total if told else None


def io(pids: Iterable[int]) -> int:
    """Bytes that these processes read and wrote, files and pipes alike."""
    total = 0
    for pid in pids:
        for line in _read(f"/proc/{pid}/io").splitlines()[:2]:  # rchar, wchar
            total += int(line.split()[1])
    return total


def _everybody() -> Iterable[Person]:
    if not LINUX:
        return _by_psutil()
    names = os.listdir("/proc")  # noqa: PTH208 - all of it is read every few seconds
    return [person for name in names if name.isdecimal() and (person := _person(name))]


def _person(pid: str) -> Person | None:
    # The name may hold spaces and brackets, so the fields are counted from behind it.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields:
        return None
    cpu = (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / _TICKS
    memory = int(fields[21]) * _PAGE
    return Person(int(pid), int(fields[1]), cpu, memory, int(fields[19]) / _TICKS)


def _read(path: str) -> bytes:
    """A file of /proc; empty if its process is gone or another's."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 14)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _by_psutil() -> Iterable[Person]:
    import psutil

    wanted = ["pid", "ppid", "cpu_times", "memory_info", "create_time"]
    for process in psutil.process_iter(wanted):
        about = process.info
        times, memory = about["cpu_times"], about["memory_info"]
        cpu = times.user + times.system if times else 0.0
        born = about["create_time"] - psutil.boot_time()
        yield Person(about["pid"], about["ppid"], cpu, memory.rss if memory else 0, born)
