"""Words that earlier versions wrote into records, as the words of today. Pure.

`typed` alone reads this table, where a value is not valid as it stands.
"""

from collections.abc import Mapping
from typing import Any, cast

#: By the field that holds the word.
_TODAY: Mapping[str, Mapping[str, str]] = {
    "standing": {
        "plausible": "unchecked", "unverified": "rejected", "out_of_scope": "out of scope",
    },
    "state": {"verified": "waiting"},
}  # fmt: skip


def in_todays_words(value: Any) -> Any:
    """A copy of dicts, lists and scalars with each earlier word replaced."""
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {name: _word(name, in_todays_words(each)) for name, each in fields.items()}
    if isinstance(value, list):
        return [in_todays_words(each) for each in cast("list[Any]", value)]
    return value


def _word(name: Any, value: Any) -> Any:
    return _TODAY[name].get(value, value) if name in _TODAY and isinstance(value, str) else value
