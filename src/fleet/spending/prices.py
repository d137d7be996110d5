"""What tokens cost, where a CLI does not say it: list prices by the model's name.

A starting point, and no promise: these are the vendors' public list prices as they were known at
the date below, for prompts of ordinary length, without batches, discounts or a plan. Vendors change
them; `[prices."pattern"]` in runtime.toml has the last word.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from fleet.schemas import Price, Usage

AS_OF = "2025-12"

_MILLION = 1_000_000


def _anthropic(input: float, output: float) -> Price:  # noqa: A002 - what a price calls it
    """Written to the cache (for five minutes) for a quarter more, read from it for a tenth."""
    return Price(input=input, output=output, cache_read=input / 10, cache_write=input * 1.25)


def _plain(input: float, output: float, cache_read: float) -> Price:  # noqa: A002
    """Nothing is charged for writing to the cache beyond the tokens themselves."""
    return Price(input=input, output=output, cache_read=cache_read, cache_write=input)


#: The first pattern that fits counts, so what is more special comes first.
TABLE: tuple[tuple[str, Price], ...] = (
    ("claude-3-haiku*", Price(input=0.25, output=1.25, cache_read=0.03, cache_write=0.30)),
    ("claude-3-5-haiku*", _anthropic(0.80, 4.0)),
    ("claude-haiku*", _anthropic(1.0, 5.0)),
    ("haiku*", _anthropic(1.0, 5.0)),
    ("claude-3-opus*", _anthropic(15.0, 75.0)),
    ("claude-opus-4", _anthropic(15.0, 75.0)),
    ("claude-opus-4[.-][01]*", _anthropic(15.0, 75.0)),
    ("claude-opus-4-2025*", _anthropic(15.0, 75.0)),
    ("claude-opus*", _anthropic(5.0, 25.0)),
    ("opus*", _anthropic(5.0, 25.0)),
    ("claude-3-[57]-sonnet*", _anthropic(3.0, 15.0)),
    ("claude-sonnet*", _anthropic(3.0, 15.0)),
    ("sonnet*", _anthropic(3.0, 15.0)),
    ("gpt-5.2-pro*", _plain(21.0, 168.0, 21.0)),
    ("gpt-5-pro*", _plain(15.0, 120.0, 15.0)),
    ("gpt-5*-nano*", _plain(0.05, 0.40, 0.005)),
    ("gpt-5*-mini*", _plain(0.25, 2.0, 0.025)),
    ("gpt-5.2*", _plain(1.75, 14.0, 0.175)),
    ("gpt-5*", _plain(1.25, 10.0, 0.125)),
    ("gpt-4.1-nano*", _plain(0.10, 0.40, 0.025)),
    ("gpt-4.1-mini*", _plain(0.40, 1.60, 0.10)),
    ("gpt-4.1*", _plain(2.0, 8.0, 0.50)),
    ("gpt-4o-mini*", _plain(0.15, 0.60, 0.075)),
    ("gpt-4o*", _plain(2.50, 10.0, 1.25)),
    ("codex-mini*", _plain(1.50, 6.0, 0.375)),
    ("o4-mini*", _plain(1.10, 4.40, 0.275)),
    ("o3-mini*", _plain(1.10, 4.40, 0.55)),
    ("o3-pro*", _plain(20.0, 80.0, 20.0)),
    ("o3*", _plain(2.0, 8.0, 0.50)),
    ("gemini-3*-flash*", _plain(0.50, 3.0, 0.05)),
    ("gemini-3*-pro*", _plain(2.0, 12.0, 0.20)),
    ("gemini-2.5-flash-lite*", _plain(0.10, 0.40, 0.01)),
    ("gemini-2.5-flash*", _plain(0.30, 2.50, 0.03)),
    ("gemini-2.5-pro*", _plain(1.25, 10.0, 0.125)),
)


class Prices:
    """The table, with a person's own prices before it."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        # Of several that fit, the longest pattern says most of the model.
        mine = sorted((own or {}).items(), key=lambda pair: (-len(pair[0]), pair[0]))
        self._table = (*((_plainly(pattern), price) for pattern, price in mine), *TABLE)
        self._known: dict[str, Price | None] = {}

    def of(self, model: str) -> Price | None:
        """What a model's tokens cost; None if nobody said."""
        if model not in self._known:
            name = _plainly(model)
            fits = (price for pattern, price in self._table if fnmatchcase(name, pattern))
            self._known[model] = next(fits, None) if name else None
        return self._known[model]

    def estimate(self, usage: Usage, model: str) -> float | None:
        """What these tokens cost in dollars; None if there are none, or no price."""
        price = self.of(model)
        if price is None or not usage.total:
            return None
        return (
            usage.input * price.input
            + usage.cache_read * price.cache_read
            + usage.cache_write * price.cache_write
            + usage.output * price.output
        ) / _MILLION


def _plainly(name: str) -> str:
    """A model's name as the patterns write it: `Gemini 3 Pro (High)` is `gemini-3-pro-(high)`.

    A vendor's name before it (`anthropic/…`) says nothing about the price.
    """
    return "-".join(name.lower().split()).rpartition("/")[2]
