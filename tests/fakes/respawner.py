"""Leaves a process behind that replaces itself by a fresh child, again and again, for ever."""

import os
import signal
import time

if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    while True:
        time.sleep(0.002)
        if os.fork() != 0:
            os._exit(0)
time.sleep(0.1)
