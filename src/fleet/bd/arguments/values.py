"""What stands after a flag, as values: priorities, types, statuses, moments, metadata, files."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import msgspec

from fleet.bd.arguments.natural_time import read_time
from fleet.bd.command import Call, Channel, Failure
from fleet.schemas import STATUSES, Status

TYPES = (
    "bug", "feature", "task", "epic", "chore", "decision", "message", "molecule", "gate",
    "spike", "story", "milestone", "event",
)  # fmt: skip
_TYPE_ALIASES = {
    "enhancement": "feature", "feat": "feature", "dec": "decision", "adr": "decision",
    "investigation": "spike", "timebox": "spike", "user-story": "story", "ms": "milestone",
    "mr": "merge-request", "mol": "molecule",
}  # fmt: skip

#: What `create --deps` takes before a colon. `blocked-by` and `depends-on` are plain `blocks`.
EDGE_TYPES = (
    "approved-by", "assigned-to", "attests", "authored-by", "blocked-by", "blocks", "caused-by",
    "conditional-blocks", "delegated-from", "depends-on", "discovered-from", "duplicates",
    "parent-child", "related", "relates-to", "replies-to", "supersedes", "tracks", "until",
    "validates", "waits-for",
)  # fmt: skip

_PRIORITY = re.compile(r"[Pp]?([0-4])")
_METADATA_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_./]*")


def priority(text: str, *, channel: Channel, flag: str = "") -> int:
    found = _PRIORITY.fullmatch(text)
    if not found:
        where = f"parsing --{flag}: " if flag else ""
        raise Failure(
            f'{where}invalid priority "{text}"'
            " (expected 0-4 or P0-P4, not words like high/medium/low)",
            channel=channel,
        )
    return int(found[1])


def issue_type(text: str) -> str:
    """The type that a word means; perhaps none that bd knows."""
    return _TYPE_ALIASES.get(text, text)


def status(text: str) -> Status | None:
    return text if text in get_args(Status) else None  # pyright: ignore[reportReturnType]


def new_status(text: str, flag: str = "status") -> Status:
    """A status to put a task in."""
    found = status(text)
    if found is None:
        what = "status" if flag == "status" else f"--{flag}"
        raise Failure(
            f'invalid {what} "{text}" (built-in: {", ".join(STATUSES)};'
            " or configure custom statuses via 'bd config set status.custom')"
        )
    return found


def moment(call: Call, flag: str, *, channel: Channel) -> datetime | None:
    """What --due or --defer says; None for an empty word, which clears."""
    text = call.line.text(flag)
    if not text:
        return None
    found = read_time(text, call.now)
    if found is None:
        first = "+1h" if flag == "defer" else "+6h"
        raise Failure(
            f'invalid --{flag} format "{text}".'
            f" Examples: {first}, tomorrow, next monday, 2025-01-15",
            channel=channel,
        )
    return found.replace(microsecond=0)


def minutes(call: Call, *, channel: Channel) -> int | None:
    if not call.line.has("estimate"):
        return None
    estimate = call.line.number("estimate", 0)
    if estimate < 0:
        raise Failure("estimate must be a non-negative number of minutes", channel=channel)
    return estimate


def metadata(call: Call, *, channel: Channel) -> Any:
    """The JSON after --metadata, or in the file that it names after an @."""
    text = call.line.text("metadata")
    if text.startswith("@"):
        place = text[1:]
        try:
            text = Path(place).read_text(encoding="utf-8")
        except OSError as error:
            done = "read" if isinstance(error, IsADirectoryError) else "open"
            why = f"{done} {place}: {_go(error)}"
            raise Failure(f"failed to read metadata file {place}: {why}", channel=channel) from None
        except UnicodeDecodeError:
            raise Failure(f"{place} is not valid UTF-8", channel=channel) from None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise Failure("invalid JSON in --metadata: must be valid JSON", channel=channel) from None


def bad_key(key: str) -> str:
    """Why a metadata key cannot be one; empty if it can."""
    if _METADATA_KEY.fullmatch(key):
        return ""
    return f'invalid metadata key "{key}": must match ^[a-zA-Z_][a-zA-Z0-9_./]*$'


def scalar(text: str) -> Any:
    """What `--set-metadata key=text` stores: numbers, booleans and null as such, else the text."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(found, (str, list, dict)) else found


def text_of(call: Call, place: str, what: str, *, channel: Channel) -> str:
    """A text in a file, or on standard input for `-`."""
    try:
        text = call.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
        text.encode()
    except OSError as error:
        done = "read" if isinstance(error, IsADirectoryError) else "open"
        why = f"failed to {done} file: {done} {place}: {_go(error)}"
        raise Failure(f"reading {what} file: {why}", channel=channel) from None
    except UnicodeError:
        source = "standard input" if place == "-" else place
        raise Failure(
            f"reading {what} file: {source} is not valid UTF-8", channel=channel
        ) from None
    if "\0" in text:
        raise Failure(f"reading {what} file: there is a NUL character in it", channel=channel)
    return text


def _go(error: OSError) -> str:
    """An error of the system as bd's language words it."""
    return (error.strerror or str(error)).lower()


def description(call: Call, *, channel: Channel) -> str | None:
    """The description from whichever flag gave it; None if none did."""
    line = call.line
    names = [name for name in ("description", "body", "message") if line.has(name)]
    given = [(name, line.text(name)) for name in names]
    place = "-" if line.switch("stdin") else line.text("body-file")
    if place and given:
        raise Failure(
            "cannot specify both --body-file and --description/--body/--message", channel="err"
        )
    for name, text in given[1:]:
        if text != given[0][1]:
            raise Failure(
                f"cannot specify both --{given[0][0]} and --{name} with different values\n"
                f'  --{given[0][0]}: "{given[0][1]}"\n'
                f'  --{name + ":":<{len(given[0][0]) + 1}} "{text}"',
                channel="err",
            )
    if given and given[0][1] != "-":
        return given[0][1]
    if not given and not place:
        return None
    text = text_of(call, place or "-", "body", channel="err")
    if not text and not line.switch("allow-empty-description"):
        raise Failure(
            "empty description from stdin/file requires --allow-empty-description"
            ' (or use an explicit inline empty value like --description "")',
            channel=channel,
        )
    return text


def design(call: Call) -> str | None:
    line = call.line
    if line.has("design") and line.has("design-file"):
        raise Failure(
            "if any flags in the group [design design-file] are set none of the others can be;"
            " [design design-file] were all set",
            channel="err",
        )
    if line.has("design-file"):
        return text_of(call, line.text("design-file"), "design", channel="err")
    return line.text("design") if line.has("design") else None


def warn_of_spaces(call: Call, labels: tuple[str, ...]) -> None:
    """Somebody who separates labels by spaces gets one label, and should know."""
    for label in labels:
        if " " in label:
            call.warn(
                f'⚠ Stored "{label}" as ONE label — it contains a space.\n'
                "  If you meant several labels, separate them with commas (a,b)"
                " or repeat the flag."
            )
