"""All that is known of one task: what was asked for, what was done, and fleet's verdict."""

from datetime import datetime

from msgspec import Struct

from fleet.control.tasks.show import SettingOf
from fleet.control.view.now import TaskRow
from fleet.home.landing_json import Landing
from fleet.home.messages import Delivery
from fleet.schemas import Comment, Finding, Receipt, Spend, Task
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
