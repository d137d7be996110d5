"""`fleet bd`: the tracker's commands, on every queue.

With beads the real bd answers; otherwise fleet does. Either way `create` records the directory
that it was called in, so that the agent works there.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet import control
from fleet.bd.command import GLOBAL, Call, Reply
from fleet.bd.command_line import (
    answer,
    carry_out,
    find_verb,
    read_line,
    show,
    split_command,
)
from fleet.bd.fleet_flags import EVIDENCE, LIMITS, OWN, PLACE
from fleet.bd.pflag import FlagError, asks_for_help, take
from fleet.cli.inspect.acting_lines import tracker_acts
from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import folded, print_line, terminal_width
from fleet.control import Control
from fleet.control.acts.task_flags import FlagValues, shown_settings
from fleet.errors import BadInput, FleetError, InvalidTask
from fleet.schemas import Settings, Task, settings_metadata
from fleet.schemas.shown_text import counted, harmless, harmless_json, one_line

if TYPE_CHECKING:
    import click

    from fleet.control.acts.create import NewTasks
    from fleet.control.queue.place_code import PlacedCode
    from fleet.schemas.task_state import Standing, TaskState

CREATING = ("create", "new", "q")
CLOSING = ("close", "done", "duplicate", "supersede", "update")


def bd(args: Sequence[str]) -> int:
    """Answer one bd command line and return the exit code. An act is recorded in the audit."""
    if not tracker_acts(args):
        return _answer(args)
    from fleet.cli.recorded_act import recorded

    name, _ = split_command(args)
    code: int = recorded(f"bd {name}", ["bd", *args], partial(_answer, args))
    return code


def _answer(args: Sequence[str]) -> int:
    _refuse_unreadable(args)
    name, rest = split_command(args)
    verb = find_verb(name)
    flags = (*(verb.flags if verb else ()), *OWN, *GLOBAL)
    if name == "help" or asks_for_help(flags, rest):
        return _help(args)
    fleet = control.opened()
    try:
        if name in CREATING:
            return _create(fleet, name, rest)
        if name in CLOSING:
            return _close(fleet, name, args, rest)
        return _forward(fleet, args)
    finally:
        fleet.close()


def _close(fleet: Control, name: str, args: Sequence[str], rest: Sequence[str]) -> int:
    """A command that may close tasks: the supervisor has to know that a person did it."""
    from fleet.control.queue.note_closing import note_closing  # other commands need not load it

    note_closing(fleet.home, args, os.environ)
    if name != "update":
        return _forward(fleet, args)
    from fleet.cli.tracker import update_settings
    from fleet.control.hosts.send_edits import send_edits

    send_edits(fleet, rest)
    return update_settings.update(fleet, rest, partial(_forward, fleet))


def _refuse_unreadable(args: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8, which cannot be stored or shown again."""
    for number, word in enumerate(args, start=1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadInput(f"argument {number} of bd is not valid UTF-8: {word!a}") from None


def _help(args: Sequence[str]) -> int:
    """Help needs no home; where there is one with beads, bd explains the commands."""
    try:
        fleet = control.opened()
    except FleetError:
        fleet = None
    from fleet.bd.help import asked_about, help_text, table

    code, width = 0, terminal_width()
    if fleet is not None and fleet.config.queue == "beads":
        code = _forward(fleet, args or ["--help"])
    else:
        print(help_text(args, width))
    if asked_about(args) in ("", "update", *CREATING):
        print("\nFlags of create, new, q and update that are fleet's own:")
        print(*table(PLACE, width), sep="\n")
        print("\n  What the task has to show:", *table(EVIDENCE, width), sep="\n")
        print("\n  What a run of it may use:", *table(LIMITS, width), sep="\n")
    return code


def _forward(fleet: Control, args: Sequence[str]) -> int:
    """Have bd answer, or fleet in place of bd."""
    if split_command(args)[0] == "export":
        _record_edits(fleet)
    if fleet.config.queue == "beads":
        from fleet.bd.beads_forward import forward, is_silent

        limit = timedelta(seconds=fleet.config.bd_timeout_s)
        with waiting("bd", quiet="--json" in args or not is_silent(args)) as end:
            return forward(
                fleet.home.path, args, patience=limit, invoked_in=_base(), before_output=end
            )
    return answer(args, fleet.tracker, env=os.environ, cwd=_base(), stands=_TasksNow(fleet))


class _TasksNow:
    """How tasks stand, as every surface shows it. Only lines for people load any of it."""

    def __init__(self, fleet: Control) -> None:
        self._fleet = fleet

    def states(self, tasks: Sequence[Task]) -> Mapping[str, "TaskState"]:
        from fleet.control.view.task_states import states_of

        return states_of(self._fleet, tasks, datetime.now().astimezone())

    def standings(self, tasks: Sequence[Task]) -> Mapping[str, "Standing"]:
        from fleet.control.view.read_now import standings_of

        return standings_of(self._fleet, tasks, datetime.now().astimezone())


def _record_edits(fleet: Control) -> None:
    """Put what people changed in task.json into the tasks themselves, before they travel."""
    for task, settings in fleet.edited_settings():
        if isinstance(settings, InvalidTask):
            print(f"Warning: {settings.message}; exported as it was made", file=sys.stderr)
        else:
            fleet.queue.add_metadata(task.id, settings_metadata(settings))


def _create(fleet: Control, name: str, args: Sequence[str]) -> int:
    """Create through the tracker; the settings travel in the same call, so that no task can be
    claimed before the directory is known, whatever is killed and whenever.
    """
    verb = find_verb("create")
    assert verb is not None
    on_queue = _create_on_beads if fleet.config.queue == "beads" else _create_on_sql
    try:
        own, rest = take(OWN, (*verb.flags, *GLOBAL), args)
        return on_queue(fleet, name, own, rest)
    except FlagError as error:
        # As the tracker says it of its own flags.
        print(harmless(f"Error: {error}"), file=sys.stderr)
        return 1


def _create_on_sql(fleet: Control, name: str, own: FlagValues, rest: Sequence[str]) -> int:
    from fleet.control.acts.create import create_tasks  # git is not for every command of bd

    def add(settings: Settings) -> tuple[Sequence[Task], tuple[Call, Reply]]:
        call = read_line(
            [name, *rest], fleet.tracker, env=os.environ, settings=settings, cwd=_base()
        )
        reply = carry_out(call)
        return reply.created, (call, reply)

    new, (call, reply) = create_tasks(fleet, own, add)
    _warn(new.troubles)
    plain = name != "q" and not any(map(call.line.switch, ("silent", "quiet")))
    if call.json or not plain or not new.tasks:
        return show(call, reply)
    _tell(fleet, new)
    return 0


def _create_on_beads(fleet: Control, name: str, own: FlagValues, rest: Sequence[str]) -> int:
    from fleet.bd.beads_create import Made, create
    from fleet.bd.beads_forward import is_silent
    from fleet.control.acts.create import create_tasks

    def add(settings: Settings) -> tuple[Sequence[Task], Made]:
        typed = not is_silent([name, *rest])
        with waiting("bd makes it", quiet=typed or "--json" in rest):
            made = create(fleet.home.path, rest, settings, verb=name, invoked_in=_base())
        return made.tasks, made

    new, made = create_tasks(fleet, own, add)
    sys.stderr.write(harmless(made.err))
    _warn(new.troubles)
    if made.code != 0 or made.style == "json" or not new.tasks:
        shown = harmless_json if made.style == "json" else harmless
        sys.stdout.write(shown(made.out) if sys.stdout.isatty() else made.out)
    elif made.style == "id":
        print(*(task.id for task in new.tasks), sep="\n")
    elif made.style == "line":
        _tell(fleet, new)
    return made.code


def _base() -> Path | None:
    """Where relative file names on the line start; nowhere, if that directory is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _warn(troubles: Iterable[str]) -> None:
    for trouble in troubles:
        print(f"Warning: {trouble}", file=sys.stderr)


def _tell(fleet: Control, new: "NewTasks") -> None:
    """Lines for people: what was created, where that runs, and what is missing."""
    from fleet.cli.tracker.verify_hint import tell_lacks  # only lines for people load it

    settings = new.code.settings
    where = ", ".join(f"{key}: {one_line(value)}" for key, value in shown_settings(settings))
    for task in new.tasks:
        print_line(f"Created {task.id}: {one_line(task.title)}  [{where}]")
    _tell_code(new.code)
    tell_lacks(fleet, settings)


def _tell_code(code: "PlacedCode") -> None:
    """Say on a shared queue what keeps a task on this host, or what other hosts do not get."""
    host, cwd = code.settings.host, code.settings.cwd
    if code.stays and host:
        text = f"host {host} runs it in {cwd} as that is there: {code.stays}"
    elif code.stays:
        text = f"it runs on this host only: {code.stays}"
    elif code.left:
        files = counted(code.left, "file is", "files are")
        text = f"{files} not committed, and other hosts do not get that: commit, or --with-changes"
    else:
        return
    print(folded(one_line(text)), file=sys.stderr)


def bd_command() -> "click.Command":
    """For click's overview and completion only: a real line never comes this way."""
    import click
    from click.shell_completion import CompletionItem

    from fleet.cli.task_ids import bd_words

    class BdCommand(click.Command):
        """Click asks the command for flags, and the argument for words."""

        def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
            return bd_words(ctx, words, incomplete)

    words = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED, shell_complete=bd_words)
    settings: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
    return BdCommand("bd", callback=bd, params=[words], context_settings=settings)
