"""`fleet bd`: the tracker's commands, on whichever queue there is.

With beads the real bd answers; otherwise fleet does, in the same words. Either way `create`
records the directory it was called in, so that the agent works there.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import msgspec

from fleet import control
from fleet.cli.text import one_line
from fleet.control import Control
from fleet.errors import BadInput, FleetError
from fleet.flags import Flag, Parsed, parse, take
from fleet.queue import bd as tracker
from fleet.schemas import Settings
from fleet.taskdir import task_json

if TYPE_CHECKING:
    import click

CREATING = ("create", "new", "q")

#: Flags of `create` that are fleet's own and never reach the tracker.
OWN = (Flag("coder"), Flag("model"), Flag("cwd"))


def bd(args: Sequence[str]) -> int:
    """Answer one bd command line and return its exit code."""
    _refuse_unreadable(args)
    name, rest = tracker.split_command(args)
    flags = rest[: rest.index("--")] if "--" in rest else rest  # behind it stands only text
    if name == "help" or "--help" in flags or "-h" in flags:
        return _help(args)
    fleet = control.opened()
    try:
        return _create(fleet, name, rest) if name in CREATING else _forward(fleet, args)
    finally:
        fleet.close()


def _refuse_unreadable(args: Sequence[str]) -> None:
    """Arguments come as bytes; those that are not UTF-8 cannot be stored or shown again."""
    for number, word in enumerate(args, start=1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadInput(f"argument {number} of bd is not valid UTF-8: {word!a}") from None


def _help(args: Sequence[str]) -> int:
    """Help needs no home; where there is one with beads, bd itself explains its commands."""
    try:
        fleet = control.opened()
    except FleetError:
        fleet = None
    if fleet is not None and fleet.config.queue == "beads":
        return _forward(fleet, args or ["--help"])
    from fleet.queue.bd.help import help_text

    print(help_text(args))
    return 0


def _forward(fleet: Control, args: Sequence[str]) -> int:
    if fleet.config.queue == "beads":
        from fleet.queue.beads.passthrough import forward

        return forward(fleet.home.path, args)
    return tracker.answer(args, fleet.tracker, env=os.environ)


def _create(fleet: Control, name: str, args: Sequence[str]) -> int:
    verb = tracker.find_verb("create")
    assert verb is not None
    known = (*verb.flags, *tracker.GLOBAL)
    own, rest = take(OWN, known, args)
    settings = _settings(fleet, own)
    try:
        line = parse(known, rest)
    except tracker.FlagError:
        return _forward(fleet, [name, *rest])  # the tracker says what is wrong, in its own words
    if line.switch("dry-run"):
        return _forward(fleet, [name, *rest])
    code, out = _ask(fleet, rest, settings)
    if code == 0:
        issues = _issues(out)
        for issue in issues:
            task_json.write(fleet.home, issue["id"], settings)
        _tell(name, line, out, issues, settings)
    return code


def _ask(fleet: Control, args: Sequence[str], settings: Settings) -> tuple[int, str]:
    """Create through the tracker; the settings travel in the same call, so that no task can be
    claimed before its directory is known, whatever is killed and whenever.
    """
    if fleet.config.queue == "beads":
        from fleet.queue.beads.passthrough import create

        return create(fleet.home.path, args, settings)
    out = StringIO()
    line = ["create", "--json", *args]
    code = tracker.answer(line, fleet.tracker, env=os.environ, settings=settings, out=out)
    if code:
        sys.stdout.write(out.getvalue())
    return code, out.getvalue()


def _settings(fleet: Control, own: Mapping[str, str]) -> Settings:
    coder, model = own.get("coder"), own.get("model")
    if (coder is None) != (model is None):
        given, missing = ("--coder", "--model") if model is None else ("--model", "--coder")
        raise BadInput(
            f"{given} was given without {missing}",
            hint="Give both, so that the choice is clear, or neither to use the defaults.",
        )
    if coder is not None:
        fleet.check_coder(coder)
    if model is not None and not model.strip():
        raise BadInput("--model must not be empty")
    try:
        here = os.getcwd()  # noqa: PTH109 - its error names the case we explain
    except FileNotFoundError:
        raise BadInput("the current directory is gone", hint="Go to one that exists.") from None
    cwd = control.checked_directory(own.get("cwd") or here)
    return Settings(cwd=cwd, coder=coder, model=model)


def _issues(out: str) -> list[dict[str, Any]]:
    """The issues that a `create --json` answer tells of, in either shape of bd's JSON."""
    answer = msgspec.json.decode(out)
    if isinstance(answer, dict) and "data" in answer:
        answer = answer["data"]
    return answer if isinstance(answer, list) else [answer]


def _tell(
    name: str, line: Parsed, out: str, issues: list[dict[str, Any]], settings: Settings
) -> None:
    if name == "q" or line.switch("silent"):
        print("\n".join(issue["id"] for issue in issues))
    elif line.switch("json") or line.text("format") == "json":
        sys.stdout.write(out)
    else:
        where = ", ".join(
            f"{key}: {value}"
            for key, value in (
                ("cwd", settings.cwd),
                ("coder", settings.coder),
                ("model", settings.model),
            )
            if value is not None
        )
        for issue in issues:
            print(f"Created {issue['id']}: {one_line(issue['title'])}  [{where}]")


def bd_command() -> "click.Command":
    """For click's overview and completion only: a real line never comes this way."""
    import click

    words = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "help_option_names": []}
    return click.Command("bd", callback=bd, params=[words], context_settings=settings)
