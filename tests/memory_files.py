"""Whether files of tests can be kept in memory."""

import os
from pathlib import Path

#: Where Linux keeps files in memory.
SHARED_MEMORY = "/dev/shm"  # pytest makes a folder in it that is only ours

#: All files of a run, those of a run that failed before, and much to spare.
_ENOUGH = 4 << 30


def enough_memory(place: str) -> bool:
    """Whether this is a place in memory with room for all files of a run, programs too."""
    try:
        there = os.statvfs(place)
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    free = min(
        (1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")),
        default=0,
    )
    runs_programs = not there.f_flag & os.ST_NOEXEC
    return runs_programs and min(there.f_bavail * there.f_frsize, free) >= _ENOUGH
