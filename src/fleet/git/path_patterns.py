"""Patterns for paths, as in a .gitignore: `src/**`, `*.md`, `/docs`, `!src/secret`. Pure."""

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache

from pathspec import PathSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern


class PathPatterns:
    """Patterns that were written for one directory of a tree; the last that matches decides.

    A pattern without a slash matches a name at any depth, one with a slash from the directory on,
    and one that begins with a slash from the top of the tree. A pattern that matches a directory
    matches all that is in it. Without any pattern the directory itself is meant.
    """

    def __init__(self, patterns: Sequence[str], inside: str = ".") -> None:
        wanted = [pattern for pattern in patterns if pattern.strip("! /")]
        self._spec = PathSpec(
            [_compiled(each, inside) for each in wanted or ["**"]],
            backend="simple",  # not whichever engine is installed
        )
        #: The patterns match every path.
        self.everything = not wanted and inside == "."

    def match(self, path: str) -> bool:
        return self._spec.match_file(path)


@lru_cache(maxsize=256)
def _compiled(pattern: str, inside: str) -> GitIgnoreSpecPattern:
    sign = "!" if pattern.startswith("!") else ""
    text = pattern.removeprefix("!").removeprefix("./").rstrip("/")
    place = _from_top(text, inside)
    try:
        compiled = GitIgnoreSpecPattern(f"{sign}/{place}")
    except (GitIgnorePatternError, re.error):
        compiled = None
    if compiled is None or compiled.include is None:  # no pattern, like [z-a: taken by the letter
        return GitIgnoreSpecPattern(f"{sign}/{_escape(place)}")
    return compiled


def _from_top(text: str, inside: str) -> str:
    """The pattern as seen from the top of the tree."""
    if text.startswith("/"):
        place = text.lstrip("/")
    elif "/" in text or text == "**":
        place = posixpath.join(_escape(inside), text)
    else:
        place = posixpath.join(_escape(inside), "**", text)
    place = posixpath.normpath(place)
    return "**" if place == "." else place


def _escape(text: str) -> str:
    return re.sub(r"([\\\[\]*?!# ])", r"\\\1", text)
