"""An agent that prints far too much: flood.py MEGABYTES. It leaves the count in `printed`."""

# ruff: noqa: PTH104, PTH123, PLW0603
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
run = os.environ["FLEET_RUN_DIR"]
with open(f"{run}/.said", "w") as file:
    file.write(f'{{"done":"printed","by":"{os.environ["FLEET_RUN_ID"]}"}}')
os.rename(f"{run}/.said", f"{run}/said.json")
tell(b'{"type":"end"}\n')
with open(f"{run}/printed", "w") as file:
    file.write(str(printed))
