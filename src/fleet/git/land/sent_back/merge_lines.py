"""The lines of a merge: hunks of a diff, conflict markers, and what stands between them. Pure."""

from collections.abc import Iterator

from msgspec import Struct


class Hunk(Struct, frozen=True, kw_only=True):
    """One place where what the run left differs from the merge that git alone makes."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def parse_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff without context lines."""
    found: list[Hunk] = []
    removed: list[str] = []
    added: list[str] = []
    inside = False
    for line in diff.split("\n"):
        if line.startswith("@@"):
            if removed or added:
                found.append(Hunk(removed=tuple(removed), added=tuple(added)))
            removed, added, inside = [], [], True
        elif inside and line.startswith("-"):
            removed.append(line[1:].rstrip("\r"))
        elif inside and line.startswith("+"):
            added.append(line[1:].rstrip("\r"))
    if removed or added:
        found.append(Hunk(removed=tuple(removed), added=tuple(added)))
    return tuple(found)


def plain_lines(text: str) -> Iterator[str]:
    """The lines of a text as hunks have them."""
    return (line.rstrip("\r") for line in text.split("\n"))


def count_markers(text: str) -> int:
    """How many lines begin or end a conflict, as git writes them.

    Lines of equal signs are left out: many files have headings underlined so.
    """
    return sum(_is_marker(line) for line in text.split("\n"))


def _is_marker(line: str) -> bool:
    return line.startswith(("<<<<<<< ", ">>>>>>> ", "||||||| ")) or line in ("<<<<<<<", ">>>>>>>")


def conflict_lines(text: str) -> Iterator[str]:
    """The lines inside of conflict markers."""
    inside = False
    for line in plain_lines(text):
        if line.startswith("<<<<<<< "):
            inside = True
        elif line.startswith(">>>>>>> "):
            inside = False
        elif inside:
            yield line
