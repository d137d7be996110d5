"""No recorded run of a real CLI is ended by a stall rule on the way, whatever became of it."""

import pytest

from fleet.coders import make
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Limits
from fleet.watchdog.run_limits import Used, exceeded
from fleet.watchdog.stall_rules import Patience, Repeats, RunFacts, stall_state
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
        facts = RunFacts(
            silent=0.0,
            begun=True,
            open=tuple(reading.tools.open.values()),
            asks=reading.tools.asks,
            repeats=Repeats(
                errors=reading.tools.repeated_errors,
                same=reading.tools.news.repeats,
                words=reading.tools.news.repeated,
            ),
            ended=reading.terminal is not None,
        )
        assert stall_state(facts, Limits(), Patience()).rung == "fine"
        spent = reading.tokens
        used = Used(turns=spent.turns, tokens=spent.usage.total, cost=spent.cost_usd or 0)
        assert exceeded(used, Limits()) is None
