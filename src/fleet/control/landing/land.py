"""`fleet land ID…`: approve work, and wait until the work is on the branch.

With a supervisor its lander does it, and the records are followed. Without one the same train runs
here, in the foreground. A closed task whose branch was never taken over waits to land again first.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from fleet.control import Control, refuse_agents
from fleet.control.landing.approve import approve, branch_to_land_on
from fleet.control.landing.open_landings import landing_tasks
from fleet.control.landing.project_git import ProjectGit
from fleet.control.landing.waiting_list import land_rules_of
from fleet.errors import Refused
from fleet.files.inotify import DirectoryWatch
from fleet.git import repository
from fleet.git.refs import BRANCHES
from fleet.git.repository import checked_out_branch
from fleet.home import clone_record, landing_json
from fleet.home.clone_record import CloneRecord, branch_of, ref_word
from fleet.home.landing_json import LANDERS, Landing
from fleet.landing.land_target import LanderSetup, LandReport, land_target
from fleet.landing.train_store import branches_behind
from fleet.landing.waiting_work import survey, target_key
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue import open_queue
from fleet.runs.run_directory import latest_run
from fleet.schemas import Task
from fleet.schemas.waits import ToLand

#: Seconds between looks at what no file event tells: a supervisor that ended.
_LOOK_AGAIN = 0.5
#: How many trains run one after the other in the foreground.
_MOST_TRAINS = 1000
#: Seconds to read the branches of a project.
_READ = 60.0

#: Says a sentence about a task to the person who waits.
Tell = Callable[[str], None]


class LandEnd(Struct, frozen=True, kw_only=True):
    """What became of the tasks that were to land."""

    landed: tuple[str, ...] = ()
    #: Tasks that did not land, each with how the task stands.
    left: tuple[tuple[str, str], ...] = ()
    #: Tasks that could not be approved, each with the reason.
    refused: tuple[tuple[str, str], ...] = ()
    #: Why the rest is waited for no longer; empty if everything came to an end.
    problem: str = ""


def land(
    fleet: Control,
    task_ids: Sequence[str],
    *,
    wait: bool,
    tell: Tell,
) -> LandEnd:
    """Approve these tasks and land them. `wait` False: what a supervisor does is not waited for."""
    before = {each: _from_before(fleet, each) for each in task_ids}
    for task_id, landing in before.items():  # all of them can be approved, or nothing is written
        branch_to_land_on(fleet, task_id, landing)
    for task_id in task_ids:
        known = landing_json.read(fleet.home, task_id)
        if known is not None and known.state == "held":
            tell(f"{task_id}: it was held back, and is let go: {known.why.partition(';')[0]}")
    for task_id, landing in before.items():
        if landing is not None:
            _reopen_closed(fleet, task_id, landing)
    approve(fleet, task_ids)
    return _landed(fleet, task_ids, wait, tell)


def land_all(fleet: Control, *, wait: bool, tell: Tell) -> LandEnd:
    """Land all that waits for a person. Work that cannot be approved is left, and told."""
    approved: list[str] = []
    refused: list[tuple[str, str]] = []
    for task in landing_tasks(fleet):
        if not task.to_approve:
            continue
        try:
            approve(fleet, [task.id])
        except Refused as error:
            refused.append((task.id, f"{error.message}. {error.hint}".rstrip()))
        else:
            approved.append(task.id)
    end = _landed(fleet, approved, wait, tell)
    return structs.replace(end, refused=tuple(refused))


def _from_before(fleet: Control, task_id: str) -> Landing | None:
    """The landing that the branch of a closed task would have; nothing is written. None: the task
    is not such a one. Raises Refused if its branch holds nothing to land.
    """
    task, record = fleet.get(task_id), clone_record.read(fleet.home, task_id)
    known = landing_json.read(fleet.home, task_id)
    if task.status != "closed" or record is None:
        return None
    if known is not None and known.state in ("ahead", "landed"):
        return None
    refuse_agents(fleet.env, "land work")
    project = ProjectGit(fleet.home, record.repository, time.monotonic() + _READ)
    tip = project.unmerged({task_id: f"{BRANCHES}{ref_word(task_id)}"}).get(task_id, "")
    run = latest_run(fleet.home.task(task_id))
    if not tip or run is None:
        raise Refused(
            f"{task_id} is closed, and {branch_of(task_id)} holds nothing that no branch has",
            hint="What is not landed: fleet land",
        )
    merged = known.merged_since(record.commit) if known is not None else ""
    found = _landing_of(fleet, task, record, project, tip, run.number)
    return structs.replace(found, merged=merged)


def _reopen_closed(fleet: Control, task_id: str, landing: Landing) -> None:
    """Have a closed task wait to land. The train verifies the commit anew."""
    # The record first: a task that waits without one would wait for ever.
    landing_json.write(fleet.home, task_id, landing)
    waits = ToLand(into=landing.into)
    fleet.queue.reopen_task(fleet.get(task_id), by=fleet.by, waits=waits)


def _landing_of(
    fleet: Control, task: Task, record: CloneRecord, project: ProjectGit, tip: str, run: int
) -> Landing:
    rules = land_rules_of(fleet, task.id)
    repo = repository.find(record.repository)
    into = rules.into or record.branch or (checked_out_branch(repo) if repo else "")
    return Landing(
        state="waiting",
        repository=record.repository,
        into=into,
        run=run,
        base=record.commit,
        tree=project.tree_of(tip),
        commit=tip,
        title=task.title,
        reason=task.close_reason or "done",
        how=rules.how,
        to=rules.to,
        at=datetime.now(UTC),
    )


def _landed(fleet: Control, task_ids: Sequence[str], wait: bool, tell: Tell) -> LandEnd:
    if supervisor_of(fleet.home) is not None:
        return _followed(fleet, task_ids, tell) if wait else _end(fleet, task_ids)
    setup = LanderSetup(
        home=fleet.home,
        open_queue=lambda: open_queue(fleet.home.path, fleet.config),
        by=fleet.by,
        now=lambda: datetime.now(UTC),
        abandon=threading.Event(),
        shared=fleet.is_shared,
    )
    problem = _in_foreground(fleet, task_ids, setup, tell)
    _move_branches(setup, tell)
    return _end(fleet, task_ids, problem)


def _move_branches(setup: LanderSetup, tell: Tell) -> None:
    """Move branches to their lines where no checkout is in the way any more."""
    for learnt in branches_behind(setup.home):
        report = land_target(setup, target_key(learnt.repository, learnt.branch))
        _tell_all(report, tell)
        if report.problem or not report.said:
            tell(report.problem or report.end.behind or f"{learnt.branch} has moved")


def _in_foreground(fleet: Control, task_ids: Sequence[str], setup: LanderSetup, tell: Tell) -> str:
    """Run trains until no task waits for one; returns why that was left off, if it was."""
    for _ in range(_MOST_TRAINS):
        wanted = set(_on_the_way(fleet, task_ids))
        keys = [key for key, ids in survey(fleet.home).work.items() if wanted & set(ids)]
        if not keys:
            break
        report = land_target(setup, keys[0])
        _tell_all(report, tell)
        if report.problem:
            return report.problem
        if set(_on_the_way(fleet, task_ids)) == wanted and not report.end.more:
            return "nothing moved"
    return ""


def _tell_all(report: LandReport, tell: Tell) -> None:
    for task_id, words in report.said:
        tell(f"{task_id}: {words}")
    for text in report.end.sentences:
        tell(text)


def _followed(fleet: Control, task_ids: Sequence[str], tell: Tell) -> LandEnd:
    """Follow the records while a supervisor is at work."""
    watch, known = DirectoryWatch(), dict[str, str]()
    for task_id in task_ids:
        watch.add(fleet.home.task(task_id))
    try:
        while True:
            for task_id in task_ids:
                words = _words(fleet, task_id)
                if known.get(task_id) != words:
                    known[task_id] = words
                    tell(f"{task_id}: {words}")
            if not _on_the_way(fleet, task_ids):
                return _end(fleet, task_ids)
            if supervisor_of(fleet.home) is None:
                return _end(fleet, task_ids, problem="the supervisor has ended")
            watch.changed(_LOOK_AGAIN)
    finally:
        watch.close()


def _on_the_way(fleet: Control, task_ids: Sequence[str]) -> list[str]:
    """The tasks that the lander still has to do with; what has landed is closed, too."""
    return [each for each in task_ids if not _is_over(fleet, each)]


def _is_over(fleet: Control, task_id: str) -> bool:
    landing = landing_json.read(fleet.home, task_id)
    if landing is None or landing.host:
        return True
    if landing.state == "landed":
        return task_id not in landing_json.unlanded(fleet.home)
    return landing.state not in LANDERS


def _words(fleet: Control, task_id: str) -> str:
    landing = landing_json.read(fleet.home, task_id)
    if landing is None:
        return "it waits no longer"
    tells = landing.state in ("asks", "ahead", "held")
    why = f": {landing.why}" if landing.why and tells else ""
    return f"{landing.words()}{why}"


def _end(fleet: Control, task_ids: Sequence[str], problem: str = "") -> LandEnd:
    landed: list[str] = []
    left: list[tuple[str, str]] = []
    for task_id in task_ids:
        landing = landing_json.read(fleet.home, task_id)
        if landing is not None and landing.state == "landed":
            landed.append(task_id)
        else:
            left.append((task_id, _words(fleet, task_id)))
    return LandEnd(landed=tuple(landed), left=tuple(left), problem=problem)
