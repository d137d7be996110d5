"""Starts a process that replaces itself by a fresh child, again and again, for ever.

The agent itself ends soon, or with an argument never.
"""

import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(0.002)
        if os.fork() != 0:
            os._exit(0)
print("ready", flush=True)
time.sleep(300 if sys.argv[1:] else 0.1)
