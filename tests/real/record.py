"""Ask the real bd every line and keep what it says: `python -m tests.real.record`."""

import os
import tempfile
from pathlib import Path

os.environ |= {"GOGC": "off", "GOMEMLIMIT": "256MiB"}

import msgspec

from fleet.bd.only_beads import FILE
from fleet.queue.beads.bd_cli.bd_database import init_beads
from tests.real.bd_help import read_help
from tests.real.bd_parity import every_line, keep, make_home, of_bd
from tests.real.test_bd_parity import SCRIPTS


def main() -> None:
    found = msgspec.json.encode(read_help("bd"))
    FILE.write_bytes(msgspec.json.format(found, indent=1) + b"\n")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        init_beads(place / "pristine")
        home = make_home(place / "pristine", place / "home")
        for name, script in SCRIPTS.items():
            lines = every_line(script)
            keep(name, lines, of_bd(home, "bd", place / name, script, lines))
            print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main()
