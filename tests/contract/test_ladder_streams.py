"""No recorded run of a real CLI is ended by the ladder on the way, whatever became of it."""

import pytest

from fleet.coders import make
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Limits
from fleet.watchdog.run_limits import Used, exceeded
from fleet.watchdog.stall_rules import Patience, Seen, stand
from tests.streams import READ_AT, lines, recorded

RUNS = [(cli, name) for cli in ("claude", "codex") for name in recorded(cli)]


@pytest.mark.parametrize(("cli", "name"), RUNS, ids=[f"{cli}-{name}" for cli, name in RUNS])
def test_no_honest_run_is_ended_while_it_talks(cli, name):
    """After each of its events, with the limits that fleet ships with."""
    coder, reading = make(cli), RunTotals()
    for line in lines(cli, name):
        event = coder.read(line, READ_AT)
        if event is None:
            continue
        reading.add(event)
        seen = Seen(
            silent=0.0,
            begun=True,
            open=tuple(reading.tools.open.values()),
            asks=reading.tools.asks,
            repeats=reading.tools.repeated_errors,
            ended=reading.terminal is not None,
        )
        assert stand(seen, Limits(), Patience()).rung == "fine"
        used = Used(turns=reading.turns, tokens=reading.usage.total, cost=reading.cost_usd or 0)
        assert exceeded(used, Limits()) is None
