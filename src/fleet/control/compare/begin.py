"""`fleet compare --with`: one task given to several coders at once, each entry a separate task.

The entries are children of the task, with its text and its settings, in clones made from one
commit; the supervisor runs them like any other task. The compared task is blocked meanwhile.
`compare.json` is written before an entry is made, and each entry bears a mark, so that the next
`fleet compare` completes what a command that died half-way began.
"""

import random
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from fleet.control import Control
from fleet.control.tasks.retry import lives, way_on
from fleet.errors import BadInput, NotFound, Refused
from fleet.files.file_lock import locked
from fleet.git import repository, tree_snapshot
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import refs_of
from fleet.git.refs import read_refs
from fleet.git.repository import Repository
from fleet.home import compare_json, task_json
from fleet.home.task_json import settings_of
from fleet.home.trusted_commands import check_trusted, trust
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import NOT_WORK, Settings, Task, settings_metadata
from fleet.schemas.account import NO_CHAIN
from fleet.schemas.comparison import Comparison, Entry
from fleet.schemas.waits import Compared

#: In an entry's metadata: the comparison that the entry belongs to.
MARK = "fleet_compare"
#: More entries than this are taken for a mistake.
MOST = 50
_LIMIT = 30.0

WantedEntry = tuple[str, str | None]


def parse_wanted(fleet: Control, words: Sequence[str], repeat: int) -> list[WantedEntry]:
    """The coders and models that `--with` names, checked."""
    found: list[WantedEntry] = []
    for word in words:
        coder, colon, model = word.partition(":")
        if not coder.strip() or (colon and not model.strip()):
            raise BadInput(
                f"--with {word!r} is no coder",
                hint="Write it like claude, or with a model: claude:sonnet",
            )
        fleet.check_coder(coder)
        if (coder, model or None) in found:
            raise BadInput(
                f"--with {word} was given twice",
                hint="To have each try it more than once: --repeat 2",
            )
        found.append((coder, model or None))
    if len(found) * repeat < 2:
        raise BadInput(
            "there is nothing to compare: fewer than two entries",
            hint="Name another --with, or have it done more than once: --repeat 2",
        )
    if len(found) * repeat > MOST:
        raise BadInput(
            f"that is {len(found) * repeat} entries; {MOST} is the most",
            hint="Give fewer --with, or a smaller --repeat.",
        )
    return found


def comparison_of(fleet: Control, task: Task) -> Comparison:
    """The latest comparison of a task."""
    found = compare_json.read(fleet.home, task.id)
    if found is None:
        raise NotFound(
            f"{task.id} is not being compared",
            hint=f"Begin: fleet compare {task.id} --with CODER:MODEL --with CODER:MODEL",
        )
    return found


def begin(
    fleet: Control,
    task: Task,
    wanted: Sequence[WantedEntry],
    *,
    repeat: int = 1,
) -> Comparison:
    """Make an entry for each coder, from the commit that the task's directory stands at."""
    with comparison_lock(fleet, task.id):
        _check(fleet, task)
        repo = _repository(fleet.place(task).cwd)
        comparison = Comparison(
            task_id=task.id,
            repository=repo.root,
            commit=_head(fleet, repo),
            at=datetime.now(UTC),
            by=fleet.by,
            # A task with an assignee comes back blocked: `reopen` drops the assignee.
            was="blocked" if task.status == "blocked" or task.assignee else "open",
            waited=task.waits,
            entries=_entries(wanted, repeat),
        )
        # Blocked first, so that no supervisor claims the task itself.
        fleet.queue.reopen_task(task, by=comparison.by, waits=Compared(by=comparison.by))
        if compare_json.read(fleet.home, task.id) is not None:
            compare_json.put_aside(fleet.home, task.id)
        return _add_entries(fleet, compare_json.write(fleet.home, comparison), {})


@contextmanager
def comparison_lock(fleet: Control, task_id: str) -> Generator[None]:
    """Hold while a comparison of this task is begun or ended. Raises Refused if it is taken."""
    folder = fleet.home.task(task_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder / "compare.lock") as lock:
        if lock is None:
            raise Refused(
                f"another fleet compare is at work on {task_id}", hint="Try again in a moment."
            )
        yield


def _entries(wanted: Sequence[WantedEntry], repeat: int) -> tuple[Entry, ...]:
    """Each coder once a turn, in random order, so that no coder always starts first."""
    order: list[tuple[int, WantedEntry]] = []
    for turn in range(1, repeat + 1):
        order += [(turn, each) for each in random.sample(list(wanted), len(wanted))]
    return tuple(
        Entry(number=number, coder=coder, model=model, turn=turn)
        for number, (turn, (coder, model)) in enumerate(order, start=1)
    )


