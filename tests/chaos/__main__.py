"""python -m tests.chaos [--tasks N] [--seed N]: both ordeals, one after the other."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.ordeal import Ordeal

#: Neither ordeal takes longer, whatever happens.
LIMIT = 15 * 60 / 2


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    clean = True
    for keepers in (False, True):
        print("keepers and supervisors are killed" if keepers else "supervisors are killed")
        with tempfile.TemporaryDirectory(prefix="fleet-chaos-") as folder:
            ordeal = Ordeal(
                Path(folder),
                tasks=given.tasks,
                slots=given.slots,
                seed=given.seed,
                keepers=keepers,
                every=0.3 if keepers else 1.0,
            )
            report = ordeal.run(LIMIT)
        print(report, "\n", flush=True)
        clean = clean and report.clean
    sys.exit(0 if clean else 1)


if __name__ == "__main__":
    main()
