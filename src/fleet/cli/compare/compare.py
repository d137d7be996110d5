"""`fleet compare`: the same task by several coders, and one of the entries to keep."""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import click

from fleet import control
from fleet.cli.compare.output import diff_lines, entry_table, print_comparison, summary_table
from fleet.cli.live_view import live_view
from fleet.cli.print_file import paged
from fleet.cli.task_ids import task_id
from fleet.cli.terminal_text import AFTER_TIME, print_line, terminal_width
from fleet.control import Control
from fleet.control.compare.begin import begin, comparison_of, complete, parse_wanted, uncommitted
from fleet.control.compare.finish import ComparisonEnd, discard, find_entry, pick
from fleet.control.compare.results import diff_of, results, summaries
from fleet.control.pause import paused_since
from fleet.control.status import is_supervised
from fleet.control.supervise.restart import start_over
from fleet.errors import BadInput, FleetError, QueueError
from fleet.schemas import Task
from fleet.schemas.comparison import Comparison, Entry
from fleet.schemas.shown_text import counted, first_line, one_line

#: Seconds between two reads of the results, and how much longer than one read the pause is.
PAUSE, REST = 0.5, 4
#: Seconds that a supervisor may be missing, as it is during a restart, before the wait ends.
PATIENCE = 15.0


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
        _print_end(fleet, pick(fleet, task, picked, force=force), as_json=as_json)
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
        raise FleetError(why, hint=_start_hint(task.id))


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
        start_over(["compare", task_id, "--run", *(["--json"] if quiet else [])])


def wait_for_entries(fleet: Control, comparison: Comparison, *, quiet: bool) -> bool:
    """Wait until all entries are over. False: they are not, and no supervisor runs them."""
    try:
        if all_over(results(fleet, comparison, sizes=False)):
            return True
        if quiet:
            return _follow(fleet, comparison, lambda _: None)
        if sys.stdout.isatty():
            return _follow_in_table(fleet, comparison)
        return _follow(fleet, comparison, _standing_printer())
    except KeyboardInterrupt:
        again = f"The entries run on. To see them again: fleet compare {comparison.task_id}"
        print_line(f"\n{again}", err=True)
        raise click.exceptions.Exit(130) from None


def _follow(
    fleet: Control, comparison: Comparison, show: Callable[[Sequence[Entry]], None]
) -> bool:
    supervised_at = time.monotonic()
    while True:
        began = time.monotonic()
        try:
            found = results(fleet, comparison, sizes=False)
        except QueueError as error:  # the queue may be back at the next read
            print_line(error.message, err=True)
        else:
            show(found)
            if all_over(found):
                return True
            if is_supervised(fleet.home):
                supervised_at = began
            elif began - supervised_at >= PATIENCE or not _any_attempt(found):
                return False
        time.sleep(max(PAUSE, REST * (time.monotonic() - began)))


def all_over(found: Sequence[Entry]) -> bool:
    """No entry is worked on any more, nor will be."""
    return all(entry.result is not None and entry.result.is_over for entry in found)


def _any_attempt(found: Sequence[Entry]) -> bool:
    """A supervisor began an entry: it may be restarting right now."""
    return any(entry.result is not None and entry.result.attempts for entry in found)


def _standing_printer() -> Callable[[Sequence[Entry]], None]:
    """A function that prints a line for each entry whose standing changed since its last call."""
    before: dict[int, str] = {}

    def print_changes(found: Sequence[Entry]) -> None:
        for entry in found:
            if entry.result is None or before.get(entry.number) == entry.result.standing:
                continue
            before[entry.number] = entry.result.standing
            why = f": {first_line(entry.result.why)}" if entry.result.why else ""
            name = f"{entry.task_id} {one_line(entry.label)}"
            print_line(f"{name}: {entry.result.standing}{why}")

    return print_changes


def _follow_in_table(fleet: Control, comparison: Comparison) -> bool:
    with live_view() as draw:
        over = _follow(
            fleet, comparison, lambda found: draw([*entry_table(found, terminal_width())])
        )
        draw(())
    return over


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
            "The task has no verify command: its entries stay unchecked."
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
        print_comparison(comparison, found)
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


def _print_end(fleet: Control, end: ComparisonEnd, *, as_json: bool) -> None:
    comparison, landed = end.comparison, end.landed
    if as_json:
        print_comparison(comparison, results(fleet, comparison))
    elif landed is not None:
        print_line(end.words)
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
