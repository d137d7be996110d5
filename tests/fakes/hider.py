"""Starts a tool in its own session that drops the inherited lock, or the run's mark.

hider.py lock|mark|neither
"""

import os
import sys
import time

if os.fork() == 0:
    os.setsid()
    if sys.argv[1] == "lock":
        os.closerange(3, 256)
    environment = dict(os.environ)
    if sys.argv[1] == "mark":
        del environment["FLEET_RUN_ID"]
    os.execvpe("sh", ["sh", "-c", "echo up; while :; do sleep 60; done"], environment)
time.sleep(300)
