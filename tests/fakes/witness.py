"""An agent that notices a second one on its task: it takes an exclusive lock, or tells.

witness.py TASK_DIR SECONDS: appends `begin`, `overlap` or `end` to TASK_DIR/witness.
"""

import fcntl
import os
import sys
import time

folder, seconds = sys.argv[1], float(sys.argv[2])
log = os.open(folder + "/witness", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
guard = os.open(folder + "/witness.lock", os.O_RDWR | os.O_CREAT, 0o600)
try:
    fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    os.write(log, b"overlap\n")
    sys.exit(9)
os.write(log, b"begin\n")
time.sleep(seconds)
os.write(log, b"end\n")
