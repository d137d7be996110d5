"""Ends at once and leaves a daemon: forked twice, its own session, stdout still open."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        time.sleep(300)
    os._exit(0)
os.wait()
