"""Reads a `bd` command line as bd's own parser does, so that words and values are told apart.

Pure. Needed where fleet has to add to what a user typed without changing its meaning.
"""

from collections.abc import Sequence

from msgspec import Struct

#: Flags without a value. Every other flag takes the next word, unless it carries one with `=`.
_SWITCHES = frozenset(
    (
        "--allow-empty-description", "--cpu-profile", "--dry-run", "--ephemeral", "--force",
        "--global", "--help", "--ignore-schema-skew", "--json", "--no-color", "--no-history",
        "--no-inherit-labels", "--profile", "--quiet", "--readonly", "--sandbox", "--silent",
        "--stdin", "--validate", "--verbose", "--version", "-V", "-h", "-q", "-v",
    )
)  # fmt: skip


class Part(Struct, frozen=True, kw_only=True):
    """A flag with its value, or a word. `typed` is exactly what stood on the command line."""

    typed: tuple[str, ...]
    flag: str = ""
    value: str | None = None

    @property
    def word(self) -> str | None:
        return None if self.flag else self.typed[-1]


def scan(args: Sequence[str]) -> list[Part]:
    """The parts of a command line. Behind `--` everything is a word."""
    parts: list[Part] = []
    rest = list(args)
    while rest:
        first = rest.pop(0)
        if first == "--":
            parts += [Part(typed=("--", word)) for word in rest]
            break
        if not first.startswith("-") or first == "-":
            parts.append(Part(typed=(first,)))
            continue
        flag, value = _flag(first)
        if value is not None or flag in _SWITCHES or not rest:
            parts.append(Part(typed=(first,), flag=flag, value=value))
        else:
            value = rest.pop(0)
            parts.append(Part(typed=(first, value), flag=flag, value=value))
    return parts


def _flag(text: str) -> tuple[str, str | None]:
    """`--name=value`, `--name`, `-n`, and `-nvalue` as name and value."""
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        return name, value if equals else None
    name = text[:2]
    if len(text) == 2 or name in _SWITCHES:
        return name, None
    return name, text[2:].removeprefix("=")


def typed(parts: Sequence[Part]) -> list[str]:
    """The command line again; words that look like flags stay behind `--`."""
    line = [text for part in parts for text in part.typed if part.typed[0] != "--"]
    behind = [part.typed[1] for part in parts if part.typed[0] == "--"]
    return [*line, "--", *behind] if behind else line


def split_verb(args: Sequence[str]) -> tuple[str, list[str]]:
    """The command of bd, and its arguments with the global flags that stood before it."""
    parts = scan(args)
    for place, part in enumerate(parts):
        if part.word is not None:
            return part.word, typed([*parts[:place], *parts[place + 1 :]])
    return "", list(args)
