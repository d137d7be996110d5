"""What tokens cost where a CLI does not tell: a person's prices, else list prices.

List prices come with the `genai-prices` package: the vendors' public prices as of that package's
release, here for prompts of ordinary length, without batches, discounts or a plan. They are a
starting point; `[prices."pattern"]` in runtime.toml goes first. The network is never asked.

python -P -m fleet.spending.prices NAME      prints the list price of a model as JSON
"""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING

import msgspec

from fleet.schemas import Price, Usage, typed

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, TieredPrices

_MILLION = 1_000_000
#: Seconds for a look-up, which takes a third of one; a busy machine may need many times that.
_PATIENCE = 30.0
#: The vendors of the coders that come with fleet, as the library calls them.
_VENDORS = ("anthropic", "openai", "google")
#: What a CLI writes behind a model's name: `gemini-3-pro-(high)`.
_EFFORT = re.compile(r"-\([^()]*\)$")
#: A claude CLI's alias: `sonnet`, `opus[1m]`.
_ALIAS = re.compile(r"([a-z]+)(\[\w+\])?")


class Prices:
    """List prices, with a person's own prices before them."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        # Of several patterns that fit, the longest says most of the model.
        mine = sorted((own or {}).items(), key=lambda pair: (-len(pair[0]), pair[0]))
        self._own = tuple((written(pattern), price) for pattern, price in mine)
        self._known: dict[str, Price | None] = {}

    def of(self, model: str) -> Price | None:
        """What a model's tokens cost; None if that is not known."""
        if model not in self._known:
            name = written(model)
            self._known[model] = (self.own(name) or self.listed(name)) if name else None
        return self._known[model]

    def own(self, name: str) -> Price | None:
        """A person's price for a name as patterns write it; None if there is none."""
        return next((price for pattern, price in self._own if fnmatchcase(name, pattern)), None)

    def listed(self, name: str) -> Price | None:
        """The list price of a name."""
        return list_price(name)

    def estimate(self, usage: Usage, model: str) -> float | None:
        """What these tokens cost in dollars; None if there are no tokens, or no price."""
        if not usage.total or (price := self.of(model)) is None:
            return None
        return (
            usage.input * price.input
            + usage.cache_read * price.cache_read
            + usage.cache_write * price.cache_write
            + usage.output * price.output
        ) / _MILLION


class LookedUpPrices(Prices):
    """The prices of a process that lives long: each list price is looked up by a process of a
    moment, since the library that has them would take 20 MB for as long as its process lives.
    """

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
        from fleet.processes.bounded_call import call  # commands that show prices do without

        # Without the supervisor's variables: the process belongs to no home and needs no key.
        argv = [sys.executable, "-P", "-m", __name__, self._model]
        done = call(argv, env={}, timeout=_PATIENCE)
        try:
            self.price = typed.decode(done.out, Price | None)
        except msgspec.DecodeError:  # no process could be had: better the memory than no price
            self.price = list_price(self._model)


@cache
def _begun(name: str) -> _PriceLookup:
    lookup = _PriceLookup(name)
    lookup.start()
    return lookup


def list_price(name: str) -> Price | None:
    """The list price of a model; None if the library does not know the model or the price.

    The first call loads the library: about 0.2 seconds and 20 MB.
    """
    snapshot = _snapshot()
    for each in _spellings(name, snapshot):
        for vendor in (None, *_VENDORS):  # None: the vendor that the name itself tells
            with suppress(LookupError):
                return _price(snapshot.find_provider_model(each, None, vendor, None)[1])
    return None


def list_prices() -> dict[str, Price]:
    """The list prices of the models that the vendors of fleet's own coders offer, by name."""
    names = [model.id for model in _models(_snapshot()) if not model.deprecated]
    found = {name: list_price(name) for name in names}
    return {name: price for name, price in found.items() if price is not None}


def _snapshot() -> "DataSnapshot":
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _models(snapshot: "DataSnapshot") -> Iterator["ModelInfo"]:
    for provider in snapshot.providers:
        if provider.id in _VENDORS:
            yield from provider.models


def _spellings(name: str, snapshot: "DataSnapshot") -> Iterator[str]:
    """The names under which the library may know a model, likeliest first."""
    yield name
    plain = _EFFORT.sub("", name)
    yield plain
    yield f"{plain}-preview"  # a CLI leaves out that a model is one
    if alias := _ALIAS.fullmatch(name):
        # A claude CLI means the newest model of the family.
        family = re.compile(rf"claude-{alias[1]}-(\d+)(?:-(\d+))?")
        versions = filter(None, (family.fullmatch(model.id) for model in _models(snapshot)))
        newest = max(versions, key=lambda each: (int(each[1]), int(each[2] or 0)), default=None)
        if newest is not None:
            yield newest[0]


def _price(model: "ModelInfo") -> Price | None:
    prices = model.get_prices(datetime.now(UTC))
    fresh, output = _dollars(prices.input_mtok), _dollars(prices.output_mtok)
    if not fresh or not output:
        return None  # neither unknown nor free of charge is a price to count with
    cache_read, cache_write = _dollars(prices.cache_read_mtok), _dollars(prices.cache_write_mtok)
    return Price(
        input=fresh,
        output=output,
        # A vendor without a price of its own for cached tokens charges them as any other.
        cache_read=fresh if cache_read is None else cache_read,
        cache_write=fresh if cache_write is None else cache_write,
    )


def _dollars(price: "Decimal | TieredPrices | None") -> float | None:
    """A price for a million tokens; of one with tiers, that for prompts of ordinary length."""
    if price is None:
        return None
    return float(price if isinstance(price, Decimal) else price.base)


def written(name: str) -> str:
    """A model's name as patterns write it: `Gemini 3 Pro (High)` is `gemini-3-pro-(high)`.

    A vendor's name before it (`anthropic/…`) says nothing about the price.
    """
    return "-".join(name.lower().split()).rpartition("/")[2]


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(list_price(sys.argv[1])))
