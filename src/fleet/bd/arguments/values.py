"""Words and flag values of a line as typed values: priorities, types, statuses, moments, texts."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

import msgspec

from fleet.bd.command import Call
from fleet.bd.pflag import Flag
from fleet.errors import BadInput, NotFound
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.named_values import custom_statuses, custom_types
from fleet.schemas import STATUSES, Settings, Status, settings_in

TYPES = (
    "bug", "feature", "task", "epic", "chore", "decision", "message", "molecule", "gate",
    "spike", "story", "milestone", "event",
)  # fmt: skip
_TYPE_ALIASES = {
    "enhancement": "feature", "feat": "feature", "dec": "decision", "adr": "decision",
    "investigation": "spike", "timebox": "spike", "user-story": "story", "ms": "milestone",
    "mr": "merge-request", "mol": "molecule",
}  # fmt: skip

#: Types of dependencies that a person can add.
EDGE_TYPES = (
    "approved-by", "assigned-to", "attests", "authored-by", "blocks", "caused-by",
    "conditional-blocks", "delegated-from", "discovered-from", "duplicates", "parent-child",
    "related", "relates-to", "replies-to", "supersedes", "tracks", "until", "validates",
    "waits-for",
)  # fmt: skip
_EDGE_ALIASES = {"blocked-by": "blocks", "depends-on": "blocks"}

_PRIORITY = r"[Pp]?([0-4])"
_METADATA_KEY = r"[a-zA-Z_][a-zA-Z0-9_./]*"

DESCRIPTION_FLAGS = (
    Flag("description", short="d", help="Issue description (- reads standard input)"),
    Flag("body", help="Alias for --description"),
    Flag("message", short="m", help="Alias for --description"),
    Flag(
        "body-file",
        aliases=("description-file",),
        help="Read description from a file (- for standard input)",
    ),
    Flag("stdin", "switch", help="Read description from standard input"),
    Flag("allow-empty-description", "switch", help="Allow an empty file as description"),
    Flag("design", help="Design notes"),
    Flag("design-file", help="Read design from a file (- for standard input)"),
)
TEXT_FLAGS = (
    Flag("stdin", "switch", help="Read the text from standard input"),
    Flag("file", short="f", help="Read the text from a file"),
)


def ids(call: Call, least: int = 1) -> Sequence[str]:
    """The words of the line, which needs at least `least` of them."""
    if len(call.words) < least:
        raise BadInput(f"requires at least {least} arg(s), only received {len(call.words)}")
    return call.words


def exactly(call: Call, count: int) -> Sequence[str]:
    if len(call.words) != count:
        raise BadInput(f"accepts {count} arg(s), received {len(call.words)}")
    return call.words


def at_most_one(call: Call) -> str:
    """The only word of the line, or an empty one."""
    if len(call.words) > 1:
        raise BadInput(f"accepts at most 1 arg(s), received {len(call.words)}")
    return "".join(call.words)


def parent(call: Call) -> str | None:
    """The task that --parent names; None without the flag, or with an empty value."""
    word = call.line.text("parent")
    if not word:
        return None
    try:
        return call.resolve(word)
    except NotFound:
        raise BadInput(f"parent issue {word} not found") from None


def priority(text: str) -> int:
    found = re.fullmatch(_PRIORITY, text)
    if not found:
        raise BadInput(f'invalid priority "{text}" (expected 0-4 or P0-P4)')
    return int(found[1])


def issue_type(text: str) -> str:
    """The type that a word means; not necessarily one of `TYPES`."""
    return _TYPE_ALIASES.get(text, text)


def known_type(queue: SqlQueue, text: str) -> str:
    kind = issue_type(text)
    known = TYPES if kind in TYPES else (*TYPES, *custom_types(queue))
    if kind not in known:
        raise BadInput(f'invalid issue type "{text}" (valid: {", ".join(known)})')
    return kind


def status(call: Call, text: str) -> tuple[Status, str]:
    """The status of a task's row, and the name to show if `status.custom` added this one."""
    if text in get_args(Status):
        return text, ""  # pyright: ignore[reportReturnType] - checked above
    custom = custom_statuses(call.queue)
    if text not in custom:
        raise BadInput(f'invalid status "{text}" (valid: {", ".join((*STATUSES, *custom))})')
    return custom[text], text


