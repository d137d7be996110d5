"""`fleet compare`: the same task by several coders, and one of the entries to keep."""

import os
import sys
from collections.abc import Sequence
from functools import partial

import click

from fleet import control
from fleet.cli.compare.follow_entries import all_over, wait_for_entries
from fleet.cli.compare.output import comparison_json, diff_lines, entry_table, summary_table
from fleet.cli.print_file import paged
from fleet.cli.task_ids import task_id
from fleet.cli.terminal_text import AFTER_TIME, print_line, terminal_width
from fleet.control import Control
from fleet.control.acts.each_act import pick
from fleet.control.compare.begin import begin, comparison_of, complete, parse_wanted, uncommitted
from fleet.control.compare.diffs import diff_of
from fleet.control.compare.finish import ComparisonEnd, discard, find_entry
from fleet.control.compare.results import results, summaries
from fleet.control.pause import paused_since
from fleet.control.status import is_supervised
from fleet.errors import BadInput, FleetError
from fleet.schemas import Task
from fleet.schemas.comparison import Comparison, Entry
from fleet.schemas.shown_text import counted, one_line


class Unfinished(FleetError):
    """Not all entries are over, and no supervisor runs them."""


@click.command("compare")
@task_id("open", "blocked")
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option(
    "--with", "wanted", multiple=True, metavar="CODER[:MODEL]",
    help="A coder that shall try it; give it once for each.",
)  # fmt: skip
@click.option(
    "--repeat", type=click.IntRange(1, 50), default=1, show_default=True, metavar="N",
    help="How often each tries it.",
)  # fmt: skip
@click.option("--diff", "as_diff", is_flag=True, help="Show what each entry changed.")
@click.option("--json", "as_json", is_flag=True, help="All that is known, as JSON.")
@click.option("--pick", "picked", metavar="ENTRY", help="Land this one, and put the others away.")
@click.option("--discard", "drop", is_flag=True, help="Put all away, and the task back.")
@click.option("--force", is_flag=True, help="Pick it all the same; remove what would stay.")
@click.option("--run", "runs", is_flag=True, help="Run the queue here, until nothing is waiting.")
@click.option("--no-wait", is_flag=True, help="Show how it stands, and do not wait for the end.")
def command(
    task_id: str,
    entries: tuple[str, ...],
    wanted: tuple[str, ...],
    repeat: int,
    as_diff: bool,
    as_json: bool,
    picked: str | None,
    drop: bool,
    force: bool,
    runs: bool,
    no_wait: bool,
) -> None:
    """Have several coders try the same task, and see which does it best.

    \b
    fleet compare x4f --with claude:sonnet --with codex:gpt-5
    fleet compare x4f                  how it stands; waits for the end
    fleet compare x4f --diff           what each changed
    fleet compare x4f --pick codex     its commits onto your branch, the rest away
    fleet compare x4f --discard        all of it away, the task back

    All entries begin at the commit that the task's directory stands at, each in a clone of its
    own; no entry sees what is not committed. The task itself waits meanwhile. An ENTRY is named by
    its id (fleet-x4f.1, or 1) or by its coder. To keep a new task from a running supervisor, create
    it with --assignee and your name.
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    _check(wanted, repeat, entries, as_diff=as_diff, picked=picked, drop=drop)
    fleet = control.opened()
    task = fleet.get(task_id)
    if picked is not None:
        done = pick(fleet, task, picked, force=force)
        _print_end(fleet, done.value, as_json=as_json, words=done.words)
        return
    if drop:
        _print_end(fleet, discard(fleet, task, force=force), as_json=as_json)
        return
    if wanted:
        coders = parse_wanted(fleet, wanted, repeat)
        comparison = begin(fleet, task, coders, repeat=repeat)
        if not as_json:
            _print_beginning(fleet, task, comparison)
    else:
        comparison = complete(fleet, comparison_of(fleet, task))
    if as_diff:
        _print_diffs(fleet, comparison, entries)
        return
    if runs and comparison.is_open:
        _run(fleet, comparison.task_id, quiet=as_json)
    waits = not no_wait and (bool(wanted) or not as_json)
    over = wait_for_entries(fleet, comparison, quiet=as_json) if waits else True
    _print_results(fleet, comparison, as_json=as_json)
    if not over:
        why = "not all entries are over, and no supervisor is running"
        raise Unfinished(why, hint=_start_hint(task.id))


def _check(
    wanted: Sequence[str],
    repeat: int,
    entries: Sequence[str],
    *,
    as_diff: bool,
    picked: str | None,
    drop: bool,
) -> None:
    """Refuse flags that exclude each other."""
    if (picked is not None) + drop + bool(wanted) + as_diff > 1:
        raise BadInput(
            "--with, --diff, --pick and --discard do not go together", hint="One at a time."
        )
    if repeat > 1 and not wanted:
        raise BadInput("--repeat goes with --with", hint="To begin anew, first: --discard")
    if entries and not as_diff:
        raise BadInput(
            f"{entries[0]!r} is one word too many",
            hint="ENTRY goes with --diff. To take one: --pick ENTRY",
        )


def _run(fleet: Control, task_id: str, *, quiet: bool) -> None:
    """Supervise in this process until the queue is idle, unless a supervisor runs already."""
    if is_supervised(fleet.home):
        return
    from fleet.supervisor.loop import supervise

    echo = None if quiet else partial(print_line, indent=AFTER_TIME)
    if supervise(fleet.home, fleet.config, until_idle=True, echo=echo).restart:
        again = [sys.executable, "-m", "fleet", "compare", task_id, "--run"]
        os.execv(sys.executable, [*again, "--json"] if quiet else again)  # noqa: S606


def _print_beginning(fleet: Control, task: Task, comparison: Comparison) -> None:
    number = len(comparison.entries)
    print_line(f"{task.id} is tried {number} times, each from {comparison.commit[:12]}.")
    changed = uncommitted(fleet, comparison)
    if changed:
        files = counted(changed, "file is", "files are")
        print_line(
            f"{files} not as committed in {one_line(comparison.repository)}:"
            " no entry sees that, and --pick wants it committed or put aside."
        )
    if not fleet.place(task).ruled.policy.verify:
        print_line(
            "The task has no verify command: fleet can only say that an entry is plausible."
            " Better: --verify when the task is created, or in its project."
        )


def _print_diffs(fleet: Control, comparison: Comparison, words: Sequence[str]) -> None:
    """Print the diffs, through a pager where they are longer than the terminal."""
    wanted = {find_entry(comparison, each).number for each in words}
    found = [
        diff_of(fleet, comparison, entry)
        for entry in results(fleet, comparison)
        if not wanted or entry.number in wanted
    ]
    paged(list(diff_lines(found)))


def _print_results(fleet: Control, comparison: Comparison, *, as_json: bool) -> None:
    found = results(fleet, comparison)
    if as_json:
        click.echo(comparison_json(comparison, found))
        return
    for line in entry_table(found, terminal_width()):
        click.echo(line)
    if comparison.turns > 1:
        print_line()
        for line in summary_table(summaries(found)):
            click.echo(line)
    _print_next_step(fleet, comparison, found)


def _print_next_step(fleet: Control, comparison: Comparison, found: Sequence[Entry]) -> None:
    task_id = comparison.task_id
    if comparison.state in ("picked", "landing"):
        landed = f"{comparison.picked} is on {comparison.branch} as {comparison.landed[:12]}."
        left = f" To finish: fleet compare {task_id} --pick {comparison.picked}"
        print_line(landed + (left if comparison.is_open else ""))
    elif comparison.state == "discarded":
        print_line("The comparison was discarded.")
    elif all_over(found):
        print_line(
            f"Changes: fleet compare {task_id} --diff.  Take one: --pick ENTRY.  None: --discard."
        )
    elif paused_since(fleet.home) is not None:
        print_line("fleet is paused, so nothing begins. To go on: fleet resume")
    elif not is_supervised(fleet.home):
        print_line(f"No supervisor is running. {_start_hint(task_id)}")


def _start_hint(task_id: str) -> str:
    return f"Start one: fleet run. Or run it here: fleet compare {task_id} --run"


def _print_end(fleet: Control, end: ComparisonEnd, *, as_json: bool, words: str = "") -> None:
    comparison, landed = end.comparison, end.landed
    if as_json:
        click.echo(comparison_json(comparison, results(fleet, comparison)))
    elif landed is not None:
        print_line(words)
    elif comparison.state == "discarded":
        task = fleet.get(comparison.task_id)
        blocked = f"blocked. To have it worked on: fleet retry {task.id}"
        is_now = blocked if task.status == "blocked" else f"{task.status} again."
        print_line(f"Discarded. {task.id} is {is_now}")
    away = [each for each in end.put_away if not each.stays and each.ref]
    if away and not as_json:
        ids = ", ".join(each.task_id for each in away)
        refs = away[0].ref if len(away) == 1 else f"refs/fleet/{comparison.task_id}.*/branch"
        stays = "so does" if len(away) == 1 else "so do"
        print_line(f"Put away: {ids}. Receipts stay; for a week {stays} {refs}")
    for each in end.put_away:
        if each.stays:
            print_line(
                f"{each.task_id}: not all is put away: {one_line(each.stays)}"
                f" (to remove it all the same: fleet compare {comparison.task_id} --discard"
                " --force)",
                err=True,
            )
