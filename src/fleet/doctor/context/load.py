"""What a CLI loads before the task, as values, and what of that is loaded twice. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Literal

from msgspec import Struct

from fleet.doctor.check_result import CheckResult
from fleet.files.lenient_read import Content
from fleet.schemas import Context

LoadKind = Literal["prompt", "tools", "rules", "skill", "command", "agent", "server", "plugin"]
#: Where a load comes from: the CLI, the user, the project, or a plugin (which is the user's).
Origin = Literal["cli", "user", "project", "plugin"]

#: Bytes of text for one token, where no CLI counts: a rule of thumb for English and code.
BYTES_A_TOKEN = 4
#: Which copy of a duplicate to remove first; the last one stays.
_REMOVED_FIRST: tuple[Origin, ...] = ("plugin", "user", "project", "cli")


class Load(Struct, frozen=True, kw_only=True):
    """One thing that is loaded."""

    kind: LoadKind
    name: str
    origin: Origin
    #: The file, or the configuration, that it comes from.
    where: str = ""
    #: None: not known.
    tokens: int | None = None
    #: The CLI counted the tokens; otherwise they are an estimate.
    counted: bool = False
    #: Equal for equal content; empty if the content is not known.
    digest: str = ""


class Duplicate(Struct, frozen=True, kw_only=True):
    """The same content loaded more than once."""

    what: str
    places: tuple[str, ...]
    #: What all copies but one cost; None: not known.
    tokens: int | None
    fix: str


class Survey(Struct, frozen=True, kw_only=True):
    """All that one CLI loads in a directory."""

    coder: str
    cwd: str
    #: The account whose directory was read; empty: the user's own login.
    account: str = ""
    #: Where the figures come from, in a sentence.
    source: str
    #: The CLI counted everything.
    counted: bool = False
    loads: tuple[Load, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    #: Tokens by context, as far as they are known.
    totals: Mapping[Context, int | None]
    #: What the totals leave out, in words; empty if nothing.
    beyond: str = ""
    findings: tuple[CheckResult, ...] = ()


def estimate(size: int) -> int:
    """About how many tokens a text of this many bytes has."""
    return -(-size // BYTES_A_TOKEN)


def total(loads: Iterable[Load]) -> int:
    """The sum of the known tokens."""
    return sum(load.tokens or 0 for load in loads)


def digest(content: Content) -> str:
    """A digest of a file's content; empty for a file that is blank or was not read whole."""
    text = content.data.strip()
    return sha256(text).hexdigest() if text and content.whole else ""


def duplicates(loads: Iterable[Load], coder: str) -> tuple[Duplicate, ...]:
    """Loads of one kind with the same content, the most expensive first."""
    groups: defaultdict[tuple[LoadKind, str], list[Load]] = defaultdict(list)
    for load in loads:
        if load.digest:
            groups[load.kind, load.digest].append(load)
    found = [_duplicate(group, coder) for group in groups.values() if len(group) > 1]
    return tuple(sorted(found, key=lambda each: -(each.tokens or 0)))


def _duplicate(group: Sequence[Load], coder: str) -> Duplicate:
    copies = sorted(group, key=lambda load: _REMOVED_FIRST.index(load.origin))
    kind = copies[0].kind
    names = dict.fromkeys(load.name.rpartition(":")[2].partition("@")[0] for load in group)
    known = [load.tokens for load in copies[:-1] if load.tokens is not None]
    return Duplicate(
        what=f"the same {kind}" if kind == "rules" else f"{kind} {' and '.join(names)}",
        places=tuple(load.where or load.origin for load in copies),
        tokens=sum(known) if known else None,
        fix="; ".join(dict.fromkeys(_removal(load, coder) for load in copies[:-1])),
    )


def _removal(load: Load, coder: str) -> str:
    """How to remove a load."""
    match load.kind, load.origin:
        case _, "plugin":
            return f"{coder} plugin disable {load.name.partition(':')[0]}"
        case "server", "user":
            return f"{coder} mcp remove {load.name}"
        case "server", _:
            return f"take {load.name} out of {load.where}"
        case "skill", _:
            return f"rm -r {PurePath(load.where).parent}"
        case _:
            return f"rm {load.where}"
