"""The real keeper, killed or slow at one point of its life: dying_keeper.py RUN_DIR LOCK_FD.

KEEPER is the path of the keeper's source, and DIE_AT or PAUSE_AT one of the points below.
"""

import os
import signal
import time
from pathlib import Path

source = os.environ["KEEPER"]
keeper = {"__name__": "keeper"}
exec(compile(Path(source).read_text(), source, "exec"), keeper)


def die(here):
    if here == os.environ.get("DIE_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    if here == os.environ.get("PAUSE_AT"):
        time.sleep(0.3)


def around(name, before, after=""):
    real = keeper[name]

    def wrapped(*args, **options):
        first = args[0] if args and isinstance(args[0], str) else ""
        die(f"{before} {first}".strip())
        answer = real(*args, **options)
        die(f"{after} {first}".strip())
        return answer

    keeper[name] = wrapped


around("take_lock", "before lock", "after lock")
around("put", "before", "after")  # before started, after started, before exit.json, ...
around("sync", "before sync of")  # the agent's program runs by then
keeper["main"]()
