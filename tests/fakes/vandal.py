"""An agent that destroys its keeper's record, keeps a copy of it, and waits."""

# ruff: noqa: PTH104, PTH123
import os
import time

run = os.environ["FLEET_RUN_DIR"]
with open(f"{run}/started") as file:
    record = file.read()
with open(f"{run}/started", "w") as file:
    file.write('{"keeper":')
with open(f"{run}/.copy", "w") as file:
    file.write(record)
os.rename(f"{run}/.copy", f"{run}/copy")
time.sleep(60)
