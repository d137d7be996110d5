"""`fleet task ID diff`: what a run changed in the repository."""

import click
import msgspec

from fleet.cli.json_output import pretty
from fleet.cli.print_file import changed_file, put_diff
from fleet.control import Control
from fleet.control.tasks.receipt import changes_of, diff_of
from fleet.control.tasks.task_files import read_whole


def show_diff(fleet: Control, word: str, number: int | None, *, stat: bool, as_json: bool) -> None:
    """Print a run's difference: the whole patch, or the files with their figures."""
    if not stat and not as_json:
        put_diff(read_whole(diff_of(fleet, word, number)))
        return
    changes = changes_of(fleet, word, number)
    if as_json:
        click.echo(pretty(msgspec.to_builtins(changes)))
        return
    for file in changes.files:
        click.echo(changed_file(file))
    if changes.more:
        click.echo(f"… and {changes.more} more")
