"""Which command lines are acts of a person, for the audit. Pure.

A line is judged by what its command's own declaration made of the line, never by its words.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import FlagError, asks_for_help, parse


class Acts(Struct, frozen=True):
    """When a command acts."""

    #: One of these options or words is on the line; empty: always.
    given: frozenset[str] = frozenset()
    #: With one of these, it only looks.
    looks: frozenset[str] = frozenset(("dry-run", "print"))


def _with(*given: str, looks: tuple[str, ...] = ()) -> Acts:
    return Acts(frozenset(given), frozenset(looks))


_ALWAYS = Acts()
#: Every command that acts, by its path. The commands that only look are not in the table.
ACTS: Mapping[str, Acts] = {
    **dict.fromkeys(
        ("init", "answer", "tell", "stop", "retry", "pause", "resume", "restart", "shutdown",
         "config set", "account add", "account remove", "account login", "account pause",
         "account resume", "coders trust", "queue restore", "queue accept", "queue backup",
         "plan apply", "plan approve", "plan revise", "plan cancel", "plan write", "schedule add",
         "schedule remove", "schedule run", "service install", "service remove", "host add",
         "host drain", "host resume", "host lost", "host remove", "web pair", "web revoke",
         "notify pair"),
        _ALWAYS,
    ),
    "run": _with("detach"),
    "review": _with("reject", "comment", "approve"),
    "compare": _with("with", "pick", "discard"),
    "mcp install": _with("write"),
    "land": _with("task_ids", "all", "hold", "release", "revert", looks=("check", "diff")),
    "trust": _with("ids", "all-from", "remote"),
}  # fmt: skip
#: What a tracker of fleet's own answers about its storage, without a change. A real bd has more.
_ABOUT_STORAGE = frozenset(("info", "ping"))


def acts(path: str, given: Collection[str]) -> bool:
    """Whether a command changes something with these options and words, by their long names."""
    when = ACTS.get(path)
    if when is None or when.looks.intersection(given):
        return False
    return not when.given or bool(when.given.intersection(given))


def tracker_acts(args: Sequence[str]) -> bool:
    """Whether a line of the tracker changes something. A verb of a real bd that fleet does not
    know does.
    """
    name, rest = split_command(args)
    verb = find_verb(name)
    flags = (*(verb.flags if verb else ()), *OWN, *GLOBAL)
    if name == "help" or name in _ABOUT_STORAGE or asks_for_help(flags, rest):
        return False
    if verb is None:
        return True
    try:
        line = parse(flags, rest)
    except FlagError:  # the tracker may know more flags of the verb
        return verb.writes or "--claim" in rest
    return (verb.writes or line.switch("claim")) and not line.switch("dry-run")
