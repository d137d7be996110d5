"""What a task needs of a host. Pure.

A task that needs nothing fits every host. Each need is a short text (`label:gpu`), and a host has a
list of such texts: the task fits if all of its needs are in the list. So the queue can compare the
two without knowing what they mean.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from fleet.errors import BadInput
from fleet.schemas.hosts.host import Offer

#: What no host has: a task needs it for as long as its changes are not pushed.
PUSHED_CHANGES = "changes:pushed"
#: How a need of a task begins that is one of its host: `--needs host:gpu`.
HOST_NEED = "host:"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


def needs_of(own: Mapping[str, Any]) -> tuple[str, ...]:
    """What a task needs of a host, by the settings in the queue."""
    found: list[str] = []
    host, made_on, coder = (_text(own.get(key)) for key in ("host", "made_on", "coder"))
    if host:
        found.append(f"host:{host}")
    elif made_on and not repository_of(own):
        found.append(f"home:{made_on}")
    if _origin(own).get("changes") == "awaited":
        found.append(PUSHED_CHANGES)
    needs = own.get("needs")
    each = cast("list[Any]", needs) if isinstance(needs, list | tuple) else []
    found += [f"label:{label}" for need in each if (label := host_label(need))]
    return (*found, f"coder:{coder}") if coder else tuple(found)


def host_label(need: object) -> str:
    """The label that a need asks of the host; empty: none."""
    text = _text(need)
    return text.removeprefix(HOST_NEED) if text.startswith(HOST_NEED) else ""


def repository_of(own: Mapping[str, Any]) -> str:
    """The address that a task's code comes from; empty: only the host that made the task has the
    code.
    """
    return _text(_origin(own).get("url"))


def _origin(own: Mapping[str, Any]) -> Mapping[str, Any]:
    found = own.get("repository")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def missing_needs(needs: tuple[str, ...], offer: Offer) -> tuple[str, ...]:
    """The needs that a host does not meet."""
    has = set(offer.has)
    return tuple(need for need in needs if need not in has)


def check_label(text: str) -> str:
    """The text, if it can be the name of a host or a label. Raises BadInput."""
    if re.fullmatch(_NAME, text):
        return text
    raise BadInput(
        f"{text[:100]!r} is no name or label of a host",
        hint="Use letters, digits, '-', '_' and '.', like gpu or linux-x86.",
    )


def _text(value: object) -> str:
    """The value if it is a text of one line; empty for anything else."""
    return value if isinstance(value, str) and "\n" not in value else ""
