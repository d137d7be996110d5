"""Which version of `bd` this is, and whether that version is known to lose or damage data."""

import re
from collections.abc import Mapping

Version = tuple[int, int, int]

#: The first version that can guard an update by the current status and assignee.
GUARDED_UPDATES: Version = (1, 3, 0)

_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_FIRST_SHARED: Version = (1, 0, 4)
_KNOWN_BAD: Mapping[Version, str] = {
    (1, 0, 4): "it can overwrite other writers' data in server mode",
    (1, 0, 5): "it was withdrawn because it can damage its own database",
    (1, 1, 0): "it can damage its own database and lose closes",
    (1, 2, 1): "it was released by accident and withdrawn",
}


def parse(text: str) -> Version | None:
    found = _NUMBERS.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def warning(version: Version | None) -> str | None:
    """What a person should know about this version before trusting it with work."""
    if version is None:
        return "bd does not tell its version, so fleet cannot say whether it is a sound one."
    name = ".".join(map(str, version))
    if version < _FIRST_SHARED:
        return (
            f"bd {name} locks its database for one process at a time, so agents and fleet"
            " will fail against each other. Upgrade to 1.3 or later."
        )
    if version in _KNOWN_BAD:
        return f"bd {name} is not safe: {_KNOWN_BAD[version]}. Upgrade to 1.3 or later."
    return None
