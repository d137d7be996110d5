"""`fleet task ID receipt` and `diff`: what fleet saw of a run, by the task and the run's number."""

from pathlib import Path

from fleet.control import Control
from fleet.control.tasks.task_files import Missing, run_of, task_id_of
from fleet.errors import FleetError
from fleet.git.snapshot_names import DIFF
from fleet.home import compare_json
from fleet.runs import receipt_json
from fleet.schemas import Changes, Receipt


def receipt_of(fleet: Control, word: str, number: int | None = None) -> Receipt:
    """The receipt of one run; without a number of the latest run that is over."""
    task_id = task_id_of(fleet, word)
    task_dir = fleet.home.task(task_id)
    run = run_of(task_dir, task_id, number)
    if run is None:
        if picked := _picked(fleet, task_id, number):
            return receipt_of(fleet, picked)
        raise _no_run(task_id)
    while run is not None:
        receipt = receipt_json.read(run)
        if receipt is not None:
            return receipt
        if number is not None or run.number == 1:
            break
        run = run_of(task_dir, task_id, run.number - 1)
    which = f"run {number} of {task_id}" if number is not None else task_id
    raise Missing(
        f"there is no receipt of {which}",
        hint=f"Receipts are written when runs end. What goes on: fleet task {task_id} events",
    )


def known_receipt(fleet: Control, word: str) -> Receipt | None:
    """The receipt of the latest run that is over; None: there is none that can be read."""
    try:
        return receipt_of(fleet, word)
    except FleetError:
        return None


def changes_of(fleet: Control, word: str, number: int | None = None) -> Changes:
    """The files that a run changed, by the run's receipt."""
    receipt = receipt_of(fleet, word, number)
    if receipt.changes is None:
        raise Missing(
            f"nothing is known of what run {receipt.run} of {receipt.task_id} changed",
            hint="The task's directory is in no git repository.",
        )
    return receipt.changes


def diff_of(fleet: Control, word: str, number: int | None = None) -> Path:
    """The patch file of a run; without a number of the latest run."""
    task_id = task_id_of(fleet, word)
    run = run_of(fleet.home.task(task_id), task_id, number)
    if run is None:
        if picked := _picked(fleet, task_id, number):
            return diff_of(fleet, picked)
        raise _no_run(task_id)
    if (run.path / DIFF).exists():
        return run.path / DIFF
    changes = receipt_of(fleet, word, run.number).changes  # raises if the run is not over
    known = changes is not None and not changes.trouble
    what = "changed nothing" if known else "left nothing to compare"
    raise Missing(
        f"run {run.number} of {task_id} {what}",
        hint=f"What is known of it: fleet task {task_id} receipt --run {run.number}",
    )


def _picked(fleet: Control, task_id: str, number: int | None) -> str:
    """The entry that a compared task, which has no run of its own, was closed with."""
    compared = compare_json.read(fleet.home, task_id) if number is None else None
    return compared.picked if compared is not None else ""


def _no_run(task_id: str) -> Missing:
    return Missing(f"{task_id} has no run yet", hint="The supervisor starts it: fleet run")
