"""`fleet land`: what waits to land, and landing that work."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.landing.waiting_table import waiting_table
from fleet.cli.live_view import waiting
from fleet.cli.print_file import coloured_diff, paged
from fleet.cli.run.run import NEEDS_YOU
from fleet.cli.task_ids import completer
from fleet.cli.terminal_text import print_line, terminal_width
from fleet.control import Control
from fleet.control.landing.approve import hold, release
from fleet.control.landing.check_folds import CheckedFolds, FoldConflict, check_folds
from fleet.control.landing.land import LandEnd, land, land_all
from fleet.control.landing.open_landings import landing_tasks
from fleet.control.landing.revert import revert
from fleet.control.landing.waiting_list import UnlandedWork, waiting_list
from fleet.control.review.review import work_of
from fleet.control.status import is_supervised
from fleet.errors import BadInput, Refused
from fleet.home.landing_json import LANDERS
from fleet.schemas.shown_text import one_line


@click.command("land")
@click.argument("task_ids", metavar="[ID]...", nargs=-1, shell_complete=completer("blocked"))
@click.option("--all", "everything", is_flag=True, help="Land all that waits for you.")
@click.option("--check", is_flag=True, help="Say what would conflict with what; change nothing.")
@click.option("--diff", is_flag=True, help="Show all that each of these changes.")
@click.option("--hold", "holds", is_flag=True, help="Keep these from landing.")
@click.option("--release", "releases", is_flag=True, help="Let these land again.")
@click.option("--revert", "reverts", is_flag=True, help="Take what these landed off the branch.")
@click.option("--no-wait", is_flag=True, help="Approve, and leave the rest to the supervisor.")
@click.option("--json", "as_json", is_flag=True, help="The list, or what --check found, as JSON.")
def command(
    task_ids: tuple[str, ...],
    everything: bool,
    check: bool,
    diff: bool,
    holds: bool,
    releases: bool,
    reverts: bool,
    no_wait: bool,
    as_json: bool,
) -> int:
    """List the work that is not on its branch yet: what waits for you, what is in the train, what
    was sent back, what is held, and branches of closed tasks from before.

    With ids, or --all, approve it and land it: the supervisor's lander does so, and you see how far
    it is; without a supervisor the same is done here.

    Exit code: 0 all of it has landed (--check: merges without conflict), 10 something has not
    (would conflict, or could not be tried).
    """
    if sum((check, diff, holds, releases, reverts)) > 1:
        raise BadInput("give only one of --check, --diff, --hold, --release and --revert")
    if everything and task_ids:
        raise BadInput("give ids or --all, not both")
    if (diff or holds or releases or reverts) and not task_ids:
        raise BadInput("no task is named", hint="See what waits: fleet land")
    fleet = control.opened()
    ids = [fleet.get(word).id for word in task_ids]
    if diff:
        paged([line for each in ids for line in coloured_diff([work_of(fleet, each).patch])])
    elif holds or releases:
        for each in ids:
            landing = (hold if holds else release)(fleet, each)
            print_line(f"{each}: {one_line(landing.words())}.")
    elif reverts:
        for each in ids:
            _revert(fleet, each)
    elif check:
        return _check(fleet, ids, as_json=as_json)
    elif ids or everything:
        return _land(fleet, ids, wait=not no_wait)
    else:
        _list(fleet, as_json=as_json)
    return 0


def _land(fleet: Control, ids: Sequence[str], *, wait: bool) -> int:
    """Approve, and wait until the work is on the branch; returns the exit code."""

    def tell(text: str) -> None:
        print_line(one_line(text))

    with suppress(KeyboardInterrupt):  # what is approved lands all the same
        if ids:
            return _said(fleet, land(fleet, ids, wait=wait, tell=tell), wait=wait)
        end = land_all(fleet, wait=wait, tell=tell)
        if not any((end.landed, end.left, end.refused, end.problem)):
            tell(f"Nothing waits for you to land it.{_for_lander(fleet)}")
        return _said(fleet, end, wait=wait)
    print_line("Left: what is approved lands with the next supervisor, or: fleet land")
    return NEEDS_YOU


def _for_lander(fleet: Control) -> str:
    """What else waits for the lander, and how that goes on."""
    waits = [each for each in landing_tasks(fleet) if each.state in (*LANDERS, "back")]
    if not waits or is_supervised(fleet.home):
        return " What waits for the lander: fleet land"
    named = waits[0].id
    if waits[0].state == "back":
        return f" {named} was sent back: its agent goes on with the next fleet run"
    return f" {named} waits for the lander: fleet run, or here: fleet land {named}"


def _revert(fleet: Control, task_id: str) -> None:
    with waiting(f"taking {task_id} back, and verifying what is left"):
        end = revert(fleet, fleet.get(task_id))
    print_line(end.words)
    print_line(
        f"It is not opened again: to have it done anew, fleet retry --fresh {task_id}; to leave it,"
        f" fleet bd close {task_id}"
    )


def _said(fleet: Control, end: LandEnd, *, wait: bool) -> int:
    for task_id, words in end.refused:
        print_line(one_line(f"{task_id}: not approved: {words}"), err=True)
    if not wait and is_supervised(fleet.home):
        for task_id, words in end.left:
            print_line(one_line(f"{task_id}: approved; {words}."))
        return NEEDS_YOU if end.refused else 0
    if end.problem:
        print_line(one_line(f"Not all has landed: {end.problem}"), err=True)
    for task_id, words in end.left:
        print_line(one_line(f"{task_id}: not landed: {words}."))
    return NEEDS_YOU if end.left or end.refused else 0


def _list(fleet: Control, *, as_json: bool) -> None:
    with waiting("looking at the repositories", quiet=as_json):
        found = waiting_list(fleet)
    if as_json:
        print_json(found)
        return
    for line in waiting_table(found, datetime.now().astimezone(), terminal_width()):
        click.echo(line)


def _check(fleet: Control, ids: Sequence[str], *, as_json: bool) -> int:
    with waiting("trying what fits together", quiet=as_json):
        found = check_folds(fleet, _named(fleet, ids))
    if as_json:
        print_json(found)
    else:
        for text in _fold_words(found):
            print_line(one_line(text))
    return NEEDS_YOU if found.conflicts or found.untried else 0


def _named(fleet: Control, ids: Sequence[str]) -> list[UnlandedWork]:
    """What is to be tried: the work of these tasks, or all work that is not with an agent."""
    work = [each for each in waiting_list(fleet).work if each.step != "back"]
    if not ids:
        return work
    by_id = {each.id: each for each in work}
    for each in ids:
        if each not in by_id:
            raise Refused(f"{each} has nothing that waits to land", hint="See: fleet land")
    return [by_id[each] for each in ids]


def _fold_words(found: CheckedFolds) -> list[str]:
    if not found.tried and not found.untried:
        return ["Nothing waits to land."]
    lines = [_conflict(each) for each in found.conflicts]
    lines += [f"{task_id} could not be tried: {why}" for task_id, why in found.untried]
    if found.tried and not found.conflicts:
        count = len(found.tried)
        what = f"All {count} merge" if count > 1 else f"{found.tried[0]} merges"
        lines.append(f"{what} without conflict; nothing was verified.")
    return lines


def _conflict(each: FoldConflict) -> str:
    files = ", ".join(each.files) or "their histories"
    return f"{each.id} would conflict with {each.other or each.into} in {files}"