def edge_type(text: str) -> str:
    """The type of dependency that a word means; `blocked-by` and `depends-on` are `blocks`."""
    kind = _EDGE_ALIASES.get(text, text)
    if kind not in EDGE_TYPES:
        raise BadInput(f'unknown dependency type "{text}"; valid types: {", ".join(EDGE_TYPES)}')
    return kind


def moment(call: Call, flag: str) -> datetime | None:
    """The moment that a flag names; None without the flag, or with an empty value that clears."""
    text = call.line.text(flag)
    if not text:
        return None
    from fleet.bd.arguments.natural_time import read_time  # patterns are slow to compile

    found = read_time(text, call.now)
    if found is None:
        raise BadInput(f'invalid --{flag} "{text}": write it like +6h, -7d, tomorrow or 2027-01-15')
    return found.replace(microsecond=0)


def minutes(call: Call) -> int | None:
    if not call.line.has("estimate"):
        return None
    estimate = call.line.number("estimate", 0)
    if estimate < 0:
        raise BadInput("estimate must be a non-negative number of minutes")
    return estimate


def metadata(call: Call) -> Any:
    """The JSON after --metadata, or in the file named after an @."""
    text = call.line.text("metadata")
    if text.startswith("@"):
        text = read_text(call, text[1:])
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise BadInput("invalid JSON in --metadata: must be valid JSON") from None


def with_settings(metadata: dict[str, Any], settings: Settings | None) -> dict[str, Any]:
    """A task's metadata with fleet's own settings: where the task runs, and with what."""
    own: dict[str, Any] = {} if settings is None else msgspec.to_builtins(settings)
    return {**metadata, "fleet": {**settings_in(metadata), **own}} if own else metadata


def check_metadata_key(key: str) -> None:
    if not re.fullmatch(_METADATA_KEY, key):
        raise BadInput(f'invalid metadata key "{key}": must match {_METADATA_KEY}')


def scalar(text: str) -> Any:
    """What `--set-metadata key=text` stores: numbers, booleans and null as such, else the text."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(found, (str, list, dict)) else found


def read_text(call: Call, place: str) -> str:
    """A text in a file, or on standard input for `-`."""
    source = "standard input" if place == "-" else place
    try:
        text = call.stdin.read() if place == "-" else call.read_file(place).decode()
        text.encode()
    except OSError as error:
        raise BadInput(f"cannot read {source}: {error.strerror or error}") from None
    except UnicodeError:
        raise BadInput(f"{source} is not valid UTF-8") from None
    if "\0" in text:
        raise BadInput(f"{source} holds a zero byte: that is not text")
    return text


def description(call: Call) -> str | None:
    """The description from the one flag that was given; None if none was."""
    line = call.line
    texts = {line.text(name) for name in ("description", "body", "message") if line.has(name)}
    place = "-" if line.switch("stdin") or texts == {"-"} else line.text("body-file")
    if len(texts) > 1 or (texts and texts != {"-"} and place):
        raise BadInput("the description was given twice, with different texts")
    if not place:
        return texts.pop() if texts else None
    text = read_text(call, place)
    if not text and not line.switch("allow-empty-description"):
        raise BadInput("an empty description needs --allow-empty-description")
    return text


def design(call: Call) -> str | None:
    line = call.line
    if line.has("design") and line.has("design-file"):
        raise BadInput("--design and --design-file cannot be given together")
    if line.has("design-file"):
        return read_text(call, line.text("design-file"))
    return line.text("design") if line.has("design") else None


def spoken_text(call: Call, words: Sequence[str]) -> str:
    """The text of a comment or note: the words of the line, a file, or standard input."""
    place = "-" if call.line.switch("stdin") else call.line.text("file")
    if words and place:
        raise BadInput("the text was given twice: as words, and as a file or standard input")
    text = read_text(call, place) if place else " ".join(words)
    if not text.strip():
        raise BadInput("no text was given: write it behind the id, or use --file or --stdin")
    return text


def labels_of(call: Call, text: str) -> list[str]:
    """Labels by comma."""
    labels = [label.strip() for label in text.split(",") if label.strip()]
    if not labels:
        raise BadInput("label cannot be empty")
    warn_of_spaces(call, labels)
    return labels


def warn_of_spaces(call: Call, labels: Sequence[str]) -> None:
    """Labels that were separated by spaces are one label, which the caller should know."""
    for label in labels:
        if " " in label:
            call.warn(f'Warning: "{label}" is one label; separate several by commas')
