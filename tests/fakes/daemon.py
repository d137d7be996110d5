"""Leaves a daemon and ends: forked twice, its own session, stdout still open."""

import os
import time

ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        os.write(tell, b"!")
        time.sleep(300)
    os._exit(0)
os.wait()
os.read(ready, 1)
