"""The end of a comparison: one entry lands on the user's branch, or none does; clones go.

The order: the entry lands, compare.json says so, the entries are closed, the task is closed or
put back, and only then clones are removed. Each step can be repeated, so that a command that
died half-way is simply given again.
"""

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.compare.begin import comparison_lock, comparison_of
from fleet.control.compare.land_entry import LandedEntry, land_entry
from fleet.control.compare.results import results
from fleet.control.tasks.retry import lives
from fleet.control.tasks.stop import stop
from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.git.clone.task_work import PutAway, put_away
from fleet.home import compare_json
from fleet.runs import closed_by_hand, receipt_json
from fleet.runs.run_directory import newest_first
from fleet.schemas import Task
from fleet.schemas.comparison import DONE, Comparison, Entry
from fleet.schemas.shown_text import one_line
from fleet.schemas.waits import SetAside

#: How often a task is closed anew that changes meanwhile.
_TRIES = 5
_LONGEST_CLAIM = 2000


class ComparisonEnd(Struct, frozen=True, kw_only=True):
    """How a comparison ended."""

    comparison: Comparison
    #: None: nothing was picked.
    landed: LandedEntry | None = None
    put_away: tuple[PutAway, ...] = ()

    @property
    def words(self) -> str:
        """What the person who picked an entry is told."""
        picked, of, landed = self.comparison.picked, self.comparison.task_id, self.landed
        if landed is None:
            return f"{picked} was picked for {of}."
        where = f"{one_line(landed.branch)} ({landed.how}: {landed.commit[:12]})"
        return f"Landed {picked} on {where}, and closed {of}."


def find_entry(comparison: Comparison, word: str) -> Entry:
    """The entry that a word names: by the task's id or the end of that, or by the coder."""
    of = comparison.task_id
    for entry in comparison.entries:
        short = entry.task_id.removeprefix(of)
        if entry.task_id and word in (entry.task_id, short, short.lstrip(".")):
            return entry
        if entry.task_id.endswith(f"-{word}"):
            return entry
    named = [entry for entry in comparison.entries if word in (entry.label, entry.coder)]
    if len(named) == 1:
        return named[0]
    known = ", ".join(f"{entry.task_id} ({entry.label})" for entry in comparison.entries)
    if named:
        raise BadInput(f"{word} has more than one entry", hint=f"Name one by its id: {known}")
    raise BadInput(f"{word!r} is no entry of this comparison", hint=f"There is {known}.")


def pick(
    fleet: Control,
    task: Task,
    word: str,
    *,
    force: bool = False,
) -> ComparisonEnd:
    """Land one entry, close the compared task by that, and put the others away."""
    with comparison_lock(fleet, task.id):
        comparison = comparison_of(fleet, task)
        if comparison.state == "discarded":
            raise Refused(
                f"the comparison of {task.id} was discarded",
                hint="The entries are kept for a week: git for-each-ref 'refs/fleet/*/branch'",
            )
        entry = find_entry(comparison, word)
        _check_pick(fleet, comparison, entry, force=force)
        if comparison.state == "picked":
            return _conclude(fleet, task, comparison, force)
        landed = land_entry(fleet, task, comparison, entry)
        comparison = _with_results(fleet, comparison)
        comparison = compare_json.write(
            fleet.home,
            structs.replace(
                comparison,
                state="landing",
                picked=entry.task_id,
                landed=landed.commit,
                branch=landed.branch,
            ),
        )
        by = fleet.by
        _end_entries(fleet, comparison, by, f"{entry.task_id} was picked instead", entry)
        comparison = _with_results(fleet, comparison)
        _close_task(fleet, task.id, by, _evidence(fleet, entry, landed))
        return _conclude(fleet, task, structs.replace(comparison, state="picked"), force, landed)


def discard(fleet: Control, task: Task, *, force: bool = False) -> ComparisonEnd:
    """Put all entries away and the task back into the queue."""
    with comparison_lock(fleet, task.id):
        comparison = comparison_of(fleet, task)
        if not comparison.is_open:
            return _conclude(fleet, task, comparison, force)
        if comparison.state == "landing":
            raise Refused(
                f"{comparison.picked} has landed on {comparison.branch}, so not all can be dropped",
                hint=f"To finish: fleet compare {task.id} --pick {comparison.picked}",
            )
        by = fleet.by
        comparison = _with_results(fleet, comparison)
        _end_entries(fleet, comparison, by, "the comparison was discarded")
        comparison = _with_results(fleet, comparison)
        _put_back(fleet, comparison, by)
        return _conclude(fleet, task, structs.replace(comparison, state="discarded"), force)


