"""`fleet compare --diff`: what each entry changed, two of them side by side."""

import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from fleet.cli.compare.side_by_side import NARROWEST, beside, coloured
from fleet.cli.compare.table import shown_size, word
from fleet.cli.terminal_text import one_line
from fleet.control import Control
from fleet.control.compare.diffs import Difference, difference_of
from fleet.control.compare.finish import find_entry
from fleet.control.compare.results import results
from fleet.schemas.comparison import Comparison

#: How wide it is where no terminal says so.
_WIDTH = 160


def show_diff(fleet: Control, comparison: Comparison, words: Sequence[str]) -> None:
    """The differences, through a pager where they are longer than the terminal."""
    wanted = {find_entry(comparison, each).number for each in words}
    found = [
        difference_of(fleet, comparison, entry)
        for entry in results(fleet, comparison)
        if not wanted or entry.number in wanted
    ]
    on_terminal = sys.stdout.isatty()
    size = shutil.get_terminal_size((_WIDTH, 50))
    lines = list(_lines(found, size.columns if on_terminal else _WIDTH))
    if on_terminal and len(lines) >= size.lines:
        click.echo_via_pager("\n".join(lines) + "\n")
    else:
        for line in lines:
            click.echo(line)


def _lines(found: Sequence[Difference], width: int) -> Iterator[str]:
    for each in found:
        yield from _stat(each)
        yield ""
    with_patch = [each for each in found if each.patch]
    if len(found) == 2 and with_patch and width >= 2 * NARROWEST:
        left, right = found
        yield from beside(left.patch, right.patch, width, (left.name, right.name))
        return
    for each in with_patch:
        yield click.style(f"── {one_line(each.name)} ──", bold=True)
        yield from coloured(each.patch)
        yield ""


def _stat(each: Difference) -> Iterator[str]:
    result = each.entry.result
    how = f": {word(result.standing)}, {shown_size(result)}" if result is not None else ""
    yield click.style(one_line(each.name), bold=True) + how
    if each.trouble:
        yield f"  {one_line(each.trouble)}"
    for file in each.files:
        figures = f"+{file.added} -{file.removed}"
        yield f"  {file.kind:<8}{one_line(file.path)}  {figures}"
