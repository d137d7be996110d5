"""List prices that a process of a moment looks up, so that a supervisor stays small."""

import subprocess
import sys

import pytest

from fleet.processes import bounded_call
from fleet.schemas import Price
from fleet.spending import prices
from fleet.spending.prices import LookedUpPrices, list_price

LOOKS = """
import sys
import fleet.supervisor.loop
from fleet.spending.prices import LookedUpPrices
prices = LookedUpPrices()
prices.begin("gpt-5")
assert prices.of("gpt-5").output == 10
assert prices.of("my-own-model") is None
assert not {"genai_prices", "pydantic", "httpx2"} & set(sys.modules)
"""


@pytest.fixture
def calls(monkeypatch):
    """The processes that were started to look prices up."""
    started = []
    real = bounded_call.call

    def call(argv, **kwargs):
        started.append(argv[-1])
        return real(argv, **kwargs)

    monkeypatch.setattr(bounded_call, "call", call)
    prices._begun.cache_clear()
    return started


def test_a_price_is_known_and_the_library_is_not_loaded():
    """What the library takes of memory, it takes until its process ends."""
    done = subprocess.run(
        [sys.executable, "-c", LOOKS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_price_is_looked_up_once_for_all_that_ask(calls):
    """Settings that change make new prices, and the list is the same."""
    LookedUpPrices().begin("Claude Opus 4.1")
    for own in ({}, {"mine": Price(input=1, output=1, cache_read=1, cache_write=1)}):
        assert LookedUpPrices(own).of("claude-opus-4.1") == list_price("claude-opus-4.1")
    assert calls == ["claude-opus-4.1"]


def test_a_persons_own_price_needs_no_process(calls):
    """Nor does a run whose CLI has not named its model yet."""
    own = LookedUpPrices({"*": Price(input=1, output=2, cache_read=1, cache_write=1)})
    own.begin("gpt-5")
    LookedUpPrices().begin("")
    assert own.of("gpt-5").output == 2
    assert calls == []


def test_without_a_process_the_price_is_known_all_the_same(monkeypatch):
    """A machine at its limit of processes must not make runs look free."""
    monkeypatch.setattr(prices.sys, "executable", "/nowhere/python")
    prices._begun.cache_clear()
    assert LookedUpPrices().of("gpt-5") == list_price("gpt-5")
    prices._begun.cache_clear()
