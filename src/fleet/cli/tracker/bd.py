"""`fleet bd`: the tracker's commands, on whichever queue there is.

With beads the real bd answers; otherwise fleet does, in the same words. Either way `create`
records the directory it was called in, so that the agent works there.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fleet import bd as tracker
from fleet import control
from fleet.bd.pflag import FlagError, Parsed, parse, take
from fleet.cli.terminal_text import one_line
from fleet.cli.tracker import agent_bd, update_settings
from fleet.cli.tracker.task_flags import EVIDENCE, LIMITS, OWN, PLACE, settings_from, shown_settings
from fleet.control import Control
from fleet.errors import BadInput, FleetError, InvalidTask, QueueError
from fleet.home import task_json
from fleet.schemas import Settings

if TYPE_CHECKING:
    import click

CREATING = ("create", "new", "q")

Style = Literal["line", "json", "id"]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a `create` came to, on whichever queue."""

    code: int
    style: Style
    #: Id and title of each task that now exists.
    issues: tuple[tuple[str, str], ...] = ()
    out: str = ""
    err: str = ""


def bd(args: Sequence[str]) -> int:
    """Answer one bd command line and return its exit code."""
    _refuse_unreadable(args)
    name, rest = tracker.split_command(args)
    flags = rest[: rest.index("--")] if "--" in rest else rest  # behind it stands only text
    if name == "help" or "--help" in flags or "-h" in flags:
        return _help(args)
    told = agent_bd.answer_of(args, os.environ)
    if told is not None:
        print(told)
        return 0
    fleet = control.opened()
    try:
        agent_bd.refuse_others(fleet, args, os.environ)
        agent_bd.note_closing(fleet.home, args, os.environ)
        if name in CREATING:
            return _create(fleet, name, rest)
        if name == "update":
            return update_settings.update(fleet, rest, partial(_forward, fleet))
        return _forward(fleet, args)
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
    from fleet.bd.help import asked_about, help_text

    code = 0
    if fleet is not None and fleet.config.queue == "beads":
        code = _forward(fleet, args or ["--help"])
    else:
        print(help_text(args))
    if asked_about(args) in ("", "update", *CREATING):
        print(f"\n{_own_help()}")
    return code


def _own_help() -> str:
    from fleet.bd.help import table

    parts = ["Flags of create, new, q and update that are fleet's own:", *table(PLACE)]
    parts += ["", "  What the task has to show:", *table(EVIDENCE)]
    return "\n".join([*parts, "", "  What a run of it may use:", *table(LIMITS)])


def _record_edits(fleet: Control) -> None:
    """Put what people changed in task.json into the tasks themselves, before they travel."""
    for task, settings in fleet.edited_settings():
        if isinstance(settings, InvalidTask):
            print(f"Warning: {settings.message}; exported as it was made", file=sys.stderr)
            continue
        metadata = {**task.metadata, "fleet": msgspec.to_builtins(settings)}
        line = ["update", f"--metadata={msgspec.json.encode(metadata).decode()}", "--", task.id]
        _quietly(fleet, line)


def _quietly(fleet: Control, args: Sequence[str]) -> None:
    if fleet.config.queue == "beads":
        from fleet.processes.bounded_call import DEVNULL
        from fleet.queue.beads.bd_cli.forward import forward

        code = forward(fleet.home.path, args, stdin=DEVNULL, stdout=DEVNULL)
    else:
        code = tracker.answer(args, fleet.tracker, env=os.environ, out=StringIO())
    if code != 0:
        raise QueueError(f"bd {args[0]} failed for {args[-1]}")


def _forward(fleet: Control, args: Sequence[str]) -> int:
    if tracker.split_command(args)[0] == "export":
        _record_edits(fleet)
    if fleet.config.queue == "beads":
        from fleet.queue.beads.bd_cli.forward import forward

        return forward(fleet.home.path, args)
    return tracker.answer(args, fleet.tracker, env=os.environ)


