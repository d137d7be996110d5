"""`[prices."pattern"]` in runtime.toml: prices that a person sets.

Dollars for a million tokens, for every model whose name fits the pattern.
"""

from typing import Any, cast

from fleet.schemas import Price

TABLE = "prices"
_KEYS = ("input", "output", "cache_read", "cache_write")
#: No million of tokens costs more: a larger number was meant for something else.
_MOST = 100_000.0
_SHAPE = 'must be tables like [prices."my-model*"]'


def read(table: object) -> tuple[dict[str, Price], str]:
    """The prices of a file, and what is wrong with the table; empty if nothing is.

    Cached tokens cost as much as others, unless the table says otherwise.
    """
    if not isinstance(table, dict):
        return {}, _SHAPE
    found: dict[str, Price] = {}
    for pattern, body in cast("dict[str, Any]", table).items():
        wrong = _problem(pattern, body)
        if wrong:
            return {}, wrong
        given: dict[str, float] = {name: float(value) for name, value in body.items()}
        cached = dict.fromkeys(("cache_read", "cache_write"), given["input"])
        found[pattern] = Price(**(cached | given))
    return found, ""


def _problem(pattern: str, body: object) -> str:
    if not pattern.strip():
        return "must name a model, or a pattern like my-model*"
    if not isinstance(body, dict):
        return _SHAPE
    for name, value in cast("dict[str, object]", body).items():
        if name not in _KEYS:
            return f'"{pattern}": {name} is not a part of a price; known: {", ".join(_KEYS)}'
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f'"{pattern}": {name} must be dollars for a million tokens, not {value!r}'
        if not 0 <= value <= _MOST:  # False for a nan, too
            return f'"{pattern}": {name} must be between 0 and {_MOST:,.0f}, not {value}'
    missing = [name for name in ("input", "output") if name not in body]
    return f'"{pattern}": {" and ".join(missing)} must be given' if missing else ""
