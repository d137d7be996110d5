"""The lander's job for one branch: bring accepted work home, run a train, have the branch follow.

One lander a branch works at a time: its lock lies in the common git directory, so that two homes on
one repository do no work twice. What makes them safe is the compare-and-swap.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.files.file_lock import Lock, locked
from fleet.git import repository
from fleet.git.mirror.code_source import code_source
from fleet.git.repository import GitFailed, Repository
from fleet.home import Home, landing_json, owner_file
from fleet.home.landing_json import Landing
from fleet.landing import train_words
from fleet.landing.bring_home import bring_home, by_settings, why_waiting_asks
from fleet.landing.fold.reserved_files import ReservedFiles
from fleet.landing.follow_line import finish_followed, follow, settle_ahead
from fleet.landing.red_line import LOOK_AGAIN, try_again, waiting_for_line
from fleet.landing.remote.pull_requests import watch_pull_requests
from fleet.landing.run_train import TrainRun
from fleet.landing.settle_landing import LandingSettler
from fleet.landing.train_state import FoldProver, TrainEnd, TrainState
from fleet.landing.waiting_work import (
    TargetKey,
    WaitingWork,
    survey,
    tasks_of,
    waiting_work,
)
from fleet.queue.protocol import Queue
from fleet.queue.sql.hosts.host_table import names_of_hosts
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.landers import TakenLanding, taken_landings, try_to_land
from fleet.queue.sql.travel.run_files import RunFiles
from fleet.schemas import Task

#: In the common git directory; the rest of the name follows from that of the branch.
LOCK = "fleet-land-"
#: Why nothing lands while another process has the lock: it lasts as long as that one's train.
OTHER_LANDER = "another lander works on this branch"
#: How many tasks one job brings home at most, if they are not for a train.
_AT_ONCE = 16


class LandReport(Struct, frozen=True, kw_only=True):
    """What one job of the lander came to."""

    target: TargetKey
    #: Sentences about tasks, in order, each with its task.
    said: tuple[tuple[str, str], ...] = ()
    closed: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    end: TrainEnd = TrainEnd()
    #: Why the job could not be done; it is tried again later.
    problem: str = ""


class LanderSetup(Struct, frozen=True, kw_only=True):
    """What a job needs beside the target. Holds nothing that a loop changes."""

    home: Home
    open_queue: Callable[[], Queue]
    #: In whose name tasks are closed and opened.
    by: str
    now: Callable[[], datetime]
    abandon: threading.Event
    #: Other hosts work on the queue, and may land on the same branch of a remote.
    shared: bool = False


def land_target(lander: LanderSetup, key: TargetKey) -> LandReport:
    """Do all that there is to do for one branch. Blocks; returns its errors."""
    settler: LandingSettler | None = None
    end, problem = TrainEnd(), ""
    ids = survey(lander.home).work.get(key, ())
    if not ids:
        return _follow(lander, key)
    try:
        queue = lander.open_queue()
        try:
            if lander.shared and not _may_land(queue, key):
                return LandReport(target=key, problem=OTHER_LANDER)
            files = RunFiles(queue) if lander.shared and isinstance(queue, SqlQueue) else None
            settler = LandingSettler(lander.home, queue, by=lander.by, now=lander.now, files=files)
            if lander.shared:
                settler.said += let_go(lander.home, queue, lander.now())
                ids = survey(lander.home).work.get(key, ())
            end = _land(lander, key, tasks_of(queue, ids), settler)
        finally:
            queue.close()
    except (FleetError, OSError) as error:
        problem = str(error)
    if settler is None:
        return LandReport(target=key, problem=problem)
    return LandReport(
        target=key, said=tuple(settler.said), closed=tuple(settler.closed),
        back=tuple(settler.back), asks=tuple(settler.asks), end=end,
        problem=problem or end.left or settler.problem,
    )  # fmt: skip


def let_go(home: Home, queue: Queue, now: datetime) -> tuple[tuple[str, str], ...]:
    """Leave landings of this home to the hosts that have taken them over, or ran the task since; a
    sentence for each.
    """
    assert isinstance(queue, SqlQueue)
    waiting = landing_json.unlanded(home)
    if not waiting:
        return ()
    said: list[tuple[str, str]] = []
    names = names_of_hosts(queue)
    for task_id, taken in taken_landings(queue, owner_file.read(home) or "").items():
        if task_id in waiting and _left_to(home, task_id, taken, now):
            host = names.get(taken.host, taken.host)
            said.append((task_id, f"host {host} lands its work now, and this one does not"))
    return tuple(said)


def _left_to(home: Home, task_id: str, taken: TakenLanding, now: datetime) -> bool:
    def left(landing: Landing) -> Landing | None:
        is_theirs = taken.before is None or landing.run < taken.before
        if not is_theirs or landing.state in ("landed", "back") or landing.host == taken.host:
            return None
        return structs.replace(landing, host=taken.host, at=now)

    done = landing_json.change(home, task_id, left)
    if done is not None:
        landing_json.forget_mark(home, task_id)
    return done is not None


def _may_land(queue: Queue, key: TargetKey) -> bool:
    """No other host lands on the branch of this repository, as long as the queue is open."""
    source = code_source(key.repository)
    assert isinstance(queue, SqlQueue)
    where = (source.url if source is not None else "") or key.repository
    return try_to_land(queue, f"{where}\n{key.branch}")


def _follow(lander: LanderSetup, key: TargetKey) -> LandReport:
    """Have the branch follow the line; the queue is not asked."""
    end, problem = TrainEnd(), ""
    try:
        repo = repository.find(key.repository)
        if repo is not None:
            with lander_lock(repo, key.branch) as held:
                if not held:
                    return LandReport(target=key, problem=OTHER_LANDER)
                finish_followed(lander.home, repo)
                end = follow(FoldProver(lander.home, repo, key.branch, lander.abandon))
    except (FleetError, OSError) as error:
        problem = str(error)
    return LandReport(target=key, end=end, problem=problem)


def _land(
    lander: LanderSetup, key: TargetKey, tasks: Sequence[Task], settler: LandingSettler
) -> TrainEnd:
    home = lander.home
    _see_to_ends(home, tasks, settler)
    repo = repository.find(key.repository)
    if repo is None:
        for each in waiting_work(home, tasks):
            settler.ask(each, f"{key.repository} is no repository any more")
        return TrainEnd()
    with lander_lock(repo, key.branch) as held:
        if not held:
            return TrainEnd(left=OTHER_LANDER)
        finish_followed(home, repo)
        at = TrainState(home, repo, key.branch, settler, abandon=lander.abandon, now=lander.now)
        reserved = ReservedFiles(at).read(tasks, lander.now())
        if not key.branch:
            _, all_brought = _brought(lander, waiting_work(home, tasks), settler, reserved)
            return TrainEnd(more=not all_brought)
        train = TrainRun(at, reserved)
        train.recover(tasks)
        try_again(at, tasks)
        waiting, all_brought = _brought(lander, waiting_work(home, tasks), settler, reserved)
        by_train = [each for each in waiting if each.landing.to != "pr"]
        end = train.run(by_train) if by_train else follow(at.prover)
        settle_ahead(at, tasks, end.behind)
        by_forge = list(waiting_work(home, [task for task in tasks if _is_by_forge(home, task)]))
        forge = watch_pull_requests(at, by_forge)
        looks = [forge.again_in] if forge.again_in else []
        looks += [LOOK_AGAIN] if reserved.delays or waiting_for_line(home, tasks) else []
        return structs.replace(
            end,
            more=end.more or not all_brought,
            watched=forge.watched,
            again_in=min(looks, default=0.0),
        )


def _is_by_forge(home: Home, task: Task) -> bool:
    landing = landing_json.read(home, task.id)
    return landing is not None and landing.to == "pr"


def _brought(
    lander: LanderSetup,
    works: Iterable[WaitingWork],
    settler: LandingSettler,
    reserved: ReservedFiles,
) -> tuple[list[WaitingWork], bool]:
    """The works that wait to land, after accepted work was brought home, and whether these are
    all: what the next train has no room for stays, so that the first of many land before the last
    are brought home. Work that was sent back before comes first: others that change the same files
    waited for it.
    """
    brought: list[Task] = []
    for_train, at_once, all_brought = 0, 0, True
    for work in sorted(works, key=lambda each: not each.landing.tries):
        if for_train >= work.rules.batch or at_once >= _AT_ONCE:
            all_brought = False
            break
        at_once += not work.landing.commit
        try:
            landing = _home(lander, by_settings(lander.home, work), settler)
        except (GitFailed, OSError) as error:  # the next try may succeed
            settler.failed(work.task_id, f"its work cannot be brought home: {error}")
            continue
        except FleetError as error:
            settler.ask(work, f"its work cannot be brought home: {error.message}")
            continue
        if landing is not None and (holder := reserved.holder_for(landing)):
            settler.keep_waiting(work, train_words.takes_turns(holder))
            continue
        brought.append(work.task)
        for_train += landing is not None and landing.state != "asks" and landing.to != "pr"
    found = waiting_work(lander.home, brought)
    return [work for work in found if work.landing.commit], all_brought


def _home(lander: LanderSetup, work: WaitingWork, settler: LandingSettler) -> Landing | None:
    """The landing of work that is brought home by now: the work waits, or asks if the settings say
    so by now. Raises FleetError and OSError.
    """
    if work.landing.commit:
        if why := why_waiting_asks(work):
            settler.ask(work, why)
        return landing_json.believed(lander.home, work.task_id)
    landing = bring_home(lander.home, work, lander.now())
    if landing is not None and landing.state == "asks":
        settler.note_asking(work.task_id, landing.why)
    return landing


def _see_to_ends(home: Home, tasks: Sequence[Task], settler: LandingSettler) -> None:
    """Do what an earlier lander wrote down and did not do: close what has landed, open what was
    sent back. What a person closed meanwhile is forgotten, unless the line has its work.
    """
    for task in tasks:
        state = _state(home, task.id)
        if state == "landed":
            settler.close(task)
        elif state == "back" and task.status == "blocked":
            settler.reopen(task)
        elif state == "ahead" and task.status == "blocked":
            settler.tell_line(task)
        elif task.status == "closed" and state != "ahead":
            landing_json.forget_mark(home, task.id)


def _state(home: Home, task_id: str) -> str:
    landing = landing_json.believed(home, task_id)
    return landing.state if landing is not None else ""


def lander_lock(repo: Repository, branch: str) -> AbstractContextManager[Lock | None]:
    """The lock of a branch's landers; None: another lander holds the lock."""
    name = hashlib.sha256(os.fsencode(branch)).hexdigest()[:16]
    return locked(Path(repo.common_dir, f"{LOCK}{name}.lock"))
