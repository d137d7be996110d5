"""Recordings of real CLIs, each run against a scripted model, and how to read one again."""

from datetime import UTC, datetime
from pathlib import Path

from fleet.coders.base import Coder
from fleet.coders.stream.run_totals import RunTotals

_HERE = Path(__file__).parent
READ_AT = datetime(2026, 11, 15, 18, 0, tzinfo=UTC)


def recorded(cli: str) -> list[str]:
    """The names of a CLI's recordings."""
    files = (_HERE / cli).glob("*.jsonl")
    return sorted(path.stem for path in files if not path.stem.endswith(".rollout"))


def lines(cli: str, name: str) -> list[str]:
    return (_HERE / cli / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def replay(coder: Coder, cli: str, name: str) -> RunTotals:
    """What a coder makes of a recording, the second stream after the first."""
    reading = RunTotals()
    for line in lines(cli, name):
        reading.add(coder.read(line, READ_AT))
    if (_HERE / cli / f"{name}.rollout.jsonl").exists():
        for line in lines(cli, f"{name}.rollout"):
            reading.add(coder.read(line, READ_AT, second=True))
    return reading
