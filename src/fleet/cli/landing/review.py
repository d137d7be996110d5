"""`fleet review`: a task's receipt and diff in the pager, and what a person says of them."""

import click

from fleet import control
from fleet.cli.inspect.task import receipt_lines
from fleet.cli.json_output import print_json
from fleet.cli.print_file import coloured_diff, paged
from fleet.cli.task_ids import task_id
from fleet.cli.terminal_text import folded, painted, print_line
from fleet.control import Control
from fleet.control.landing.approve import approve as approve_work
from fleet.control.landing.open_landings import landing_of_run
from fleet.control.review.patch import files_of
from fleet.control.review.remarks import comment_at
from fleet.control.review.review import WorkToReview, remarks_on, send_back, work_of
from fleet.control.status import is_supervised
from fleet.errors import BadInput
from fleet.home.landing_json import Landing
from fleet.schemas.shown_text import one_line


@click.command("review")
@task_id()
@click.option("--reject", metavar="TEXT", help="Send the work back: what is to be changed.")
@click.option(
    "--comment", "comments", type=(str, str), multiple=True, metavar="FILE:LINE TEXT",
    help="Say something of one line of the diff, and send the work back. May be repeated.",
)  # fmt: skip
@click.option("--approve", is_flag=True, help="Let the work land on its branch.")
@click.option("--json", "as_json", is_flag=True, help="Receipt, files and patch as a JSON object.")
@click.option("--no-pager", is_flag=True, help="Print it, however long it is.")
def command(
    task_id: str,
    reject: str | None,
    comments: tuple[tuple[str, str], ...],
    approve: bool,
    as_json: bool,
    no_pager: bool,
) -> None:
    """Look at a task's work: what fleet saw of it, and all that it changed.

    --reject and --comment go to the same session: at once if its agent runs, otherwise with the
    task's next run, for which the task is opened again.
    """
    fleet = control.opened()
    work = work_of(fleet, task_id)
    if approve:
        if reject is not None or comments:
            raise BadInput("give --approve alone, without --reject and --comment")
        (landing,) = approve_work(fleet, [work.task_id])
        print_line(f"Approved: {landing.words()}.{_without_supervisor(fleet, work.task_id)}")
        return
    if reject is None and not comments:
        landing = landing_of_run(fleet, work.receipt) if work.receipt else None
        _show(work, landing, as_json=as_json, pager=not no_pager)
        return
    if as_json:
        raise BadInput("--json works without --reject and --comment only")
    task = fleet.get(work.task_id)
    remarks = remarks_on(work, [comment_at(place, text) for place, text in comments])
    done = send_back(fleet, task, whole=reject or "", remarks=remarks)
    print_line(done.told(task.id))


def _show(work: WorkToReview, landing: Landing | None, *, as_json: bool, pager: bool) -> None:
    if as_json:
        shape = {
            "task_id": work.task_id,
            "receipt": work.receipt,
            "files": sorted(each.shown.path for each in files_of(work.patch) if each.shown.lines),
            "patch": work.patch.decode(errors="replace"),
            "no_diff": work.no_diff,
            "landing": landing,
        }
        print_json(shape)
        return
    paged(_lines(work, landing), pager=pager)


def _lines(work: WorkToReview, landing: Landing | None) -> list[str]:
    lines = [f"{work.task_id}: its first run is not over"]
    if work.receipt is not None:
        lines = list(receipt_lines(work.receipt, landing))
    if work.no_diff:
        return [*lines, "", folded(f"No diff: {one_line(work.no_diff)}")]
    if not work.patch:
        return [*lines, "", "Nothing was changed."]
    lines += ["", *coloured_diff([work.patch]), ""]
    review = f"fleet review {work.task_id}"
    way = f'To send it back: {review} --reject "…", or --comment FILE:LINE "…"'
    if landing is not None and landing.state == "asks" and landing.why_back is None:
        way = f"To let it land: {review} --approve. {way}"
    return [*lines, painted(folded(way), "dim")]


def _without_supervisor(fleet: Control, task_id: str) -> str:
    """How approved work lands where no supervisor runs."""
    if is_supervised(fleet.home):
        return ""
    return f" No supervisor is running: fleet run, or fleet land {task_id}."
