"""What fleet saw of a task's runs: found by the task and the run's number."""

from fleet.control import Control
from fleet.control.tasks.task_files import Missing, run_of, task_id_of
from fleet.home import compare_json
from fleet.runs import receipt_json
from fleet.schemas import Receipt


def no_run(task_id: str) -> Missing:
    """Nothing can be known of its runs."""
    return Missing(f"{task_id} has no run yet", hint="The supervisor starts it: fleet run")


def receipt_of(fleet: Control, word: str, number: int | None = None) -> Receipt:
    """The receipt of one run; of the latest that is over, if no number is given."""
    task_id = task_id_of(fleet, word)
    task_dir = fleet.home.task(task_id)
    run = run_of(task_dir, task_id, number)
    if run is None:
        compared = compare_json.read(fleet.home, task_id)
        if compared is not None and compared.picked and number is None:
            return receipt_of(fleet, compared.picked)  # what it was closed for
        raise no_run(task_id)
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
        hint=f"It is written when a run has ended. What goes on: fleet task {task_id} events",
    )
