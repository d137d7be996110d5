"""`fleet task ID restore`: bring files back as they were when a run began."""

from collections.abc import Sequence

from fleet.cli.terminal_text import print_line
from fleet.control import Control
from fleet.control.tasks.restore import RestorePlan, carry_out, plan
from fleet.errors import FleetError
from fleet.schemas.shown_text import one_line, some

#: How many files are named that a run added.
_MOST_NAMED = 5


class NotRestored(FleetError):
    """Some files were kept as they are."""


def restore(
    fleet: Control,
    word: str,
    number: int | None,
    *,
    paths: Sequence[str],
    dry_run: bool,
    force: bool,
) -> None:
    """Restore the files, or with `dry_run` say what would be done with each."""
    steps = plan(fleet, word, number, paths=paths, force=force)
    if not dry_run:
        carry_out(fleet, steps)
    would = "would be " if dry_run else ""
    for path in steps.of("restore"):
        print_line(f"{would}restored: {one_line(path)}")
    for path in steps.of("remove"):
        print_line(f"{would}removed, the run had added it: {one_line(path)}")
    for path in steps.of("same"):
        print_line(f"already as it was: {one_line(path)}")
    kept = steps.of("keep")
    for path in kept:
        print_line(f"kept, it changed since the run ended: {one_line(path)}")
    _tell_rest(steps)
    if kept:
        raise NotRestored(
            f"{len(kept)} of {len(steps.steps)} files were kept as they are",
            hint="To write over them: --force",
        )


def _tell_rest(steps: RestorePlan) -> None:
    left = steps.of("leave")
    if left:
        names = some([*map(one_line, left)], _MOST_NAMED)
        print_line(f"{len(left)} files that the run added are left; name them to remove: {names}")
    if not steps.steps:
        print_line(f"run {steps.run.number} of {steps.task_id} changed no such file")
    for line in steps.refs:
        print_line(f"a ref stood elsewhere; to put it back: {line}  (in {steps.base.root})")
