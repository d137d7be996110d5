"""An agent that prints far too much: flood.py MEGABYTES. It leaves the count in `printed`."""

# ruff: noqa: PTH104, PTH123, PLW0603, UP031
import os
import sys

size = int(sys.argv[1]) << 20
printed = 0


def tell(data):
    global printed
    view = memoryview(data)
    while view:
        count = os.write(1, view)
        printed += count
        view = view[count:]


tell(b'{"type":"tool","id":"1"}\n')
for _ in range(size >> 20):
    tell(b"x" * (1 << 20))
tell(b"\n")
tell(b"\0\xff\xfe{\n" * 20_000)
tell(b"\n" * 300_000)
for _ in range(5):
    tell((b'{"type":"text","text":"' + b"y" * 1000 + b'"}\n') * 1000)
run, spool = os.environ["FLEET_RUN_DIR"], os.environ["FLEET_SPOOL"]
with open(f"{spool}/.close", "w") as file:  # as `bd close` leaves it
    file.write("fleet-request-1\0003\0bd\0close\0%s\0000\0" % os.environ["FLEET_TASK_ID"])
os.rename(f"{spool}/.close", f"{spool}/close.request")
tell(b'{"type":"end"}\n')
with open(f"{run}/printed", "w") as file:
    file.write(str(printed))
