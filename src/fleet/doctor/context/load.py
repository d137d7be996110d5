"""What a CLI loads before it reads its task, as values."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from fleet.doctor.finding import Finding
from fleet.schemas import Context

Kind = Literal["prompt", "tools", "rules", "skill", "command", "agent", "server", "plugin", "hooks"]
#: Whose it is: the CLI's own, the user's, the project's, or a plugin's (which is the user's).
Origin = Literal["cli", "user", "project", "plugin"]

#: Bytes of text for one token, where nobody counts: a rule of thumb for English and code.
BYTES_A_TOKEN = 4


class Load(Struct, frozen=True, kw_only=True):
    """One thing that is loaded."""

    kind: Kind
    name: str
    origin: Origin
    #: The file, or the configuration, that it comes from.
    where: str = ""
    #: None: not known.
    tokens: int | None = None
    #: The CLI had them counted; otherwise they are an estimate.
    counted: bool = False


class Piece(Struct, frozen=True, kw_only=True):
    """A load with what tells whether it is there twice."""

    load: Load
    #: Its words, as far as they were read.
    text: str = ""
    #: The same for things that are the same whatever they are called; empty if nothing tells.
    same: str = ""


class Duplicate(Struct, frozen=True, kw_only=True):
    """Something that is loaded more than once."""

    what: str
    places: tuple[str, ...]
    #: What all copies but one cost; None: not known.
    tokens: int | None
    fix: str


class Survey(Struct, frozen=True, kw_only=True):
    """All that one CLI loads in a directory."""

    coder: str
    cwd: str
    #: The account whose directory was looked at; empty: the user's own login.
    account: str = ""
    #: Where the figures come from, in a sentence.
    source: str
    #: The CLI had everything counted.
    counted: bool = False
    loads: tuple[Load, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    #: Tokens by context, as far as they are known.
    totals: Mapping[Context, int | None]
    #: What the totals leave out, for people; empty if nothing.
    beyond: str = ""
    findings: tuple[Finding, ...] = ()


def estimate(size: int) -> int:
    """The tokens of so many bytes of text."""
    return -(-size // BYTES_A_TOKEN)


def digest(text: str) -> str:
    """The same for texts that differ in white space only; empty for none at all."""
    words = re.sub(r"\s+", " ", text).strip()
    return sha256(words.encode()).hexdigest() if words else ""


def total(loads: "list[Load] | tuple[Load, ...]") -> int:
    """What is known of their tokens."""
    return sum(load.tokens or 0 for load in loads)