def _create(fleet: Control, name: str, args: Sequence[str]) -> int:
    """Create through the tracker; the settings travel in the same call, so that no task can be
    claimed before its directory is known, whatever is killed and whenever.
    """
    verb = tracker.find_verb("create")
    assert verb is not None
    try:
        own, rest = take(OWN, (*verb.flags, *tracker.GLOBAL), args)
    except FlagError as error:
        print(f"Error: {error}", file=sys.stderr)  # as the tracker says it of its own flags
        return 1
    settings = settings_from(fleet, own)
    made = (_create_on_beads if fleet.config.queue == "beads" else _create_here)(
        fleet, name, rest, settings
    )
    sys.stderr.write(made.err)
    if made.code != 0 or not made.issues:
        sys.stdout.write(made.out)
        return made.code
    for task_id, _ in made.issues:
        _repeat(fleet, task_id, settings)
    _tell(made, settings)
    return 0


def _repeat(fleet: Control, task_id: str, settings: Settings) -> None:
    """Put the settings into task.json too. The task exists and knows them: if that cannot be done,
    an error would only have the user make it a second time.
    """
    try:
        task_json.write(fleet.home, task_id, settings)
    except OSError as error:
        why = f"{error.filename} cannot be written: {error.strerror}"
        print(f"Warning: {task_id} has no task.json to edit: {why}", file=sys.stderr)


def _create_on_beads(fleet: Control, name: str, args: Sequence[str], settings: Settings) -> Made:
    from fleet.queue.beads.bd_cli.create import create

    made = create(fleet.home.path, args, settings, verb=name, invoked_in=_base())
    issues = () if "--dry-run" in args else tuple((i.id, i.title) for i in made.issues)
    return Made(code=made.code, style=made.style, issues=issues, out=made.out, err=made.err)


def _base() -> Path | None:
    """Where relative file names on the line start; nowhere, if that directory is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _create_here(fleet: Control, name: str, args: Sequence[str], settings: Settings) -> Made:
    verb = tracker.find_verb("create")
    assert verb is not None
    try:
        line = parse((*verb.flags, *tracker.GLOBAL), args)
    except FlagError:
        line = Parsed({"dry-run": True}, ())  # the tracker says what is wrong, in its own words
    as_json = line.switch("json") or line.text("format") == "json"
    out = StringIO()

    def ask(*words: str) -> int:
        return tracker.answer(words, fleet.tracker, env=os.environ, settings=settings, out=out)

    if line.switch("dry-run"):
        return Made(code=ask(name, *args), style="line", out=out.getvalue())
    if as_json and name != "q":
        code = ask("create", *args)
        issues = _issues(out.getvalue()) if code == 0 else ()
        return Made(code=code, style="json", issues=issues, out=out.getvalue())
    code = ask("q", *args) if name == "q" else ask("create", "--silent", *args)
    ids = out.getvalue().split() if code == 0 else []
    style: Style = "id" if name == "q" or line.switch("silent") else "line"
    titles = tuple((task_id, fleet.get(task_id).title) for task_id in ids)
    return Made(code=code, style=style, issues=titles, out=out.getvalue())


class _Issue(msgspec.Struct):
    id: str
    title: str


class _Envelope(msgspec.Struct):
    """What BD_JSON_ENVELOPE=1 puts around an answer."""

    data: _Issue | list[_Issue]


def _issues(out: str) -> tuple[tuple[str, str], ...]:
    """Id and title of each issue that a `create --json` answer tells of, in either shape."""
    try:
        answer = msgspec.json.decode(out, type=_Envelope).data
    except msgspec.ValidationError:
        answer = msgspec.json.decode(out, type=_Issue | list[_Issue])
    issues = [answer] if isinstance(answer, _Issue) else answer
    return tuple((issue.id, issue.title) for issue in issues)


def _tell(made: Made, settings: Settings) -> None:
    if made.style == "json":
        sys.stdout.write(made.out)
        return
    where = ", ".join(f"{key}: {one_line(value)}" for key, value in shown_settings(settings))
    for task_id, title in made.issues:
        print(task_id if made.style == "id" else f"Created {task_id}: {one_line(title)}  [{where}]")


def bd_command() -> "click.Command":
    """For click's overview and completion only: a real line never comes this way."""
    import click

    words = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    settings: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
    return click.Command("bd", callback=bd, params=[words], context_settings=settings)
