"""Patterns for paths, as in a .gitignore: `src/**`, `*.md`, `/docs`, `!src/secret`. Pure."""

import posixpath
import re
from collections.abc import Sequence


class Globs:
    """Patterns that were written for one directory of a tree; the last that matches decides.

    A pattern without a slash matches a name at any depth, one with a slash from the directory on,
    and one that begins with a slash from the top of the tree. What matches a directory matches
    all that is in it. Without any pattern the directory itself is meant.
    """

    def __init__(self, patterns: Sequence[str], inside: str = ".") -> None:
        wanted = [pattern for pattern in patterns if pattern.strip("! /")]
        self._rules = [_rule(pattern, inside) for pattern in wanted or ["**"]]
        #: Nothing is left out.
        self.everything = not wanted and inside == "."

    def match(self, path: str) -> bool:
        found = False
        for wanted, rule in self._rules:
            if found is not wanted and rule.fullmatch(path):
                found = wanted
        return found


def _rule(pattern: str, inside: str) -> tuple[bool, re.Pattern[str]]:
    wanted = not pattern.startswith("!")
    text = pattern.removeprefix("!").removeprefix("./").rstrip("/")
    if text.startswith("/"):
        place = text.lstrip("/")
    elif "/" in text or text == "**":
        place = posixpath.join(inside, text)
    else:
        place = posixpath.join(inside, "**", text)
    place = posixpath.normpath(place)
    if place == ".":
        return wanted, re.compile(r".*", re.DOTALL)
    try:
        return wanted, re.compile(_regex(place.split("/")) + r"(?:/.*)?", re.DOTALL)
    except re.error:  # a choice like [z-a] is none: it is taken by the letter
        return wanted, re.compile(re.escape(place))


def _regex(parts: Sequence[str]) -> str:
    text = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            text += r".+" if last else r"(?:.+/)?"
        else:
            text += _part(part) + ("" if last else "/")
    return text


def _part(part: str) -> str:
    """One name of a path: * and ? stop at a slash, [] is a choice."""
    text, at = "", 0
    while at < len(part):
        char = part[at]
        end = part.find("]", at + 2) if char == "[" else -1
        if char == "*":
            text += r"[^/]*"
        elif char == "?":
            text += r"[^/]"
        elif end > 0:
            inner = part[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            text += f"[{'^/' + inner[1:] if inner[0] in '!^' else inner}]"
            at = end
        else:
            text += re.escape(char)
        at += 1
    return text