def _check_pick(fleet: Control, comparison: Comparison, entry: Entry, *, force: bool) -> None:
    if comparison.picked and comparison.picked != entry.task_id:
        raise Refused(
            f"{comparison.picked} was picked before, and has landed",
            hint=f"To finish: fleet compare {comparison.task_id} --pick {comparison.picked}",
        )
    one = structs.replace(comparison, entries=(entry,))
    result = results(fleet, one, sizes=False)[0].result
    assert result is not None
    if comparison.picked or result.standing in DONE:
        return
    if not result.is_over:
        raise Refused(
            f"{entry.task_id} ({entry.label}) is not done: {result.standing}",
            hint=f"See it: fleet compare {comparison.task_id}. To end it: fleet stop"
            f" {entry.task_id}",
        )
    if not force:
        raise Refused(
            f"{entry.task_id} ({entry.label}) was not accepted: {result.standing}"
            + (f": {result.why}" if result.why else ""),
            hint=f"See: fleet task {entry.task_id} receipt. To have it all the same: --force",
        )


def _evidence(fleet: Control, entry: Entry, landed: LandedEntry) -> str:
    """The reason for closing the task: the entry's claim, and where the receipt is."""
    claim, run = "", 0
    for each in newest_first(fleet.home.task(entry.task_id)):
        receipt = receipt_json.read(each)
        if receipt is not None:
            claim, run = (receipt.claim or receipt.why)[:_LONGEST_CLAIM], receipt.run
            break
    where = f"{entry.label} was picked and is on {landed.branch} as {landed.commit[:12]}"
    return f"{claim} [{where}; run {run}: fleet task {entry.task_id} receipt]".strip()


def _end_entries(
    fleet: Control, comparison: Comparison, by: str, why: str, winner: Entry | None = None
) -> None:
    """Stop the entries that run, and close those that are not closed."""
    for entry in comparison.entries:
        if not entry.task_id:
            continue
        is_winner = winner is not None and entry.task_id == winner.task_id
        _close_task(fleet, entry.task_id, by, "it was picked" if is_winner else why)


def _close_task(fleet: Control, task_id: str, by: str, reason: str) -> None:
    refusal: FleetError | None = None
    for _ in range(_TRIES):
        try:
            task = fleet.queue.get(task_id)
        except NotFound:
            return  # deleted by a person
        if task.status == "closed":
            return
        if task.status == "in_progress" or lives(fleet, task):
            task = _stopped(fleet, task)
        if task.status == "closed":
            continue
        closed_by_hand.note(fleet.home.task(task_id), by)
        try:
            fleet.queue.close_task(task, by=by, reason=reason)
        except Refused as error:  # the task changed meanwhile, or the tracker refuses
            refusal = error
            continue
        return
    assert refusal is not None
    raise refusal


def _stopped(fleet: Control, task: Task) -> Task:
    """Stop the task's run; returns the task after that."""
    if lives(fleet, task) or task.lease_owner is not None:
        try:
            end = stop(fleet, task.id, now=False)
        except Refused:
            end = None  # no process is alive, and no supervisor settles the run
        if end is not None and not end.ended:
            raise Refused(
                f"{task.id} was told to stop and has not yet",
                hint=f"Kill it: fleet stop {task.id} --now. Then the same command again.",
            )
    return fleet.queue.get(task.id)


def _put_back(fleet: Control, comparison: Comparison, by: str) -> None:
    """Give the task the former status, unless the status was changed meanwhile."""
    task = fleet.queue.get(comparison.task_id)
    if task.status != "blocked":
        return
    note = "the comparison was discarded"
    waits = (comparison.waited or SetAside(note=note)) if comparison.was == "blocked" else None
    fleet.queue.reopen_task(task, by=by, note=note, waits=waits)


def _with_results(fleet: Control, comparison: Comparison) -> Comparison:
    """Write the results of the entries that are over to compare.json."""
    found = {
        entry.number: entry
        for entry in results(fleet, comparison)
        if entry.result is not None and entry.result.is_over
    }
    entries = tuple(found.get(entry.number, entry) for entry in comparison.entries)
    return compare_json.write(fleet.home, structs.replace(comparison, entries=entries))


def _conclude(
    fleet: Control,
    task: Task,
    comparison: Comparison,
    force: bool,
    landed: LandedEntry | None = None,
) -> ComparisonEnd:
    compare_json.write(fleet.home, comparison)
    entries = [entry for entry in comparison.entries if entry.task_id]
    away = [_put_away(fleet, entry, title=task.title, force=force) for entry in entries]
    return ComparisonEnd(comparison=comparison, landed=landed, put_away=tuple(away))


def _put_away(fleet: Control, entry: Entry, *, title: str, force: bool) -> PutAway:
    """Remove the clone and the branches of an entry; receipts stay."""
    try:
        return put_away(fleet.home, entry.task_id, title=title, force=force)
    except (FleetError, OSError) as error:
        return PutAway(task_id=entry.task_id, stays=str(error))
