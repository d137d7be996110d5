"""What it costs to watch quiet runs, with inotify and without.

python -m tests.bench.watch [seconds]
"""

import sys
import tempfile
import time
from pathlib import Path

from fleet.files.inotify import DirectoryWatch


def share(count, seconds, *, polling):
    """Per cent of a core."""
    with tempfile.TemporaryDirectory() as folder:
        watch = DirectoryWatch(polling=polling)
        for number in range(count):
            directory = Path(folder) / str(number)
            directory.mkdir()
            (directory / "stdout").touch()
            watch.add(directory)
        began = time.process_time()
        watch.changed(seconds)
        used = time.process_time() - began
        watch.close()
    return 100 * used / seconds


def main(seconds=3):
    for count in (50, 500):
        inotify, polling = (share(count, seconds, polling=polling) for polling in (False, True))
        print(f"{count:4} quiet runs: {inotify:.2f} % of a core, polled {polling:.2f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
