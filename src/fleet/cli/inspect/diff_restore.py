"""`fleet task ID diff` and `restore`: what a run did to files, and taking it back."""

from collections.abc import Sequence

import click
import msgspec

from fleet.cli.json_output import pretty
from fleet.cli.print_file import put
from fleet.cli.terminal_text import one_line
from fleet.control import Control
from fleet.control.tasks.receipts import no_run, receipt_of
from fleet.control.tasks.restore import Plan, carry_out, plan
from fleet.control.tasks.task_files import Missing, read_whole, run_of, task_id_of
from fleet.errors import FleetError
from fleet.git.run_baseline import DIFF


class NotAll(FleetError):
    """Something was left as it is."""


def show_diff(fleet: Control, word: str, number: int | None, *, stat: bool, as_json: bool) -> None:
    """The difference that a run made, whole or by its figures."""
    task_id = task_id_of(fleet, word)
    run = run_of(fleet.home.task(task_id), task_id, number)
    if run is None:
        raise no_run(task_id)
    if stat or as_json:
        receipt = receipt_of(fleet, word, number)
        if receipt.changes is None:
            raise Missing(
                f"nothing is known of what run {receipt.run} of {receipt.task_id} changed",
                hint="Its directory is in no git repository.",
            )
        if as_json:
            click.echo(pretty(msgspec.to_builtins(receipt.changes)))
            return
        for file in receipt.changes.files:
            click.echo(f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}")
        if receipt.changes.more:
            click.echo(f"… and {receipt.changes.more} more")
        return
    if not (run.path / DIFF).exists():
        receipt = receipt_of(fleet, word, run.number)  # says so if the run is not over
        known = receipt.changes is not None and not receipt.changes.trouble
        what = "changed nothing" if known else "left nothing to compare"
        raise Missing(
            f"run {run.number} of {task_id} {what}",
            hint=f"What is known of it: fleet task {task_id} receipt --run {run.number}",
        )
    put(read_whole(run.path / DIFF))


def restore(
    fleet: Control,
    word: str,
    number: int | None,
    *,
    paths: Sequence[str],
    dry_run: bool,
    force: bool,
) -> None:
    """Bring files back as they were when a run began."""
    found = plan(fleet, word, number, paths=paths, force=force)
    if not dry_run:
        carry_out(found)
    would = "would be " if dry_run else ""
    for path in found.of("restore"):
        click.echo(f"{would}restored: {one_line(path)}")
    for path in found.of("remove"):
        click.echo(f"{would}removed, the run had added it: {one_line(path)}")
    for path in found.of("same"):
        click.echo(f"already as it was: {one_line(path)}")
    for path in found.of("keep"):
        click.echo(f"kept, it changed since the run ended: {one_line(path)}")
    _tell_rest(found)
    if found.of("keep"):
        raise NotAll(
            f"{len(found.of('keep'))} of {len(found.steps)} files were kept as they are",
            hint="To write over them: --force",
        )


def _tell_rest(found: Plan) -> None:
    left = found.of("leave")
    if left:
        some = ", ".join(map(one_line, left[:5])) + (" …" if len(left) > 5 else "")
        click.echo(f"{len(left)} files that the run added are left; name them to remove: {some}")
    if not found.steps:
        click.echo(f"run {found.run.number} of {found.task_id} changed no such file")
    for line in found.refs:
        click.echo(f"a ref stood elsewhere; to put it back: {line}  (in {found.base.root})")
