"""`fleet task ID receipt`: what fleet saw of one run, the verdict first."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from fleet.cli.json_output import pretty
from fleet.cli.terminal_text import painted, print_line, row
from fleet.control.review.receipt_rows import landing_rows, receipt_rows, verdict_words
from fleet.home.landing_json import Landing
from fleet.schemas import Receipt
from fleet.schemas.receipt import VERDICT_COLOURS

#: The column that values begin at.
_COLUMN = 12


def show_receipt(receipt: Receipt, *, as_json: bool, landing: Landing | None = None) -> None:
    """Print a receipt, with what became of the run's work where work lands."""
    if as_json:
        shape: dict[str, Any] = msgspec.to_builtins(receipt)
        if receipt.verdict is not None:
            shape["verdict"]["state"] = receipt.verdict.state
        if landing is not None:
            shape["landing"] = msgspec.to_builtins(landing)
        click.echo(pretty(shape))
        return
    for line in receipt_lines(receipt, landing):
        print_line(line, _COLUMN)


def receipt_lines(receipt: Receipt, landing: Landing | None = None) -> Iterator[str]:
    """The receipt for people, row by row."""
    earlier = f"; the run before: --run {receipt.run - 1}" if receipt.run > 1 else ""
    yield f"{receipt.task_id}, run {receipt.run}: {_state(receipt)}{earlier}"
    for each in (*landing_rows(landing), *receipt_rows(receipt)):
        end = f"  {painted(each.end, each.style)}" if each.end else ""
        yield row(each.name, f"{each.text}{end}", _COLUMN)


def _state(receipt: Receipt) -> str:
    """The verdict, with the first word in a colour."""
    words = verdict_words(receipt)
    if receipt.verdict is None or "claim" in words:
        return words
    state = receipt.verdict.state
    word = state.replace("_", " ")
    return words.replace(word, painted(word, f"bold {VERDICT_COLOURS[state]}"), 1)