def complete(fleet: Control, comparison: Comparison) -> Comparison:
    """Make the missing entries of a comparison whose command died half-way."""
    if comparison.state != "making":
        return comparison
    with comparison_lock(fleet, comparison.task_id):
        comparison = compare_json.read(fleet.home, comparison.task_id) or comparison
        return _add_entries(fleet, comparison, _existing(fleet, comparison))


def _add_entries(fleet: Control, comparison: Comparison, existing: Mapping[int, str]) -> Comparison:
    """Make each entry that has no task yet; `existing` are tasks by the number of their entry."""
    task = fleet.get(comparison.task_id)
    settings = settings_of(fleet.home, task)
    for entry in comparison.entries:
        if entry.task_id:
            continue
        task_id = existing.get(entry.number) or _add(fleet, comparison, entry, task, settings)
        entries = tuple(
            structs.replace(each, task_id=task_id) if each.number == entry.number else each
            for each in comparison.entries
        )
        comparison = structs.replace(comparison, entries=entries)
        compare_json.write(fleet.home, comparison)
    return compare_json.write(fleet.home, structs.replace(comparison, state="running"))


def _add(
    fleet: Control, comparison: Comparison, entry: Entry, task: Task, settings: Settings
) -> str:
    own = structs.replace(
        settings,
        coder=entry.coder,
        model=entry.model,
        work_in="clone",
        isolation=None,
        commit=comparison.commit,
        # No other coder may take over an entry; another login of the same coder may.
        account=settings.account if entry.coder == fleet.place(task).coder else None,
        fallback=NO_CHAIN,
    )
    draft = Draft(
        title=task.title,
        description=task.description,
        design=task.design,
        notes=task.notes,
        acceptance_criteria=task.acceptance_criteria,
        priority=task.priority,
        issue_type=task.issue_type,
        spec_id=task.spec_id,
        parent=task.id,
        created_by=comparison.by,
        metadata={**settings_metadata(own), MARK: _mark(comparison, entry)},
    )
    # Before the entry is made: a supervisor may claim an entry before task.json is there. The
    # commands are those of the task, which `_check` found trusted.
    trust(fleet.home, [own], comparison.at)
    made = fleet.queue.add(draft)
    task_json.write(fleet.home, made.id, own)
    return made.id


def _mark(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    return {"of": comparison.task_id, "at": comparison.at.isoformat(), "number": entry.number}


def _existing(fleet: Control, comparison: Comparison) -> dict[int, str]:
    """Tasks in the queue that bear the mark of an entry, by the entry's number."""
    marks = {entry.number: _mark(comparison, entry) for entry in comparison.entries}
    return {
        number: task.id
        for task in fleet.queue.find(Filter(include_closed=True))
        for number, mark in marks.items()
        if task.metadata.get(MARK) == mark
    }


def _check(fleet: Control, task: Task) -> None:
    check_trusted(fleet.home, task)
    if compare_json.is_open(fleet.home, task.id):
        raise Refused(
            f"{task.id} is being compared already",
            hint=f"See it: fleet compare {task.id}. To begin anew, first:"
            f" fleet compare {task.id} --discard",
        )
    if task.status in ("open", "blocked") and not lives(fleet, task):
        if task.issue_type in ("epic", *NOT_WORK):
            raise Refused(
                f"{task.id} is of type {task.issue_type}, which is no work by itself",
                hint=f"Compare one of its tasks: fleet bd children {task.id}",
            )
        return
    if task.status in ("open", "blocked", "in_progress"):
        raise Refused(f"{task.id} is being worked on", hint=way_on(task))
    raise Refused(f"{task.id} is {task.status}", hint=way_on(task))


def _repository(cwd: str) -> Repository:
    repo = repository.find(cwd)
    if repo is None:
        raise BadInput(
            f"{cwd} is in no git repository, so entries cannot have clones",
            hint="Make one of it: git init && git add -A && git commit",
        )
    return repo


def _head(fleet: Control, repo: Repository) -> str:
    until = time.monotonic() + _LIMIT
    head = read_refs(refs_of(own_repository(fleet.home.path, repo), repo, until), repo).head
    if not head:
        raise BadInput(
            f"{repo.root} has no commit yet for the entries to begin at",
            hint="Commit what there is: git add -A && git commit",
        )
    return head


def uncommitted(fleet: Control, comparison: Comparison) -> int:
    """How many files differ from the commit: no entry sees those changes."""
    repo = _repository(comparison.repository)
    own = own_repository(fleet.home.path, repo)
    with tree_snapshot.opened(own, repo, time.monotonic() + _LIMIT) as (git, _):
        return len(tree_snapshot.uncommitted(git, comparison.commit))
