"""All that is known of one task: what was asked for, what was done, and fleet's verdict."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.landing.open_landings import landing_of
from fleet.control.tasks.receipt import known_receipt
from fleet.control.tasks.show import SettingOf, settings_shown, task_details
from fleet.control.view.now import TaskRow
from fleet.control.view.read_now import rows_of
from fleet.control.view.task.comparison_view import comparison_id
from fleet.errors import InvalidTask
from fleet.files.safe_read import tail
from fleet.git.snapshot_names import DIFF
from fleet.home.landing_json import Landing
from fleet.home.messages import Delivery
from fleet.queue.protocol import Filter
from fleet.runs import receipt_json
from fleet.runs.outcome_history import read_ending
from fleet.runs.questions import questions_file
from fleet.runs.run_directory import Run, all_runs, began_at
from fleet.schemas import BLOCKING, Comment, Finding, Receipt, Spend, Task, named
from fleet.schemas.budget import BudgetStatus


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run of a task."""

    number: int
    coder: str = ""
    model: str = ""
    account: str = ""
    begun: datetime | None = None
    ended: datetime | None = None
    #: The outcome by name, like `Finished` or `Failed (auth)`; empty: the run is not over.
    outcome: str = ""
    why: str = ""
    #: The run counted as an attempt.
    counts: bool = False
    spent: Spend = Spend()
    verdict: str | None = None
    #: There is a receipt, and a diff.
    has_receipt: bool = False
    has_diff: bool = False


class QuestionAsked(Struct, frozen=True, kw_only=True):
    """A question of the agent's or an answer to one, from `artifacts/Q&A.md`."""

    kind: str
    head: str
    text: str


class TaskTexts(Struct, frozen=True, kw_only=True):
    """What the agent wrote for people, cut where too long; empty: nothing."""

    plan: str = ""
    knowledge: str = ""
    #: The end was cut off: these names.
    cut: tuple[str, ...] = ()


class WholeTask(Struct, frozen=True, kw_only=True):
    """One task with all that belongs to the task."""

    as_of: datetime
    row: TaskRow
    task: Task
    #: Why the task is invalid, and how to mend it; empty: the task is valid.
    invalid: str = ""
    hint: str = ""
    settings: tuple[SettingOf, ...] = ()
    budget: BudgetStatus | None = None
    #: The receipt of the latest run that is over.
    receipt: Receipt | None = None
    #: The rules that the receipt's verdict broke, scope first.
    findings: tuple[Finding, ...] = ()
    runs: tuple[RunSummary, ...] = ()
    texts: TaskTexts = TaskTexts()
    questions: tuple[QuestionAsked, ...] = ()
    messages: tuple[Delivery, ...] = ()
    comments: tuple[Comment, ...] = ()
    #: The tasks that this one waits for, and those that wait for this one.
    waits_for: tuple[TaskRow, ...] = ()
    unblocks: tuple[TaskRow, ...] = ()
    landing: Landing | None = None
    #: Where the task's agent works, and the branch that the work comes to; empty: in the project
    #: itself.
    clone: str = ""
    branch: str = ""
    #: The task whose comparison this one is the subject or an entry of; empty: none.
    comparison: str = ""


#: Bytes of each text of an agent's that are shown; its end counts, where the latest stands.
_LONGEST_TEXT = 256 << 10
#: How many runs are told of, the latest ones.
_MOST_RUNS = 200


def read_whole_task(fleet: Control, word: str, now: datetime) -> WholeTask:
    """One task with all that belongs to the task. Raises NotFound."""
    task = fleet.get(word)
    details = task_details(fleet, task, now)
    rows = rows_of(fleet, (task, *_around(fleet, task)), now)
    row, queue = rows[0][task.id], rows[1]
    receipt = known_receipt(fleet, task.id)
    return WholeTask(
        as_of=now,
        row=row,
        task=task,
        invalid=details.invalid,
        hint=details.hint,
        settings=tuple(settings_shown(details)),
        budget=details.budget,
        receipt=receipt,
        findings=receipt.verdict.broken if receipt and receipt.verdict else (),
        runs=tuple(run_summary(run) for run in all_runs(fleet.home.task(task.id))[-_MOST_RUNS:]),
        texts=_texts(fleet.home.task(task.id)),
        questions=tuple(_questions(fleet.home.task(task.id))),
        messages=details.messages,
        comments=tuple(fleet.queue.comments(task.id)),
        waits_for=tuple(
            rows[0][each] for each in queue.blockers.get(task.id, ()) if each in rows[0]
        ),
        unblocks=tuple(
            rows[0][each]
            for each, waits in queue.blockers.items()
            if task.id in waits and each in rows[0]
        ),
        landing=landing_of(fleet, task),
        clone="" if details.clone_is_gone else details.clone,
        branch=details.branch if details.clone else "",
        comparison=comparison_id(fleet, task),
    )


def _around(fleet: Control, task: Task) -> tuple[Task, ...]:
    """The tasks that this one waits for, and the tasks that wait for this one."""
    edges = [edge for edge in fleet.queue.edges([task.id]) if edge.type in BLOCKING]
    ids = {end for edge in edges for end in (edge.task_id, edge.depends_on_id)} - {task.id}
    if not ids:
        return ()
    return tuple(fleet.queue.find(Filter(ids=tuple(sorted(ids)), include_closed=True)))


def run_summary(run: Run) -> RunSummary:
    """One run by the run's records; what is damaged is left out."""
    try:
        spec = run.known_spec()
        ending, receipt = read_ending(run), receipt_json.read(run)
        exited = run.exit()
    except InvalidTask:
        return RunSummary(number=run.number)
    verdict = receipt.verdict.state if receipt is not None and receipt.verdict else None
    found = RunSummary(
        number=run.number,
        coder=spec.coder if spec else "",
        model=(receipt.model if receipt else "") or (spec.model if spec else ""),
        account=spec.account if spec else "",
        begun=began_at(run),
        ended=exited.ended_at if exited else ending.at if ending else None,
        outcome=named(ending.outcome) if ending else "",
        why=ending.why if ending else "",
        counts=ending.counts if ending else False,
        verdict=verdict,
        has_receipt=receipt is not None,
        has_diff=(run.path / DIFF).exists(),
    )
    if receipt is not None:
        return structs.replace(found, spent=receipt.spend)
    return found


def _texts(task_dir: Path) -> TaskTexts:
    plan, knowledge = task_dir / "artifacts/PLAN_AND_STATUS.md", task_dir / "artifacts/KNOWLEDGE.md"
    cut = [name for name, path in (("plan", plan), ("knowledge", knowledge)) if _is_long(path)]
    return TaskTexts(
        plan=tail(plan, _LONGEST_TEXT), knowledge=tail(knowledge, _LONGEST_TEXT), cut=tuple(cut)
    )


def _is_long(path: Path) -> bool:
    try:
        return path.lstat().st_size > _LONGEST_TEXT
    except OSError:
        return False


def _questions(task_dir: Path) -> Iterator[QuestionAsked]:
    for kind, head, text in questions_file.blocks(questions_file.read(task_dir)):
        yield QuestionAsked(kind="question" if kind == "Q" else "answer", head=head, text=text)
