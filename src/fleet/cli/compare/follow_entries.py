"""Waits for the entries of a comparison, and shows how each stands meanwhile."""

import sys
import time
from collections.abc import Callable, Sequence

import click

from fleet.cli.compare.output import entry_table, word
from fleet.cli.live_view import live_view
from fleet.cli.terminal_text import print_line, terminal_width
from fleet.control import Control
from fleet.control.compare.results import results
from fleet.control.status import is_supervised
from fleet.errors import QueueError
from fleet.schemas.comparison import Comparison, Entry
from fleet.schemas.shown_text import first_line, one_line

#: Seconds between two reads of the results, and how much longer than one read the pause is.
PAUSE, REST = 0.5, 4
#: Seconds that a supervisor may be missing, as it is during a restart, before the wait ends.
PATIENCE = 15.0


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
            print_line(f"{name}: {word(entry.result.standing)}{why}")

    return print_changes


def _follow_in_table(fleet: Control, comparison: Comparison) -> bool:
    with live_view() as draw:
        over = _follow(
            fleet, comparison, lambda found: draw([*entry_table(found, terminal_width())])
        )
        draw(())
    return over
