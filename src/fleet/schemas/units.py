"""Spans of time, sizes and sums of money as people write them: `90s`, `2h`, `1h30m`, `8GB`, `$5`.

Pure. What cannot be read is a BadInput that shows the forms that can.
"""

import math
import re

from fleet.errors import BadInput

_SPAN = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SIZE = r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?"
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
#: No span is longer: what is, was meant in other units.
_LONGEST = 366 * 86_400.0
_LARGEST = 1 << 50
#: Less memory or output ends every agent at once: it was meant in other units too.
_SMALLEST = 1 << 20


def seconds(text: str) -> float:
    """`2h`, `1h30m`, `45s`; a bare number is seconds."""
    word = text.strip().lower().replace(" ", "")
    parts = re.findall(_SPAN, word)
    if parts and "".join(number + unit for number, unit in parts) == word:
        total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    elif re.fullmatch(r"\d+(\.\d+)?", word):
        total = float(word)
    else:
        raise BadInput(f"{text!r} is not a span of time", hint="Write it like 90s, 20m, 2h, 1h30m.")
    if not 0 < total <= _LONGEST:
        raise BadInput(f"{text!r} is not between 1ms and a year")
    return total


def span(text: str) -> float:
    """Seconds of a span on a command line; a number without a unit is refused: it may mean any."""
    word = text.strip()
    if word.isdecimal():
        raise BadInput(f"{text!r} has no unit", hint=f"Write {word}s, {word}m, {word}h or {word}d.")
    return seconds(text)


def size(text: str) -> int:
    """`500MB`, `8GB`, of memory or output; a bare number is bytes. A thousand is 1024 here."""
    found = re.fullmatch(_SIZE, text.strip(), flags=re.IGNORECASE)
    if found is None:
        raise BadInput(f"{text!r} is not a size", hint="Write it like 500MB or 8GB.")
    total = int(float(found[1]) * 1024 ** _POWER[found[2].lower()])
    if not _SMALLEST <= total <= _LARGEST:
        raise BadInput(
            f"{text!r} is not a size between 1MB and 1024TB", hint="Write it like 500MB or 8GB."
        )
    return total


def dollars(text: str) -> float:
    """`5`, `$2.50`."""
    try:
        amount = float(text.strip().removeprefix("$"))
    except ValueError:
        amount = math.nan
    if not 0 < amount < 1_000_000:  # a NaN is neither
        raise BadInput(f"{text!r} is not a sum in dollars", hint="Write it like 5 or 2.50.")
    return amount


def shown_span(span: float) -> str:
    """A span in the shortest form: `2h`, `1h30m`, `45s`."""
    if span < 1:
        return f"{round(span * 1000)}ms"
    if span < 60:
        return f"{span:.3g}s"
    rest = round(span)
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2])


def shown_size(count: float) -> str:
    """A size in the shortest form: `8GB`, `1.5MB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.3g}{unit}"
        count /= 1024
    return f"{count:.3g}TB"
