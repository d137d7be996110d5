"""python -m tests.chaos [--tasks N] [--seed N] [--part NAME]: the ordeals, one after the other."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.hosts import HostsOrdeal
from tests.chaos.landing import LandingOrdeal
from tests.chaos.ordeal import Ordeal
from tests.contract.postgres_server import binaries
from tests.machines.network import missing_tool

#: No ordeal takes longer, whatever happens.
LIMIT = 15 * 60 / 2
LANDING_LIMIT = 15 * 60
HOSTS_LIMIT = 40 * 60
WORDS = {
    "supervisors": "supervisors are killed",
    "keepers": "keepers and supervisors are killed",
    "landing": "supervisors are killed while work lands",
    "hosts": "three hosts lose supervisors, keepers, links, and themselves",
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--part", choices=WORDS, help="this ordeal alone")
    parser.add_argument("--landings", type=int, default=200, help="tasks of the landing ordeal")
    given = parser.parse_args()
    clean = True
    for part in [given.part] if given.part else WORDS:
        print(WORDS[part], flush=True)
        if part == "hosts" and (tool := missing_tool() or ("" if binaries() else "postgresql")):
            print(f"skipped: {tool} is not here\n", flush=True)
            continue
        ordeal = {"landing": _landing, "hosts": _hosts}.get(part, _runs)
        with tempfile.TemporaryDirectory(prefix="fleet-chaos-") as folder:
            report = ordeal(Path(folder), given, keepers=part == "keepers")
        print(report, "\n", flush=True)
        clean = clean and report.clean
    sys.exit(0 if clean else 1)


def _runs(folder, given, *, keepers):
    ordeal = Ordeal(
        folder,
        tasks=given.tasks,
        slots=given.slots,
        seed=given.seed,
        keepers=keepers,
        every=0.3 if keepers else 1.0,
    )
    return ordeal.run(LIMIT)


def _landing(folder, given, *, keepers):
    assert not keepers
    ordeal = LandingOrdeal(folder, tasks=given.landings, slots=6, seed=given.seed)
    return ordeal.run(LANDING_LIMIT)


def _hosts(folder, given, *, keepers):
    assert not keepers
    del folder  # the cluster has one of its own, which the server may read
    return HostsOrdeal(tasks=given.tasks, slots=6, seed=given.seed).run(HOSTS_LIMIT)


if __name__ == "__main__":
    main()
