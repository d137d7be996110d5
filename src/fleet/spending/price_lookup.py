"""List prices for a process that lives long: each is looked up by a process of a moment, since the
library that has them would take 20 MB of the supervisor for as long as it lives.

python -P -m fleet.spending.price_lookup NAME      prints the list price of a model as JSON
"""

import sys
from functools import cache
from threading import Thread

import msgspec

from fleet.processes.bounded_call import call
from fleet.schemas import Price
from fleet.spending.prices import Prices, list_price, written

#: Seconds for a look-up, which takes a third of one; a busy machine may need many times that.
_PATIENCE = 30.0


class LookedUpPrices(Prices):
    """List prices that other processes look up, with a person's own prices before them."""

    def begin(self, model: str) -> None:
        """Begin to look the price up; does not wait."""
        name = written(model)
        if name and self.own(name) is None:
            _begun(name)

    def listed(self, name: str) -> Price | None:
        lookup = _begun(name)
        lookup.join()
        return lookup.price


class _PriceLookup(Thread):
    """Waits beside the loop for the process that looks one list price up."""

    def __init__(self, model: str) -> None:
        super().__init__(daemon=True)
        self._model = model
        self.price: Price | None = None

    def run(self) -> None:
        # Without the supervisor's variables: the process belongs to no home and needs no key.
        argv = [sys.executable, "-P", "-m", __name__, self._model]
        done = call(argv, env={}, timeout=_PATIENCE)
        try:
            self.price = msgspec.json.decode(done.out, type=Price | None)
        except msgspec.DecodeError:  # no process could be had: better the memory than no price
            self.price = list_price(self._model)


@cache
def _begun(name: str) -> _PriceLookup:
    lookup = _PriceLookup(name)
    lookup.start()
    return lookup


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(list_price(sys.argv[1])))
